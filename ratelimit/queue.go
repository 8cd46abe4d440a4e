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
	mu     sync.Mutex
	limit  int
	inside int
	queue  []*place
}

// place is one request's place in the localQueue, or in the Queue that replaces it.
type place struct {
	queued  atomic.Bool   // it is in a Queue
	granted bool          // it has a permit (only with a Queue)
	inside  bool          // it has left the localQueue's waiting list
	ready   chan struct{} // closed when inside becomes true; nil if it was true at once
}

func (g *localQueue) join(p *place) (inside bool) {
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

// leave gives up a place, inside or still waiting. It returns false if the place was given up before.
func (g *localQueue) leave(p *place) bool {
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

func (g *localQueue) resize(limit int) {
	g.mu.Lock()
	g.limit = limit
	g.admit()
	g.mu.Unlock()
}

func (g *localQueue) admit() {
	for g.inside < g.limit && len(g.queue) > 0 {
		p := g.queue[0]
		g.queue = slices.Delete(g.queue, 0, 1)
		g.inside++
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
	reapIntervalIdle    = 10 * time.Second     // in any case
)

// reap removes dead processes from the shared state, unless it has looked for them within the last interval every. It
// waits at most patience for the store. It reports whether it has removed any.
func (l *Limiter) reap(ctx context.Context, every, patience time.Duration) bool {
	if l.live == nil {
		return false
	}
	switch { // with nap set, each look at the store is expensive
	case l.nap == 0:
	case every == reapIntervalStalled:
		every = 2 * l.nap
	case every == reapIntervalWaiting: // the request at the head of the shared queue looks sooner
		every = 20 * l.nap
	}
	now, last := int64(time.Since(l.start)), l.reaped.Load()
	if now-last < int64(every) || !l.reaped.CompareAndSwap(last, now) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, min(patience, core.MaxRetryWait))
	defer cancel()
	_, s, err := core.ReadSnapshot(ctx, l.store)
	others := slices.DeleteFunc(s.Users(), func(id string) bool { return id == l.process })
	if err != nil || len(others) == 0 {
		return false // the next ask meets the same error and reports it
	}
	dead := l.live.Dead(others)
	if len(dead) == 0 {
		return false
	}
	err = l.store.Update(ctx, func(at Instant, s *Snapshot) error {
		s.RemoveDead(at, dead)
		return nil
	})
	return err == nil
}

// Status returns the limiter's present status, as this process sees it.
func (l *Limiter) Status(ctx context.Context) (Status, error) {
	at, s, err := core.ReadSnapshot(ctx, l.store)
	if err != nil {
		return Status{Offline: l.offline}, err
	}
	t := l.tune(at, &s)
	l.adopt(t)
	st := s.Status(at, t.Tuning, l.owner, l.ownAccounts()...)
	st.Offline = l.offline
	return st, nil
}
