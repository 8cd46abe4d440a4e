package ratelimit

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/anivault/anivault/ratelimit/internal/core"
)

// call is one request with all its tries. It waits outside all locks, in naps after which it
// asks again, and for no longer than max-wait in all.
type call struct {
	Request
	l       *Limiter
	attempt int           // from 1
	hold    time.Duration // Ask.Hold
	since   time.Time     // when it began to wait, of which Waited is not yet; zero while the request is on the wire
	insists time.Duration // how long it has waited for exactly the account and key that it prefers
}

// minStoreWait is what a request that may not wait at all waits for the store.
const minStoreWait = 50 * time.Millisecond

func newCall(ctx context.Context, l *Limiter, hold time.Duration) *call {
	return &call{Request: carriedBy(ctx).Request, l: l, attempt: 1, hold: hold, since: time.Now()}
}

// pauseClock and resumeClock stop and start the clock of max-wait around a try.
func (c *call) pauseClock()  { c.Waited, c.since = c.waitedTotal(), time.Time{} }
func (c *call) resumeClock() { c.since = time.Now() }

func (c *call) waitedTotal() time.Duration {
	if c.since.IsZero() {
		return c.Waited
	}
	return c.Waited + time.Since(c.since)
}

// left returns how long the request may still wait.
func (c *call) left() time.Duration { return max(-c.overdue(), 0) }

// overdue returns by how much the request has waited longer than max-wait.
func (c *call) overdue() time.Duration {
	return c.waitedTotal() - cmp.Or(c.MaxWait, c.l.tuned.Load().MaxWait)
}

func (c *call) preference() *Preference {
	if c.Prefer == (Preference{}) || !c.Prefer.Test && c.insists >= c.PreferFor {
		return nil
	}
	return &c.Prefer
}

func (c *call) timeout(cause Reason, in State) error {
	return &AcquireTimeoutError{Waited: c.waitedTotal(), Cause: cause, State: in}
}

func (c *call) acquire(ctx context.Context) (*Permit, error) {
	l := c.l
	if l.offline {
		return nil, &BlockedError{Block{State: CacheOnly, Cause: ReasonOffline}}
	}
	if c.Reservation != nil && c.Reservation.refused != nil {
		return nil, c.Reservation.refused
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p := &Permit{l: l, attempt: c.attempt, reservation: c.Reservation}
	reserved, granted := false, false
	defer func() {
		if granted {
			return
		}
		p.leave()
		if reserved && !c.Reservation.put() {
			l.unreserve(1)
		}
	}()
	if err := c.enter(ctx, &p.place); err != nil {
		return nil, err
	}
	if l.coordinated {
		if err := c.awaitNetwork(ctx); err != nil {
			return nil, err
		}
		defer func() {
			if !granted {
				l.breaker.drop()
			}
		}()
	}
	reserved = c.Reservation.take()
	g, err := c.queue(ctx, reserved)
	if err != nil {
		return nil, err
	}
	granted = true
	if l.coordinated && c.hold == 0 {
		l.keep(g.Pass)
	}
	p.pass, p.booked, p.choice, p.granted = g.Pass, g.Booked, g.Choice, time.Now()
	l.gate.hold(&p.place, p.granted.Add(g.Hold))
	if p.place.queued {
		p.place.granted = true
		l.queue.Granted()
	}
	return p, nil
}

// enter waits for a place among the requests of this process that may ask.
func (c *call) enter(ctx context.Context, p *place) error {
	l := c.l
	if l.queue != nil {
		return c.enterQueue(ctx, p)
	}
	if l.gate.join(p) {
		return nil
	}
	for {
		// Behind requests that recover automatically it waits in CacheOnly for as long as they do.
		counts := l.tuned.Load().AutoRecover == 0 || State(l.state.Load()) != CacheOnly
		nap := core.MaxNap
		if counts {
			nap = min(nap, c.left())
		}
		if err := c.nap(ctx, nap, counts, p.ready, nil); err != nil {
			return err
		}
		if l.gate.admitted(p) {
			return nil
		}
		if counts && c.left() <= 0 {
			return c.timeout(ReasonTurn, State(l.state.Load()))
		}
	}
}

// errPatience ends the wait in a Queue with max-wait.
var errPatience = errors.New("max-wait has passed")

// enterQueue is enter where another queue stands in front.
func (c *call) enterQueue(ctx context.Context, p *place) error {
	l := c.l
	inner, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer time.AfterFunc(c.left(), func() { end(errPatience) }).Stop()
	defer context.AfterFunc(l.life, func() { end(ErrClosed) })()
	err := l.queue.Enter(inner)
	switch cause := context.Cause(inner); {
	case err == nil:
		p.queued = true
	case ctx.Err() != nil || inner.Err() == nil: // the caller's, or the queue's own
	case errors.Is(cause, errPatience):
		return c.timeout(ReasonTurn, State(l.state.Load()))
	default:
		return cause
	}
	return err
}

// leave gives a place back and reports whether it was held.
func (l *Limiter) leave(p *place) bool {
	if l.queue == nil {
		return l.gate.leave(p)
	}
	held := p.queued
	p.queued = false
	if held {
		l.queue.Leave(p.granted)
	}
	return held
}

// acquisition is a request in the shared queue.
type acquisition struct {
	*call
	ask    Ask
	grant  core.Grant
	gauges Gauges
	told   wait

	decided time.Time // with a coordinator: when grant was made
}

// queue asks until it is granted, refused, out of patience or cancelled.
func (c *call) queue(ctx context.Context, reserved bool) (core.Grant, error) {
	l := c.l
	l.reap(ctx, reapAlways, c.patience())
	q := acquisition{call: c, ask: Ask{Owner: l.owner, Hold: c.hold, Reserved: reserved, Nap: l.nap}}
	if c.hold == 0 && l.coordinated {
		q.ask.Hold = leaseKept
	}
	kept := false
	defer func() {
		if !kept { // also when a hook panics
			q.abandon()
		}
	}()
	err := q.wait(ctx)
	q.told.end(c, q.gauges)
	kept = err == nil
	return q.grant, err
}

// try is one ask.
func (q *acquisition) try(at Instant, s *Snapshot, t *Tuning) (Transition, bool, error) {
	l := q.l
	if l.closed.Load() {
		return Transition{}, false, ErrClosed
	}
	a := q.ask
	a.Tuning, a.Budget, a.Patience = t, t.Budget.On(), q.left()
	if at.Parts > 1 {
		a.Nap = 0 // nobody wakes who is alone, and to ask is cheap there
	}
	a.Accounts, a.Prefer = l.ownAccounts(), q.preference()
	q.grant = s.TryGrant(at, a)
	l.contended.Store(q.grant.Contended)
	if l.coordinated {
		q.decided = time.Now()
	}
	return q.grant.Transition, q.grant.Moved, nil
}

func (q *acquisition) wait(ctx context.Context) error {
	c, l, g := q.call, q.l, &q.grant
	lastChance := true
	for {
		freed, moved := l.freed.mark(), l.moved.mark()
		if err := q.update(ctx); err != nil {
			return err
		}
		q.ask.Ticket = g.Ticket
		switch {
		case g.Granted && !l.coordinated:
			return nil
		case g.Granted:
			if ok, err := q.accepted(ctx); ok || err != nil {
				return err
			}
			continue
		case g.Refused && g.Cause == ReasonBudget:
			if lastChance && l.reap(ctx, 0, c.patience()) { // a dead process may have reserved
				lastChance = false
				continue
			}
			return g.Spent
		case g.Refused:
			return &BlockedError{g.Block}
		}
		counts, patience := g.State != CacheOnly, c.left()
		if counts && patience <= 0 {
			return c.timeout(g.Cause, g.State)
		}
		q.told.begin(c, g.Block, q.gauges)
		stalled := g.Cause == ReasonSlot && g.Head || g.Cause == ReasonAccount
		reaped := stalled && l.reap(ctx, reapStalled, patience) || l.reap(ctx, reapWaiting, patience)
		if counts && c.left() <= 0 { // the look for the dead took an update of its own
			return c.timeout(g.Cause, g.State)
		}
		if reaped {
			continue
		}
		if err := q.sleep(ctx, counts, freed, moved); err != nil {
			return err
		}
	}
}

// sleep waits until it is worth asking again.
func (q *acquisition) sleep(ctx context.Context, counts bool, freed, moved uint64) error {
	c, l, g := q.call, q.l, &q.grant
	nap := g.Wait
	if counts {
		nap = min(nap, c.left())
	}
	if g.Pinned {
		nap = min(nap, c.PreferFor-c.insists)
	}
	var slot <-chan struct{}
	if g.Cause == ReasonSlot || g.Cause == ReasonTurn || g.Cause == ReasonAccount {
		slot = l.freed.listen(freed)
	}
	start := time.Now()
	err := c.nap(ctx, nap, counts, slot, l.moved.listen(moved))
	if g.Pinned {
		c.insists += time.Since(start)
	}
	return err
}

// accepted reports whether a permit that others have a hand in can be used. One that can't is given back, and waited
// for anew.
func (q *acquisition) accepted(ctx context.Context) (bool, error) {
	wait, ok := q.l.ceiling.accept(q.decided, &q.l.tuned.Load().Tuning)
	if ok {
		return true, nil
	}
	q.giveBack()
	if q.left() <= 0 {
		return false, q.timeout(ReasonCeiling, q.grant.State)
	}
	return false, q.nap(ctx, wait, true, nil, nil)
}

// patience returns how long a request waits for the store: at least minStoreWait, and at most what is left of max-wait.
func (c *call) patience() time.Duration { return max(c.left(), minStoreWait) }

// update asks once. Waiting for the store ends with max-wait.
func (q *acquisition) update(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, q.patience())
	defer cancel()
	var err error
	q.gauges, err = q.l.do(bounded, q.try)
	if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		err = q.timeout(ReasonTurn, State(q.l.state.Load()))
	}
	return err
}

// giveBack returns a permit that came too late to be used, and stands in line again.
func (q *acquisition) giveBack() {
	l, pass := q.l, q.grant.Pass
	err := l.store.Update(context.Background(), func(at Instant, s *Snapshot) error {
		s.Record(at, Report{Owner: l.owner, Tuning: &l.tune(at, s).Tuning, Pass: pass, KeepBudget: q.ask.Reserved})
		return nil
	})
	if err != nil {
		l.warn(err)
	}
	q.grant, q.ask.Ticket = core.Grant{}, 0
}

// abandon takes back what a request that ends without a permit has in the store, if the store lets it at once; else
// its ticket is passed when it is late, and its lease runs out. A ticket for which a slow store took more than max-wait
// is left: to take it back would take another update.
func (q *acquisition) abandon() {
	l, g := q.l, &q.grant
	if !g.Granted && (q.ask.Ticket == 0 || l.closed.Load() || q.overdue() > minStoreWait) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), minStoreWait)
	defer cancel()
	err := l.store.Update(ctx, func(at Instant, s *Snapshot) error {
		s.Withdraw(at, q.ask.Ticket)
		if g.Granted {
			s.Record(at, Report{Owner: l.owner, Tuning: &l.tune(at, s).Tuning, Pass: g.Pass})
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		l.warn(err)
	}
	l.freed.ring() // the tickets behind have moved up
}

func (c *call) retry(ctx context.Context, after Outcome) error {
	l := c.l
	delay := RetryDelay(c.attempt, after, l.draw())
	c.attempt++
	if delay > c.left() {
		return &BlockedError{Block{State: State(l.state.Load()), Cause: ReasonBackoff, Until: time.Now().Add(delay)}}
	}
	block, refused, gauges, err := c.blocked(ctx)
	switch {
	case err != nil:
		return err
	case refused:
		return &BlockedError{block}
	case delay <= 0:
		return nil
	}
	var w wait
	defer func() { w.end(c, gauges) }()
	w.begin(c, Block{State: block.State, Cause: ReasonBackoff, Until: time.Now().Add(delay)}, gauges)
	return c.nap(ctx, delay, true, nil, nil)
}

// blocked reports whether the request would be refused now, and by what.
func (c *call) blocked(ctx context.Context) (block Block, refused bool, gauges Gauges, err error) {
	l := c.l
	ask := Ask{Owner: l.owner, Tuning: &l.tuned.Load().Tuning, Patience: c.left()}
	err = l.store.Update(ctx, func(at Instant, s *Snapshot) error {
		block, refused = s.Blocked(at, ask)
		gauges = s.Gauges(ask.Tuning)
		return ErrUnchanged
	})
	return block, refused, gauges, err
}

// nap waits until d has passed, something has changed, or the limiter is closed. What does not count is not taken
// from max-wait.
func (c *call) nap(ctx context.Context, d time.Duration, counts bool, freed, moved <-chan struct{}) error {
	start := time.Now()
	timer := time.NewTimer(d)
	defer timer.Stop()
	var err error
	select {
	case <-timer.C:
	case <-freed:
	case <-moved:
	case <-c.l.wake:
		c.l.freed.ring() // it may be the turn of another request of this process
	case <-c.l.life.Done():
		err = ErrClosed
	case <-ctx.Done():
		err = ctx.Err()
	}
	if !counts {
		c.Waited -= time.Since(start)
	}
	return err
}

// wait reports one wait that is not common.
type wait struct {
	info  WaitInfo
	start time.Time // zero: there is none
}

func (w *wait) begin(c *call, b Block, gauges Gauges) {
	switch {
	case b.Cause.IsCommon():
		w.end(c, gauges)
		return
	case !b.Until.After(time.Now()):
		return // over before it is told
	case !w.start.IsZero() && w.info.Cause == b.Cause && w.info.State == b.State && sameMoment(w.info.Until, b.Until):
		return
	}
	w.end(c, gauges)
	w.info, w.start = WaitInfo{Block: b, Attempt: c.attempt, Gauges: gauges}, time.Now()
	if c.l.hooks.OnWait != nil {
		c.l.hooks.OnWait(w.info)
	}
}

func (w *wait) end(c *call, gauges Gauges) {
	if w.start.IsZero() {
		return
	}
	info := w.info
	info.Ended, info.Waited, info.Gauges = true, time.Since(w.start), gauges
	*w = wait{}
	if c.l.hooks.OnWait != nil {
		c.l.hooks.OnWait(info)
	}
}

// sameMoment ignores what setting the clock by a little changes in a shared time.
func sameMoment(a, b time.Time) bool { return a.Sub(b).Abs() < time.Second }
