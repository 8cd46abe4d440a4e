package ratelimit

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/anivault/anivault/ratelimit/internal/core"
)

// localBreaker counts this process's requests without a response if several machines share the state: a machine without
// a network must not put all others to Sleep. After Tuning.NFailures in a row it blocks this process, for the same
// growing cooldown as Sleep, and then lets one probe through at a time.
type localBreaker struct {
	mu       sync.Mutex
	failures int           // in a row
	failing  time.Time     // time of the first of them
	lost     uint64        // the last failed connection
	until    time.Time     // nothing is sent before
	cooldown time.Duration // 0: not blocked
	probing  time.Time     // how long a probe blocks the next one; zero: no probe
}

// enter returns 0 if a request may be sent, perhaps as a probe, or else how long to wait before asking again. since is
// when the failures began.
func (k *localBreaker) enter(now time.Time) (wait time.Duration, since time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.cooldown == 0:
		return 0, k.failing
	case now.Before(k.until):
		return k.until.Sub(now), k.failing
	case now.Before(k.probing):
		return core.ProbeRetryWait, k.failing
	}
	k.probing = now.Add(core.MaxProbeLease)
	return 0, k.failing
}

// record counts the end of a request and returns the event for the shared state, without a local failure. blocked is
// the cooldown if this request starts a block, else 0.
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
		return shared, 0 // it was sent before the block
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
		if err := c.nap(ctx, min(wait, core.MaxRetryWait), true, nil, nil); err != nil {
			return err
		}
	}
}

func (l *Limiter) recordOutcome(e Event) Event {
	t := &l.tuned.Load().Tuning
	shared, blocked := l.breaker.record(time.Now(), e, t, l.draw())
	if blocked > 0 {
		l.warn(fmt.Errorf("%d requests in a row got no answer: this process sends nothing for %v, then probes; "+
			"other machines go on", t.NFailures, blocked))
	}
	return shared
}

const (
	// maxGrantAge is the age at which a permit expires unused: later, other processes no longer count it.
	maxGrantAge = 250 * time.Millisecond
	// defaultLease is how long a coordinator's lease lasts if its holder did not say how long it needs it.
	// renewInterval is how often such a lease is renewed.
	defaultLease  = 10 * time.Minute
	renewInterval = 3 * time.Minute
)

// localCeiling keeps a process below the ceiling by its own count, so that even a manipulated coordinator cannot remove
// the limit. It also renews leases.
type localCeiling struct {
	mu    sync.Mutex
	sent  []time.Time
	kept  map[core.PermitID]time.Time // permits with a renewed lease, by the time of their grant
	timer *time.Timer                 // for the next renewal
}

// accept reports whether a permit granted at decided may be used. If not, it returns how long to wait before the next
// ask.
func (g *localCeiling) accept(decided time.Time, t *Tuning) (wait time.Duration, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if now.Sub(decided) >= maxGrantAge {
		return 0, false
	}
	window := t.CeilingWindow - t.CeilingWindow/20 // permits arrive closer together than they were granted
	for len(g.sent) > 0 && now.Sub(g.sent[0]) >= window {
		g.sent = g.sent[1:]
	}
	if len(g.sent) >= t.Ceiling {
		return g.sent[0].Add(window).Sub(now), false
	}
	g.sent = append(g.sent, now)
	return 0, true
}

func (l *Limiter) keep(p core.PermitID) {
	g := &l.ceiling
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.kept == nil {
		g.kept = map[core.PermitID]time.Time{}
	}
	g.kept[p] = time.Now()
	if g.timer == nil {
		g.timer = time.AfterFunc(renewInterval, l.renew)
	}
}

func (l *Limiter) release(p core.PermitID) {
	l.ceiling.mu.Lock()
	delete(l.ceiling.kept, p)
	l.ceiling.mu.Unlock()
}

// renew extends the kept leases in one update, except those older than core.MaxLease, whose callers have probably
// forgotten them.
func (l *Limiter) renew() {
	g := &l.ceiling
	g.mu.Lock()
	kept := make(map[core.PermitID]bool, len(g.kept))
	for p, since := range g.kept {
		if time.Since(since) >= core.MaxLease {
			delete(g.kept, p)
			continue
		}
		kept[p] = true
	}
	g.timer = nil
	if len(kept) > 0 && !l.closed.Load() {
		g.timer = time.AfterFunc(renewInterval, l.renew)
	}
	g.mu.Unlock()
	if len(kept) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), renewInterval)
	defer cancel()
	err := l.store.Update(ctx, func(at Instant, s *Snapshot) error {
		s.Renew(at, kept, defaultLease)
		return nil
	})
	if err != nil {
		l.warn(fmt.Errorf("renew permits: %w", err))
	}
}
