package core

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/anivault/anivault/internal/wire"
)

// SnapshotVersion is the version of the format that AppendBinary writes: the version, then every field in a fixed
// order, with numbers as varints and times relative to now. It goes up when fields or their meanings change. Decode
// also reads the previous format, which has version 3 with accounts and version 2 without. A busy snapshot takes about
// 2 KiB.
const SnapshotVersion = 4

// The previous format had two version numbers: one with accounts, one without.
const (
	versionWithAccounts    = 3
	versionWithoutAccounts = 2
)

// ErrSnapshotCorrupt is the error of Decode for bytes that are not a snapshot.
var ErrSnapshotCorrupt = errors.New("decode limiter snapshot: damaged")

// SnapshotVersionError is Decode's error for another program version's snapshot, which must not be overwritten.
type SnapshotVersionError struct{ Version int }

func (e *SnapshotVersionError) Error() string {
	return fmt.Sprintf("decode limiter snapshot: version %d, this program knows %d", e.Version, SnapshotVersion)
}

// Upper bounds for the lists and texts of a decoded snapshot. A snapshot that exceeds one of them counts as damaged.
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
	s.encodeOrDecode(&w)
	return w.Bytes(), nil
}

// Decode replaces the snapshot with the one encoded in b and reuses its memory. If it returns ErrSnapshotCorrupt or a
// *SnapshotVersionError, the snapshot is the zero Snapshot.
func (s *Snapshot) Decode(b []byte) error {
	r := codec{Codec: wire.Reader(b)}
	r.Uint64(&r.version)
	known := r.version >= versionWithoutAccounts && r.version <= SnapshotVersion
	if !r.Bad() && !known && r.version < 1<<16 {
		*s = Snapshot{}
		return &SnapshotVersionError{int(r.version)}
	}
	s.encodeOrDecode(&r)
	if r.Bad() || len(r.Remaining()) != 0 || !known || !s.valid() {
		*s = Snapshot{}
		return ErrSnapshotCorrupt
	}
	return nil
}

// codec encodes or decodes a snapshot. Its methods do both, so that the two directions cannot differ.
type codec struct {
	wire.Codec
	version       uint64 // of the format that is read or written
	now           Stamp  // times are encoded relative to this time
	newestAccount uint64 // numbers of accounts and keys are encoded relative to this number
}

func (c *codec) codeFields(fields ...any) {
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
			panic("a field of the snapshot has a type that codeFields does not know")
		}
	}
}

func (s *Snapshot) encodeOrDecode(c *codec) {
	wire.Int(&c.Codec, &s.clock.now)
	wire.Int(&c.Codec, &s.clock.wall)
	c.codeFields(&s.clock.boot, &s.clock.bootID, &s.clock.machine)
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
	c.codeFields(&s.address.bucket.fullAt, &s.ceiling.unknownBefore, &s.ceiling.othersReservedAt)
	last := c.now
	wire.List(&c.Codec, &s.ceiling.grants, maxGrants, func(g *Stamp) {
		d := int64(*g - last)
		c.Int64(&d)
		last += Stamp(d)
		*g = last
	})
	c.queue(s)
	c.codeFields(&s.address.quota.since, &s.address.quota.used, &s.address.quota.period, &s.overrides.seq)
	c.overrides(&s.overrides.list)
	wire.List(&c.Codec, &s.processes.list, maxProcesses, func(p *process) { c.process(p, s.processes.seq) })

	if c.Reading() { // old accounts must not survive a decode
		s.accounts.list = nil
	}
	if c.version == versionWithoutAccounts {
		return
	}
	wire.List(&c.Codec, &s.accounts.list, maxAccounts, c.account)
	if c.version == versionWithAccounts { // skip the sets of limits: each process sends its own with its next request
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
	c.codeFields(&m.state, &m.epoch, &m.since, &m.reason)
	if int(m.reason) >= len(reasonNames) {
		m.reason = ReasonNone // a newer build wrote a reason unknown here; reasons only affect messages
	}
	c.codeFields(&m.permits, &m.sleepUntil, &m.pauseUntil, &m.cooldown, &m.timeAtMaxCooldown)
	c.codeFields(&m.streak429, &m.last429Permit, &m.last429Wait, &m.failures, &m.successes)
	c.codeFields(&m.confirmations, &m.confirmedPermit, &m.highRatioSince)
	if l := &m.learned; c.version > versionWithAccounts {
		c.codeFields(&l.maxAnswers, &l.count429, &l.provenMax, &l.trialRaise, &l.untilRaise, &l.window)
		c.codeFields(&l.since, &l.last429, &l.noLearningUntil)
		c.codeFields(&m.previousState, &m.lastGoodPermit, &m.probingAfter, &m.lastFirstTry, &m.easingSince, &m.seen429)
		c.codeFields(&m.stated.quota, &m.stated.period, &m.stated.lastStated)
	} else { // skip the fields that only the old format has, and set those that it lacks
		c.codeFields(new(float64), new(Stamp), new(bool), &m.seen429, new(float64))
		m.learned, m.stated, m.previousState, m.lastGoodPermit, m.probingAfter = learnedLimit{}, statedLimit{}, Sleep, 0, 0
		m.lastFirstTry, m.easingSince = 0, c.now
	}
	c.codeFields(&m.blockUntil, &m.failingSince, &m.lastTokenShortage, &m.lostConnection, &m.lostPermit)
	c.window(&m.window)
}

// window encodes an answer in two bits for the outcome, and the other bits for the time since the previous answer.
func (c *codec) window(w *window) {
	last := millis(c.now)
	wire.List(&c.Codec, &w.records, maxRecords, func(r *record) {
		x := (r.at-last)<<2 | int64(r.outcome-OK)&3
		c.Int64(&x)
		last += x >> 2
		*r = record{last, OK + Outcome(x&3)}
	})
}

func (c *codec) queue(s *Snapshot) {
	q, m, owners := &s.queue, &s.address.machine, s.processes.seq
	c.Uint64(&q.seq)
	wire.List(&c.Codec, &q.tickets, maxTickets, func(t *ticket) {
		c.distanceBelow(q.seq, &t.number)
		c.distanceBelow(owners, &t.owner)
		c.stamp(&t.retryAt)
		c.accountNumber(&t.key)
	})
	wire.List(&c.Codec, &q.leases, maxTickets, func(l *lease) {
		c.distanceBelow(m.permits, &l.permit)
		c.distanceBelow(m.epoch, &l.epoch)
		c.distanceBelow(owners, &l.owner)
		c.codeFields(&l.until, &l.usesReservation)
		c.accountNumber(&l.key)
		if c.version == versionWithoutAccounts {
			l.accountEpoch, l.isTest = 0, false
			return
		}
		c.codeFields(&l.accountEpoch, &l.isTest)
	})
}

func (c *codec) overrides(list *[]override) {
	wire.List(&c.Codec, list, maxOverrides, func(o *override) { c.codeFields(&o.key, &o.value, &o.until) })
}

func (c *codec) process(p *process, newest uint64) {
	c.Text(&p.id, maxText)
	c.distanceBelow(newest, &p.key)
	c.codeFields(&p.seen, &p.normalPace.rate, &p.normalPace.burst, &p.bucket.fullAt)
	c.codeFields(&p.ceiling, &p.window, &p.slots, &p.totalSlots, &p.reserved, &p.reservedAt)
	if c.version <= versionWithAccounts { // skip the number of a set of limits
		p.accounts = nil
		c.accountNumber(new(uint64))
		return
	}
	wire.List(&c.Codec, &p.accounts, maxAccounts, c.accountNumber)
}

func (c *codec) account(a *account) {
	c.accountNumber(&a.id)
	c.Text(&a.name, maxText)
	if c.version > versionWithAccounts {
		c.limits(&a.limits)
	}
	c.codeFields(&a.seen, &a.lastGrant, &a.bucket.fullAt, &a.quota.since, &a.quota.period, &a.quota.used)
	wire.List(&c.Codec, &a.keys, maxKeys, func(k *accountKey) {
		c.accountNumber(&k.id)
		c.codeFields((*uint64)(&k.fingerprint), &k.seen, &k.lastGrant, &k.standing, &k.standingSince)
	})
	c.overrides(&a.overrides)
	limited := a.machine.epoch != 0
	if c.Bool(&limited); limited {
		c.machine(&a.machine)
	}
}

func (c *codec) limits(l *accountLimits) {
	limited := l.rate != 0
	if c.codeFields(&l.slots, &l.keySlots, &limited); limited {
		c.Float(&l.rate)
	}
	c.codeFields(&l.quota.Requests, &l.quota.Period)
}

// stamp encodes a time relative to now. The zero Stamp stays zero.
func (c *codec) stamp(v *Stamp) {
	var x int64
	if *v != 0 {
		if x = int64(c.now - *v); x >= 0 {
			x++ // 0 means "never"
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

// distanceBelow encodes a number as its distance from top, which is usually short.
func (c *codec) distanceBelow(top uint64, v *uint64) {
	x := int64(top - *v)
	c.Int64(&x)
	*v = top - uint64(x)
}

// accountNumber encodes the number of an account or a key. 0 means none.
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

func isValidRate(v float64) bool { return v >= 0 && v <= math.MaxFloat64 } // false for NaN

func (s *Snapshot) valid() bool {
	return s.address.valid() && !slices.ContainsFunc(s.accounts.list, func(a account) bool { return !a.valid() }) &&
		!slices.ContainsFunc(s.processes.list, func(p process) bool { return !p.valid() })
}

func (c *scope) valid() bool {
	m, l := &c.machine, &c.machine.learned
	return c.quota.period >= 0 && c.quota.used >= 0 && int(max(m.state, m.previousState)) < len(stateNames) &&
		l.window >= 0 && (l.window > 0 || l.maxAnswers == 0) &&
		m.stated.quota >= 0 && (m.stated.period > 0 || m.stated.quota == 0) &&
		min(l.maxAnswers, l.count429, l.provenMax, l.trialRaise) >= 0 && max(l.maxAnswers, l.trialRaise) <= maxGrants &&
		min(m.cooldown, m.timeAtMaxCooldown, m.last429Wait) >= 0 &&
		min(m.streak429, m.failures, m.successes, m.confirmations) >= 0
}

func (p *process) valid() bool {
	return isValidRate(p.normalPace.rate) && isValidRate(p.normalPace.burst) && p.ceiling >= 1 && p.ceiling <= maxGrants &&
		p.window > 0 && p.slots >= 1 && p.totalSlots >= 1 && p.reserved >= 0
}

func (a *account) valid() bool {
	l := &a.limits
	return a.id != 0 && a.scope.valid() && isValidRate(l.rate) &&
		min(l.slots, l.keySlots, l.quota.Requests) >= 0 && l.quota.Period >= 0 &&
		!slices.ContainsFunc(a.overrides, func(o override) bool {
			return o.key != enabledKey && setAccountField(new(accountLimits), o.key, o.value) != nil
		}) &&
		!slices.ContainsFunc(a.keys, func(k accountKey) bool { return k.id == 0 || int(k.standing) >= len(standingNames) })
}
