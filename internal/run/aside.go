package run

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/anivault/anivault/internal/decide"
	"github.com/anivault/anivault/internal/match"
)

// When a request about a series fails, the run sets the series aside and goes on with others; no worker waits. It asks
// again when the request's own delay is over, and after its last retry once more at the end of the list. So entries
// that TMDB never answers do not slow the others down, and a short outage does not use up the retries of everything.

// Tries counts the failures of one series.
type Tries interface {
	// With returns a context for one attempt: each request is sent once, and not repeated.
	With(context.Context) context.Context
	// Failed returns how many attempts have failed, 0 if the last did not, and when to try again.
	Failed() (count int, due time.Time)
	// Restart sets the count back.
	Restart()
}

// Patience says how a run sets series aside. The zero Patience never does.
type Patience struct {
	Tries   func() Tries
	Retries int // of a series, and as many again at the end of the list
}

type question struct {
	b     *intake
	g     *group
	keep  *recorder
	tries Tries // nil: it is asked once
	last  bool  // the second round
	due   time.Time
}

type aside struct {
	mu       sync.Mutex
	waiting  []*question // each until it is due
	atTheEnd []*question // until there is nothing else to ask
	underway int         // questions under way
	walked   bool        // every series was asked about once
	full     bool        // the walk waits for room in the output
	closed   bool        // the run ends: nothing more is asked
	changed  chan struct{}
}

func (a *aside) change(f func()) {
	a.mu.Lock()
	f()
	a.mu.Unlock()
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

func (a *aside) put(q *question, retries int) (later bool) {
	a.change(func() {
		a.underway--
		if q.tries == nil || a.closed {
			return
		}
		count, due := q.tries.Failed()
		q.due = due
		switch {
		case count == 0:
		case count <= retries:
			a.waiting, later = append(a.waiting, q), true
		case !q.last:
			q.last, later = true, true
			q.tries.Restart()
			a.atTheEnd = append(a.atTheEnd, q)
		}
	})
	return later
}

func (a *aside) next() (q *question, wait time.Duration, over bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	idle := len(a.waiting) == 0 && a.underway == 0
	if idle && (a.walked || a.full) {
		a.waiting, a.atTheEnd = a.atTheEnd, nil
	}
	if len(a.waiting) == 0 {
		return nil, 0, idle && a.walked
	}
	first := slices.MinFunc(a.waiting, func(x, y *question) int { return x.due.Compare(y.due) })
	if wait = time.Until(first.due); wait > 0 {
		return nil, wait, false
	}
	a.waiting = slices.DeleteFunc(a.waiting, func(o *question) bool { return o == first })
	a.underway++
	return first, 0, false
}

func (a *aside) rest() []*question {
	a.mu.Lock()
	defer a.mu.Unlock()
	left := append(a.waiting, a.atTheEnd...)
	a.waiting, a.atTheEnd, a.closed = nil, nil, true
	return left
}

func (p *pipeline) askAgain(ctx context.Context, slots chan struct{}) {
	var resolving sync.WaitGroup
	defer resolving.Wait()
	for {
		q, wait, over := p.aside.next()
		if over {
			return
		}
		if q != nil {
			select {
			case slots <- struct{}{}:
				t := p.decider.Turn()
				resolving.Go(func() { p.ask(ctx, q, t, slots) })
			case <-ctx.Done():
				p.settle(ctx, q.keep, q.b, q.g)
			}
			continue
		}
		timer := time.NewTimer(wait)
		if wait == 0 {
			timer.Stop()
		}
		select {
		case <-timer.C:
		case <-p.aside.changed:
		case <-ctx.Done():
			for _, q := range p.aside.rest() {
				p.settle(ctx, q.keep, q.b, q.g)
			}
			return
		}
		timer.Stop()
	}
}

func (p *pipeline) ask(ctx context.Context, q *question, t decide.Turn, slots <-chan struct{}) {
	asked := ctx
	if q.tries != nil {
		asked = q.tries.With(ctx)
	}
	p.decider.Decide(asked, *q.g.series, t, func(f match.File, d match.Decision) { q.b.lines[f.Index].Decision = d })
	t.End()
	<-slots
	if !p.aside.put(q, p.patience.Retries) {
		p.settle(ctx, q.keep, q.b, q.g)
	}
}
