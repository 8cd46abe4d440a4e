package core

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"time"
)

// Account is an account of the upstream in one process's configuration. Processes share accounts by name. If their
// limits differ, those of the last process to ask for a permit apply.
type Account struct {
	Name     string
	Priority int           // accounts with smaller numbers are used first
	Keys     []Fingerprint // at least one
	Slots    int           // most requests under way at once with all of its keys; 0: no limit
	KeySlots int           // most requests under way at once with each key; 0: no limit
	Rate     float64       // requests a second; 0: the tuning's RateBase
	Quota    Budget
	Disabled bool
	Schedule []Period // the first period that contains the current time replaces Slots
}

// Period is a part of the local day with its own limit. It excludes To, and spans midnight if To is before From.
type Period struct {
	From, To time.Duration // since midnight
	Slots    int           // 0: no limit
}

func (p Period) contains(timeOfDay time.Duration) bool {
	if p.From <= p.To {
		return p.From <= timeOfDay && timeOfDay < p.To
	}
	return timeOfDay >= p.From || timeOfDay < p.To
}

// Fingerprint identifies a key without revealing it.
type Fingerprint uint64

// FingerprintOf returns the fingerprint of a key: the first 8 bytes of a SHA-256.
func FingerprintOf(key string) Fingerprint {
	sum := sha256.Sum256([]byte("anivault key " + key))
	return Fingerprint(binary.BigEndian.Uint64(sum[:]))
}

func (f Fingerprint) String() string { return fmt.Sprintf("%016x", uint64(f)) }

const (
	// maxAccounts bounds the accounts in the state, and maxKeys the keys of each. Configurations have fewer.
	maxAccounts        = 64
	maxKeys            = 32
	forgetAccountAfter = 30 * 24 * time.Hour // accounts and keys that no process has configured for this long are dropped
	seenUpdateInterval = time.Minute         // the time when an account or key was last seen is updated at most this often
	// unprovenTimeout is how long one request has an unproven key to itself. Then the next request may use the key, so
	// that requests to a dead upstream do not time out one after the other.
	unprovenTimeout = 3 * time.Second
)

type account struct {
	scope
	id        uint64 // the number by which processes refer to the account
	name      string
	limits    accountLimits // as configured in the process that last asked for a permit
	seen      Stamp         // when a process last had it in its configuration
	lastGrant Stamp
	keys      []accountKey
	overrides []override // limits changed by operators; their keys are those of accountFields, and enabledKey
}

type accountKey struct {
	id          uint64 // the number by which leases refer to the key
	fingerprint Fingerprint
	seen        Stamp // when a process last had it in its configuration
	lastGrant   Stamp

	standing      Standing
	standingSince Stamp
}

// Standing says whether a key may be used.
type Standing uint8

// The standings. They are stored by number.
const (
	StandingUnproven  Standing = iota // not yet accepted: only one request at a time may use it
	StandingProven                    // accepted
	StandingRefused                   // refused by the upstream
	StandingSuspended                 // the upstream suspended the key's account
)

var standingNames = [...]string{"unproven", "accepted", "refused", "suspended"}

func (s Standing) String() string { return enumName(s, standingNames[:], "Standing") }

// Unusable reports whether the key may not be used.
func (s Standing) Unusable() bool { return s == StandingRefused || s == StandingSuspended }

// accountLimits are the limits of an account that can be configured; 0 means no limit.
type accountLimits struct {
	slots, keySlots int
	rate            float64
	quota           Budget
}

type accounts struct {
	list []account
	seq  uint64 // the newest number of an account or a key
}

func (l *accounts) byName(name string) *account {
	return find(l.list, func(a *account) bool { return a.name == name })
}

func (l *accounts) keyByID(id uint64) (*account, *accountKey) {
	for i := range l.list {
		a := &l.list[i]
		if k := find(a.keys, func(k *accountKey) bool { return id != 0 && k.id == id }); k != nil {
			return a, k
		}
	}
	return nil, nil
}

func (l *accounts) getOrAdd(now Stamp, name string) *account {
	if a := l.byName(name); a != nil {
		return a
	}
	l.seq++
	l.list = append(l.list, account{id: l.seq, name: name, seen: now})
	return &l.list[len(l.list)-1]
}

// register adds or updates a process's accounts, with the limits that apply at the time of day of wall, and returns
// their IDs. It drops accounts and keys that were not used for long.
func (l *accounts) register(now Stamp, list []Account, wall time.Time, q *queue) []uint64 {
	if len(list) == 0 {
		return nil
	}
	ids := make([]uint64, len(list))
	for i := range list {
		a := l.getOrAdd(now, list[i].Name)
		ids[i], a.limits = a.id, list[i].limitsAt(wall)
		if now.sub(a.seen) >= seenUpdateInterval {
			a.seen = now
		}
		for _, print := range list[i].Keys {
			k := a.findKey(print)
			if k == nil {
				l.seq++
				a.keys = append(a.keys, accountKey{id: l.seq, fingerprint: print, seen: now, standingSince: now})
			} else if now.sub(k.seen) >= seenUpdateInterval {
				k.seen = now
			}
		}
	}
	l.dropOld(now, q)
	return ids
}

func (a *Account) limitsAt(wall time.Time) accountLimits {
	limits := accountLimits{a.Slots, a.KeySlots, a.Rate, a.Quota}
	h, m, s := wall.Clock()
	clock := time.Duration(h)*time.Hour + time.Duration(m)*time.Minute + time.Duration(s)*time.Second
	if i := slices.IndexFunc(a.Schedule, func(p Period) bool { return p.contains(clock) }); i >= 0 {
		limits.slots = a.Schedule[i].Slots
	}
	return limits
}

// dropOld drops unused accounts and keys not configured for long, and the oldest ones if there are too many.
func (l *accounts) dropOld(now Stamp, q *queue) {
	for i := range l.list {
		a := &l.list[i]
		for len(a.keys) > 0 {
			k := slices.MinFunc(a.keys, func(x, y accountKey) int { return cmp.Compare(x.seen, y.seen) })
			if len(a.keys) <= maxKeys && now.sub(k.seen) < forgetAccountAfter || q.leasesOfKey(k.id) > 0 {
				break
			}
			a.keys = slices.DeleteFunc(a.keys, func(o accountKey) bool { return o.id == k.id })
		}
	}
	l.list = slices.DeleteFunc(l.list, func(a account) bool {
		return now.sub(a.seen) >= forgetAccountAfter && q.leasesOfAccount(&a) == 0
	})
	for len(l.list) > maxAccounts {
		oldest := slices.MinFunc(l.list, func(a, b account) int { return cmp.Compare(a.seen, b.seen) }).id
		l.list = slices.DeleteFunc(l.list, func(a account) bool { return a.id == oldest })
	}
}

// usedSince returns how many requests of each account's quota, and under "" of the budget, have been used since at,
// when before were used.
func (s *Snapshot) usedSince(before map[string]int, at Stamp) map[string]int {
	m := map[string]int{"": s.address.quota.usedSince(before[""], at)}
	for i := range s.accounts.list {
		a := &s.accounts.list[i]
		m[a.name] = a.quota.usedSince(before[a.name], at)
	}
	return m
}

func (a *account) findKey(fingerprint Fingerprint) *accountKey {
	return find(a.keys, func(k *accountKey) bool { return k.fingerprint == fingerprint })
}

func (a *account) hasKey(key uint64) bool {
	return slices.ContainsFunc(a.keys, func(k accountKey) bool { return k.id == key })
}

// retryKeys makes refused and suspended keys unproven, so that requests try them again.
func (a *account) retryKeys(now Stamp) {
	for i := range a.keys {
		if k := &a.keys[i]; k.standing.Unusable() {
			k.standing, k.standingSince = StandingUnproven, now
		}
	}
}

// updateKeys applies an answer's effect to the key of its request or to all keys. It returns the changes.
func (a *account) updateKeys(now Stamp, k *accountKey, effect keyEffect, l *lease) (changes []KeyChange) {
	set := func(k *accountKey, to Standing) {
		if k.standing != to {
			changes = append(changes, KeyChange{a.name, k.fingerprint, k.standing, to})
			k.standing, k.standingSince = to, now
		}
	}
	switch effect {
	case leaveKeys:
	case proveKey:
		if !k.standing.Unusable() ||
			l.isTest { // the request of an unusable key was sent before the refusal, unless it is a test
			set(k, StandingProven)
		}
	case refuseKey:
		set(k, StandingRefused)
	case suspendAllKeys:
		for i := range a.keys {
			set(&a.keys[i], StandingSuspended)
		}
	}
	return changes
}

// merge takes over pauses, bucket use and newer standings of keys. translate converts the times of the other copy.
func (a *account) merge(from *account, translate func(Stamp) Stamp) {
	a.scope.merge(&from.scope, translate)
	for i := range from.keys {
		theirs := &from.keys[i]
		if k := a.findKey(theirs.fingerprint); k != nil && translate(theirs.standingSince) > k.standingSince {
			k.standing, k.standingSince = theirs.standing, translate(theirs.standingSince)
		}
	}
}

// limits are the limits of an account that apply now.
type limits struct {
	accountLimits
	overrideEnd     Stamp    // when enabledOverride ends; 0: never
	enabledOverride *bool    // whether an operator has enabled or disabled the account; nil: neither
	machine         *machine // the machine whose state applies to the account's requests
	hasOwnMachine   bool     // whether the machine is the account's own, because the upstream limits by account
}

// limitsOf returns the limits of an account that apply now: the configured limits, changed by operators' overrides,
// divided by the view's parts, and reduced by the state of the machine.
func (v view) limitsOf(a *account) limits {
	l := limits{accountLimits: a.limits, machine: &v.s.address.machine}
	if l.hasOwnMachine = v.t.LimitedBy == ByAccount && a.machine.epoch != 0; l.hasOwnMachine {
		l.machine = &a.machine
	}
	for _, o := range a.overrides {
		if on := o.value == "true"; o.key == enabledKey {
			l.enabledOverride, l.overrideEnd = &on, o.until
			continue
		}
		_ = setAccountField(&l.accountLimits, o.key, o.value) // no error: values are checked before they are stored
	}
	if n := v.at.Parts; n > 1 {
		l.slots, l.keySlots, l.rate = divideLimit(l.slots, n), divideLimit(l.keySlots, n), l.rate/float64(n)
	}
	if r := l.machine.allowance(); r.share > 0 { // with a share of 0 the machine blocks all requests
		if l.slots > 0 {
			l.slots = min(l.slots, r.slotsOf(l.slots))
		}
		if l.hasOwnMachine && l.machine.probing() {
			l.slots = r.slots
		}
	}
	return l
}

func divideLimit(limit, parts int) int {
	if limit == 0 {
		return 0
	}
	return max(1, limit/parts)
}

func (l *limits) normalPace(t *Tuning) pace {
	rate := t.RateBase
	if l.rate > 0 {
		rate = min(rate, l.rate)
	}
	return pace{rate, min(t.bucketCap(), max(rate, 1))}
}

// pace returns the account's pace. It is zero if the account has no pace of its own, only the address has.
func (l *limits) pace(t *Tuning, now Stamp) pace {
	if l.rate == 0 && !l.hasOwnMachine {
		return pace{}
	}
	p := l.machine.pace(l.normalPace(t), t, now)
	if st := &l.machine.stated; l.hasOwnMachine && st.active(now) {
		p = newPace(min(p.rate, float64(st.quota)/st.period.Seconds()), p.burst)
	}
	return p
}

func (v view) paceWait(a *account, l *limits) time.Duration {
	p := l.pace(v.t, v.now)
	if p.rate == 0 {
		return 0
	}
	return a.bucket.wait(v.now, p)
}

func (v view) isKeyFree(k *accountKey, l *limits) bool {
	running := v.s.queue.leasesOfKey(k.id)
	if k.standing == StandingUnproven && running > 0 && v.now.sub(k.lastGrant) < unprovenTimeout {
		return false
	}
	return l.keySlots == 0 || running < l.keySlots
}

// quotaLeft returns how many requests of its quota an account has left. Running requests count as used.
func (v view) quotaLeft(a *account, l *limits) int {
	use := a.quota.current(v.now)
	return max(v.localLimit(l.quota, use, a.name)-use.used-v.s.queue.leasesOfAccount(a), 0)
}

// tick makes at most one transition that the passing of time causes, in the first machine that has one due.
func (v view) tick() (Transition, bool) {
	tr, moved := v.step(stepInput{trigger: onClock})
	for i := 0; i < len(v.s.accounts.list) && !moved && v.t.LimitedBy == ByAccount; i++ {
		a := &v.s.accounts.list[i]
		if a.machine.epoch == 0 {
			a.machine.start(v.now, ReasonFresh)
			a.machine.permits = v.s.address.machine.permits
		}
		tr, moved = v.stepAccount(a, stepInput{trigger: onClock})
	}
	return tr, moved
}

func (v view) step(m stepInput) (Transition, bool) {
	_, _, total := v.s.processes.commonLimits()
	tr, moved := v.s.address.step(v.now, v.t, m, v.normalPace(), allowances[Throttle].slotsOf(total))
	return v.withTimes(tr, moved, &v.s.address.machine), moved
}

func (v view) stepAccount(a *account, m stepInput) (Transition, bool) {
	l := v.undivided().limitsOf(a)
	slots := l.slots
	if slots == 0 {
		_, _, slots = v.s.processes.commonLimits()
	}
	tr, moved := a.scope.step(v.now, v.t, m, l.normalPace(v.t), slots)
	if moved {
		tr.Account = a.name
	}
	return v.withTimes(tr, moved, &a.machine), moved
}

func (v view) withTimes(tr Transition, moved bool, m *machine) Transition {
	if moved {
		tr.At, tr.Until = v.s.clock.wallTime(v.now), v.s.clock.wallTime(m.blockEnd(v.now))
	}
	return tr
}

// Choice is the account and key for a request. The zero Choice is none.
type Choice struct {
	Account string
	Key     Fingerprint
	Why     Why
	Running int      // running requests of the account, this one included
	Limit   int      // most running requests of the account; 0: no limit
	Full    []string // accounts that were skipped because all their slots were in use
}

// KeyChange is a change of a key's standing.
type KeyChange struct {
	Account  string
	Key      Fingerprint
	From, To Standing
}

// CheckAccounts returns an error for accounts that the shared state can't hold.
func CheckAccounts(list []Account) error {
	if len(list) > maxAccounts {
		return fmt.Errorf("use accounts: %d of them, at most %d", len(list), maxAccounts)
	}
	for i, a := range list {
		switch {
		case a.Name == "" || len(a.Name) > maxText:
			return fmt.Errorf("use accounts: name %q: 1 to %d bytes are allowed", truncate(a.Name), maxText)
		case slices.ContainsFunc(list[:i], func(b Account) bool { return b.Name == a.Name }):
			return fmt.Errorf("use accounts: there are two named %q", a.Name)
		case len(a.Keys) == 0 || len(a.Keys) > maxKeys:
			return fmt.Errorf("use accounts: %q has %d keys, allowed are 1 to %d", a.Name, len(a.Keys), maxKeys)
		case a.Slots < 0 || a.KeySlots < 0 || !isValidRate(a.Rate):
			return fmt.Errorf("use accounts: %q has a negative limit", a.Name)
		}
	}
	return nil
}
