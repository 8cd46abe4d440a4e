package core

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/anivault/anivault/internal/wire"
)

// SnapshotVersion is the version of the format that AppendBinary writes: the version, then every field in a
// fixed order, numbers as varints, times as distances from now. It changes with every change of the fields or of
// their meaning. Decode reads the version before as well, which is 3 with accounts and 2 without. A busy snapshot is
// about 2 KiB.
const SnapshotVersion = 4

// The version before had a number of its own where there were no accounts.
const (
	versionWithAccounts    = 3
	versionWithoutAccounts = 2
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
	known := r.version >= versionWithoutAccounts && r.version <= SnapshotVersion
	if !r.Bad() && !known && r.version < 1<<16 {
		*s = Snapshot{}
		return &SnapshotVersionError{int(r.version)}
	}
	s.code(&r)
	if r.Bad() || len(r.Left()) != 0 || !known || !s.valid() {
		*s = Snapshot{}
		return ErrSnapshotCorrupt
	}
	return nil
}

type codec struct {
	wire.Codec
	version       uint64
	now           Stamp  // times are coded by their distance from it
	newestAccount uint64 // numbers of accounts and keys are coded by their distance from it
}

func (c *codec) codeAll(fields ...any) {
	for _, field := range fields {
		switch v := field.(type) {
		case *Stamp:
			c.stamp(v)
		case *time.Duration:
			wire.Int(&c.Codec, v)
		case *int:
			wire.Int(&c.Codec, v)
		case *uint64:
			c.Uint64(v)
		case *float64:
			c.Float(v)
		case *bool:
			c.Bool(v)
		case *string:
			c.Text(v, maxText)
		case *State:
			wire.Enum(&c.Codec, v)
		case *Reason:
			wire.Enum(&c.Codec, v)
		case *Standing:
			wire.Enum(&c.Codec, v)
		default:
			panic("a field of the snapshot has a type that is not coded")
		}
	}
}

func (s *Snapshot) code(c *codec) {
	wire.Int(&c.Codec, &s.clock.now)
	wire.Int(&c.Codec, &s.clock.wall)
	c.codeAll(&s.clock.boot, &s.clock.bootID, &s.clock.machine)
	wire.Int(&c.Codec, &s.clock.refusedUntil)
	c.now = s.clock.now
	c.Uint64(&s.processes.seq)
	if c.version == versionWithoutAccounts {
		s.accounts.seq = 0
	} else {
		c.Uint64(&s.accounts.seq)
	}
	c.newestAccount = s.accounts.seq

	c.machine(&s.address.machine)
	c.codeAll(&s.address.bucket.full, &s.ceiling.unknownSince, &s.ceiling.othersReservedAt)
	wire.Resize(&c.Codec, &s.ceiling.grants, maxGrants)
	last := c.now
	for i := range s.ceiling.grants {
		d := int64(s.ceiling.grants[i] - last)
		c.Int64(&d)
		last += Stamp(d)
		s.ceiling.grants[i] = last
	}
	c.queue(s)
	c.codeAll(&s.address.quota.since, &s.address.quota.used, &s.address.quota.period, &s.overrides.seq)
	c.overrides(&s.overrides.list)
	wire.Resize(&c.Codec, &s.processes.list, maxProcesses)
	for i := range s.processes.list {
		c.process(&s.processes.list[i], s.processes.seq)
	}

	if c.Reading() { // what was there must not shine through
		s.accounts.list = nil
	}
	if c.version == versionWithoutAccounts {
		return
	}
	wire.Resize(&c.Codec, &s.accounts.list, maxAccounts)
	for i := range s.accounts.list {
		c.account(&s.accounts.list[i])
	}
	if c.version == versionWithAccounts { // sets of limits, which the next ask of each process says anew
		for range c.Count(0, maxAccounts) {
			c.accountNumber(new(uint64))
			for range c.Count(0, maxAccounts) {
				c.accountNumber(new(uint64))
				c.limits(new(accountLimits))
			}
		}
	}
}

func (c *codec) machine(m *machine) {
	c.codeAll(&m.state, &m.epoch, &m.since, &m.reason)
	if int(m.reason) >= len(reasonNames) {
		m.reason = ReasonNone // a newer build's, which says why, not what
	}
	c.codeAll(&m.permits, &m.sleepUntil, &m.pauseUntil, &m.cooldown, &m.exhausted, &m.streak429, &m.last429Permit,
		&m.last429Wait, &m.failures, &m.successes, &m.confirmations, &m.confirmedPermit, &m.highRatioSince)
	if l := &m.learned; c.version > versionWithAccounts {
		c.codeAll(&l.answers, &l.count429, &l.provenAnswers, &l.trialRaise, &l.untilRaise, &l.window, &l.since, &l.last429,
			&l.noLearningUntil, &m.from, &m.lastGoodPermit, &m.probingAfter, &m.firstTry, &m.easingSince, &m.seen429,
			&m.stated.quota, &m.stated.period, &m.stated.since)
	} else { // a ramp in place of a learned limit; its HalfOpen did not know the state before
		c.codeAll(new(float64), new(Stamp), new(bool), &m.seen429, new(float64))
		m.learned, m.stated, m.from, m.lastGoodPermit, m.probingAfter = learnedLimit{}, statedLimit{}, Sleep, 0, 0
		m.firstTry, m.easingSince = 0, c.now
	}
	c.codeAll(&m.blockUntil, &m.failingSince, &m.lastTokenShortage, &m.lostConnection, &m.lostPermit)
	c.window(&m.window)
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
		c.distanceBelow(q.seq, &t.number)
		c.distanceBelow(owners, &t.owner)
		c.stamp(&t.retryAt)
		c.accountNumber(&t.key)
	}
	wire.Resize(&c.Codec, &q.leases, maxTickets)
	for i := range q.leases {
		l := &q.leases[i]
		c.distanceBelow(m.permits, &l.permit)
		c.distanceBelow(m.epoch, &l.epoch)
		c.distanceBelow(owners, &l.owner)
		c.codeAll(&l.until, &l.budget)
		c.accountNumber(&l.key)
		if c.version == versionWithoutAccounts {
			l.accountEpoch, l.test = 0, false
			continue
		}
		c.codeAll(&l.accountEpoch, &l.test)
	}
}

func (c *codec) overrides(list *[]override) {
	wire.Resize(&c.Codec, list, maxOverrides)
	for i := range *list {
		o := &(*list)[i]
		c.codeAll(&o.key, &o.value, &o.until)
	}
}

func (c *codec) process(p *process, newest uint64) {
	c.Text(&p.id, maxText)
	c.distanceBelow(newest, &p.key)
	c.codeAll(&p.seen, &p.normalPace.rate, &p.normalPace.burst, &p.bucket.full, &p.ceiling, &p.window, &p.slots, &p.total,
		&p.reserved, &p.reservedAt)
	if c.version <= versionWithAccounts { // it names a set of limits instead
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
	if c.version > versionWithAccounts {
		c.limits(&a.limits)
	}
	c.codeAll(&a.seen, &a.lastGrant, &a.bucket.full, &a.quota.since, &a.quota.period, &a.quota.used)
	wire.Resize(&c.Codec, &a.keys, maxKeys)
	for i := range a.keys {
		k := &a.keys[i]
		c.accountNumber(&k.id)
		c.codeAll((*uint64)(&k.fingerprint), &k.seen, &k.lastGrant, &k.standing, &k.standingSince)
	}
	c.overrides(&a.overrides)
	limited := a.machine.epoch != 0
	if c.Bool(&limited); limited {
		c.machine(&a.machine)
	}
}

func (c *codec) limits(l *accountLimits) {
	limited := l.rate != 0
	if c.codeAll(&l.slots, &l.keySlots, &limited); limited {
		c.Float(&l.rate)
	}
	c.codeAll(&l.quota.Requests, &l.quota.Period)
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

func (c *codec) distanceBelow(top uint64, v *uint64) {
	x := int64(top - *v)
	c.Int64(&x)
	*v = top - uint64(x)
}

// accountNumber codes the number of an account or a key; 0 is none.
func (c *codec) accountNumber(v *uint64) {
	if c.version == versionWithoutAccounts {
		*v = 0
		return
	}
	x := uint64(0)
	if *v != 0 {
		x = c.newestAccount - *v + 1
	}
	if c.Uint64(&x); x == 0 || x > c.newestAccount {
		*v = 0
		return
	}
	*v = c.newestAccount - x + 1
}

func isRate(v float64) bool { return v >= 0 && v <= math.MaxFloat64 } // false for NaN

func (s *Snapshot) valid() bool {
	return s.address.valid() && !slices.ContainsFunc(s.accounts.list, func(a account) bool { return !a.valid() }) &&
		!slices.ContainsFunc(s.processes.list, func(p process) bool { return !p.valid() })
}

func (c *scope) valid() bool {
	m, l := &c.machine, &c.machine.learned
	return c.quota.period >= 0 && c.quota.used >= 0 && int(max(m.state, m.from)) < len(stateNames) &&
		l.window >= 0 && (l.window > 0 || l.answers == 0) &&
		m.stated.quota >= 0 && (m.stated.period > 0 || m.stated.quota == 0) &&
		min(l.answers, l.count429, l.provenAnswers, l.trialRaise) >= 0 && max(l.answers, l.trialRaise) <= maxGrants &&
		min(m.cooldown, m.exhausted, m.last429Wait) >= 0 &&
		min(m.streak429, m.failures, m.successes, m.confirmations) >= 0
}

func (p *process) valid() bool {
	return isRate(p.normalPace.rate) && isRate(p.normalPace.burst) && p.ceiling >= 1 && p.ceiling <= maxGrants &&
		p.window > 0 && p.slots >= 1 && p.total >= 1 && p.reserved >= 0
}

func (a *account) valid() bool {
	l := &a.limits
	return a.id != 0 && a.scope.valid() && isRate(l.rate) &&
		min(l.slots, l.keySlots, l.quota.Requests) >= 0 && l.quota.Period >= 0 &&
		!slices.ContainsFunc(a.overrides, func(o override) bool {
			return o.key != enabledKey && setAccountField(new(accountLimits), o.key, o.value) != nil
		}) &&
		!slices.ContainsFunc(a.keys, func(k accountKey) bool { return k.id == 0 || int(k.standing) >= len(standingNames) })
}
