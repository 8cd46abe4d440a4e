package ratelimit

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/anivault/anivault/ratelimit/internal/core"
)

// call is one request with all its tries. It waits without holding any lock. It sleeps in short naps, asks again after
// each, and gives up when all its waits together exceed max-wait.
type call struct {
	Request
	l       *Limiter
	attempt int // from 1
	excused int // tries that don't count against MaxRetries, because an outage or a limit made them fail

	lastExcused    bool          // the last try was excused
	earlierTries   tryRecord     // earlier tries of a caller that retries by itself (see Tries)
	callerAttempts int           // failed attempts of that caller
	maxHold        time.Duration // upper bound for how long the permit is needed; 0: unknown
	// start of the present wait, which Waited doesn't contain yet; zero while the request is on the wire
	waitingSince  time.Time
	preferredWait time.Duration // total time spent waiting for exactly the preferred account and key

	// State of the present try:
	ask          core.PermitRequest
	permitUpdate update
	grant        core.Grant // the store's last answer
	grantedAt    time.Time  // when grant was given; set only if several machines share the store
	reportedWait WaitInfo   // the wait that OnWait was last called with
	waitBegan    time.Time  // when reportedWait began; zero: none
}

// minStoreWait is how long a request with no max-wait left still waits for the store.
const minStoreWait = 50 * time.Millisecond

func newCall(ctx context.Context, l *Limiter, maxHold time.Duration) *call {
	return &call{Request: requestFrom(ctx).Request, l: l, attempt: 1, maxHold: maxHold, waitingSince: time.Now()}
}

func (c *call) waitedTotal() time.Duration {
	if c.waitingSince.IsZero() {
		return c.Waited
	}
	return c.Waited + time.Since(c.waitingSince)
}

func (c *call) waitLeft() time.Duration { return max(-c.overdue(), 0) }

func (c *call) overdue() time.Duration {
	return c.waitedTotal() - cmp.Or(c.MaxWait, c.l.effectiveTuning.Load().MaxWait)
}

// patience returns how long the request waits for the store: what is left of max-wait, but at least minStoreWait.
func (c *call) patience() time.Duration { return max(c.waitLeft(), minStoreWait) }

func (c *call) timeout(cause Reason, state State) *AcquireTimeoutError {
	return &AcquireTimeoutError{
		Waited: c.waitedTotal(), Cause: cause, State: state, Out: int(c.l.unreturnedPermits.Load()),
	}
}

func (c *call) acquire(ctx context.Context) (*Permit, error) {
	l := c.l
	if l.offline {
		return nil, &BlockedError{Block{State: CacheOnly, Cause: ReasonOffline}}
	}
	if c.Reservation != nil && c.Reservation.refusal != nil {
		return nil, c.Reservation.refusal
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p, err := c.await(ctx)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) && errors.Is(err, ctx.Err()) {
		late := c.timeout(cmp.Or(c.grant.Cause, ReasonTurn), State(l.state.Load()))
		late.Err = err
		return nil, late
	}
	return p, err
}

func (c *call) await(ctx context.Context) (*Permit, error) {
	l := c.l
	p := &Permit{l: l, attempt: c.earlierTries.tries + c.attempt, reservation: c.Reservation}
	reserved, granted := false, false
	defer func() {
		if granted {
			return
		}
		p.leave()
		if reserved && !c.Reservation.putBack() {
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
				l.breaker.mu.Lock()
				l.breaker.probeUntil = time.Time{}
				l.breaker.mu.Unlock()
			}
		}()
	}
	reserved = c.Reservation.take()
	if err := c.queueUp(ctx, reserved); err != nil {
		return nil, err
	}
	granted = true
	l.unreturnedPermits.Add(1)
	g := &c.grant
	if l.coordinated && c.maxHold == 0 {
		l.startRenewal(g.Pass)
	}
	p.isProbe = c.grant.State == HalfOpen
	p.permitID, p.hasBudget, p.choice, p.grantedAt = g.Pass, g.HasBudget, g.Choice, time.Now()
	c.earlierTries.firstNumber = cmp.Or(c.earlierTries.firstNumber, g.Pass.Number)
	p.firstNumber = c.earlierTries.firstNumber
	p.leaseTimer = time.AfterFunc(g.Lease, p.leave) // a forgotten permit frees its place when its lease ends
	if p.place.queued.Load() {
		p.place.granted = true
		l.queue.Granted()
	}
	return p, nil
}

func (c *call) enter(ctx context.Context, p *place) error {
	l := c.l
	if l.queue != nil {
		return c.enterQueue(ctx, p)
	}
	if l.localQueue.join(p) {
		return nil
	}
	for {
		// The requests ahead wait until an outage ends, so this wait doesn't count against max-wait either.
		counts := !core.WaitsWithoutLimit(&l.effectiveTuning.Load().Tuning, State(l.state.Load()))
		nap := core.MaxRetryWait
		if counts {
			nap = min(nap, c.waitLeft())
		}
		if err := c.wait(ctx, nap, counts, p.ready, nil); err != nil {
			return err
		}
		select {
		case <-p.ready:
			return nil
		default:
		}
		if counts && c.waitLeft() <= 0 {
			return c.timeout(ReasonTurn, State(l.state.Load()))
		}
	}
}

// errMaxWait cancels a wait in a Queue when max-wait has passed.
var errMaxWait = errors.New("max-wait has passed")

func (c *call) enterQueue(ctx context.Context, p *place) error {
	l := c.l
	inner, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer time.AfterFunc(c.waitLeft(), func() { end(errMaxWait) }).Stop()
	defer context.AfterFunc(l.lifetime, func() { end(ErrClosed) })()
	err := l.queue.Enter(inner)
	switch cause := context.Cause(inner); {
	case err == nil:
		p.queued.Store(true)
	case ctx.Err() != nil || inner.Err() == nil: // err comes from the caller's context or from the queue itself
	case errors.Is(cause, errMaxWait):
		return c.timeout(ReasonTurn, State(l.state.Load()))
	default:
		return cause
	}
	return err
}

func (l *Limiter) leave(p *place) bool {
	if l.queue == nil {
		return l.localQueue.leave(p)
	}
	held := p.queued.Swap(false)
	if held {
		l.queue.Leave(p.granted)
	}
	return held
}

func (c *call) queueUp(ctx context.Context, reserved bool) error {
	l := c.l
	l.reap(ctx, reapIntervalIdle, c.patience())
	c.ask = core.PermitRequest{
		Owner: l.ownerID, Lease: c.maxHold, HasReservation: reserved, MinWait: l.minAskInterval,
		Retry: c.earlierTries.tries+c.attempt > 1,
	}
	if c.maxHold == 0 && l.coordinated {
		c.ask.Lease = defaultLease
	}
	c.grant = core.Grant{}
	granted := false
	defer func() {
		if !granted { // a hook may have panicked
			c.abandon()
		}
	}()
	err := c.askUntilGranted(ctx)
	c.endWait(c.permitUpdate.gauges)
	granted = err == nil
	return err
}

func (c *call) askUntilGranted(ctx context.Context) error {
	l, g := c.l, &c.grant
	lastChance := true
	for {
		freed, moved := l.slotFreed.listen(), l.stateChanged.listen()
		if err := c.askOnce(ctx); err != nil {
			return err
		}
		c.ask.Ticket = g.Ticket
		switch {
		case g.Granted && !l.coordinated:
			return nil
		case g.Granted:
			if ok, err := c.acceptGrant(ctx); ok || err != nil {
				return err
			}
			continue
		case g.Refused && g.Cause == ReasonBudget:
			if lastChance && l.reap(ctx, 0, c.patience()) { // a dead process may hold a reservation
				lastChance = false
				continue
			}
			return g.Spent
		case g.Refused:
			return &BlockedError{g.Block}
		}
		counts, patience := !core.WaitsWithoutLimit(&l.effectiveTuning.Load().Tuning, g.State), c.waitLeft()
		if counts && patience <= 0 {
			return c.timeout(g.Cause, g.State)
		}
		c.beginWait(g.Block, c.permitUpdate.gauges)
		stalled := g.Cause == ReasonSlot && g.First || g.Cause == core.ReasonAccount
		reaped := stalled && l.reap(ctx, reapIntervalStalled, patience) || l.reap(ctx, reapIntervalWaiting, patience)
		if counts && c.waitLeft() <= 0 { // reap's own update took time
			return c.timeout(g.Cause, g.State)
		}
		if reaped {
			continue
		}
		if err := c.waitToAskAgain(ctx, counts, freed, moved); err != nil {
			return err
		}
	}
}

// askOnce asks the store once. Waiting for the store ends with max-wait.
func (c *call) askOnce(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, c.patience())
	defer cancel()
	c.permitUpdate.step = c.tryGrant
	err := c.l.updateStore(bounded, &c.permitUpdate)
	if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		err = c.timeout(ReasonTurn, State(c.l.state.Load()))
	}
	return err
}

func (c *call) tryGrant(at Instant, s *Snapshot, t *Tuning) (Transition, bool, error) {
	l := c.l
	if l.closed.Load() {
		return Transition{}, false, ErrClosed
	}
	a := c.ask
	a.Tuning, a.NeedsBudget, a.MaxWait = t, t.Budget.On(), c.waitLeft()
	if at.Parts > 1 {
		a.MinWait = 0 // without the shared store, no other process wakes this one, and asking is cheap
	}
	a.Accounts = l.ownAccounts()
	if c.Prefer != (Preference{}) && (c.Prefer.Test || c.preferredWait < c.PreferFor) {
		a.Prefer = &c.Prefer
	}
	c.grant = s.TryGrant(at, a)
	l.contended.Store(c.grant.Contended)
	if l.coordinated {
		c.grantedAt = time.Now()
	}
	return c.grant.Transition, c.grant.Transitioned, nil
}

func (c *call) waitToAskAgain(ctx context.Context, usesMaxWait bool, slotFreed, stateChanged <-chan struct{}) error {
	g := &c.grant
	nap := g.Wait
	if usesMaxWait {
		nap = min(nap, c.waitLeft())
	}
	if g.Pinned {
		nap = min(nap, c.PreferFor-c.preferredWait)
	}
	if g.Cause != ReasonSlot && g.Cause != ReasonTurn && g.Cause != core.ReasonAccount {
		slotFreed = nil
	}
	start := time.Now()
	err := c.wait(ctx, nap, usesMaxWait, slotFreed, stateChanged)
	if g.Pinned {
		c.preferredWait += time.Since(start)
	}
	return err
}

// acceptGrant reports whether a coordinator's permit can be used. If not, it gives the permit back and waits.
func (c *call) acceptGrant(ctx context.Context) (bool, error) {
	l := c.l
	wait, ok := l.ceiling.accept(c.grantedAt, &l.effectiveTuning.Load().Tuning)
	if ok {
		return true, nil
	}
	state, pass, reserved := c.grant.State, c.grant.Pass, c.ask.HasReservation
	err := l.update(context.Background(), func(at Instant, s *Snapshot) error {
		s.Record(at, core.Report{Owner: l.ownerID, Tuning: &l.tuningFor(at, s).Tuning, Pass: pass, KeepBudget: reserved})
		return nil
	})
	if err != nil {
		l.warn(err)
	}
	c.grant, c.ask.Ticket = core.Grant{}, 0
	if c.waitLeft() <= 0 {
		return false, c.timeout(ReasonCeiling, state)
	}
	return false, c.wait(ctx, wait, true, nil, nil)
}

// abandon withdraws the ticket or permit of a request that gives up, if the store is available at once. Otherwise other
// requests overtake the ticket once it is late, and the permit's lease expires. If the store was so slow that max-wait
// is long over, abandon does nothing, because withdrawing would take another slow update.
func (c *call) abandon() {
	l, g, ticket := c.l, &c.grant, c.ask.Ticket
	if !g.Granted && (ticket == 0 || l.closed.Load() || c.overdue() > minStoreWait) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), minStoreWait)
	defer cancel()
	err := l.update(ctx, func(at Instant, s *Snapshot) error {
		s.Withdraw(at, ticket)
		if g.Granted {
			s.Record(at, core.Report{Owner: l.ownerID, Tuning: &l.tuningFor(at, s).Tuning, Pass: g.Pass})
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		l.warn(err)
	}
	l.slotFreed.ring() // the tickets behind this one have moved up
}

// excuses reports whether a failed try costs the request no retry: a probe of an outage whose end it waits for, or a
// limit whose end it can await.
func (c *call) excuses(p *Permit, e *Event) bool {
	return c.l.Tuning().AutoRecover != 0 && (p.isProbe || p.causedBlock) ||
		e.Outcome == Deferred && e.Limits.Spent > 0 && e.Limits.Spent <= c.waitLeft()
}

// awaitsOutageEnd reports whether a failed try of a caller that retries by itself costs no retry, because it may be the
// beginning of an outage. Once anything has been answered, only a failure to connect may: anything else may be the
// request's own fault.
func (c *call) awaitsOutageEnd(p *Permit, e *Event) bool {
	lastGood := c.l.lastGoodPermit.Load()
	unavailable := e.Outcome == Server && e.Status > http.StatusInternalServerError
	return c.l.Tuning().AutoRecover != 0 && lastGood < p.firstNumber &&
		(e.Outcome == Network && e.Connection == 0 || lastGood == 0 && (e.Outcome == Network || unavailable))
}

// recordForCaller tells the caller when to try again, unless that is longer than the request may still wait.
func (c *call) recordForCaller(req *http.Request, p *Permit, e *Event) {
	m, now, n, restarted := &c.earlierTries, time.Now(), c.callerAttempts+c.attempt-c.excused, 1
	m.tries++
	outage := c.awaitsOutageEnd(p, e)
	if outage {
		n, restarted = m.tries, m.tries
	}
	if next := c.delay(n, e); next <= c.waitLeft() || outage && e.Outcome == Network {
		m.failedAt, m.nextAttemptAt, m.restartAt = now, now.Add(next), now.Add(c.delay(restarted, e))
		m.counted = c.excused == 0 && !outage
		c.Tries.records.Store(requestKeyOf(req), *m)
		c.Tries.fail(*m)
	}
}

// delay returns how long the request waits before its n-th retry: full jitter, or its own Retry-After. After a 429 and
// after an excused try it returns 0, because the pause or the Sleep that follows is the delay.
func (c *call) delay(n int, e *Event) time.Duration {
	if c.lastExcused || core.PausesAccount(e, c.l.Tuning().LimitedBy) {
		return 0
	}
	return core.RetryDelay(n, e, c.l.randFloat())
}

func (c *call) retry(ctx context.Context, e *Event) error {
	l, delay := c.l, c.delay(c.callerAttempts+c.attempt-c.excused, e)
	c.attempt++
	if delay > c.waitLeft() {
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
	defer func() { c.endWait(gauges) }()
	c.beginWait(Block{State: block.State, Cause: ReasonBackoff, Until: time.Now().Add(delay)}, gauges)
	return c.wait(ctx, delay, true, nil, nil)
}

func (c *call) blocked(ctx context.Context) (block Block, refused bool, gauges Gauges, err error) {
	l := c.l
	ask := core.PermitRequest{Owner: l.ownerID, Tuning: &l.effectiveTuning.Load().Tuning, MaxWait: c.waitLeft()}
	err = l.update(ctx, func(at Instant, s *Snapshot) error {
		block, refused = s.Blocked(at, ask)
		gauges = s.Gauges(ask.Tuning)
		return ErrUnchanged
	})
	return block, refused, gauges, err
}

// wait waits until d has passed, something has changed, or the limiter is closed. If usesMaxWait is false, the time
// isn't taken from max-wait.
func (c *call) wait(
	ctx context.Context, d time.Duration, usesMaxWait bool, slotFreed, stateChanged <-chan struct{},
) error {
	start := time.Now()
	timer := time.NewTimer(d)
	defer timer.Stop()
	var err error
	select {
	case <-timer.C:
	case <-slotFreed:
	case <-stateChanged:
	case <-c.l.wake:
		c.l.slotFreed.ring() // another request of this process may be next
	case <-c.l.lifetime.Done():
		err = ErrClosed
	case <-ctx.Done():
		err = ctx.Err()
	}
	if !usesMaxWait {
		c.Waited -= time.Since(start)
	}
	return err
}

func (c *call) beginWait(b Block, gauges Gauges) {
	switch told := c.reportedWait.Block; {
	case b.Cause.IsCommon():
		c.endWait(gauges)
		return
	case !b.Until.After(time.Now()):
		return // the wait ended before it could be reported
	case !c.waitBegan.IsZero() && told.Cause == b.Cause && told.State == b.State &&
		told.Until.Sub(b.Until).Abs() < time.Second:
		return // a small correction of the clock moves Until but isn't a new wait
	}
	c.endWait(gauges)
	c.reportedWait, c.waitBegan = WaitInfo{Block: b, Attempt: c.attempt, Gauges: gauges}, time.Now()
	if c.l.hooks.OnWait != nil {
		c.l.hooks.OnWait(c.reportedWait)
	}
}

func (c *call) endWait(gauges Gauges) {
	if c.waitBegan.IsZero() {
		return
	}
	info := c.reportedWait
	info.Ended, info.Waited, info.Gauges = true, time.Since(c.waitBegan), gauges
	c.waitBegan = time.Time{}
	if c.l.hooks.OnWait != nil {
		c.l.hooks.OnWait(info)
	}
}
