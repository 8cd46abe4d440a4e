package ratelimit

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/anivault/anivault/ratelimit/internal/core"
)

// localBreaker is what one process knows of its own network, where several machines share the state. A machine
// without a network must not put all others to Sleep, so requests without an answer count in their process alone: as
// many in a row block it as would block everybody, for the same growing cooldown, and then one probe at a time finds
// out.
type localBreaker struct {
	mu       sync.Mutex
	failures int           // in a row
	failing  time.Time     // since when
	lost     uint64        // the connection lost last
	until    time.Time     // nothing is sent before
	cooldown time.Duration // 0: not blocked
	probing  time.Time     // until when a probe is waited for; zero: there is none
}

// enter reports whether a request may go, as a probe perhaps; else how long it waits before it asks again. since is
// when the trouble began.
func (k *localBreaker) enter(now time.Time) (wait time.Duration, since time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.cooldown == 0:
		return 0, k.failing
	case now.Before(k.until):
		return k.until.Sub(now), k.failing
	case now.Before(k.probing):
		return core.ProbeNap, k.failing
	}
	k.probing = now.Add(core.ProbeHold)
	return 0, k.failing
}

// record takes note of the end of a request, and returns the event as everybody may see it. It reports whether the
// process is blocked from now on.
func (k *localBreaker) record(now time.Time, e Event, t *Tuning, draw float64) (_ Event, blocked time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.probing = time.Time{}
	switch e.Outcome {
	case Cancelled, Misconfigured:
		return e, 0
	case OK, Throttled, Server, Client, Deferred:
		k.failures, k.failing, k.lost, k.until, k.cooldown = 0, time.Time{}, 0, time.Time{}, 0
		return e, 0
	case Network:
	}
	shared := e
	shared.Outcome = Cancelled
	if e.Connection != 0 && e.Connection == k.lost {
		return shared, 0
	}
	k.lost = e.Connection
	if k.failures++; k.failures == 1 {
		k.failing = now
	}
	first := k.cooldown == 0
	switch {
	case k.failures < t.NFailures:
		return shared, 0
	case first:
		k.cooldown = t.SleepMin
	case now.Before(k.until):
		return shared, 0 // it had left before
	default:
		longest := max(min(t.SleepMaxOutage, t.SleepMax), t.SleepMin)
		k.cooldown = min(time.Duration(float64(k.cooldown)*t.CooldownFactor), longest)
	}
	k.until = now.Add(k.cooldown + time.Duration(draw*float64(k.cooldown)/10))
	if first {
		return shared, k.cooldown
	}
	return shared, 0
}

func (k *localBreaker) drop() {
	k.mu.Lock()
	k.probing = time.Time{}
	k.mu.Unlock()
}

func (c *call) awaitNetwork(ctx context.Context) error {
	for {
		wait, since := c.l.breaker.enter(time.Now())
		if wait == 0 {
			return nil
		}
		if long := time.Since(since) > c.l.tuned.Load().MaxWait; long || wait > c.left() {
			return &BlockedError{Block{
				State: Sleep, Cause: ReasonConsecutiveFailures, Since: since,
				Until: time.Now().Add(wait),
			}}
		}
		if err := c.nap(ctx, min(wait, core.MaxNap), true, nil, nil); err != nil {
			return err
		}
	}
}

func (l *Limiter) shareOutcome(e Event) Event {
	t := &l.tuned.Load().Tuning
	shared, blocked := l.breaker.record(time.Now(), e, t, l.draw())
	if blocked > 0 {
		l.warn(fmt.Errorf("%d requests in a row got no answer: this process sends nothing for %v, then probes; "+
			"other machines go on", t.NFailures, blocked))
	}
	return shared
}

const (
	// lateGrant is how long ago a permit may have been decided on when it comes: by then others count it no more.
	lateGrant = 250 * time.Millisecond
	// leaseKept is the length of a lease of a coordinator whose holder did not say how long it needs it, and
	// renewEvery how often it is renewed.
	leaseKept  = 10 * time.Minute
	renewEvery = 3 * time.Minute
)

// localCeiling keeps a process below the ceiling by its own count, whatever the store says: who can write to a
// coordinator can stop or loosen the limit, not lift it. And it renews leases.
type localCeiling struct {
	mu    sync.Mutex
	sent  []time.Time
	kept  map[core.Pass]time.Time // when permits of unknown length were granted
	timer *time.Timer             // renews them
}

// accept reports whether a permit that was decided on at a moment may be used; else how long to wait before the next.
func (g *localCeiling) accept(decided time.Time, t *Tuning) (wait time.Duration, ok bool) {
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

func (l *Limiter) keep(p core.Pass) {
	g := &l.ceiling
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.kept == nil {
		g.kept = map[core.Pass]time.Time{}
	}
	g.kept[p] = time.Now()
	if g.timer == nil {
		g.timer = time.AfterFunc(renewEvery, l.renew)
	}
}

func (l *Limiter) release(p core.Pass) {
	l.ceiling.mu.Lock()
	delete(l.ceiling.kept, p)
	l.ceiling.mu.Unlock()
}

// renew lengthens the leases that are kept, all in one update. A forgotten permit ends all the same.
func (l *Limiter) renew() {
	g := &l.ceiling
	g.mu.Lock()
	kept := make(map[core.Pass]bool, len(g.kept))
	for p, since := range g.kept {
		if time.Since(since) >= core.LeaseMax {
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
