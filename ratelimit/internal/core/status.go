package core

import (
	"slices"
	"time"
)

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
	Learned     LearnedLimit  // the limit that 429s have taught, where it is below RateBase
	Stated      StatedLimit   // the limit that the upstream's newest answers state, while it holds

	Budget       Budget
	BudgetUsed   int
	BudgetHeld   int // reserved
	BudgetRenews time.Time

	Accounts []AccountStatus // in the order in which they were first brought

	Overrides []Override
	Tuning    Tuning // in force for this process
}

// StatedLimit is a limit that the upstream's answers state in RateLimit-Policy. The zero StatedLimit is none.
type StatedLimit struct {
	Requests int
	Period   time.Duration
	Since    time.Time // when the newest answer stated it
}

// LearnedLimit is a limit of the upstream that nobody has configured.
type LearnedLimit struct {
	Rate    float64   // requests a second; 0: none is known
	Since   time.Time // when it was learned
	Refused time.Time // the last 429
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
	v := view{s, s.advance(at), &t, at.Parts}
	now, clock, m := v.now, &s.clock, &s.address.machine
	for i := range accounts {
		s.accounts.getOrAdd(now, accounts[i].Name).limits = accounts[i].limitsAt(at.Wall)
	}
	v.expire()
	limit, window, total := t.Ceiling, t.CeilingWindow, t.ConcurrencyTotal
	if len(s.processes.list) > 0 {
		c, w, n := s.processes.commonLimits()
		limit, window, total = min(limit, c), max(window, w), min(total, n)
	}
	burst := m.pace(t.normalPace(), &t, now).burst
	st := Status{
		At: at.Wall, Alone: at.Parts > 1, Gauges: s.Gauges(&t), Epoch: m.epoch,
		Burst: burst, Tokens: min(s.address.bucket.tokens(now, v.commonPace()), burst),
		Ceiling: limit, CeilingWindow: window, Granted: s.ceiling.grantsWithin(now, window),
		Running: len(s.queue.leases), Slots: m.allowance().slotsOf(total), Waiting: len(s.queue.tickets),
		Counts: m.window.count(now, &t), Failures: m.failures, Successes: m.successes, Cooldown: m.clampedCooldown(&t),
		Budget: t.Budget, Tuning: t, Accounts: v.accountStatuses(), Overrides: clock.publicOverrides(s.overrides.list),
	}
	if m.state == CacheOnly && m.blockUntil != 0 && m.reason != ReasonRetryAfterLong {
		st.AutoRecover = m.blockUntil.sub(m.since)
	}
	if m.pauseUntil > now {
		st.PauseUntil = clock.time(m.pauseUntil)
	}
	if rate := m.learned.rate(); rate > 0 && rate < t.RateBase {
		st.Learned = LearnedLimit{rate, clock.time(m.learned.since), clock.time(m.learned.last429)}
	}
	if l := &m.stated; l.active(now) {
		st.Stated = StatedLimit{l.quota, l.period, clock.time(l.since)}
	}
	if t.Budget.On() {
		use := s.address.quota.current(now)
		st.BudgetUsed, st.BudgetRenews = use.used, clock.time(use.ends())
		st.BudgetHeld, _ = v.totalReserved()
	}
	for i := range s.processes.list {
		p := &s.processes.list[i]
		ps := ProcessStatus{
			ID: p.id, Own: p.id == owner, Running: s.queue.leasesOf(p.key), Reserved: p.reserved,
			Rate: p.normalPace.rate, Seen: clock.time(p.seen),
		}
		for _, ticket := range s.queue.tickets {
			if ticket.owner == p.key {
				ps.Waiting++
			}
		}
		st.Processes = append(st.Processes, ps)
	}
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
	m, now := &s.address.machine, s.clock.now
	return Gauges{
		m.block(&s.clock), m.streak429, m.window.count(now, t).Ratio(), m.pace(t.normalPace(), t, now).rate,
		m.allowance().slotsOf(t.Concurrency),
	}
}

// AccountStatus is an account at one moment. Those of a [Status] are as all processes know them; View returns one as a
// configuration has it.
type AccountStatus struct {
	Name string
	// Enabled is an operator's word where Told is set, else the configuration's.
	Enabled bool
	Told    bool
	// Barred is why no request may go through it, whatever the time: ReasonNoAccount where it is disabled,
	// ReasonCredentials where each of its keys is out; ReasonNone where it is in. Only View sets it.
	Barred Reason

	Block                 // of its own machine; the zero Block where the upstream limits by address
	Limited       bool    // it has a machine of its own
	Rate          float64 // requests a second; 0: as the address
	Running       int
	Slots         int // limits in force; 0: none
	KeySlots      int
	Quota         Budget
	QuotaUsed     int
	QuotaReserved int
	QuotaRenews   time.Time
	Keys          []KeyStatus
	Overrides     []Override
}

// KeyStatus is one of its keys.
type KeyStatus struct {
	Key      Fingerprint
	Standing Standing
	Since    time.Time // zero: it was never used
	Running  int
}

func (v view) accountStatuses() (list []AccountStatus) {
	clock, q := &v.s.clock, &v.s.queue
	for i := range v.s.accounts.list {
		a := &v.s.accounts.list[i]
		l, use, running := v.limitsOf(a), a.quota.current(v.now), q.leasesOfAccount(a)
		st := AccountStatus{
			Name: a.name, Enabled: l.enabledOverride == nil || *l.enabledOverride, Told: l.enabledOverride != nil,
			Limited: l.ownMachine, Running: running, Rate: l.pace(v.t, v.now).rate, Slots: l.slots, KeySlots: l.keySlots,
			Quota: l.quota, QuotaUsed: use.used, QuotaReserved: running, QuotaRenews: clock.time(use.ends()),
			Overrides: clock.publicOverrides(a.overrides),
		}
		if st.Rate == 0 { // a block leaves the account its rate
			st.Rate = min(l.rate, v.t.RateBase)
		}
		if l.ownMachine {
			st.Block = l.machine.block(clock)
		}
		for _, k := range a.keys {
			st.Keys = append(st.Keys, KeyStatus{k.fingerprint, k.standing, clock.time(k.standingSince), q.leasesOfKey(k.id)})
		}
		list = append(list, st)
	}
	return list
}

// View returns an account of a configuration: with its keys, in its order, and whether it may be used.
func (st *Status) View(own Account) AccountStatus {
	v := AccountStatus{Name: own.Name}
	if i := slices.IndexFunc(st.Accounts, func(a AccountStatus) bool { return a.Name == own.Name }); i >= 0 {
		v = st.Accounts[i]
	}
	known := v.Keys
	v.Keys = nil
	for _, print := range own.Keys {
		k := KeyStatus{Key: print}
		if i := slices.IndexFunc(known, func(k KeyStatus) bool { return k.Key == print }); i >= 0 {
			k = known[i]
		}
		v.Keys = append(v.Keys, k)
	}
	var told *bool
	if v.Told {
		told = &v.Enabled
	}
	v.Barred = own.unusableReason(told, func(print Fingerprint) bool {
		return v.Keys[slices.Index(own.Keys, print)].Standing.Unusable()
	})
	v.Enabled = v.Barred != ReasonNoAccount
	return v
}

// Standing is that of the account's best key: in before unproven, and either before one that is out.
func (st *AccountStatus) Standing() (best KeyStatus) {
	order := []Standing{Proven, Unproven, Suspended, Refused}
	for i, k := range st.Keys {
		if i == 0 || slices.Index(order, k.Standing) < slices.Index(order, best.Standing) {
			best = k
		}
	}
	return best
}

// unusableReason returns why an account may not be used whatever the time, ReasonNone where it may. told is an
// operator's word whether it is enabled, nil for none; out says of a key whether it may not be used.
func (a *Account) unusableReason(told *bool, out func(Fingerprint) bool) Reason {
	disabled := a.Disabled
	if told != nil {
		disabled = !*told
	}
	switch {
	case disabled:
		return ReasonNoAccount
	case !slices.ContainsFunc(a.Keys, func(print Fingerprint) bool { return !out(print) }):
		return ReasonCredentials
	}
	return ReasonNone
}
