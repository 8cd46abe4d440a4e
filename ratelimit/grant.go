package ratelimit

import "time"

// This file decides whether a request may leave now. It is pure: the limiter
// calls it within a store's update, a simulation calls it with a time of its own.

const (
	// maxNap is the longest time between two asks: clocks jump and operators act.
	maxNap = time.Second
	// slotNap is the time between two asks while only a slot is missing.
	slotNap = 10 * time.Millisecond
	// probeNap is the same for those who queue behind a probe: it may end the trouble.
	probeNap = 100 * time.Millisecond
	// probeGrace is what a probe's permit outlives request_timeout by, so that
	// the report of a timeout still counts.
	probeGrace = time.Second
)

// Why says what a request waits for.
type Why uint8

// What requests wait for.
const (
	WhyNothing     Why = iota
	WhySlot            // a slot
	WhyToken           // a token of the bucket
	WhyCeiling         // room under the ceiling
	WhyTurn            // those who came first
	WhyPause           // a Retry-After, or its stand-in
	WhySleep           // the end of Sleep
	WhyCacheOnly       // the end of CacheOnly
	WhyBudget          // a new budget period
	WhyBackoff         // the time before this request's next try
	WhyRetryBudget     // fewer retries of all requests
)

var whyNames = [...]string{
	WhyNothing: "-", WhySlot: "slot", WhyToken: "token", WhyCeiling: "ceiling", WhyTurn: "turn", WhyPause: "pause",
	WhySleep: "sleep", WhyCacheOnly: "cacheonly", WhyBudget: "budget", WhyBackoff: "backoff", WhyRetryBudget: "retry_budget",
}

// String returns a short name.
func (w Why) String() string {
	if int(w) < len(whyNames) {
		return whyNames[w]
	}
	return "Why(?)"
}

// Ask is one try to get a permit.
type Ask struct {
	Owner    string        // the process
	Tuning   *Tuning       // its tuning
	Ticket   uint64        // Grant.Ticket of the try before, 0 the first time
	Patience time.Duration // how long the request can still wait
	Hold     time.Duration // how long the permit is needed at most; 0: nobody knows
	Retry    bool          // the request has been sent before
	Budget   bool          // the permit needs one request of the budget
	Reserved bool          // that one has been reserved already
}

// Pass names a permit.
type Pass struct {
	Number uint64 // counts all permits, in the order in which they are granted
	Epoch  uint64 // counts transitions
}

// Grant answers an [Ask]: granted, refused, or to be asked again after Wait.
// Who gives up waiting withdraws the ticket.
type Grant struct {
	Granted bool
	Pass    Pass

	Refused bool      // it makes no sense to wait: Until is beyond patience
	Why     Why       // what is missing
	Cause   Reason    // why that is so
	Since   time.Time // since when, of a state
	Until   time.Time // when that ends; zero: nobody knows, or never
	Wait    time.Duration
	Ticket  uint64
	Head    bool // nobody is in front: only others' slots are in the way

	State      State
	Transition Transition // made by the time that has passed
	Moved      bool       // whether there was one
}

// TryGrant answers an ask at one moment. A permit is granted at once and
// whole: no block, no pause, the ask's turn, a slot, a token, and room under
// the ceiling; else nothing is taken but a ticket.
func (s *Snapshot) TryGrant(at Instant, a Ask) Grant {
	now := s.advance(at)
	p := s.join(now, a.Owner, a.Tuning)
	s.expire(now)
	var g Grant
	g.Transition, g.Moved = s.step(now, a.Tuning, move{})

	m := &s.machine
	g.State, g.Since = m.state, s.clock.time(m.since)
	if a.Budget && !a.Reserved && !s.fits(now, 1, a.Tuning.Budget) {
		return s.refuse(a, g, WhyBudget, ReasonNone, s.renewal(a.Tuning.Budget))
	}
	if why, cause, until := s.blocked(now, a.Tuning); why != WhyNothing {
		if s.hopeless(now, a, why, until) {
			return s.refuse(a, g, why, cause, until)
		}
		g.Why, g.Cause, g.Until = why, cause, s.clock.time(until)
		return s.later(now, a, p, g, until.sub(now))
	}
	return s.turn(now, a, p, g)
}

// turn is TryGrant where nothing blocks.
func (s *Snapshot) turn(now Stamp, a Ask, p *process, g Grant) Grant {
	m, t := &s.machine, a.Tuning
	pace := m.pace(t, now)
	limit, window, total := s.limits()
	place := s.slots.find(a.Ticket)
	ahead := s.ahead(now, place)
	token, room := s.bucket.wait(now, pace), s.ceiling.wait(now, limit, window)
	free := s.free(p, total)
	g.Head = ahead == 0

	wait := max(token, room)
	switch {
	case wait > 0: // those in front need their tokens too
		g.Why = WhyToken
		if room > token {
			g.Why = WhyCeiling
		}
		wait += time.Duration(ahead) * pace.interval()
	case !free:
		g.Why, wait = WhySlot, slotNap
	case ahead > 0:
		g.Why, wait = WhyTurn, min(time.Duration(ahead)*pace.interval(), slotNap)
	default:
		return s.grant(now, a, p, g, pace, window)
	}
	if m.state == HalfOpen && ahead > 0 {
		wait = probeNap
	}
	return s.later(now, a, p, g, wait)
}

func (s *Snapshot) grant(now Stamp, a Ask, p *process, g Grant, pace pace, window time.Duration) Grant {
	m := &s.machine
	hold := a.Hold
	if hold <= 0 {
		hold = leaseMax
	}
	if m.state == HalfOpen {
		hold = min(hold, a.Tuning.RequestTimeout+probeGrace)
	}
	m.permits++
	g.Granted, g.Why = true, WhyNothing
	g.Pass = Pass{m.permits, m.epoch}
	s.slots.withdraw(a.Ticket)
	s.slots.leases = append(s.slots.leases, lease{m.permits, m.epoch, p.key, now.add(hold), a.Budget})
	s.bucket.take(now, pace)
	s.ceiling.add(now, window)
	if !a.Retry {
		s.retries.first(now)
	}
	if a.Budget && !a.Reserved {
		s.reserve(now, p, 1, a.Tuning.Budget)
	}
	return g
}

// later leaves a ticket in the queue, and promises to ask again.
func (s *Snapshot) later(now Stamp, a Ask, p *process, g Grant, wait time.Duration) Grant {
	place := s.slots.find(a.Ticket)
	if place < 0 {
		if len(s.slots.tickets) >= maxTickets {
			g.Wait = maxNap
			return g
		}
		place = s.slots.enqueue(p.key)
	}
	g.Wait = min(max(wait, time.Microsecond), maxNap)
	g.Ticket = s.slots.tickets[place].number
	s.slots.tickets[place].due = now.add(g.Wait)
	return g
}

func (s *Snapshot) refuse(a Ask, g Grant, why Why, cause Reason, until Stamp) Grant {
	s.slots.withdraw(a.Ticket)
	g.Refused, g.Why, g.Cause, g.Until = true, why, cause, s.clock.time(until)
	return g
}

// Withdraw takes the ticket of a request that gives up out of the queue.
func (s *Snapshot) Withdraw(at Instant, number uint64) {
	s.advance(at)
	s.slots.withdraw(number)
}

// blocked says what keeps everybody from sending now, and until when.
func (s *Snapshot) blocked(now Stamp, t *Tuning) (Why, Reason, Stamp) {
	m := &s.machine
	switch {
	case m.state == CacheOnly:
		// A run that is willing to recover says so for all, but not against an operator.
		if t.AutoRecover > 0 && m.reason == ReasonPolicy && (m.autoRecover == 0 || t.AutoRecover < m.autoRecover) {
			m.autoRecover = t.AutoRecover
		}
		return WhyCacheOnly, m.reason, m.recoverAt()
	case m.state == Sleep && m.sleepUntil >= m.pauseUntil:
		return WhySleep, m.reason, max(m.sleepUntil, now)
	case m.state == Sleep:
		return WhySleep, m.reason, m.pauseUntil
	case m.pauseUntil > now:
		return WhyPause, ReasonPause, m.pauseUntil
	default:
		return WhyNothing, ReasonNone, 0
	}
}

// hopeless reports whether an ask that is blocked should be refused at once. Who recovers
// automatically waits in CacheOnly for as long as it takes, everybody else not at all.
func (s *Snapshot) hopeless(now Stamp, a Ask, why Why, until Stamp) bool {
	if why == WhyCacheOnly {
		return a.Tuning.AutoRecover == 0 || until == 0
	}
	return until.sub(now) > a.Patience
}

// ahead counts those in the queue who have to be served before a place, -1 for
// somebody new. Who is late, or may not run more than it does, is passed.
func (s *Snapshot) ahead(now Stamp, place int) int {
	queue := s.slots.tickets
	if place >= 0 {
		queue = queue[:place]
	}
	n := 0
	for i := range queue {
		if now.sub(queue[i].due) <= lateAfter && s.mayRun(queue[i].owner) {
			n++
		}
	}
	return n
}

func (s *Snapshot) mayRun(key uint64) bool {
	for i := range s.processes {
		if p := &s.processes[i]; p.key == key {
			return s.machine.state == HalfOpen || s.slots.held(key) < regimes[s.machine.state].part(p.slots)
		}
	}
	return false
}

// free reports whether there is a slot: one of all, and one of the process's own.
// Probes are alone among themselves; what was sent before still counts everywhere else.
func (s *Snapshot) free(p *process, total int) bool {
	m := &s.machine
	if m.state == HalfOpen {
		return s.slots.running(m.epoch) < regimes[HalfOpen].slots
	}
	r := &regimes[m.state]
	return s.slots.running(0) < r.part(total) && s.slots.held(p.key) < r.part(p.slots)
}

// step makes the machine's step, and keeps the bucket in step with it.
func (s *Snapshot) step(now Stamp, t *Tuning, v move) (Transition, bool) {
	m := &s.machine
	if v.rate = max(v.rate, s.fastest()); v.rate == 0 {
		v.rate = t.RateBase
	}
	before := m.pace(t, now)
	tr, moved := m.step(t, now, v)
	if moved {
		switch {
		case m.state == Throttle: // a burst into trouble would be the opposite of throttling
			s.bucket.empty(now)
		case before.rate > 0:
			s.bucket.carry(now, before, m.pace(t, now))
		case m.state == HalfOpen: // a probe is due when Sleep ends
			s.bucket.full = min(s.bucket.full, now)
		}
		tr.At, tr.Until, tr.Epoch = s.clock.time(now), s.until(), m.epoch
	}
	return tr, moved
}

// until returns when the present block ends by itself, zero if there is none or it does not.
func (s *Snapshot) until() time.Time {
	m := &s.machine
	switch m.state {
	case Sleep:
		return s.clock.time(max(m.sleepUntil, m.pauseUntil))
	case CacheOnly:
		return s.clock.time(m.recoverAt())
	case Normal, Throttle, HalfOpen:
		if m.pauseUntil > s.clock.now {
			return s.clock.time(m.pauseUntil)
		}
	}
	return time.Time{}
}
