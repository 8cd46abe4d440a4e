package core

import (
	"slices"
	"time"
)

const (
	// MaxRetryWait is the longest time between two asks: clocks jump and operators act.
	MaxRetryWait  = time.Second
	slotRetryWait = 10 * time.Millisecond
	// ProbeRetryWait is the same for requests behind a probe: it may end the trouble.
	ProbeRetryWait = 100 * time.Millisecond
	// MaxProbeLease is the longest life of a probe's permit. It ends earlier with its owner's process.
	MaxProbeLease = 10 * time.Minute
)

// PermitRequest is one try to get a permit.
type PermitRequest struct {
	Owner          string        // the limiter that asks
	Tuning         *Tuning       // its tuning
	Ticket         uint64        // Grant.Ticket of the try before, 0 the first time
	MaxWait        time.Duration // how long the request can still wait
	Lease          time.Duration // how long the permit is needed at most; 0: unknown
	NeedsBudget    bool          // the permit needs one request of the budget
	HasReservation bool          // that one was reserved before
	Retry          bool          // it is not the first try of its request
	MinWait        time.Duration // how long it sleeps at least where it can be woken

	Accounts []Account   // through whose keys it may go; none: it has a key already
	Prefer   *Preference // the account and key that it would like to keep; nil: any
}

// PermitID names a permit.
type PermitID struct {
	Number uint64 // counts all permits, in the order in which they are granted
	Epoch  uint64 // counts transitions
}

// Grant answers an [Ask]: granted, refused, or to be asked again after Wait.
// A caller that gives up waiting withdraws the ticket.
type Grant struct {
	Granted   bool
	Pass      PermitID
	Lease     time.Duration // how long the permit lives at most
	HasBudget bool          // it has a request of the budget
	Choice

	Block
	Refused bool // it makes no sense to wait: Until is beyond patience
	Wait    time.Duration
	Ticket  uint64
	First   bool // the first in the queue
	Pinned  bool // it waits for the slot of its preference alone

	Contended bool         // others stand in the queue
	Spent     *BudgetError // where the cause is ReasonBudget

	Transition   Transition // made by the time that has passed
	Transitioned bool       // whether there was one
}

// TryGrant answers an ask at one moment. A permit is granted at once and
// whole: no block, no pause, the ask's turn, a slot, a token, the process's own pace and room
// under the ceiling; else nothing is taken but a ticket.
func (s *Snapshot) TryGrant(at Instant, ask PermitRequest) Grant {
	v := view{s, s.advance(at), ask.Tuning, at.Parts}
	a := attempt{view: v, ask: ask, p: v.join(ask.Owner)}
	a.p.accounts = s.accounts.register(v.now, ask.Accounts, at.Wall, &s.queue)
	a.run()
	a.grant.Contended = slices.ContainsFunc(s.queue.tickets, func(t ticket) bool { return t.owner != a.p.key })
	if a.grant.Cause == ReasonBudget {
		a.grant.Spent = v.budgetError(1, a.quotas)
	}
	return a.grant
}

// attempt is a TryGrant under way. Each step either ends it, by one of admit, later and refuse, or leads to the next.
type attempt struct {
	view           view
	ask            PermitRequest
	p              *process // that asks
	quotas         []candidate
	needsBudget    bool // the permit needs one request of the budget
	hasReservation bool // which was reserved before
	pick           pick
	grant          Grant
}

func (a *attempt) run() {
	v, s, g := a.view, a.view.s, &a.grant
	v.expire()
	a.p.reservedAt = v.now
	g.Transition, g.Transitioned = v.tick()
	m := &s.address.machine
	m.applyAutoRecover(v.t, v.now)
	g.State, g.Since = m.state, s.clock.time(m.since)

	a.quotas = v.quotaCandidates(a.ask.Accounts)
	a.needsBudget = a.ask.NeedsBudget || len(a.quotas) > 0
	a.hasReservation = a.needsBudget && a.ask.HasReservation && a.p.reserved > s.queue.budgetLeases(a.p.key)
	tests := a.ask.Prefer != nil && a.ask.Prefer.Test
	if a.needsBudget && !a.hasReservation && !tests && !v.fitsBudget(1, a.quotas) {
		a.refuse(ReasonBudget, v.budgetRenewal(1, a.quotas))
		return
	}
	switch cause, until, blocked := m.blocked(v.now); {
	case !blocked:
		a.chooseAccount()
	case v.mustRefuse(a.ask.MaxWait, until):
		a.refuse(cause, until)
	default:
		g.Cause, g.Until = cause, s.clock.time(until)
		a.waitAndRetry(until.sub(v.now))
	}
}

func (a *attempt) chooseAccount() {
	s, g := a.view.s, &a.grant
	if len(a.ask.Accounts) == 0 {
		a.takeTurn()
		return
	}
	if i := s.queue.ticketIndex(a.ask.Ticket); i >= 0 {
		s.queue.tickets[i].key = 0
	}
	a.pick = a.view.pick(&a.ask)
	k := &a.pick
	g.Full, g.Pinned = k.full, k.pinned != nil
	switch {
	case k.account != nil:
		a.takeTurn()
	case k.refuse:
		a.refuse(k.cause, 0)
	case k.cause == ReasonAccount:
		g.Cause = ReasonAccount
		a.waitAndRetry(max(slotRetryWait, a.ask.MinWait))
		if i := s.queue.ticketIndex(g.Ticket); i >= 0 && g.Pinned {
			s.queue.tickets[i].key = k.pinned.id
		}
	default:
		g.State, g.Cause, g.Until = k.state, k.cause, s.clock.time(k.until)
		if k.until == 0 || k.until.sub(a.view.now) > a.ask.MaxWait {
			a.refuse(k.cause, k.until)
			return
		}
		a.waitAndRetry(k.until.sub(a.view.now))
	}
}

// takeTurn lets the request go, or says what it waits for where nothing blocks: each of address, process and account
// has its pace, and the longest wait counts; then a slot; then those ahead of it.
func (a *attempt) takeTurn() {
	v, s, now, g := a.view, a.view.s, a.view.now, &a.grant
	m, nap := &s.address.machine, a.ask.MinWait
	common, own := v.commonPace(), m.pace(a.p.normalPace, v.t, now)
	limit, window, total := s.processes.commonLimits()
	s.address.bucket.capDebt(now, common)
	a.p.bucket.capDebt(now, own)
	token := s.address.bucket.wait(now, common)
	room := max(s.ceiling.wait(now, limit, window), m.learned.wait(now, &s.ceiling),
		m.stated.wait(now, &s.ceiling, window))
	shared, alone := max(token, room), max(a.p.bucket.wait(now, own), a.pick.wait)
	free := v.slotFree(a.p, total)
	ahead := v.ticketsAhead(s.queue.ticketIndex(a.ask.Ticket))
	behind := time.Duration(ahead) * common.interval()
	g.First = ahead == 0
	if m.probing() && !free && v.failedForLong() {
		a.refuse(m.reason, now.add(m.clampedCooldown(v.t)))
		return
	}
	if shared > 0 && m.state == Normal {
		m.lastTokenShortage = now
	}

	var wait time.Duration
	switch {
	case alone > shared: // others pass meanwhile
		g.Cause, wait = ReasonToken, alone
	case shared > 0: // the tickets in front need their tokens too
		g.Cause, wait = ReasonToken, shared+behind
		if room > token {
			g.Cause = ReasonCeiling
		}
		if nap > 0 { // it is woken when its turn comes before
			wait += behind / 4
		}
	case !free:
		g.Cause, wait = ReasonSlot, max(slotRetryWait, nap)
	case ahead > 0 && (nap == 0 || !v.hasRoomFor(ahead+1)):
		g.Cause, wait = ReasonTurn, max(min(behind, slotRetryWait), nap)
	default: // a token of each bucket, all at once
		s.ceiling.add(now, window)
		s.address.bucket.take(now, common)
		a.p.bucket.take(now, own)
		a.grantPermit()
		return
	}
	if m.probing() && ahead > 0 {
		wait = ProbeRetryWait
	}
	a.waitAndRetry(wait)
}

func (a *attempt) grantPermit() {
	s, now, g := a.view.s, a.view.now, &a.grant
	m := &s.address.machine
	g.Lease = a.ask.Lease
	if g.Lease <= 0 {
		g.Lease = LeaseMax
	}
	if m.probing() {
		g.Lease = min(g.Lease, MaxProbeLease)
	}
	m.permits++
	if !a.ask.Retry {
		m.firstTry = now
	}
	g.Granted, g.HasBudget, g.Pass = true, a.needsBudget, PermitID{m.permits, m.epoch}
	s.queue.withdraw(a.ask.Ticket)
	l := lease{permit: m.permits, epoch: m.epoch, owner: a.p.key, until: now.add(g.Lease), budget: a.needsBudget}
	if a.pick.account != nil {
		g.Choice = a.view.takeKey(&a.pick, &l)
	}
	s.queue.leases = append(s.queue.leases, l)
	if a.needsBudget && !a.hasReservation {
		a.p.reserved++
		a.p.reservedAt = now
	}
}

func (a *attempt) waitAndRetry(wait time.Duration) {
	q, g := &a.view.s.queue, &a.grant
	if a.ask.MaxWait <= 0 && !WaitsWithoutLimit(a.view.t, g.State) { // it won't come again
		q.withdraw(a.ask.Ticket)
		return
	}
	place := q.ticketIndex(a.ask.Ticket)
	if place < 0 {
		if len(q.tickets) >= maxTickets {
			g.Wait = MaxRetryWait
			return
		}
		place = q.enqueue(a.p.key)
	}
	g.Wait = min(max(wait, time.Microsecond), MaxRetryWait)
	g.Ticket = q.tickets[place].number
	q.tickets[place].retryAt = a.view.now.add(g.Wait)
}

func (a *attempt) refuse(cause Reason, until Stamp) {
	a.view.s.queue.withdraw(a.ask.Ticket)
	a.grant.Refused, a.grant.Cause, a.grant.Until = true, cause, a.view.s.clock.time(until)
}

// Withdraw takes the ticket of a request that gives up out of the queue.
func (s *Snapshot) Withdraw(at Instant, number uint64) {
	s.advance(at)
	s.queue.withdraw(number)
}

// Blocked reports whether an ask would be refused now because of a block, and returns the block. It
// changes nothing. A block whose end has come refuses nobody: the next ask ends it.
func (s *Snapshot) Blocked(at Instant, a PermitRequest) (Block, bool) {
	clock, m := s.clock, &s.address.machine
	clock.advance(at)
	now := clock.now
	cause, until, blocked := m.blocked(now)
	b := Block{State: m.state, Cause: cause, Since: clock.time(m.since), Until: clock.time(until)}
	over := until != 0 && until <= now
	return b, blocked && !over && view{s, now, a.Tuning, at.Parts}.mustRefuse(a.MaxWait, until)
}

// WaitsWithoutLimit reports whether a request waits in a state for as long as it takes: those of a process that
// recovers automatically do while nothing but probes passes. Such waits are not taken from max-wait.
func WaitsWithoutLimit(t *Tuning, s State) bool {
	return t.AutoRecover != 0 && (s == Sleep || s == HalfOpen || s == CacheOnly)
}

func (v view) mustRefuse(patience time.Duration, until Stamp) bool {
	switch state := v.s.address.machine.state; {
	case WaitsWithoutLimit(v.t, state):
		return until == 0 // an operator's word without an end
	case state == CacheOnly:
		return true
	default:
		return until.sub(v.now) > patience || state == Sleep && v.failedForLong()
	}
}

// failedForLong reports whether the upstream has failed for longer than a request may wait: with short
// cooldowns a batch would else wait for the probe with each request of a long outage.
func (v view) failedForLong() bool {
	since := v.s.address.machine.failingSince
	return v.t.AutoRecover == 0 && since != 0 && v.now.sub(since) > max(v.t.MaxWait, 0)
}
