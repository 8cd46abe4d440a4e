package ratelimit

import (
	"cmp"
	"context"
	"errors"
	"time"
)

// call is one request with all its tries. It waits outside all locks, in naps after which it
// asks again, and for no longer than max-wait in all.
type call struct {
	l           *Limiter
	attempt     int           // from 1
	hold        time.Duration // Ask.Hold
	reservation *Reservation
	maxWait     time.Duration // 0: the tuning's
	waited      time.Duration // of max-wait, until since
	since       time.Time     // when it began to wait; zero while the request is on the wire
	asking      asking

	prefer *Preference   // the account and key that it would like to keep; nil: any
	keep   time.Duration // for how long it waits for exactly those
	kept   time.Duration // and how long it has
}

// moment is what a request that may not wait at all waits for the store.
const moment = 50 * time.Millisecond

type waitedKey struct{}

// WithWaited returns a context whose requests have used d of Tuning.MaxWait before they come to the limiter, such
// as in a queue of the caller's own. A request's context is all that an http.Client hands on.
func WithWaited(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, waitedKey{}, d+waitedFrom(ctx))
}

func waitedFrom(ctx context.Context) time.Duration {
	d, _ := ctx.Value(waitedKey{}).(time.Duration)
	return d
}

type maxWaitKey struct{}

// WithMaxWait returns a context whose requests wait for at most d in place of Tuning.MaxWait.
func WithMaxWait(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, maxWaitKey{}, d)
}

type leftKey struct{}

// WaitLeft returns how much of Tuning.MaxWait is left to the request whose try ctx is of, so that a server which lets
// requests wait can be told how long it may; ok is false for any other context.
func WaitLeft(ctx context.Context) (left time.Duration, ok bool) {
	left, ok = ctx.Value(leftKey{}).(time.Duration)
	return left, ok
}

// newCall returns a call of calls, to which the caller gives it back.
func newCall(ctx context.Context, l *Limiter, hold time.Duration) *call {
	maxWait, _ := ctx.Value(maxWaitKey{}).(time.Duration)
	c := calls.Get().(*call)
	*c = call{
		l: l, attempt: 1, hold: hold, reservation: reservationFrom(ctx),
		maxWait: maxWait, waited: waitedFrom(ctx), since: time.Now(),
	}
	if l.accounts.Load() != nil {
		c.prefers(ctx)
	}
	return c
}

// depart and arrive stop and start the clock of max-wait around a try.
func (c *call) depart() { c.waited, c.since = c.soFar(), time.Time{} }
func (c *call) arrive() { c.since = time.Now() }

// soFar returns how long the request has waited.
func (c *call) soFar() time.Duration {
	if c.since.IsZero() {
		return c.waited
	}
	return c.waited + time.Since(c.since)
}

// left returns how long the request may still wait.
func (c *call) left() time.Duration { return max(-c.overdue(), 0) }

// overdue returns by how much the request has waited longer than max-wait.
func (c *call) overdue() time.Duration {
	return c.soFar() - cmp.Or(c.maxWait, c.l.tuned.Load().MaxWait)
}

// acquire waits for a permit.
func (c *call) acquire(ctx context.Context) (*Permit, error) {
	l := c.l
	if l.offline {
		return nil, &BlockedError{Block{State: CacheOnly, Cause: ReasonOffline}}
	}
	if c.reservation != nil && c.reservation.refused != nil {
		return nil, c.reservation.refused
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p := &Permit{l: l, attempt: c.attempt, reservation: c.reservation}
	reserved, granted := false, false
	defer func() {
		if granted {
			return
		}
		p.leave()
		if reserved && !c.reservation.put() {
			l.unreserve(1)
		}
	}()
	if err := c.enter(ctx, &p.place); err != nil {
		return nil, err
	}
	if l.coordinated {
		if err := c.link(ctx); err != nil {
			return nil, err
		}
		defer func() {
			if !granted {
				l.link.drop()
			}
		}()
	}
	reserved = c.reservation.take()
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
		nap := maxNap
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
			return &AcquireTimeoutError{Waited: c.soFar(), Cause: ReasonTurn, State: State(l.state.Load())}
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
		return &AcquireTimeoutError{Waited: c.soFar(), Cause: ReasonTurn, State: State(l.state.Load())}
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

// asking is a request in the shared queue.
type asking struct {
	c     *call
	ask   Ask
	now   seen
	g     Grant
	spent BudgetError
	w     wait

	decided time.Time // with a coordinator: when g was made
}

// step is one ask.
func (q *asking) step(at Instant, s *Snapshot, t *Tuning) (Transition, bool, error) {
	if q.c.l.closed.Load() {
		return Transition{}, false, ErrClosed
	}
	a := q.ask
	a.Tuning, a.Budget, a.Patience = t, t.Budget.On(), q.c.left()
	if at.Parts > 1 {
		a.Nap = 0 // nobody wakes who is alone, and to ask is cheap there
	}
	a.Accounts, a.Prefer = q.c.l.ownAccounts(), q.c.preference()
	q.g = s.TryGrant(at, a)
	q.c.l.contended.Store(s.contends(a.Owner))
	if q.c.l.coordinated {
		q.decided = time.Now()
	}
	if q.g.Cause == ReasonBudget {
		q.spent = s.spent(t, 1, s.rationed(s.clock.now, a.Accounts, t, at.Parts))
	}
	return q.g.Transition, q.g.Moved, nil
}

// queue asks until it is granted, refused, out of patience or cancelled.
func (c *call) queue(ctx context.Context, reserved bool) (Grant, error) {
	l := c.l
	l.reap(ctx, reapAlways, c.patience())
	q := &c.asking
	*q = asking{c: c, ask: Ask{Owner: l.owner, Hold: l.holdOf(c.hold), Reserved: reserved, Nap: l.nap}}
	kept := false
	defer func() {
		if !kept { // also when a hook panics
			q.abandon()
		}
	}()
	err := q.wait(ctx)
	q.w.end(c, q.now.gauges)
	kept = err == nil
	return q.g, err
}

func (q *asking) wait(ctx context.Context) error {
	c, l, g := q.c, q.c.l, &q.g
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
			spent := q.spent
			return &spent
		case g.Refused:
			return &BlockedError{g.Block}
		}
		counts, patience := g.State != CacheOnly, c.left()
		if counts && patience <= 0 {
			return q.timeout()
		}
		q.w.begin(c, g.Block, q.now.gauges)
		stalled := g.Cause == ReasonSlot && g.Head || g.Cause == ReasonAccount
		reaped := stalled && l.reap(ctx, reapStalled, patience) || l.reap(ctx, reapWaiting, patience)
		if counts && c.left() <= 0 { // the look for the dead took an update of its own
			return q.timeout()
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
func (q *asking) sleep(ctx context.Context, counts bool, freed, moved uint64) error {
	c, l, g := q.c, q.c.l, &q.g
	nap := g.Wait
	if counts {
		nap = min(nap, c.left())
	}
	if g.pinned {
		nap = min(nap, c.keep-c.kept)
	}
	var slot <-chan struct{}
	if g.Cause == ReasonSlot || g.Cause == ReasonTurn || g.Cause == ReasonAccount {
		slot = l.freed.listen(freed)
	}
	start := time.Now()
	err := c.nap(ctx, nap, counts, slot, l.moved.listen(moved))
	if g.pinned {
		c.kept += time.Since(start)
	}
	return err
}

// accepted reports whether a permit that others have a hand in can be used. One that can't is given back, and waited for
// anew.
func (q *asking) accepted(ctx context.Context) (bool, error) {
	c := q.c
	wait, ok := c.l.guard.accept(q.decided, &c.l.tuned.Load().Tuning)
	if ok {
		return true, nil
	}
	q.giveBack()
	if c.left() <= 0 {
		q.g.Cause = ReasonCeiling
		return false, q.timeout()
	}
	return false, c.nap(ctx, wait, true, nil, nil)
}

// timeout is the end of max-wait.
func (q *asking) timeout() error {
	return &AcquireTimeoutError{Waited: q.c.soFar(), Cause: q.g.Cause, State: q.g.State}
}

// patience returns how long a request waits for the store: at least a moment, and at most what is left of max-wait.
func (c *call) patience() time.Duration { return max(c.left(), moment) }

// holdOf returns how long a permit is asked for; 0: unknown.
func (l *Limiter) holdOf(hold time.Duration) time.Duration {
	if hold == 0 && l.coordinated {
		return leaseKept
	}
	return hold
}

// update makes a step. Waiting for the store ends with max-wait.
func (q *asking) update(ctx context.Context) (err error) {
	c := q.c
	bounded, cancel := context.WithTimeout(ctx, c.patience())
	defer cancel()
	q.now, err = c.l.do(bounded, q)
	if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		err = &AcquireTimeoutError{Waited: c.soFar(), Cause: ReasonTurn, State: State(c.l.state.Load())}
	}
	return err
}

// giveBack returns a permit that came too late to be used, and stands in line again.
func (q *asking) giveBack() {
	l, pass := q.c.l, q.g.Pass
	r := Report{Owner: l.owner, Pass: pass, KeepBudget: q.ask.Reserved}
	err := l.store.Update(context.Background(), func(at Instant, s *Snapshot) error {
		report := r
		report.Tuning = &l.tune(at, s).Tuning
		s.Record(at, report)
		return nil
	})
	if err != nil {
		l.warn(err)
	}
	q.g, q.ask.Ticket = Grant{}, 0
}

// abandon takes back what a request that ends without a permit has in the store, if the store lets it at once; else
// its ticket is passed when it is late, and its lease runs out. A ticket for which a slow store took more than max-wait
// is left: to take it back would take another update.
func (q *asking) abandon() {
	l, g := q.c.l, &q.g
	if !g.Granted && (q.ask.Ticket == 0 || l.closed.Load() || q.c.overdue() > moment) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), moment)
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

// retry waits before the next try of a request.
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
		c.waited -= time.Since(start)
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
	case b.Cause.isCommon():
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
