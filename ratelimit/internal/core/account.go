package core

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"time"
)

// Account is an account of the upstream, as one process knows it. Processes know the same account by its name; where
// they know different limits of it those of the last to ask hold.
type Account struct {
	Name     string
	Priority int           // smaller first
	Keys     []Fingerprint // at least one
	Slots    int           // requests under way with all its keys together; 0: no limit
	KeySlots int           // with each key; 0: no limit
	Rate     float64       // requests a second; 0: as the tuning's RateBase
	Quota    Budget
	Disabled bool
	Schedule []Period // the first that fits gives Slots
}

// Period is a part of the day with a limit of its own, in local time: From is included, To is not. One that ends
// before it begins lasts over midnight.
type Period struct {
	From, To time.Duration // since midnight
	Slots    int           // 0: no limit
}

func (p Period) covers(clock time.Duration) bool {
	if p.From <= p.To {
		return p.From <= clock && clock < p.To
	}
	return clock >= p.From || clock < p.To
}

// slotsAt returns the limit of all keys together at a wall-clock time.
func (a *Account) slotsAt(wall time.Time) int {
	if len(a.Schedule) == 0 {
		return a.Slots
	}
	h, m, s := wall.Clock()
	clock := time.Duration(h)*time.Hour + time.Duration(m)*time.Minute + time.Duration(s)*time.Second
	for _, p := range a.Schedule {
		if p.covers(clock) {
			return p.Slots
		}
	}
	return a.Slots
}

// Fingerprint names a key without telling it.
type Fingerprint uint64

// FingerprintOf returns the fingerprint of a key: the first 8 bytes of a SHA-256.
func FingerprintOf(key string) Fingerprint {
	sum := sha256.Sum256([]byte("anivault key " + key))
	return Fingerprint(binary.BigEndian.Uint64(sum[:]))
}

// String returns 16 hex digits.
func (f Fingerprint) String() string { return fmt.Sprintf("%016x", uint64(f)) }

const (
	// maxAccounts and maxKeys bound what is remembered of accounts, and of the keys of one. Configurations have fewer.
	maxAccounts = 64
	maxKeys     = 32
	// accountKept is how long an account or key is remembered that no process brings.
	accountKept = 30 * 24 * time.Hour
	// seenEvery is how exactly it is remembered when a process last brought one.
	seenEvery = time.Minute
	// aloneFor is how long an unproven key is used by one request alone. One without an answer is then joined by the
	// next: a dead upstream must not be asked one timeout after the other.
	aloneFor = 3 * time.Second
)

// account is an account of the upstream, as all processes know it.
type account struct {
	id     uint64 // processes refer to it
	name   string
	limits accountLimits // as the process that asked last knows them
	seen   Stamp         // when a process last brought it
	last   Stamp         // its newest grant
	keys   []accountKey
	quota  budgetUse
	tuned  []override // by operators; the keys are those of accountFields

	bucket  bucket
	machine machine // its epoch is 0 where the upstream does not limit by account
}

// accountKey is one of its keys.
type accountKey struct {
	id    uint64 // leases refer to it
	print Fingerprint
	seen  Stamp
	last  Stamp // its newest grant

	standing Standing
	since    Stamp // of the standing
}

// Standing is whether a key may be used.
type Standing uint8

// The standings. They are stored by number.
const (
	Unproven  Standing = iota // by one request at a time, until one is answered
	Proven                    // yes
	Refused                   // no: the upstream refused it
	Suspended                 // no: the upstream suspended the account behind it
)

var standingNames = [...]string{Unproven: "unproven", Proven: "in", Refused: "refused", Suspended: "suspended"}

// String returns the word that people read.
func (s Standing) String() string { return nameOf(s, standingNames[:], "Standing") }

// Unusable reports whether the key may not be used.
func (s Standing) Unusable() bool { return s == Refused || s == Suspended }

// accountLimits are the limits of an account. Zero is no limit.
type accountLimits struct {
	slots, keySlots int
	rate            float64
	quota           Budget
}

func (s *Snapshot) accountBy(name string) *account {
	for i := range s.accounts {
		if s.accounts[i].name == name {
			return &s.accounts[i]
		}
	}
	return nil
}

func (s *Snapshot) keyOf(id uint64) (*account, *accountKey) {
	if id == 0 {
		return nil, nil
	}
	for i := range s.accounts {
		a := &s.accounts[i]
		for j := range a.keys {
			if a.keys[j].id == id {
				return a, &a.keys[j]
			}
		}
	}
	return nil, nil
}

// known returns the account with a name, and makes it.
func (s *Snapshot) known(now Stamp, name string) *account {
	if a := s.accountBy(name); a != nil {
		return a
	}
	s.accountSeq++
	s.accounts = append(s.accounts, account{id: s.accountSeq, name: name, seen: now})
	return &s.accounts[len(s.accounts)-1]
}

func (a *account) key(print Fingerprint) *accountKey {
	for i := range a.keys {
		if a.keys[i].print == print {
			return &a.keys[i]
		}
	}
	return nil
}

// declare tells the snapshot what accounts a process has, and their limits at this time of the day. It returns their
// numbers.
func (s *Snapshot) declare(now Stamp, list []Account, wall time.Time) []uint64 {
	if len(list) == 0 {
		return nil
	}
	ids := make([]uint64, len(list))
	for i := range list {
		a := s.known(now, list[i].Name)
		ids[i], a.limits = a.id, list[i].limitsAt(wall)
		if now.sub(a.seen) >= seenEvery {
			a.seen = now
		}
		for _, print := range list[i].Keys {
			k := a.key(print)
			if k == nil {
				s.accountSeq++
				a.keys = append(a.keys, accountKey{id: s.accountSeq, print: print, seen: now, since: now})
			} else if now.sub(k.seen) >= seenEvery {
				k.seen = now
			}
		}
	}
	s.forgetAccounts(now)
	return ids
}

func (a *Account) limitsAt(wall time.Time) accountLimits {
	return accountLimits{a.slotsAt(wall), a.KeySlots, a.Rate, a.Quota}
}

// forgetAccounts drops what no process has brought for long, and the oldest where there are too many. What is in use
// stays.
func (s *Snapshot) forgetAccounts(now Stamp) {
	for i := range s.accounts {
		a := &s.accounts[i]
		if len(a.keys) <= maxKeys && (len(a.keys) == 0 || now.sub(a.keys[a.oldest()].seen) < accountKept) {
			continue
		}
		for range len(a.keys) {
			j := a.oldest()
			if len(a.keys) <= maxKeys && now.sub(a.keys[j].seen) < accountKept || s.runningWith(a.keys[j].id) > 0 {
				break
			}
			a.keys = slices.Delete(a.keys, j, j+1)
		}
	}
	s.accounts = slices.DeleteFunc(s.accounts, func(a account) bool {
		return now.sub(a.seen) >= accountKept && s.running(&a) == 0
	})
	for len(s.accounts) > maxAccounts {
		oldest := 0
		for i := range s.accounts {
			if s.accounts[i].seen < s.accounts[oldest].seen {
				oldest = i
			}
		}
		s.accounts = slices.Delete(s.accounts, oldest, oldest+1)
	}
}

func (a *account) oldest() int {
	oldest := 0
	for i := range a.keys {
		if a.keys[i].seen < a.keys[oldest].seen {
			oldest = i
		}
	}
	return oldest
}

func (s *Snapshot) runningWith(key uint64) int {
	return s.slots.count(func(l *lease) bool { return l.key == key })
}

func (s *Snapshot) running(a *account) int {
	return s.slots.count(func(l *lease) bool { return l.key != 0 && a.owns(l.key) })
}

func (a *account) owns(key uint64) bool {
	return slices.ContainsFunc(a.keys, func(k accountKey) bool { return k.id == key })
}

// reset makes the account that of an unknown upstream, with its overrides gone. A pause may be kept.
func (a *account) reset(now Stamp, pause bool) {
	a.quota, a.tuned, a.bucket = budgetUse{}, nil, bucket{}
	if a.machine.epoch != 0 {
		a.machine.reset(now, pause)
	}
	a.retryKeys(now)
}

func (a *account) retryKeys(now Stamp) {
	for i := range a.keys {
		if k := &a.keys[i]; k.standing.Unusable() {
			k.standing, k.since = Unproven, now
		}
	}
}

// limits are what holds for an account now.
type limits struct {
	accountLimits
	enabled *bool // an operator's word; nil: none
	machine *machine
}

// limitsOf returns what holds for an account: its limits under what operators say, as a part of it where the state
// isn't shared with all, and as the state of its machine leaves it.
func (s *Snapshot) limitsOf(a *account, t *Tuning, parts int) limits {
	l := limits{accountLimits: a.limits, machine: &s.machine}
	if t.LimitedBy == ByAccount && a.machine.epoch != 0 { // where the upstream limits by account each has its own
		l.machine = &a.machine
	}
	for _, o := range a.tuned {
		_ = setAccountField(&l, o.key, o.value) // it was checked when it was written
	}
	if parts > 1 {
		l.slots, l.keySlots = divided(l.slots, parts), divided(l.keySlots, parts)
		l.rate /= float64(parts)
	}
	if r := l.machine.regime(); r.share > 0 { // else it is blocked
		if l.slots > 0 {
			l.slots = min(l.slots, r.slotsOf(l.slots))
		}
		if l.machine == &a.machine && l.machine.probing() {
			l.slots = r.slots
		}
	}
	return l
}

func divided(limit, parts int) int {
	if limit == 0 {
		return 0
	}
	return max(1, limit/parts)
}

// pace returns an account's pace, the zero pace where it has none of its own.
func (l *limits) pace(a *account, t *Tuning, now Stamp) pace {
	rate := min(l.rate, t.RateBase)
	if rate == 0 {
		if l.machine != &a.machine {
			return pace{} // the address's is all there is
		}
		rate = t.RateBase
	}
	return l.machine.paceOf(rate, min(t.bucketCap(), max(rate, 1)), t, now)
}

// due returns how long until an account's own pace allows a request.
func (l *limits) due(a *account, t *Tuning, now Stamp) time.Duration {
	p := l.pace(a, t, now)
	if p.rate == 0 {
		return 0
	}
	return a.bucket.wait(now, p)
}

func (s *Snapshot) keyFree(now Stamp, k *accountKey, l *limits) bool {
	running := s.runningWith(k.id)
	if k.standing == Unproven && running > 0 && now.sub(k.last) < aloneFor {
		return false
	}
	return l.keySlots == 0 || running < l.keySlots
}

// left returns how many requests of its quota an account has left; running ones count.
func (s *Snapshot) left(now Stamp, a *account, l *limits) int {
	return max(l.quota.Requests-a.quota.at(now).used-s.running(a), 0)
}

// CheckAccounts refuses what the shared state has no room for.
func CheckAccounts(list []Account) error {
	if len(list) > maxAccounts {
		return fmt.Errorf("use accounts: %d of them, at most %d", len(list), maxAccounts)
	}
	for i, a := range list {
		switch {
		case a.Name == "" || len(a.Name) > maxText:
			return fmt.Errorf("use accounts: name %q: 1 to %d bytes are allowed", clip(a.Name), maxText)
		case slices.ContainsFunc(list[:i], func(b Account) bool { return b.Name == a.Name }):
			return fmt.Errorf("use accounts: there are two named %q", a.Name)
		case len(a.Keys) == 0 || len(a.Keys) > maxKeys:
			return fmt.Errorf("use accounts: %q has %d keys, allowed are 1 to %d", a.Name, len(a.Keys), maxKeys)
		case a.Slots < 0 || a.KeySlots < 0 || !rate(a.Rate):
			return fmt.Errorf("use accounts: %q has a negative limit", a.Name)
		}
	}
	return nil
}

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
		if !k.standing.Unusable() || l.test { // else it left before the refusal
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

func (s *Snapshot) recordAt(now Stamp, a *account, held *lease, r *Report) (Transition, bool) {
	m := &a.machine
	current := held.accountEpoch == m.epoch
	asked := m.pause(r.Tuning, now, &r.Event, r.Pass.Number, current, r.Draw)
	if !current {
		return Transition{}, false
	}
	return s.stepAccount(now, r.Tuning, a, move{
		on: onAnswer, event: r.Event, permit: r.Pass.Number, draw: r.Draw, pause: asked,
	})
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
	if v.slots = l.slots; v.slots == 0 {
		_, _, v.slots = s.limits()
	}
	before, probing := l.pace(a, t, now), a.machine.probing()
	tr, moved := a.machine.step(t, now, v)
	if !moved {
		if a.machine.probing() != probing {
			a.bucket.carry(now, before, l.pace(a, t, now))
		}
		return tr, false
	}
	a.bucket.enter(now, a.machine.state, before, l.pace(a, t, now))
	tr.Account, tr.At, tr.Until, tr.Epoch = a.name, s.clock.time(now), s.untilOf(&a.machine), a.machine.epoch
	return tr, true
}
