package core

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/anivault/anivault/internal/wire"
)

// SnapshotVersion is the version of the format that AppendBinary writes: the version, then every field in a
// fixed order, numbers as varints, times as distances from now. It changes with every change of the fields or of
// their meaning. Decode reads the version before as well, which is 3 with accounts and 2 without. A busy snapshot is
// about 2 KiB.
const SnapshotVersion = 4

// The version before had a number of its own where there were no accounts.
const (
	accountsVersion = 3
	plainVersion    = 2
)

// ErrSnapshotCorrupt is what Decode returns for bytes that are not a snapshot.
var ErrSnapshotCorrupt = errors.New("decode limiter snapshot: damaged")

// SnapshotVersionError is what Decode returns for a snapshot that another version of the program has written. The
// caller must leave those bytes untouched.
type SnapshotVersionError struct{ Version int }

// Error implements error.
func (e *SnapshotVersionError) Error() string {
	return fmt.Sprintf("decode limiter snapshot: version %d, this program knows %d", e.Version, SnapshotVersion)
}

// The limits of a decoded snapshot. A larger one is damaged.
const (
	maxProcesses = 1 << 10
	maxTickets   = 1 << 13
	maxOverrides = 1 << 7
	maxText      = 1 << 8
	maxRecords   = 1 << 12
)

// AppendBinary appends the encoded snapshot to b, as an encoding.BinaryAppender. Its error is always nil.
func (s *Snapshot) AppendBinary(b []byte) ([]byte, error) {
	w := codec{wire.Writer(b), SnapshotVersion}
	w.Uint64(&w.version)
	s.code(&w)
	return w.Bytes(), nil
}

// Decode replaces the snapshot by the one in b, and uses its memory again. It returns ErrSnapshotCorrupt or a
// *SnapshotVersionError; the snapshot is the zero Snapshot then.
func (s *Snapshot) Decode(b []byte) error {
	r := codec{Codec: wire.Reader(b)}
	r.Uint64(&r.version)
	known := r.version >= plainVersion && r.version <= SnapshotVersion
	if !r.Bad() && !known && r.version < 1<<16 {
		*s = Snapshot{}
		return &SnapshotVersionError{int(r.version)}
	}
	s.code(&r)
	if r.Bad() || len(r.Left()) != 0 || !known || !s.sound() {
		*s = Snapshot{}
		return ErrSnapshotCorrupt
	}
	return nil
}

// codec is one direction of a version of the format.
type codec struct {
	wire.Codec
	version uint64
}

func (c *codec) text(v *string) { c.Text(v, maxText) }

func (s *Snapshot) code(c *codec) {
	s.clock.code(c)
	now := s.clock.now
	c.Uint64(&s.processSeq)
	if c.version > plainVersion {
		c.Uint64(&s.accountSeq)
	} else {
		s.accountSeq = 0
	}

	s.machine.code(c, now)

	s.machine.window.code(c, now)

	codeStamp(c, now, &s.bucket.full)
	codeStamp(c, now, &s.ceiling.unknownSince)
	codeStamp(c, now, &s.ceiling.doubted)
	wire.Resize(&c.Codec, &s.ceiling.grants, maxGrants)
	last := now
	for i := range s.ceiling.grants {
		d := int64(s.ceiling.grants[i] - last)
		c.Int64(&d)
		last += Stamp(d)
		s.ceiling.grants[i] = last
	}

	c.Uint64(&s.slots.seq)
	wire.Resize(&c.Codec, &s.slots.tickets, maxTickets)
	for i := range s.slots.tickets {
		t := &s.slots.tickets[i]
		codeBelow(c, s.slots.seq, &t.number)
		codeBelow(c, s.processSeq, &t.owner)
		codeStamp(c, now, &t.due)
		c.accountNumber(s, &t.key)
	}
	wire.Resize(&c.Codec, &s.slots.leases, maxTickets)
	for i := range s.slots.leases {
		l := &s.slots.leases[i]
		codeBelow(c, s.machine.permits, &l.permit)
		codeBelow(c, s.machine.epoch, &l.epoch)
		codeBelow(c, s.processSeq, &l.owner)
		codeStamp(c, now, &l.until)
		c.Bool(&l.budget)
		c.accountNumber(s, &l.key)
		if c.version == plainVersion {
			l.accountEpoch, l.test = 0, false
			continue
		}
		c.Uint64(&l.accountEpoch)
		c.Bool(&l.test)
	}

	codeStamp(c, now, &s.budget.since)
	wire.Int(&c.Codec, &s.budget.used)
	wire.Int(&c.Codec, &s.budget.period)

	c.Uint64(&s.overrides.seq)
	c.overrides(&s.overrides.list, now)

	wire.Resize(&c.Codec, &s.processes, maxProcesses)
	for i := range s.processes {
		p := &s.processes[i]
		c.text(&p.id)
		codeBelow(c, s.processSeq, &p.key)
		codeStamp(c, now, &p.seen)
		c.Float(&p.rate)
		c.Float(&p.burst)
		codeStamp(c, now, &p.own.full)
		wire.Int(&c.Codec, &p.ceiling)
		wire.Int(&c.Codec, &p.window)
		wire.Int(&c.Codec, &p.slots)
		wire.Int(&c.Codec, &p.total)
		wire.Int(&c.Codec, &p.reserved)
		codeStamp(c, now, &p.reservedAt)
		p.codeAccounts(c, s)
	}
	s.codeAccounts(c, now)
}

func (c *codec) overrides(list *[]override, now Stamp) {
	wire.Resize(&c.Codec, list, maxOverrides)
	for i := range *list {
		o := &(*list)[i]
		c.text(&o.key)
		c.text(&o.value)
		codeStamp(c, now, &o.until)
	}
}

func (l *timeline) code(c *codec) {
	wire.Int(&c.Codec, &l.now)
	wire.Int(&c.Codec, &l.wall)
	wire.Int(&c.Codec, &l.boot)
	c.text(&l.bootID)
	c.text(&l.machine)
	wire.Int(&c.Codec, &l.refused)
}

func (m *machine) code(c *codec, now Stamp) {
	wire.Enum(&c.Codec, &m.state)
	c.Uint64(&m.epoch)
	codeStamp(c, now, &m.since)
	wire.Enum(&c.Codec, &m.reason)
	if int(m.reason) >= len(reasons) {
		m.reason = ReasonNone // a newer build's, which says why, not what
	}
	c.Uint64(&m.permits)
	codeStamp(c, now, &m.sleepUntil)
	codeStamp(c, now, &m.pauseUntil)
	wire.Int(&c.Codec, &m.cooldown)
	wire.Int(&c.Codec, &m.exhausted)
	wire.Int(&c.Codec, &m.streak429)
	c.Uint64(&m.overrun)
	wire.Int(&c.Codec, &m.overrunWait)
	wire.Int(&c.Codec, &m.failures)
	wire.Int(&c.Codec, &m.successes)
	wire.Int(&c.Codec, &m.armed)
	c.Uint64(&m.armedPermit)
	codeStamp(c, now, &m.sustained)
	if c.version <= accountsVersion {
		m.skipRamp(c, now)
	} else {
		m.learned.code(c, now)
		wire.Enum(&c.Codec, &m.from)
		c.Uint64(&m.lastGood)
		c.Uint64(&m.faltering)
		codeStamp(c, now, &m.firstTry)
		codeStamp(c, now, &m.easing)
		c.Bool(&m.seen429)
	}
	codeStamp(c, now, &m.blockUntil)
	codeStamp(c, now, &m.failing)
	codeStamp(c, now, &m.lastTokenShortage)
	c.Uint64(&m.lost)
	c.Uint64(&m.lostPermit)
}

// skipRamp reads what the version before had in place of a learned limit. Its HalfOpen did not know the state before.
func (m *machine) skipRamp(c *codec, now Stamp) {
	var ramp float64
	var at Stamp
	var limit bool
	c.Float(&ramp)
	codeStamp(c, now, &at)
	c.Bool(&limit)
	c.Bool(&m.seen429)
	c.Float(&ramp)
	m.learned, m.from, m.lastGood, m.faltering, m.firstTry, m.easing = learned{}, Sleep, 0, 0, 0, now
}

func (l *learned) code(c *codec, now Stamp) {
	for _, n := range []*int{&l.answers, &l.met, &l.proven, &l.step, &l.left} {
		wire.Int(&c.Codec, n)
	}
	wire.Int(&c.Codec, &l.window)
	for _, at := range []*Stamp{&l.since, &l.refusal, &l.unlearned} {
		codeStamp(c, now, at)
	}
}

// sound reports whether decoded fields can be worked with at all.
func (s *Snapshot) sound() bool {
	if s.budget.period < 0 || s.budget.used < 0 || !s.machine.sound() {
		return false
	}
	return !slices.ContainsFunc(s.accounts, func(a account) bool { return !a.sound() }) &&
		!slices.ContainsFunc(s.processes, func(p process) bool { return !p.sound() })
}

func rate(v float64) bool { return v >= 0 && v <= math.MaxFloat64 } // false for NaN

func (m *machine) sound() bool {
	l := &m.learned
	return int(max(m.state, m.from)) < len(stateNames) && l.window >= 0 && (l.window > 0 || l.answers == 0) &&
		min(l.answers, l.met, l.proven, l.step) >= 0 && max(l.answers, l.step) <= maxGrants &&
		min(m.cooldown, m.exhausted, m.overrunWait) >= 0 && min(m.streak429, m.failures, m.successes, m.armed) >= 0
}

func (p *process) sound() bool {
	return rate(p.rate) && rate(p.burst) && p.ceiling >= 1 && p.ceiling <= maxGrants && p.window > 0 &&
		p.slots >= 1 && p.total >= 1 && p.reserved >= 0
}

// codeStamp codes a time by its distance from now; the zero Stamp stays one.
func codeStamp(c *codec, now Stamp, v *Stamp) {
	var x int64
	if *v != 0 {
		if x = int64(now - *v); x >= 0 {
			x++ // so that 0 is free for "never"
		}
	}
	c.Int64(&x)
	switch {
	case x == 0:
		*v = 0
	case x > 0:
		*v = now - Stamp(x-1)
	default:
		*v = now - Stamp(x)
	}
}

// codeBelow codes a number that is not much smaller than top.
func codeBelow(c *codec, top uint64, v *uint64) {
	x := int64(top - *v)
	c.Int64(&x)
	*v = top - uint64(x)
}

// code codes the answers, of which there are hundreds: two bits for the kind of each, the rest is the time since the
// one before.
func (w *window) code(c *codec, now Stamp) {
	wire.Resize(&c.Codec, &w.records, maxRecords)
	last := millis(now)
	for i := range w.records {
		r := &w.records[i]
		x := (r.at-last)<<2 | int64(r.outcome-OK)&3
		c.Int64(&x)
		last += x >> 2
		*r = record{last, OK + Outcome(x&3)}
	}
}

func (c *codec) accountNumber(s *Snapshot, v *uint64) {
	if c.version == plainVersion {
		*v = 0
		return
	}
	x := uint64(0)
	if *v != 0 {
		x = s.accountSeq - *v + 1
	}
	if c.Uint64(&x); x == 0 || x > s.accountSeq {
		*v = 0
		return
	}
	*v = s.accountSeq - x + 1
}

// codeAccounts codes which accounts a process has. The version before names a set of limits instead: the next ask of
// the process says it anew.
func (p *process) codeAccounts(c *codec, s *Snapshot) {
	if c.version <= accountsVersion {
		p.accounts = nil
		c.accountNumber(s, new(uint64))
		return
	}
	wire.Resize(&c.Codec, &p.accounts, maxAccounts)
	for i := range p.accounts {
		c.accountNumber(s, &p.accounts[i])
	}
}

func (s *Snapshot) codeAccounts(c *codec, now Stamp) {
	if c.Reading() { // what was there must not shine through
		s.accounts = nil
	}
	if c.version == plainVersion {
		return
	}
	wire.Resize(&c.Codec, &s.accounts, maxAccounts)
	for i := range s.accounts {
		s.accounts[i].code(c, s, now)
	}
	if c.version == accountsVersion {
		c.skipTerms(s)
	}
}

// skipTerms reads the sets of limits of the version before.
func (c *codec) skipTerms(s *Snapshot) {
	for range c.Count(0, maxAccounts) {
		c.accountNumber(s, new(uint64))
		for range c.Count(0, maxAccounts) {
			c.accountNumber(s, new(uint64))
			new(accountLimits).code(c)
		}
	}
}

func (l *accountLimits) code(c *codec) {
	wire.Int(&c.Codec, &l.slots)
	wire.Int(&c.Codec, &l.keySlots)
	c.rate(&l.rate)
	wire.Int(&c.Codec, &l.quota.Requests)
	wire.Int(&c.Codec, &l.quota.Period)
}

func (a *account) code(c *codec, s *Snapshot, now Stamp) {
	c.accountNumber(s, &a.id)
	c.text(&a.name)
	if c.version > accountsVersion {
		a.limits.code(c)
	}
	codeStamp(c, now, &a.seen)
	codeStamp(c, now, &a.last)
	codeStamp(c, now, &a.bucket.full)
	codeStamp(c, now, &a.quota.since)
	wire.Int(&c.Codec, &a.quota.period)
	wire.Int(&c.Codec, &a.quota.used)
	wire.Resize(&c.Codec, &a.keys, maxKeys)
	for i := range a.keys {
		k := &a.keys[i]
		c.accountNumber(s, &k.id)
		c.Uint64((*uint64)(&k.print))
		codeStamp(c, now, &k.seen)
		codeStamp(c, now, &k.last)
		wire.Enum(&c.Codec, &k.standing)
		codeStamp(c, now, &k.since)
	}
	c.overrides(&a.tuned, now)
	limited := a.machine.epoch != 0
	c.Bool(&limited)
	if !limited {
		return
	}
	a.machine.code(c, now)
	a.machine.window.code(c, now)
}

func (c *codec) rate(v *float64) {
	some := *v != 0
	c.Bool(&some)
	if some {
		c.Float(v)
	}
}

func (a *account) sound() bool {
	if l := &a.limits; l.slots < 0 || l.keySlots < 0 || !rate(l.rate) || l.quota.Requests < 0 || l.quota.Period < 0 {
		return false
	}
	if a.id == 0 || a.quota.used < 0 || a.quota.period < 0 || !a.machine.sound() {
		return false
	}
	if slices.ContainsFunc(a.tuned, func(o override) bool { return setAccountField(new(limits), o.key, o.value) != nil }) {
		return false
	}
	return !slices.ContainsFunc(a.keys, func(k accountKey) bool {
		return k.id == 0 ||
			int(k.standing) >= len(standingNames)
	})
}
