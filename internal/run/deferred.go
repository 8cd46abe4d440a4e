package run

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/anivault/anivault/internal/match"
	"golang.org/x/sync/semaphore"
)

// When a request about a series fails, the run defers the series and continues with others; no worker waits for it. It
// decides the series again when the retry delay is over. After its last retry a series waits until all others have been
// tried, and then gets as many attempts again. Series that TMDB never answers thus don't slow the others down, and a
// short outage does not use up every series' retries.

// AttemptCounter counts the failed attempts at one series.
type AttemptCounter interface {
	// With returns a context for one attempt, in which each request is sent once and not repeated.
	With(context.Context) context.Context
	// Failed returns how many attempts have failed in a row, 0 if the last one succeeded, and when to try again.
	Failed() (count int, due time.Time)
	// Restart sets the count to 0, and this and each later delay to that of a first retry.
	Restart()
}

// RetryPolicy says how often a run tries a series whose requests fail. The zero RetryPolicy never retries.
type RetryPolicy struct {
	NewCounter func() AttemptCounter
	MaxRetries int // per series; a series that still fails gets as many again at the end of the run
}

type seriesTask struct {
	batch       *batchState
	group       *group
	recorder    *recorder
	attempts    AttemptCounter // nil: only one attempt
	tried       bool           // its first attempt is over
	inLastRound bool           // it has used up the retries of its first round
	due         time.Time
}

type deferredQueue struct {
	mu         sync.Mutex
	waiting    []*seriesTask // deferred until their due times
	lastRound  []*seriesTask // deferred until all series have been tried
	inFlight   int           // series that are being decided
	firstTries int           // those of them that are being decided for the first time
	walkDone   bool          // no new series will come
	outputFull bool          // the walk waits until the output has room
	closed     bool          // the run is ending: nothing is tried again
	changed    chan struct{}
}

func (a *deferredQueue) update(f func()) {
	a.mu.Lock()
	f()
	a.mu.Unlock()
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

func (a *deferredQueue) putBack(q *seriesTask, retries int) (willRetry bool) {
	a.update(func() {
		a.inFlight--
		if !q.tried {
			q.tried = true
			a.firstTries--
		}
		if q.attempts == nil || a.closed {
			return
		}
		count, due := q.attempts.Failed()
		q.due = due
		switch {
		case count == 0:
		case count <= retries:
			a.waiting, willRetry = append(a.waiting, q), true
		case !q.inLastRound:
			q.inLastRound, willRetry = true, true
			q.attempts.Restart()
			_, q.due = q.attempts.Failed()
			a.lastRound = append(a.lastRound, q)
		}
	})
	return willRetry
}

func (a *deferredQueue) next() (q *seriesTask, wait time.Duration, over bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.firstTries == 0 && (a.walkDone || a.outputFull) {
		a.waiting, a.lastRound = append(a.waiting, a.lastRound...), nil
	}
	if len(a.waiting) == 0 {
		return nil, time.Hour, a.inFlight == 0 && a.walkDone
	}
	first := slices.MinFunc(a.waiting, func(x, y *seriesTask) int { return x.due.Compare(y.due) })
	if wait = time.Until(first.due); wait > 0 {
		return nil, wait, false
	}
	a.waiting = slices.DeleteFunc(a.waiting, func(o *seriesTask) bool { return o == first })
	a.inFlight++
	return first, 0, false
}

func (a *deferredQueue) closeAndDrain() []*seriesTask {
	a.mu.Lock()
	defer a.mu.Unlock()
	left := append(a.waiting, a.lastRound...)
	a.waiting, a.lastRound, a.closed = nil, nil, true
	return left
}

func (p *pipeline) runDeferred(ctx context.Context, slots *semaphore.Weighted) {
	var resolving sync.WaitGroup
	defer resolving.Wait()
	for {
		q, wait, over := p.deferred.next()
		switch {
		case over:
			return
		case q != nil && slots.Acquire(ctx, 1) == nil:
			resolving.Go(func() { p.decideSeries(ctx, q, slots) })
			continue
		case q != nil:
			p.finishGroup(ctx, q.recorder, q.batch, q.group)
			continue
		}
		select {
		case <-time.After(wait):
		case <-p.deferred.changed:
		case <-ctx.Done():
			for _, q := range p.deferred.closeAndDrain() {
				p.finishGroup(ctx, q.recorder, q.batch, q.group)
			}
			return
		}
	}
}

type freeSlotKey struct{}

// FreeSlot lets the run decide another series while the one whose request has ctx waits for another process.
func FreeSlot(ctx context.Context) {
	if free, ok := ctx.Value(freeSlotKey{}).(func()); ok {
		free()
	}
}

func (p *pipeline) decideSeries(ctx context.Context, q *seriesTask, slots *semaphore.Weighted) {
	freeSlot := sync.OnceFunc(func() { slots.Release(1) })
	attempt := context.WithValue(ctx, freeSlotKey{}, freeSlot)
	if q.attempts != nil {
		attempt = q.attempts.With(attempt)
	}
	keep := func(f match.File, d match.Decision) { q.batch.lines[f.Index].Decision = d }
	p.Decider.Decide(attempt, *q.group.series, keep)
	freeSlot()
	if !p.deferred.putBack(q, p.Retry.MaxRetries) {
		p.finishGroup(ctx, q.recorder, q.batch, q.group)
	}
}
