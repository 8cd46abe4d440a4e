package ratelimit

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// link is what one process knows of its own network, where several machines share the state. A machine without a
// network must not put all others to Sleep, so requests without an answer count in their process alone: as many in a
// row block it as would block everybody, for the same growing cooldown, and then one probe at a time finds out.
type link struct {
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
func (k *link) enter(now time.Time) (wait time.Duration, since time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.cooldown == 0:
		return 0, k.failing
	case now.Before(k.until):
		return k.until.Sub(now), k.failing
	case now.Before(k.probing):
		return probeNap, k.failing
	}
	k.probing = now.Add(probeHold)
	return 0, k.failing
}

// record takes note of the end of a request, and returns the event as everybody may see it. It reports whether the
// process is blocked from now on.
func (k *link) record(now time.Time, e Event, t *Tuning, draw float64) (_ Event, blocked time.Duration) {
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

// drop gives the right to probe back.
func (k *link) drop() {
	k.mu.Lock()
	k.probing = time.Time{}
	k.mu.Unlock()
}

// link waits until the process's own network lets the request go.
func (c *call) link(ctx context.Context) error {
	for {
		wait, since := c.l.link.enter(time.Now())
		if wait == 0 {
			return nil
		}
		if long := time.Since(since) > c.l.tuned.Load().MaxWait; long || wait > c.left() {
			return &BlockedError{Block{Sleep, ReasonConsecutiveFailures, since, time.Now().Add(wait)}}
		}
		if err := c.nap(ctx, min(wait, maxNap), true, nil, nil); err != nil {
			return err
		}
	}
}

// unlinked makes of a request without an answer what the others may hear of it.
func (l *Limiter) unlinked(e Event) Event {
	t := &l.tuned.Load().Tuning
	shared, blocked := l.link.record(time.Now(), e, t, l.draw())
	if blocked > 0 {
		l.warn(fmt.Errorf("%d requests in a row got no answer: this process sends nothing for %v, then probes; "+
			"other machines go on", t.NFailures, blocked))
	}
	return shared
}
