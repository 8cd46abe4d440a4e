package ratelimit

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anivault/anivault/ratelimit/internal/core"
)

// localQueue is the queue of one process in front of the shared one. At most Tuning.Concurrency of its requests may ask
// for a permit or have one; the others wait here, first come, first served.
type localQueue struct {
	mu          sync.Mutex
	limit       int
	insideCount int
	waiting     []*place
}

// place is one request's place in the localQueue, or in the Queue that replaces it.
type place struct {
	queued  atomic.Bool   // the place is in a Queue, which replaces the localQueue
	granted bool          // used only with a Queue
	inside  bool          // not waiting in the localQueue any more
	ready   chan struct{} // closed when inside becomes true; nil if it was true at once
}

func (g *localQueue) join(p *place) (inside bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.insideCount < g.limit && len(g.waiting) == 0 {
		g.insideCount++
		p.inside = true
		return true
	}
	p.ready = make(chan struct{})
	g.waiting = append(g.waiting, p)
	return false
}

// leave gives up a place, inside or still waiting. It returns false if the place was given up before.
func (g *localQueue) leave(p *place) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.inside {
		p.inside = false
		g.insideCount--
		g.admit()
		return true
	}
	i := slices.Index(g.waiting, p)
	if i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	}
	return i >= 0
}

func (g *localQueue) resize(limit int) {
	g.mu.Lock()
	g.limit = limit
	g.admit()
	g.mu.Unlock()
}

func (g *localQueue) admit() {
	for g.insideCount < g.limit && len(g.waiting) > 0 {
		p := g.waiting[0]
		g.waiting = slices.Delete(g.waiting, 0, 1)
		g.insideCount++
		p.inside = true
		close(p.ready)
	}
}

// broadcaster wakes the waiting requests of a process when a slot becomes free, so that they need not poll the store.
// Call listen before checking whether to wait.
type broadcaster struct {
	mu sync.Mutex
	ch chan struct{}
}

func (b *broadcaster) listen() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

func (b *broadcaster) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}

const (
	reapIntervalStalled = 5 * time.Millisecond // between looks for dead processes while one may hold a slot
	reapIntervalWaiting = time.Second          // while waiting for anything else
	reapIntervalIdle    = 10 * time.Second     // otherwise
)

// reap removes dead processes from the shared state, unless it did so within the last interval. It waits at most
// patience for the store. It reports whether it has removed any.
func (l *Limiter) reap(ctx context.Context, interval, patience time.Duration) bool {
	if l.liveness == nil {
		return false
	}
	switch { // with minAskInterval set, each access to the store is expensive
	case l.minAskInterval == 0:
	case interval == reapIntervalStalled:
		interval = 2 * l.minAskInterval
	case interval == reapIntervalWaiting: // the request at the head of the shared queue reaps more often
		interval = 20 * l.minAskInterval
	}
	now, last := int64(time.Since(l.started)), l.lastReap.Load()
	if now-last < int64(interval) || !l.lastReap.CompareAndSwap(last, now) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, min(patience, core.MaxRetryWait))
	defer cancel()
	_, s, err := core.ReadSnapshot(ctx, l.store)
	others := slices.DeleteFunc(s.Users(), func(id string) bool { return id == l.processID })
	if err != nil || len(others) == 0 {
		return false // the next ask meets the same error and reports it
	}
	dead := l.liveness.Dead(others)
	if len(dead) == 0 {
		return false
	}
	err = l.update(ctx, always(func(at Instant, s *Snapshot) { s.RemoveDead(at, dead) }))
	return err == nil
}

// Status returns the limiter's present status, as this process sees it.
func (l *Limiter) Status(ctx context.Context) (Status, error) {
	at, s, err := core.ReadSnapshot(ctx, l.store)
	if err != nil {
		return Status{Offline: l.offline}, err
	}
	t := l.tuningFor(at, &s)
	l.adopt(t)
	st := s.Status(at, t.Tuning, l.ownerID, l.ownAccounts()...)
	st.Offline = l.offline
	return st, nil
}
