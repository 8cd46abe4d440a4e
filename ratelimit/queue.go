package ratelimit

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anivault/anivault/ratelimit/internal/core"
)

// gate is the queue of one process in front of the shared one: at most Tuning.Concurrency of its requests may ask or
// have a permit, the others wait here, first come first served.
type gate struct {
	mu     sync.Mutex
	limit  int
	inside int
	queue  []*place
}

// place is a request at the gate, or in the queue that stands in its place.
type place struct {
	queued  atomic.Bool   // it is in a Queue
	granted bool          // and has been granted
	inside  bool          // the gate
	ready   chan struct{} // closed when it is inside; nil if it was at once
}

func (g *gate) join(p *place) (inside bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inside < g.limit && len(g.queue) == 0 {
		g.inside++
		p.inside = true
		return true
	}
	p.ready = make(chan struct{})
	g.queue = append(g.queue, p)
	return false
}

// leave gives a place back, inside or in the queue. It reports false for a place that was given back before.
func (g *gate) leave(p *place) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.inside {
		p.inside = false
		g.inside--
		g.admit()
		return true
	}
	i := slices.Index(g.queue, p)
	if i >= 0 {
		g.queue = slices.Delete(g.queue, i, i+1)
	}
	return i >= 0
}

func (g *gate) resize(limit int) {
	g.mu.Lock()
	g.limit = limit
	g.admit()
	g.mu.Unlock()
}

func (g *gate) admit() {
	for g.inside < g.limit && len(g.queue) > 0 {
		p := g.queue[0]
		g.queue = slices.Delete(g.queue, 0, 1)
		g.inside++
		p.inside = true
		close(p.ready)
	}
}

// bell wakes waiting requests of one process when the process gives something back, so that they need not poll the
// store. They listen before they look whether they have to wait.
type bell struct {
	mu sync.Mutex
	ch chan struct{}
}

func (b *bell) listen() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}

const (
	reapStalled = 5 * time.Millisecond // between looks for dead processes while one may hold a slot
	reapWaiting = time.Second          // while waiting for anything else
	reapAlways  = 10 * time.Second     // in any case
)

// reap looks for dead processes and drops what they held, unless that was done within the last every. It
// waits at most patience for the store. It reports whether it has found any.
func (l *Limiter) reap(ctx context.Context, every, patience time.Duration) bool {
	if l.live == nil {
		return false
	}
	switch { // where each look is dear
	case l.nap == 0:
	case every == reapStalled:
		every = 2 * l.nap
	case every == reapWaiting: // whoever is at the head looks
		every = 20 * l.nap
	}
	now, last := int64(time.Since(l.start)), l.reaped.Load()
	if now-last < int64(every) || !l.reaped.CompareAndSwap(last, now) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, min(patience, core.MaxNap))
	defer cancel()
	_, s, err := core.Look(ctx, l.store)
	others := slices.DeleteFunc(s.Users(), func(id string) bool { return id == l.process })
	if err != nil || len(others) == 0 {
		return false // the next ask meets the same error and reports it
	}
	dead := l.live.Dead(others)
	if len(dead) == 0 {
		return false
	}
	err = l.store.Update(ctx, func(at Instant, s *Snapshot) error {
		s.Bury(at, dead)
		return nil
	})
	return err == nil
}

// Status returns the limiter as it is now, as this process sees it.
func (l *Limiter) Status(ctx context.Context) (Status, error) {
	at, s, err := core.Look(ctx, l.store)
	if err != nil {
		return Status{Offline: l.offline}, err
	}
	t := l.tune(at, &s)
	l.adopt(t)
	st := s.Status(at, t.Tuning, l.owner, l.ownAccounts()...)
	st.Offline = l.offline
	return st, nil
}
