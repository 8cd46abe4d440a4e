package core

import (
	"cmp"
	"slices"
	"time"
)

// Status is a copy of the limiter's state for display.
type Status struct {
	At      time.Time
	Offline bool // this process sends nothing
	Alone   bool // this process can't reach the others and has a share of the limits
	Gauges
	Epoch uint64

	Burst  float64
	Tokens float64 // in the bucket now; negative is debt

	Ceiling       int // the smallest of all processes
	CeilingWindow time.Duration
	Granted       int // permits within the present CeilingWindow

	Running   int // permits in use
	Slots     int // for all processes, in this state
	Waiting   int // tickets in the shared queue
	Processes []ProcessStatus

	Counts     Counts // of the window
	Failures   int    // 5xx and network errors in a row
	Successes  int    // since the state was entered
	Cooldown   time.Duration
	PauseUntil time.Time

	AutoRecover time.Duration // CacheOnly's length by auto_recover; 0: none
	Learned     LearnedLimit  // the limit learned from 429s, if it is below RateBase
	Stated      StatedLimit   // the limit in the upstream's newest answers, as long as it applies

	Budget       Budget
	BudgetUsed   int
	BudgetHeld   int // reserved
	BudgetRenews time.Time

	Accounts []AccountStatus // in order of first use

	Overrides []Override
	Tuning    Tuning // as it applies to this process
}

// StatedLimit is the limit in the RateLimit-Policy field of the upstream's answers. The zero StatedLimit is none.
type StatedLimit struct {
	Requests int
	Period   time.Duration
	Since    time.Time // the time of the newest answer with this limit
}

// LearnedLimit is a limit that was learned from 429s.
type LearnedLimit struct {
	Rate    float64 // requests a second; 0: none
	Since   time.Time
	Last429 time.Time // time of the last 429
}

// ProcessStatus is one process that shares the limiter.
type ProcessStatus struct {
	ID       string
	IsOwn    bool // this process
	Running  int
	Waiting  int
	Reserved int
	Rate     float64
	LastSeen time.Time
}

// Status returns the limiter's status for a process with this tuning and these accounts. It changes nothing.
func (s *Snapshot) Status(at Instant, t Tuning, owner string, accounts ...Account) Status {
	copied := s.Clone()
	s = &copied
	v := view{s, s.advance(at), &t, at}
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
		st.PauseUntil = clock.wallTime(m.pauseUntil)
	}
	if rate := m.learned.capRate(t.RateBase); rate < t.RateBase {
		st.Learned = LearnedLimit{rate, clock.wallTime(m.learned.since), clock.wallTime(m.learned.last429)}
	}
	if l := &m.stated; l.active(now) {
		st.Stated = StatedLimit{l.quota, l.period, clock.wallTime(l.lastStated)}
	}
	if t.Budget.On() {
		use := s.address.quota.current(now)
		st.BudgetUsed, st.BudgetRenews = use.used, clock.wallTime(use.end())
		st.BudgetHeld, _ = v.totalReserved()
	}
	for i := range s.processes.list {
		p := &s.processes.list[i]
		st.Processes = append(st.Processes, ProcessStatus{
			ID: p.id, IsOwn: p.id == owner, Running: s.queue.leasesOf(p.key), Reserved: p.reserved,
			Waiting: count(s.queue.tickets, func(t *ticket) bool { return t.owner == p.key }),
			Rate:    p.normalPace.rate, LastSeen: clock.wallTime(p.seen),
		})
	}
	return st
}

// Gauges are the figures that every event reports: the state with its reason and times, and numbers.
type Gauges struct {
	Block
	Streak429 int
	ErrRatio  float64 // of the window
	Rate      float64 // requests a second allowed to this process now
	OwnSlots  int     // for this process, now
}

// Gauges returns the figures for a process with this tuning.
func (s *Snapshot) Gauges(t *Tuning) Gauges {
	m, now := &s.address.machine, s.clock.now
	return Gauges{
		m.block(&s.clock), m.streak429, m.window.count(now, t).Ratio(), m.pace(t.normalPace(), t, now).rate,
		m.allowance().slotsOf(t.Concurrency),
	}
}

// AccountStatus is the status of an account. In a [Status] it has the shared values; [Status.ForAccount] adds the
// configuration of one process.
type AccountStatus struct {
	Name string
	// Enabled is set by an operator if Overridden is true, otherwise by the configuration.
	Enabled    bool
	Overridden bool
	// Unusable is the reason why the account can't be used: ReasonNoAccount if it is disabled, ReasonCredentials if all
	// its keys are refused, ReasonNone if it can be used. Only ForAccount sets it.
	Unusable Reason

	Block                 // of its own state machine; zero if the upstream limits by address
	HasMachine    bool    // the account has its own state machine
	Rate          float64 // 0: the address's rate
	Running       int
	Slots         int // the limit that applies; 0: none
	KeySlots      int
	Quota         Budget
	QuotaUsed     int
	QuotaReserved int
	QuotaRenews   time.Time
	Keys          []KeyStatus
	Overrides     []Override
}

// KeyStatus is the status of one key of an account.
type KeyStatus struct {
	Key      Fingerprint
	Standing Standing
	Since    time.Time // zero: never used
	Running  int
}

func (v view) accountStatuses() (list []AccountStatus) {
	clock, q := &v.s.clock, &v.s.queue
	for i := range v.s.accounts.list {
		a := &v.s.accounts.list[i]
		l, use, running := v.limitsOf(a), a.quota.current(v.now), q.leasesOfAccount(a)
		st := AccountStatus{
			Name: a.name, Enabled: l.enabledOverride == nil || *l.enabledOverride, Overridden: l.enabledOverride != nil,
			HasMachine: l.hasOwnMachine, Running: running, Slots: l.slots, KeySlots: l.keySlots,
			Rate:  cmp.Or(l.pace(v.t, v.now).rate, min(l.rate, v.t.RateBase)), // the configured rate during a block
			Quota: l.quota, QuotaUsed: use.used, QuotaReserved: running, QuotaRenews: clock.wallTime(use.end()),
			Overrides: clock.publicOverrides(a.overrides),
		}
		if l.hasOwnMachine {
			st.Block = l.machine.block(clock)
		}
		for _, k := range a.keys {
			st.Keys = append(st.Keys, KeyStatus{k.fingerprint, k.standing, clock.wallTime(k.standingSince), q.leasesOfKey(k.id)})
		}
		list = append(list, st)
	}
	return list
}

// ForAccount returns the status of a configured account, with the keys in the configuration's order, and Unusable.
func (st *Status) ForAccount(account Account) AccountStatus {
	v := AccountStatus{Name: account.Name}
	if i := slices.IndexFunc(st.Accounts, func(a AccountStatus) bool { return a.Name == account.Name }); i >= 0 {
		v = st.Accounts[i]
	}
	known := v.Keys
	v.Keys = nil
	for _, print := range account.Keys {
		k := KeyStatus{Key: print}
		if i := slices.IndexFunc(known, func(k KeyStatus) bool { return k.Key == print }); i >= 0 {
			k = known[i]
		}
		v.Keys = append(v.Keys, k)
	}
	var told *bool
	if v.Overridden {
		told = &v.Enabled
	}
	v.Unusable = account.unusableReason(told, func(fingerprint Fingerprint) bool {
		return v.Keys[slices.Index(account.Keys, fingerprint)].Standing.Unusable()
	})
	v.Enabled = v.Unusable != ReasonNoAccount
	return v
}

// Standing returns the account's best key: a proven one, else an unproven, a suspended or a refused one.
func (st *AccountStatus) Standing() (best KeyStatus) {
	order := []Standing{StandingProven, StandingUnproven, StandingSuspended, StandingRefused}
	for i, k := range st.Keys {
		if i == 0 || slices.Index(order, k.Standing) < slices.Index(order, best.Standing) {
			best = k
		}
	}
	return best
}

// unusableReason returns why an account can't be used, ReasonNone if it can. override is an operator's override of
// Disabled, nil for none. keyUnusable reports whether a key is refused or suspended.
func (a *Account) unusableReason(override *bool, keyUnusable func(Fingerprint) bool) Reason {
	disabled := a.Disabled
	if override != nil {
		disabled = !*override
	}
	switch {
	case disabled:
		return ReasonNoAccount
	case !slices.ContainsFunc(a.Keys, func(fingerprint Fingerprint) bool { return !keyUnusable(fingerprint) }):
		return ReasonCredentials
	}
	return ReasonNone
}
