package run

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/anivault/anivault/internal/decide"
	"github.com/anivault/anivault/internal/match"
)

// A series whose request failed is set aside: no worker waits for it. It is asked about again when that request's own
// delay is over, and after its tries once more when nothing else is left to ask: entries that TMDB never answers must
// not slow the others down, and an outage must not spend the tries of all.

// Tries are those of the requests of one series, each of which is sent once an asking.
type Tries interface {
	// With returns the context of the next asking.
	With(context.Context) context.Context
	// Failed returns how often the request that failed most in that asking has failed by now, 0 where none did, and
	// when they may be asked again.
	Failed() (count int, due time.Time)
	// Restart gives each request as many tries again.
	Restart()
}

// Patience says how a run sets series aside. The zero value does not.
type Patience struct {
	Tries   func() Tries
	Retries int // how often a request is asked again, and once more at the end
}

// asking is one series that is being asked about.
type asking struct {
	b     *intake
	g     *group
	keep  *recorder
	tries Tries // nil: the series is asked about once
	last  bool  // the second round
	due   time.Time
}

// aside is the series that are asked about again.
type aside struct {
	mu       sync.Mutex
	waiting  []*asking // until due
	atTheEnd []*asking // until nothing else is asked
	underway int       // series that are being asked about now
	walked   bool      // all series have been asked about once
	full     bool      // the walk waits for room in the output
	closed   bool      // nobody is asked any more
	changed  chan struct{}
}

func newAside() *aside { return &aside{changed: make(chan struct{}, 1)} }

// change applies a change and wakes askAgain.
func (a *aside) change(f func()) {
	a.mu.Lock()
	f()
	a.mu.Unlock()
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

// put takes a series that was asked about, with at most so many retries. It reports false where the series is decided.
func (a *aside) put(q *asking, retries int) (later bool) {
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

// next returns the series to ask about now, nil if there is none. Then wait is how long until the first is due, 0 if
// that is not known, and over says that there will be none.
func (a *aside) next() (q *asking, wait time.Duration, over bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	idle := len(a.waiting) == 0 && a.underway == 0
	if idle && (a.walked || a.full) {
		a.waiting, a.atTheEnd = a.atTheEnd, nil
	}
	if len(a.waiting) == 0 {
		return nil, 0, idle && a.walked
	}
	first := slices.MinFunc(a.waiting, func(x, y *asking) int { return x.due.Compare(y.due) })
	if wait = time.Until(first.due); wait > 0 {
		return nil, wait, false
	}
	a.waiting = slices.DeleteFunc(a.waiting, func(o *asking) bool { return o == first })
	a.underway++
	return first, 0, false
}

// rest returns the series that are not asked about again, because the run ends.
func (a *aside) rest() []*asking {
	a.mu.Lock()
	defer a.mu.Unlock()
	left := append(a.waiting, a.atTheEnd...)
	a.waiting, a.atTheEnd, a.closed = nil, nil, true
	return left
}

// askAgain asks about the series that were set aside until all are decided. When ctx ends, those that wait keep their
// last decision.
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

// ask asks about a series in a slot, and settles it or sets it aside.
func (p *pipeline) ask(ctx context.Context, q *asking, t decide.Turn, slots <-chan struct{}) {
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
