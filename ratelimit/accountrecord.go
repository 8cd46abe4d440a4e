package ratelimit

import "time"

// Choice is through which account and key a request goes. The zero Choice is none.
type Choice struct {
	Account string
	Key     Fingerprint
	Why     Why
	Running int      // requests of the account under way, this one included
	Limit   int      // how many there may be; 0: no limit
	Full    []string // accounts that were full
}

// KeyChange says that a key is in or out from now on.
type KeyChange struct {
	Account  string
	Key      Fingerprint
	From, To Standing
}

// grant notes a request of the chosen account in its lease.
func (p *pick) grant(now Stamp, t *Tuning, l *lease, permit uint64) Choice {
	a, k := p.account, p.key
	a.last, k.last = now, now
	if pace := p.limits.pace(a, t, now); pace.rate > 0 {
		a.bucket.take(now, pace)
	}
	l.key, l.test = k.id, p.why == ByTest
	if p.limits.machine == &a.machine {
		a.machine.permits = max(a.machine.permits, permit)
		l.accountEpoch = a.machine.epoch
	}
	return Choice{a.name, k.print, p.why, p.running + 1, p.limits.slots, p.full}
}

// judge changes the standing of keys as a row of the table says.
func (a *account) judge(now Stamp, k *accountKey, what onKeys, l *lease) (changes []KeyChange) {
	set := func(k *accountKey, to Standing) {
		if k.standing != to {
			changes = append(changes, KeyChange{a.name, k.print, k.standing, to})
			k.standing, k.since = to, now
		}
	}
	switch what {
	case keepsKeys:
	case provesKey:
		if !k.standing.Out() || l.test { // else it left before the refusal
			set(k, Proven)
		}
	case endsKey:
		set(k, Refused)
	case endsAll:
		for i := range a.keys {
			set(&a.keys[i], Suspended)
		}
	}
	return changes
}

// recordAt makes an answer evidence in the account's own machine.
func (s *Snapshot) recordAt(now Stamp, a *account, held *lease, r *Report) (Transition, bool) {
	m := &a.machine
	current := held.accountEpoch == m.epoch
	m.pause(now, &r.Event, r.Pass.Number, current, r.Draw)
	if !current {
		return Transition{}, false
	}
	return s.stepAccount(now, r.Tuning, a, move{on: onAnswer, event: r.Event, permit: r.Pass.Number, draw: r.Draw})
}

// stepAccounts lets time pass in the accounts' machines: at most one transition.
func (s *Snapshot) stepAccounts(now Stamp, t *Tuning) (Transition, bool) {
	if t.LimitedBy != ByAccount {
		return Transition{}, false
	}
	for i := range s.accounts {
		a := &s.accounts[i]
		if a.machine.epoch == 0 {
			a.machine.begin(now, ReasonFresh)
			a.machine.permits = s.machine.permits
		}
		if tr, moved := s.stepAccount(now, t, a, move{on: onClock}); moved {
			return tr, true
		}
	}
	return Transition{}, false
}

// stepAccount makes the step of an account's machine, and keeps its bucket in step with it.
func (s *Snapshot) stepAccount(now Stamp, t *Tuning, a *account, v move) (Transition, bool) {
	l := s.limitsOf(a, t, 1)
	if v.rate = t.RateBase; l.rate > 0 {
		v.rate = min(v.rate, l.rate)
	}
	before := l.pace(a, t, now)
	tr, moved := a.machine.step(t, now, v)
	if !moved {
		return tr, false
	}
	a.bucket.enter(now, a.machine.state, before, l.pace(a, t, now))
	tr.Account, tr.At, tr.Until, tr.Epoch = a.name, s.clock.time(now), s.untilOf(&a.machine), a.machine.epoch
	return tr, true
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

// accountStatuses returns the accounts that are known.
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
			Overrides: s.clock.public(a.tuned), Quota: l.quota, QuotaUsed: use.used, QuotaReserved: s.running(a), QuotaRenews: s.clock.time(use.ends()),
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
