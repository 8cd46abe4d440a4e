package ratelimit

import "time"

// Status is the limiter at one moment.
type Status struct {
	At      time.Time
	Offline bool // this process does not send, whatever the state
	Alone   bool // others can't be seen: this process has a part of everything
	Gauges
	Epoch uint64

	Burst  float64
	Tokens float64 // in the bucket now, negative when it is in debt

	Ceiling       int // the smallest of all processes
	CeilingWindow time.Duration
	Granted       int // permits within the present CeilingWindow

	Running   int // permits that are out
	Slots     int // of all processes, in this state
	Waiting   int // tickets in the shared queue
	Processes []ProcessStatus

	Counts     Counts // of the window
	Failures   int    // 5xx and network errors in a row
	Successes  int    // since the state was entered
	Cooldown   time.Duration
	PauseUntil time.Time

	AutoRecover time.Duration // from Since to the end that an auto-recover period gives CacheOnly, 0 for none
	RampRate    float64       // where the ramp is, 0 if it does not hold anything back
	RampNext    time.Time     // when it rises

	Budget       Budget
	BudgetUsed   int
	BudgetHeld   int // reserved
	BudgetRenews time.Time

	Accounts []AccountStatus // in the order in which they were first brought

	Overrides []Override
	Tuning    Tuning // in force for this process
}

// ProcessStatus is one process that takes part in the limiter.
type ProcessStatus struct {
	ID       string
	Own      bool
	Running  int
	Waiting  int
	Reserved int
	Rate     float64
	Seen     time.Time
}

// Status returns what a process with this tuning and these accounts sees. It changes nothing.
func (s *Snapshot) Status(at Instant, t Tuning, owner string, accounts ...Account) Status {
	copied := s.Clone()
	s = &copied
	now := s.advance(at)
	for i := range accounts {
		s.known(now, accounts[i].Name).limits = accounts[i].limitsAt(at.Wall)
	}
	s.expire(now, &t)
	m := &s.machine
	pace := m.pace(&t, now)
	limit, window, total := t.Ceiling, t.CeilingWindow, t.ConcurrencyTotal
	if len(s.processes) > 0 {
		c, w, n := s.limits()
		limit, window, total = min(limit, c), max(window, w), min(total, n)
	}
	st := Status{
		At: at.Wall, Alone: at.Parts > 1, Gauges: s.Gauges(&t), Epoch: m.epoch,
		Burst: pace.burst, Tokens: min(s.bucket.tokens(now, s.commonPace(&t, now)), pace.burst),
		Ceiling: limit, CeilingWindow: window, Granted: s.ceiling.within(now, window),
		Running: len(s.slots.leases), Slots: regimes[m.state].part(total),
		Waiting: len(s.slots.tickets),
		Counts:  m.window.counts(now, &t), Failures: m.failures, Successes: m.successes,
		Cooldown: m.cooled(&t),
		Budget:   t.Budget, Tuning: t,
	}
	if m.state == CacheOnly && m.blockUntil != 0 && m.reason != ReasonRetryAfterLong {
		st.AutoRecover = m.blockUntil.sub(m.since)
	}
	if m.pauseUntil > now {
		st.PauseUntil = s.clock.time(m.pauseUntil)
	}
	if rate := m.rampRate(t.RateBase, &t, now); rate < t.RateBase {
		st.RampRate = rate
		st.RampNext = s.clock.time(m.rampAt.add((now.sub(m.rampAt)/t.RampInterval + 1) * t.RampInterval))
	}
	if t.Budget.On() {
		use := s.budget.at(now)
		st.BudgetUsed, st.BudgetHeld = use.used, s.reserved(now, &t)
		st.BudgetRenews = s.clock.time(use.ends())
	}
	for i := range s.processes {
		p := &s.processes[i]
		ps := ProcessStatus{
			ID: p.id, Own: p.id == owner, Running: s.slots.held(p.key), Reserved: p.reserved,
			Rate: p.rate, Seen: s.clock.time(p.seen),
		}
		for _, tk := range s.slots.tickets {
			if tk.owner == p.key {
				ps.Waiting++
			}
		}
		st.Processes = append(st.Processes, ps)
	}
	st.Accounts = s.accountStatuses(now, &t, at.Parts)
	st.Overrides = s.clock.public(s.overrides.list)
	return st
}

// Gauges are what goes with every event: the state, why and since when it is, the end of its block, and numbers.
type Gauges struct {
	Block
	Streak429 int
	ErrRatio  float64 // of the window
	Rate      float64 // requests a second that this process may send now
	OwnSlots  int     // of this process, now
}

// Gauges returns the numbers as a process with this tuning sees them.
func (s *Snapshot) Gauges(t *Tuning) Gauges {
	m, now := &s.machine, s.clock.now
	return Gauges{
		Block{m.state, m.reason, s.clock.time(m.since), s.until()},
		m.streak429, m.window.counts(now, t).Ratio(), m.pace(t, now).rate, regimes[m.state].part(t.Concurrency),
	}
}
