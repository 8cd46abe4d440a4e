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
	w := codec{Codec: wire.Writer(b), version: SnapshotVersion}
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
	version  uint64
	now      Stamp  // times are coded by their distance from it
	accounts uint64 // numbers of accounts and keys are coded by their distance from it
}

func (s *Snapshot) code(c *codec) {
	c.clock(&s.clock)
	c.now = s.clock.now
	c.Uint64(&s.processes.seq)
	if c.version == plainVersion {
		s.accounts.seq = 0
	} else {
		c.Uint64(&s.accounts.seq)
	}
	c.accounts = s.accounts.seq

	c.machine(&s.address.machine)
	c.stamp(&s.address.bucket.full)
	c.stamp(&s.ceiling.unknownSince)
	c.stamp(&s.ceiling.doubted)
	wire.Resize(&c.Codec, &s.ceiling.grants, maxGrants)
	last := c.now
	for i := range s.ceiling.grants {
		d := int64(s.ceiling.grants[i] - last)
		c.Int64(&d)
		last += Stamp(d)
		s.ceiling.grants[i] = last
	}
	c.queue(s)
	c.stamp(&s.address.quota.since)
	wire.Int(&c.Codec, &s.address.quota.used)
	wire.Int(&c.Codec, &s.address.quota.period)
	c.Uint64(&s.overrides.seq)
	c.overrides(&s.overrides.list)
	wire.Resize(&c.Codec, &s.processes.list, maxProcesses)
	for i := range s.processes.list {
		c.process(&s.processes.list[i], s.processes.seq)
	}

	if c.Reading() { // what was there must not shine through
		s.accounts.list = nil
	}
	if c.version == plainVersion {
		return
	}
	wire.Resize(&c.Codec, &s.accounts.list, maxAccounts)
	for i := range s.accounts.list {
		c.account(&s.accounts.list[i])
	}
	if c.version == accountsVersion { // sets of limits, which the next ask of each process says anew
		for range c.Count(0, maxAccounts) {
			c.accountNumber(new(uint64))
			for range c.Count(0, maxAccounts) {
				c.accountNumber(new(uint64))
				c.limits(new(accountLimits))
			}
		}
	}
}

func (c *codec) clock(l *timeline) {
	wire.Int(&c.Codec, &l.now)
	wire.Int(&c.Codec, &l.wall)
	wire.Int(&c.Codec, &l.boot)
	c.Text(&l.bootID, maxText)
	c.Text(&l.machine, maxText)
	wire.Int(&c.Codec, &l.refused)
}

func (c *codec) machine(m *machine) {
	wire.Enum(&c.Codec, &m.state)
	c.Uint64(&m.epoch)
	c.stamp(&m.since)
	wire.Enum(&c.Codec, &m.reason)
	if int(m.reason) >= len(reasons) {
		m.reason = ReasonNone // a newer build's, which says why, not what
	}
	c.Uint64(&m.permits)
	c.stamp(&m.sleepUntil)
	c.stamp(&m.pauseUntil)
	wire.Int(&c.Codec, &m.cooldown)
	wire.Int(&c.Codec, &m.exhausted)
	wire.Int(&c.Codec, &m.streak429)
	c.Uint64(&m.overrun)
	wire.Int(&c.Codec, &m.overrunWait)
	wire.Int(&c.Codec, &m.failures)
	wire.Int(&c.Codec, &m.successes)
	wire.Int(&c.Codec, &m.armed)
	c.Uint64(&m.armedPermit)
	c.stamp(&m.sustained)
	if c.version <= accountsVersion {
		c.skipRamp(m)
	} else {
		c.learned(&m.learned)
		wire.Enum(&c.Codec, &m.from)
		c.Uint64(&m.lastGood)
		c.Uint64(&m.faltering)
		c.stamp(&m.firstTry)
		c.stamp(&m.easing)
		c.Bool(&m.seen429)
	}
	c.stamp(&m.blockUntil)
	c.stamp(&m.failing)
	c.stamp(&m.lastTokenShortage)
	c.Uint64(&m.lost)
	c.Uint64(&m.lostPermit)
	c.window(&m.window)
}

// skipRamp reads what the version before had in place of a learned limit. Its HalfOpen did not know the state before.
func (c *codec) skipRamp(m *machine) {
	var ramp float64
	var at Stamp
	var limit bool
	c.Float(&ramp)
	c.stamp(&at)
	c.Bool(&limit)
	c.Bool(&m.seen429)
	c.Float(&ramp)
	m.learned, m.from, m.lastGood, m.faltering, m.firstTry, m.easing = learned{}, Sleep, 0, 0, 0, c.now
}

func (c *codec) learned(l *learned) {
	for _, n := range []*int{&l.answers, &l.met, &l.proven, &l.step, &l.left} {
		wire.Int(&c.Codec, n)
	}
	wire.Int(&c.Codec, &l.window)
	for _, at := range []*Stamp{&l.since, &l.refusal, &l.unlearned} {
		c.stamp(at)
	}
}

// window codes the answers, of which there are hundreds: two bits for the kind of each, the rest is the time since the
// one before.
func (c *codec) window(w *window) {
	wire.Resize(&c.Codec, &w.records, maxRecords)
	last := millis(c.now)
	for i := range w.records {
		r := &w.records[i]
		x := (r.at-last)<<2 | int64(r.outcome-OK)&3
		c.Int64(&x)
		last += x >> 2
		*r = record{last, OK + Outcome(x&3)}
	}
}

func (c *codec) queue(s *Snapshot) {
	q, m, owners := &s.queue, &s.address.machine, s.processes.seq
	c.Uint64(&q.seq)
	wire.Resize(&c.Codec, &q.tickets, maxTickets)
	for i := range q.tickets {
		t := &q.tickets[i]
		c.below(q.seq, &t.number)
		c.below(owners, &t.owner)
		c.stamp(&t.due)
		c.accountNumber(&t.key)
	}
	wire.Resize(&c.Codec, &q.leases, maxTickets)
	for i := range q.leases {
		l := &q.leases[i]
		c.below(m.permits, &l.permit)
		c.below(m.epoch, &l.epoch)
		c.below(owners, &l.owner)
		c.stamp(&l.until)
		c.Bool(&l.budget)
		c.accountNumber(&l.key)
		if c.version == plainVersion {
			l.accountEpoch, l.test = 0, false
			continue
		}
		c.Uint64(&l.accountEpoch)
		c.Bool(&l.test)
	}
}

func (c *codec) overrides(list *[]override) {
	wire.Resize(&c.Codec, list, maxOverrides)
	for i := range *list {
		o := &(*list)[i]
		c.Text(&o.key, maxText)
		c.Text(&o.value, maxText)
		c.stamp(&o.until)
	}
}

func (c *codec) process(p *process, newest uint64) {
	c.Text(&p.id, maxText)
	c.below(newest, &p.key)
	c.stamp(&p.seen)
	c.Float(&p.normal.rate)
	c.Float(&p.normal.burst)
	c.stamp(&p.own.full)
	wire.Int(&c.Codec, &p.ceiling)
	wire.Int(&c.Codec, &p.window)
	wire.Int(&c.Codec, &p.slots)
	wire.Int(&c.Codec, &p.total)
	wire.Int(&c.Codec, &p.reserved)
	c.stamp(&p.reservedAt)
	if c.version <= accountsVersion { // it names a set of limits instead
		p.accounts = nil
		c.accountNumber(new(uint64))
		return
	}
	wire.Resize(&c.Codec, &p.accounts, maxAccounts)
	for i := range p.accounts {
		c.accountNumber(&p.accounts[i])
	}
}

func (c *codec) account(a *account) {
	c.accountNumber(&a.id)
	c.Text(&a.name, maxText)
	if c.version > accountsVersion {
		c.limits(&a.limits)
	}
	c.stamp(&a.seen)
	c.stamp(&a.last)
	c.stamp(&a.bucket.full)
	c.stamp(&a.quota.since)
	wire.Int(&c.Codec, &a.quota.period)
	wire.Int(&c.Codec, &a.quota.used)
	wire.Resize(&c.Codec, &a.keys, maxKeys)
	for i := range a.keys {
		k := &a.keys[i]
		c.accountNumber(&k.id)
		c.Uint64((*uint64)(&k.print))
		c.stamp(&k.seen)
		c.stamp(&k.last)
		wire.Enum(&c.Codec, &k.standing)
		c.stamp(&k.since)
	}
	c.overrides(&a.tuned)
	limited := a.machine.epoch != 0
	if c.Bool(&limited); limited {
		c.machine(&a.machine)
	}
}

func (c *codec) limits(l *accountLimits) {
	wire.Int(&c.Codec, &l.slots)
	wire.Int(&c.Codec, &l.keySlots)
	limited := l.rate != 0
	if c.Bool(&limited); limited {
		c.Float(&l.rate)
	}
	wire.Int(&c.Codec, &l.quota.Requests)
	wire.Int(&c.Codec, &l.quota.Period)
}

// stamp codes a time by its distance from now; the zero Stamp stays one.
func (c *codec) stamp(v *Stamp) {
	var x int64
	if *v != 0 {
		if x = int64(c.now - *v); x >= 0 {
			x++ // so that 0 is free for "never"
		}
	}
	c.Int64(&x)
	switch {
	case x == 0:
		*v = 0
	case x > 0:
		*v = c.now - Stamp(x-1)
	default:
		*v = c.now - Stamp(x)
	}
}

// below codes a number that is not much smaller than top.
func (c *codec) below(top uint64, v *uint64) {
	x := int64(top - *v)
	c.Int64(&x)
	*v = top - uint64(x)
}

// accountNumber codes the number of an account or a key; 0 is none.
func (c *codec) accountNumber(v *uint64) {
	if c.version == plainVersion {
		*v = 0
		return
	}
	x := uint64(0)
	if *v != 0 {
		x = c.accounts - *v + 1
	}
	if c.Uint64(&x); x == 0 || x > c.accounts {
		*v = 0
		return
	}
	*v = c.accounts - x + 1
}

func rate(v float64) bool { return v >= 0 && v <= math.MaxFloat64 } // false for NaN

// sound reports whether decoded fields can be worked with at all.
func (s *Snapshot) sound() bool {
	return s.address.sound() && !slices.ContainsFunc(s.accounts.list, func(a account) bool { return !a.sound() }) &&
		!slices.ContainsFunc(s.processes.list, func(p process) bool { return !p.sound() })
}

func (c *scope) sound() bool {
	m, l := &c.machine, &c.machine.learned
	return c.quota.period >= 0 && c.quota.used >= 0 && int(max(m.state, m.from)) < len(stateNames) &&
		l.window >= 0 && (l.window > 0 || l.answers == 0) &&
		min(l.answers, l.met, l.proven, l.step) >= 0 && max(l.answers, l.step) <= maxGrants &&
		min(m.cooldown, m.exhausted, m.overrunWait) >= 0 &&
		min(m.streak429, m.failures, m.successes, m.armed) >= 0
}

func (p *process) sound() bool {
	return rate(p.normal.rate) && rate(p.normal.burst) && p.ceiling >= 1 && p.ceiling <= maxGrants && p.window > 0 &&
		p.slots >= 1 && p.total >= 1 && p.reserved >= 0
}

func (a *account) sound() bool {
	l := &a.limits
	return a.id != 0 && a.scope.sound() && rate(l.rate) &&
		min(l.slots, l.keySlots, l.quota.Requests) >= 0 && l.quota.Period >= 0 &&
		!slices.ContainsFunc(a.tuned, func(o override) bool {
			return o.key != enabledKey && setAccountField(new(accountLimits), o.key, o.value) != nil
		}) &&
		!slices.ContainsFunc(a.keys, func(k accountKey) bool { return k.id == 0 || int(k.standing) >= len(standingNames) })
}
