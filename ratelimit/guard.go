package ratelimit

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	// lateGrant is how long ago a permit may have been decided on when it comes: by then others count it no more.
	lateGrant = 250 * time.Millisecond
	// leaseKept is the length of a lease of a coordinator whose holder did not say how long it needs it, and
	// renewEvery how often it is renewed.
	leaseKept  = 10 * time.Minute
	renewEvery = 3 * time.Minute
)

// guard keeps a process below the ceiling by its own count, whatever the store says: who can write to a coordinator can
// stop or loosen the limit, not lift it. And it renews leases.
type guard struct {
	mu    sync.Mutex
	sent  []time.Time
	kept  map[Pass]time.Time // when permits of unknown length were granted
	timer *time.Timer        // renews them
}

// accept reports whether a permit that was decided on at a moment may be used; else how long to wait before the next.
func (g *guard) accept(decided time.Time, t *Tuning) (wait time.Duration, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if now.Sub(decided) >= lateGrant {
		return 0, false
	}
	window := t.CeilingWindow - t.CeilingWindow/20 // permits come more tightly than they were given
	for len(g.sent) > 0 && now.Sub(g.sent[0]) >= window {
		g.sent = g.sent[1:]
	}
	if len(g.sent) >= t.Ceiling {
		return g.sent[0].Add(window).Sub(now), false
	}
	g.sent = append(g.sent, now)
	return 0, true
}

// keep renews the lease of a permit from now on.
func (l *Limiter) keep(p Pass) {
	g := &l.guard
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.kept == nil {
		g.kept = map[Pass]time.Time{}
	}
	g.kept[p] = time.Now()
	if g.timer == nil {
		g.timer = time.AfterFunc(renewEvery, l.renew)
	}
}

// release ends the renewal of a permit.
func (l *Limiter) release(p Pass) {
	l.guard.mu.Lock()
	delete(l.guard.kept, p)
	l.guard.mu.Unlock()
}

// renew lengthens the leases that are kept, all in one update. A forgotten permit ends all the same.
func (l *Limiter) renew() {
	g := &l.guard
	g.mu.Lock()
	kept := make(map[Pass]bool, len(g.kept))
	for p, since := range g.kept {
		if time.Since(since) >= leaseMax {
			delete(g.kept, p)
			continue
		}
		kept[p] = true
	}
	g.timer = nil
	if len(kept) > 0 && !l.closed.Load() {
		g.timer = time.AfterFunc(renewEvery, l.renew)
	}
	g.mu.Unlock()
	if len(kept) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), renewEvery)
	defer cancel()
	err := l.store.Update(ctx, func(at Instant, s *Snapshot) error {
		s.Renew(at, kept, leaseKept)
		return nil
	})
	if err != nil {
		l.warn(fmt.Errorf("renew permits: %w", err))
	}
}
