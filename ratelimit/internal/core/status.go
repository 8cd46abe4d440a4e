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

	Budget       Budget
	BudgetUsed   int
	BudgetHeld   int // reserved
	BudgetRenews time.Time

	Accounts []AccountStatus // in the order in which they were first brought

	Overrides []Override
	Tuning    Tuning // in force for this process
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
		Running: len(s.slots.leases), Slots: m.regime().slotsOf(total),
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
	if rate := m.learned.rate(); rate > 0 && rate < t.RateBase {
		st.Learned = LearnedLimit{rate, s.clock.time(m.learned.since), s.clock.time(m.learned.refusal)}
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
		m.streak429, m.window.counts(now, t).Ratio(), m.pace(t, now).rate, m.regime().slotsOf(t.Concurrency),
	}
}

// AccountStatus is an account at one moment.
type AccountStatus struct {
	Name    string
	Enabled bool // an operator's word where Told is set, else true
	Told    bool // an operator has said whether it is enabled

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

func (s *Snapshot) accountStatuses(now Stamp, t *Tuning, parts int) (list []AccountStatus) {
	for i := range s.accounts {
		a := &s.accounts[i]
		l := s.limitsOf(a, t, parts)
		use := a.quota.at(now)
		rate := l.pace(a, t, now).rate
		if rate == 0 { // a block leaves the account its rate
			rate = min(l.rate, t.RateBase)
		}
		st := AccountStatus{
			Name: a.name, Enabled: true, Running: s.running(a), Rate: rate, Slots: l.slots, KeySlots: l.keySlots,
			Overrides: s.clock.public(a.tuned), Quota: l.quota, QuotaUsed: use.used, QuotaReserved: s.running(a),
			QuotaRenews: s.clock.time(use.ends()),
		}
		if l.enabled != nil {
			st.Enabled, st.Told = *l.enabled, true
		}
		if m := l.machine; m == &a.machine {
			st.Limited = true
			st.Block = Block{m.state, m.reason, s.clock.time(m.since), s.untilOf(m)}
		}
		for _, k := range a.keys {
			st.Keys = append(st.Keys, KeyStatus{k.print, k.standing, s.clock.time(k.since), s.runningWith(k.id)})
		}
		list = append(list, st)
	}
	return list
}

// AccountView is an account of a configuration as all processes know it: what a person or program is told of it. Its
// keys are those of the configuration, in its order, and Enabled counts the configuration too.
type AccountView struct {
	AccountStatus
	// Barred is why no request may go through it, whatever the time: ReasonNoAccount where it is disabled,
	// ReasonCredentials where each of its keys is out; ReasonNone where it is in.
	Barred Reason
}

// View returns an account as all processes know it.
func (st *Status) View(own Account) AccountView {
	v := AccountView{AccountStatus: AccountStatus{Name: own.Name}}
	if i := slices.IndexFunc(st.Accounts, func(a AccountStatus) bool { return a.Name == own.Name }); i >= 0 {
		v.AccountStatus = st.Accounts[i]
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
	v.Barred = own.barred(told, func(print Fingerprint) bool {
		return v.Keys[slices.Index(own.Keys, print)].Standing.Unusable()
	})
	v.Enabled = v.Barred != ReasonNoAccount
	return v
}

// Standing is that of the account's best key: in before unproven, and either before one that is out.
func (v *AccountView) Standing() KeyStatus {
	var best KeyStatus
	for i, k := range v.Keys {
		if i == 0 || rank(k.Standing) < rank(best.Standing) {
			best = k
		}
	}
	return best
}

func rank(s Standing) int {
	return slices.Index([]Standing{Proven, Unproven, Suspended, Refused}, s)
}

// barred returns why an account may not be used whatever the time, ReasonNone where it may. told is an operator's word
// whether it is enabled, nil for none; out says of a key whether it may not be used.
func (a *Account) barred(told *bool, out func(Fingerprint) bool) Reason {
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
