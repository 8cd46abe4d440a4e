package core

import "time"

const (
	// MaxNap is the longest time between two asks: clocks jump and operators act.
	MaxNap = time.Second
	// slotNap is the time between two asks while only a slot is missing.
	slotNap = 10 * time.Millisecond
	// ProbeNap is the same for requests behind a probe: it may end the trouble.
	ProbeNap = 100 * time.Millisecond
	// ProbeHold is the longest life of a probe's permit. It ends earlier with its owner's process.
	ProbeHold = 10 * time.Minute
)

// Ask is one try to get a permit.
type Ask struct {
	Owner    string        // the limiter that asks
	Tuning   *Tuning       // its tuning
	Ticket   uint64        // Grant.Ticket of the try before, 0 the first time
	Patience time.Duration // how long the request can still wait
	Hold     time.Duration // how long the permit is needed at most; 0: unknown
	Budget   bool          // the permit needs one request of the budget
	Reserved bool          // that one was reserved before
	Again    bool          // it is not the first try of its request
	Nap      time.Duration // how long it sleeps at least where it can be woken

	Accounts []Account   // through whose keys it may go; none: it has a key already
	Prefer   *Preference // the account and key that it would like to keep; nil: any
}

// Pass names a permit.
type Pass struct {
	Number uint64 // counts all permits, in the order in which they are granted
	Epoch  uint64 // counts transitions
}

// Grant answers an [Ask]: granted, refused, or to be asked again after Wait.
// A caller that gives up waiting withdraws the ticket.
type Grant struct {
	Granted bool
	Pass    Pass
	Hold    time.Duration // how long the permit lives at most
	Booked  bool          // it has a request of the budget
	Choice

	Block
	Refused bool // it makes no sense to wait: Until is beyond patience
	Wait    time.Duration
	Ticket  uint64
	Head    bool // the first in the queue
	Pinned  bool // it waits for the slot of its preference alone

	Contended bool         // others stand in the queue
	Spent     *BudgetError // where the cause is ReasonBudget

	Transition Transition // made by the time that has passed
	Moved      bool       // whether there was one
}

// TryGrant answers an ask at one moment. A permit is granted at once and
// whole: no block, no pause, the ask's turn, a slot, a token, the process's own pace and room
// under the ceiling; else nothing is taken but a ticket.
func (s *Snapshot) TryGrant(at Instant, a Ask) Grant {
	g := s.tryGrant(at, a)
	g.Contended = s.contends(a.Owner)
	if g.Cause == ReasonBudget {
		spent := s.spent(a.Tuning, 1, s.rationed(s.clock.now, a.Accounts, a.Tuning, at.Parts))
		g.Spent = &spent
	}
	return g
}

func (s *Snapshot) tryGrant(at Instant, a Ask) Grant {
	now := s.advance(at)
	p := s.join(now, a.Owner, a.Tuning)
	p.accounts = s.declare(now, a.Accounts, at.Wall)
	s.expire(now, a.Tuning)
	p.reservedAt = now
	var g Grant
	if g.Transition, g.Moved = s.step(now, a.Tuning, move{on: onClock}); !g.Moved {
		g.Transition, g.Moved = s.stepAccounts(now, a.Tuning)
	}

	m := &s.machine
	m.volunteer(a.Tuning, now)
	g.State, g.Since = m.state, s.clock.time(m.since)
	quotas := s.rationed(now, a.Accounts, a.Tuning, at.Parts)
	if a.Budget = a.Budget || len(quotas) > 0; a.Budget {
		a.Reserved = a.Reserved && p.reserved > s.slots.booked(p.key)
		if !a.Reserved && !s.fits(now, 1, a.Tuning, quotas) && (a.Prefer == nil || !a.Prefer.Test) {
			return s.refuse(a, g, ReasonBudget, s.renews(now, a.Tuning, 1, quotas))
		}
	}
	if cause, until, blocked := s.blocked(now); blocked {
		if s.hopeless(now, a, until) {
			return s.refuse(a, g, cause, until)
		}
		g.Cause, g.Until = cause, s.clock.time(until)
		return s.later(now, a, p, g, until.sub(now))
	}
	var k pick
	if len(a.Accounts) > 0 {
		if i := s.slots.find(a.Ticket); i >= 0 {
			s.slots.tickets[i].key = 0
		}
		_, _, total := s.limits()
		if k = s.pick(now, &a, at.Parts, total); k.account == nil {
			return s.without(now, a, p, g, &k)
		}
	}
	return s.turn(now, a, p, g, &k)
}

// without is TryGrant where no account can take the request.
func (s *Snapshot) without(now Stamp, a Ask, p *process, g Grant, k *pick) Grant {
	g.Full, g.Pinned = k.full, k.pinned
	switch {
	case k.refuse:
		return s.refuse(a, g, k.cause, 0)
	case k.cause == ReasonAccount:
		g.Cause = ReasonAccount
		g = s.later(now, a, p, g, max(slotNap, a.Nap))
		if i := s.slots.find(g.Ticket); i >= 0 && k.pinned {
			s.slots.tickets[i].key = k.key.id
		}
		return g
	}
	g.State, g.Cause, g.Until = k.state, k.cause, s.clock.time(k.until)
	if k.until == 0 || k.until.sub(now) > a.Patience {
		return s.refuse(a, g, k.cause, k.until)
	}
	return s.later(now, a, p, g, k.until.sub(now))
}

// turn is TryGrant where nothing blocks.
func (s *Snapshot) turn(now Stamp, a Ask, p *process, g Grant, k *pick) Grant {
	m := &s.machine
	common, own := s.commonPace(a.Tuning, now), m.pace(a.Tuning, now)
	limit, window, total := s.limits()
	place := s.slots.find(a.Ticket)
	ahead := s.ahead(now, place, a.Tuning)
	token := s.bucket.wait(now, common)
	room := max(s.ceiling.wait(now, limit, window), m.learned.room(now, &s.ceiling))
	free := s.free(p, total)
	g.Head = ahead == 0
	if m.probing() && !free && s.failedForLong(now, a) {
		return s.refuse(a, g, m.reason, now.add(m.cooled(a.Tuning)))
	}

	wait := max(token, room)
	g.Full = k.full
	if wait > 0 && m.state == Normal {
		m.lastTokenShortage = now
	}
	switch due := p.own.wait(now, own); {
	case due > wait: // others pass meanwhile
		g.Cause, wait = ReasonToken, due
	case k.token > wait:
		g.Cause, wait = ReasonToken, k.token
	case wait > 0: // the tickets in front need their tokens too
		g.Cause = ReasonToken
		if room > token {
			g.Cause = ReasonCeiling
		}
		wait += time.Duration(ahead) * common.interval()
		if a.Nap > 0 { // it is woken when its turn comes before
			wait += time.Duration(ahead) * common.interval() / 4
		}
	case !free:
		g.Cause, wait = ReasonSlot, max(slotNap, a.Nap)
	case ahead > 0 && (a.Nap == 0 || !s.suffices(now, ahead+1, common)):
		g.Cause, wait = ReasonTurn, max(min(time.Duration(ahead)*common.interval(), slotNap), a.Nap)
	default: // a token of each bucket, all at once
		s.ceiling.add(now, window)
		s.bucket.take(now, common)
		p.own.take(now, own)
		return s.grant(now, a, p, g, k)
	}
	if m.probing() && ahead > 0 {
		wait = ProbeNap
	}
	return s.later(now, a, p, g, wait)
}

func (s *Snapshot) grant(now Stamp, a Ask, p *process, g Grant, k *pick) Grant {
	m := &s.machine
	g.Hold = a.Hold
	if g.Hold <= 0 {
		g.Hold = LeaseMax
	}
	if m.probing() {
		g.Hold = min(g.Hold, ProbeHold)
	}
	m.permits++
	if !a.Again {
		m.firstTry = now
	}
	g.Granted, g.Booked = true, a.Budget
	g.Pass = Pass{m.permits, m.epoch}
	s.slots.withdraw(a.Ticket)
	l := lease{permit: m.permits, epoch: m.epoch, owner: p.key, until: now.add(g.Hold), budget: a.Budget}
	if k.account != nil {
		g.Choice = k.grant(now, a.Tuning, &l, m.permits)
	}
	s.slots.leases = append(s.slots.leases, l)
	if a.Budget && !a.Reserved {
		p.reserved++
		p.reservedAt = now
	}
	return g
}

// later leaves a ticket in the queue, with the moment at which its owner promises to ask again.
func (s *Snapshot) later(now Stamp, a Ask, p *process, g Grant, wait time.Duration) Grant {
	if a.Patience <= 0 && g.State != CacheOnly { // it won't come again
		s.slots.withdraw(a.Ticket)
		return g
	}
	place := s.slots.find(a.Ticket)
	if place < 0 {
		if len(s.slots.tickets) >= maxTickets {
			g.Wait = MaxNap
			return g
		}
		place = s.slots.enqueue(p.key)
	}
	g.Wait = min(max(wait, time.Microsecond), MaxNap)
	g.Ticket = s.slots.tickets[place].number
	s.slots.tickets[place].due = now.add(g.Wait)
	return g
}

func (s *Snapshot) refuse(a Ask, g Grant, cause Reason, until Stamp) Grant {
	s.slots.withdraw(a.Ticket)
	g.Refused, g.Cause, g.Until = true, cause, s.clock.time(until)
	return g
}

// Withdraw takes the ticket of a request that gives up out of the queue.
func (s *Snapshot) Withdraw(at Instant, number uint64) {
	s.advance(at)
	s.slots.withdraw(number)
}

// Blocked reports whether an ask would be refused now because of a block, and returns the block. It
// changes nothing. A block whose end has come refuses nobody: the next ask ends it.
func (s *Snapshot) Blocked(at Instant, a Ask) (Block, bool) {
	clock := s.clock
	clock.advance(at)
	cause, until, blocked := s.blocked(clock.now)
	b := Block{State: s.machine.state, Cause: cause, Since: clock.time(s.machine.since), Until: clock.time(until)}
	over := until != 0 && until <= clock.now
	return b, blocked && !over && s.hopeless(clock.now, a, until)
}

// blocked reports whether something keeps every request from leaving now, why, and until when (0: without an end).
func (s *Snapshot) blocked(now Stamp) (cause Reason, until Stamp, blocked bool) {
	return s.machine.blocked(now)
}

func (m *machine) blocked(now Stamp) (cause Reason, until Stamp, blocked bool) {
	switch {
	case m.state == CacheOnly:
		return m.reason, m.blockUntil, true
	case m.state == Sleep:
		return m.reason, max(m.sleepUntil, m.pauseUntil, now), true
	case m.pauseUntil > now:
		return ReasonPause, m.pauseUntil, true
	default:
		return ReasonNone, 0, false
	}
}

// hopeless reports whether a blocked ask should be refused at once. A process that recovers
// automatically waits in CacheOnly for as long as it takes, any other not at all.
func (s *Snapshot) hopeless(now Stamp, a Ask, until Stamp) bool {
	switch s.machine.state {
	case CacheOnly:
		return a.Tuning.AutoRecover == 0 || until == 0
	case Sleep:
		return until.sub(now) > a.Patience || s.failedForLong(now, a)
	default:
		return until.sub(now) > a.Patience
	}
}

// failedForLong reports whether the upstream has failed for longer than a request may wait: with short
// cooldowns a batch would else wait for the probe with each request of a long outage.
func (s *Snapshot) failedForLong(now Stamp, a Ask) bool {
	since := s.machine.failing
	return since != 0 && now.sub(since) > max(a.Tuning.MaxWait, 0)
}

// ahead counts the tickets that have to be served before a place, -1 for somebody new. Late tickets, and tickets
// of processes that are at their slot limit or whose own pace is not due, are passed and keep their places.
func (s *Snapshot) ahead(now Stamp, place int, t *Tuning) int {
	queue := s.slots.tickets
	if place >= 0 {
		queue = queue[:place]
	}
	n := 0
	for i := range queue {
		if now.sub(queue[i].due) <= lateAfter && s.mayRun(now, &queue[i], t) {
			n++
		}
	}
	return n
}

func (s *Snapshot) mayRun(now Stamp, waits *ticket, t *Tuning) bool {
	m := &s.machine
	r, key := m.regime(), waits.owner
	if a, k := s.keyOf(waits.key); k != nil {
		if l := s.limitsOf(a, t, 1); !s.keyFree(now, k, &l) || l.slots > 0 && s.running(a) >= l.slots {
			return false // it waits for this slot alone
		}
	}
	for i := range s.processes {
		p := &s.processes[i]
		if p.key != key {
			continue
		}
		return (m.probing() || s.slots.held(key) < r.slotsOf(p.slots)) &&
			p.own.wait(now, m.paceOf(p.rate, p.burst, t, now)) == 0 && s.canTake(now, p, t)
	}
	return false
}

// free reports whether there is a slot: one of all, and one of the process's own.
// Probes are alone among themselves; permits of before still count everywhere else.
func (s *Snapshot) free(p *process, total int) bool {
	m := &s.machine
	if m.probing() {
		return s.slots.probes(m) == 0
	}
	r := m.regime()
	return len(s.slots.leases) < r.slotsOf(total) && s.slots.held(p.key) < r.slotsOf(p.slots)
}

// suffices reports whether slots, tokens and room under the ceiling are there for n requests at once. Then one that
// asks takes nothing from those ahead of it: over a network the first in line may be on its way for a while.
func (s *Snapshot) suffices(now Stamp, n int, p pace) bool {
	limit, window, total := s.limits()
	return !s.machine.probing() && len(s.slots.leases)+n <= s.machine.regime().slotsOf(total) &&
		s.ceiling.within(now, window)+n <= limit && s.bucket.tokens(now, p) >= float64(n)
}
