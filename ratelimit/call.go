package ratelimit

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// This file decides how one request waits: outside all locks, in naps after
// which it asks again, and for no longer than max_wait in all, retries included.

// call is one request with all its tries.
type call struct {
	l           *Limiter
	attempt     int           // from 1
	waited      time.Duration // of all waits that count against max_wait
	hold        time.Duration // Ask.Hold
	reservation *Reservation
	backoff     *backoff.ExponentialBackOff // of its retries
}

const (
	reapStalled = 5 * time.Millisecond // between looks for the dead while they may hold a slot
	reapWaiting = time.Second          // while waiting for anything else
	reapAlways  = 10 * time.Second     // at any rate
)

// acquire waits for a permit.
func (c *call) acquire(ctx context.Context) (*Permit, error) {
	l := c.l
	if l.offline {
		return nil, &BlockedError{State: CacheOnly, Cause: ReasonOffline}
	}
	if c.reservation != nil && c.reservation.refused != nil {
		return nil, c.reservation.refused
	}
	if err := l.gate.enter(ctx); err != nil {
		return nil, err
	}
	reserved := c.reservation.take()
	pass, err := c.queue(ctx, reserved)
	if err != nil {
		if reserved && !c.reservation.put() {
			l.unreserve(1)
		}
		l.gate.leave()
		return nil, err
	}
	return &Permit{l: l, pass: pass, attempt: c.attempt, granted: time.Now(), reservation: c.reservation}, nil
}

// queue asks until it is granted, refused, out of patience or cancelled.
func (c *call) queue(ctx context.Context, reserved bool) (pass Pass, err error) {
	l := c.l
	l.reap(ctx, reapAlways)
	o := l.ops.Get().(*op)
	defer l.ops.Put(o)
	var w wait
	defer func() { w.end(c, o.gauges) }()
	o.ask = Ask{}
	lastChance := true
	for {
		freed, moved := l.freed.mark(), l.moved.mark()
		o.kind = opGrant
		o.ask = Ask{Ticket: o.ask.Ticket, Patience: c.left(), Hold: c.hold, Reserved: reserved}
		if err := l.do(ctx, o); err != nil {
			c.withdraw(o.ask.Ticket)
			return Pass{}, err
		}
		g := &o.grant
		o.ask.Ticket = g.Ticket
		switch {
		case g.Granted:
			return g.Pass, nil
		case g.Refused && g.Why == WhyBudget && lastChance:
			lastChance = false // the dead may have reserved
			if l.reap(ctx, 0) {
				continue
			}
			fallthrough
		case g.Refused:
			return Pass{}, c.refusal(o)
		case l.closed.Load():
			c.withdraw(g.Ticket)
			return Pass{}, ErrClosed
		}
		patience := c.left()
		counts := g.Why != WhyCacheOnly
		if counts && patience <= 0 {
			c.withdraw(g.Ticket)
			return Pass{}, &AcquireTimeoutError{Waited: c.waited, Why: g.Why, State: g.State}
		}
		w.begin(c, g, o.gauges)
		if g.Why == WhySlot && g.Head && l.reap(ctx, reapStalled) || l.reap(ctx, reapWaiting) {
			continue
		}
		var slot <-chan struct{}
		if g.Why == WhySlot || g.Why == WhyTurn {
			slot = l.freed.listen(freed)
		}
		nap := g.Wait
		if counts {
			nap = min(nap, patience)
		}
		if err := c.nap(ctx, nap, counts, slot, l.moved.listen(moved)); err != nil {
			c.withdraw(g.Ticket)
			return Pass{}, err
		}
	}
}

// retry waits before the next try of a request: for its own backoff, except after a 429,
// whose pause is everybody's, and until there have not been too many retries.
func (c *call) retry(ctx context.Context, after Outcome) error {
	l := c.l
	if c.backoff == nil {
		c.backoff = newBackOff()
	}
	delay := c.backoff.NextBackOff()
	if after == Throttled {
		delay = 0
	}
	c.attempt++
	if delay > c.left() {
		return &BlockedError{State: State(l.state.Load()), Cause: ReasonBackoff, Until: time.Now().Add(delay)}
	}
	o := l.ops.Get().(*op)
	defer l.ops.Put(o)
	o.kind, o.ask = opRetry, Ask{Patience: c.left()}
	if err := l.do(ctx, o); err != nil {
		return err
	}
	if o.grant.Refused {
		return c.refusal(o)
	}
	if delay <= 0 {
		return nil
	}
	var w wait
	defer func() { w.end(c, o.gauges) }()
	g := Grant{Why: WhyBackoff, Cause: ReasonBackoff, State: o.state, Until: time.Now().Add(delay)}
	w.begin(c, &g, o.gauges)
	return c.nap(ctx, delay, true, nil, nil)
}

// refusal is the error for a refused grant.
func (c *call) refusal(o *op) error {
	if o.grant.Why == WhyBudget {
		e := o.budget
		return &e
	}
	g := &o.grant
	return &BlockedError{State: g.State, Cause: g.Cause, Since: g.Since, Until: g.Until}
}

// left returns how long the request may still wait.
func (c *call) left() time.Duration { return max(c.l.tuned.Load().MaxWait-c.waited, 0) }

// nap waits until d has passed or something has changed.
func (c *call) nap(ctx context.Context, d time.Duration, counts bool, freed, moved <-chan struct{}) error {
	start := time.Now()
	timer := time.NewTimer(d)
	defer timer.Stop()
	var err error
	select {
	case <-timer.C:
	case <-freed:
	case <-moved:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if counts {
		c.waited += time.Since(start)
	}
	return err
}

// withdraw gives a ticket back; the request may have been cancelled, so it is
// done in the name of nobody.
func (c *call) withdraw(number uint64) {
	if number == 0 {
		return
	}
	err := c.l.store.Update(context.Background(), func(at Instant, s *Snapshot) error {
		s.Withdraw(at, number)
		return nil
	})
	if err != nil {
		c.l.warn(err)
	}
	c.l.freed.ring() // whoever was behind has moved up
}

// wait reports one long wait: waits for the bucket and for slots are everyday life.
type wait struct {
	info  WaitInfo
	start time.Time
}

func (w *wait) begin(c *call, g *Grant, gauges Gauges) {
	switch g.Why {
	case WhyNothing, WhySlot, WhyToken, WhyCeiling, WhyTurn, WhyBudget:
		w.end(c, gauges)
		return
	case WhyPause, WhySleep, WhyCacheOnly, WhyBackoff:
		if !g.Until.After(time.Now()) {
			return // over before it is told
		}
	}
	if w.info.Why == g.Why && w.info.Cause == g.Cause && w.info.State == g.State && sameMoment(w.info.Until, g.Until) {
		return
	}
	w.end(c, gauges)
	w.info = WaitInfo{Why: g.Why, Cause: g.Cause, State: g.State, Until: g.Until, Attempt: c.attempt, Gauges: gauges}
	w.start = time.Now()
	if c.l.hooks.OnWait != nil {
		c.l.hooks.OnWait(w.info)
	}
}

func (w *wait) end(c *call, gauges Gauges) {
	if w.info.Why == WhyNothing {
		return
	}
	w.info.Ended, w.info.Waited, w.info.Gauges = true, time.Since(w.start), gauges
	if c.l.hooks.OnWait != nil {
		c.l.hooks.OnWait(w.info)
	}
	w.info = WaitInfo{}
}

// sameMoment ignores what setting the clock by a little changes in a shared time.
func sameMoment(a, b time.Time) bool { return a.Sub(b).Abs() < time.Second }

// reap looks for dead processes and drops what they held, unless that has been
// done within the last every. It reports whether it has found any.
func (l *Limiter) reap(ctx context.Context, every time.Duration) bool {
	if l.live == nil {
		return false
	}
	now, last := int64(time.Since(l.start)), l.reaped.Load()
	if now-last < int64(every) || !l.reaped.CompareAndSwap(last, now) {
		return false
	}
	var others []string
	err := l.store.Update(ctx, func(_ Instant, s *Snapshot) error {
		for _, id := range s.Owners() {
			if id != l.owner {
				others = append(others, id)
			}
		}
		return nil
	})
	if err != nil || len(others) == 0 {
		return false // who asks next meets the same error and reports it
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
