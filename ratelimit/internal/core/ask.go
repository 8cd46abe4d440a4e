package core

import (
	"cmp"
	"slices"
	"time"
)

const (
	// MaxRetryWait is the longest wait between two tries to get a permit. It is short, because a clock may jump and an
	// operator may end a block at any time.
	MaxRetryWait  = time.Second
	slotRetryWait = 10 * time.Millisecond // the wait before the next try if all slots are in use
	// ProbeRetryWait is the wait before the next try while a probe is under way, because its answer may end the block.
	ProbeRetryWait = 100 * time.Millisecond
	// MaxProbeLease is the longest lease of a probe. The lease ends earlier if its process dies.
	MaxProbeLease = 10 * time.Minute
)

// PermitRequest is one try to get a permit.
type PermitRequest struct {
	Owner          string // the limiter that asks
	Tuning         *Tuning
	Ticket         uint64        // Grant.Ticket of the last try; 0 on the first
	MaxWait        time.Duration // how long the request can still wait
	Lease          time.Duration // the longest time that the permit is needed; 0: unknown
	NeedsBudget    bool          // whether the permit needs one request of the budget
	HasReservation bool          // whether the budget's request is already reserved
	Retry          bool          // whether it is the second or a later try of an HTTP request
	MinWait        time.Duration // the shortest wait between tries; set if the store can wake the caller earlier

	Accounts []Account   // the accounts whose keys the request may use; none: it already has a key
	Prefer   *Preference // the preferred account and key; nil: any
}

// PermitID identifies a permit.
type PermitID struct {
	Number uint64 // counts all permits, in the order of grants
	Epoch  uint64 // counts transitions
}

// Grant is the result of a [PermitRequest]: granted, refused, or to try again after Wait. A caller that gives up calls
// Withdraw with the ticket.
type Grant struct {
	Granted   bool
	Pass      PermitID
	Lease     time.Duration // how long the permit is valid from now
	HasBudget bool          // whether the permit includes a request of the budget
	Choice

	Block
	Refused bool          // waiting is pointless, for example because the block ends after MaxWait
	Wait    time.Duration // the time until the next try
	Ticket  uint64        // the request's place in the queue, for the next try
	First   bool          // whether no other request must go before this one
	Pinned  bool          // whether the request waits for its preferred key only

	Contended bool         // whether requests of other processes wait in the queue
	Spent     *BudgetError // set if Cause is ReasonBudget

	Transition   Transition // a transition caused by the passing of time
	Transitioned bool
}

// TryGrant grants a permit if there is no block or pause, it is the request's turn, and a slot, tokens and room under
// the ceiling are free. Otherwise the request gets only a place in the queue.
func (s *Snapshot) TryGrant(at Instant, ask PermitRequest) Grant {
	v := view{s, s.advance(at), ask.Tuning, at}
	a := attempt{view: v, ask: ask, p: v.join(ask.Owner)}
	a.p.accounts = s.accounts.register(v.now, ask.Accounts, at.Wall, &s.queue)
	a.run()
	a.grant.Contended = slices.ContainsFunc(s.queue.tickets, func(t ticket) bool { return t.owner != a.p.key })
	if a.grant.Cause == ReasonBudget {
		a.grant.Spent = v.budgetError(1, a.quotas)
	}
	return a.grant
}

// attempt is one call of TryGrant. Each step calls the next one, or ends with grantPermit, waitAndRetry or refuse.
type attempt struct {
	view           view
	ask            PermitRequest
	p              *process
	quotas         []candidate
	needsBudget    bool // whether the permit needs one request of the budget
	hasReservation bool // whether the budget's request is already reserved
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
	g.State, g.Since = m.state, s.clock.wallTime(m.since)

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
		g.Cause, g.Until = cause, s.clock.wallTime(until)
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
		a.refuse(k.cause, k.until)
	case k.cause == ReasonAccount:
		g.Cause = ReasonAccount
		a.waitAndRetry(max(slotRetryWait, a.ask.MinWait))
		if i := s.queue.ticketIndex(g.Ticket); i >= 0 && g.Pinned {
			s.queue.tickets[i].key = k.pinned.id
		}
	default:
		g.State, g.Cause, g.Until = k.state, k.cause, s.clock.wallTime(k.until)
		if k.until == 0 || k.until.sub(a.view.now) > a.ask.MaxWait {
			a.refuse(k.cause, k.until)
			return
		}
		a.waitAndRetry(k.until.sub(a.view.now))
	}
}

// takeTurn grants the permit, or lets the request wait, with the cause. It checks tokens and the ceiling first (the
// longest wait of address, process and account counts), then slots, then the request's turn.
func (a *attempt) takeTurn() {
	v, s, now, g := a.view, a.view.s, a.view.now, &a.grant
	m, nap := &s.address.machine, a.ask.MinWait
	common, own := v.commonPace(), v.ownPace(a.p)
	limit, window, total := s.processes.commonLimits()
	s.address.bucket.capDebt(now, common)
	a.p.bucket.capDebt(now, own)
	token := s.address.bucket.wait(now, common)
	room := max(s.ceiling.wait(now, limit, window), m.learned.wait(now, &s.ceiling),
		m.stated.wait(now, &s.ceiling, window))
	shared, alone := max(token, room), max(a.p.bucket.wait(now, own), a.pick.wait)
	free := v.hasFreeSlot(a.p, total)
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
	case alone > shared: // only this process or account must wait: other requests may go first
		g.Cause, wait = ReasonToken, alone
	case shared > 0: // the tickets in front need their tokens too
		g.Cause, wait = ReasonToken, shared+behind
		if room > token {
			g.Cause = ReasonCeiling
		}
		if nap > 0 { // a request whose turn comes earlier is woken
			wait += behind / 4
		}
	case !free:
		g.Cause, wait = ReasonSlot, max(slotRetryWait, nap)
	case ahead > 0 && (nap == 0 || !v.hasRoomFor(ahead+1)):
		g.Cause, wait = ReasonTurn, max(min(behind, slotRetryWait), nap)
	default:
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
	g.Lease = cmp.Or(max(a.ask.Lease, 0), MaxLease)
	if m.probing() {
		g.Lease = min(g.Lease, MaxProbeLease)
	}
	m.permits++
	if !a.ask.Retry {
		m.lastFirstTry = now
	}
	g.Granted, g.HasBudget, g.Pass = true, a.needsBudget, PermitID{m.permits, m.epoch}
	s.queue.withdraw(a.ask.Ticket)
	l := lease{permit: m.permits, epoch: m.epoch, owner: a.p.key, until: now.add(g.Lease), usesReservation: a.needsBudget}
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
	if a.ask.MaxWait <= 0 && !WaitsWithoutLimit(a.view.t, g.State) { // the request won't try again
		q.withdraw(a.ask.Ticket)
		return
	}
	place := q.ticketIndex(a.ask.Ticket)
	if place < 0 {
		if len(q.tickets) >= maxTickets {
			g.Wait = MaxRetryWait
			return
		}
		q.seq++
		q.tickets = append(q.tickets, ticket{number: q.seq, owner: a.p.key})
		place = len(q.tickets) - 1
	}
	g.Wait = min(max(wait, time.Microsecond), MaxRetryWait)
	g.Ticket = q.tickets[place].number
	q.tickets[place].retryAt = a.view.now.add(g.Wait)
}

func (a *attempt) refuse(cause Reason, until Stamp) {
	a.view.s.queue.withdraw(a.ask.Ticket)
	a.grant.Refused, a.grant.Cause, a.grant.Until = true, cause, a.view.s.clock.wallTime(until)
}

// Withdraw removes the ticket of a request that gives up.
func (s *Snapshot) Withdraw(at Instant, number uint64) {
	s.advance(at)
	s.queue.withdraw(number)
}

// Blocked reports whether a block would refuse a request now, and returns the block. It changes nothing. A block that
// has run out does not refuse: the next request ends it.
func (s *Snapshot) Blocked(at Instant, a PermitRequest) (Block, bool) {
	clock, m := s.clock, &s.address.machine
	clock.advance(at)
	now := clock.now
	cause, until, blocked := m.blocked(now)
	b := Block{State: m.state, Cause: cause, Since: clock.wallTime(m.since), Until: clock.wallTime(until)}
	over := until != 0 && until <= now
	return b, blocked && !over && view{s, now, a.Tuning, at}.mustRefuse(a.MaxWait, until)
}

// WaitsWithoutLimit reports whether requests wait in a state without regard to max_wait: those of a process with
// auto_recover do, in the states that only let probes pass.
func WaitsWithoutLimit(t *Tuning, s State) bool {
	return t.AutoRecover != 0 && (s == Sleep || s == HalfOpen || s == CacheOnly)
}

func (v view) mustRefuse(patience time.Duration, until Stamp) bool {
	switch state := v.s.address.machine.state; {
	case WaitsWithoutLimit(v.t, state):
		return until == 0 // an operator's command without an end
	case state == CacheOnly:
		return true
	default:
		return until.sub(v.now) > patience || state == Sleep && v.failedForLong()
	}
}

// failedForLong reports whether the upstream has failed for longer than max_wait. Without it, each request of a batch
// would wait for the next probe of a long outage.
func (v view) failedForLong() bool {
	since := v.s.address.machine.failingSince
	return v.t.AutoRecover == 0 && since != 0 && v.now.sub(since) > max(v.t.MaxWait, 0)
}
