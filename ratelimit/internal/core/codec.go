package core

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
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
	w := codec{b: b, version: SnapshotVersion}
	w.uint64(&w.version)
	s.code(&w)
	return w.b, nil
}

// Decode replaces the snapshot by the one in b, and uses its memory again. It returns ErrSnapshotCorrupt or a
// *SnapshotVersionError; the snapshot is the zero Snapshot then.
func (s *Snapshot) Decode(b []byte) error {
	r := codec{b: b, reading: true}
	r.uint64(&r.version)
	known := r.version >= plainVersion && r.version <= SnapshotVersion
	if !r.bad && !known && r.version < 1<<16 {
		*s = Snapshot{}
		return &SnapshotVersionError{int(r.version)}
	}
	s.code(&r)
	if r.bad || len(r.b) != 0 || !known || !s.sound() {
		*s = Snapshot{}
		return ErrSnapshotCorrupt
	}
	return nil
}

// codec is one direction of the format: it writes the values behind the pointers, or reads them. One list of fields
// serves both directions, so they cannot disagree.
type codec struct {
	b       []byte // written so far, or still to be read
	version uint64
	reading bool
	bad     bool
}

func (s *Snapshot) code(c *codec) {
	s.clock.code(c)
	now := s.clock.now
	c.uint64(&s.processSeq)
	if c.version > plainVersion {
		c.uint64(&s.accountSeq)
	} else {
		s.accountSeq = 0
	}

	s.machine.code(c, now)

	s.machine.window.code(c, now)

	codeStamp(c, now, &s.bucket.full)
	codeStamp(c, now, &s.ceiling.unknownSince)
	codeStamp(c, now, &s.ceiling.doubted)
	resize(c, &s.ceiling.grants, maxGrants)
	last := now
	for i := range s.ceiling.grants {
		d := int64(s.ceiling.grants[i] - last)
		c.int64(&d)
		last += Stamp(d)
		s.ceiling.grants[i] = last
	}

	c.uint64(&s.slots.seq)
	resize(c, &s.slots.tickets, maxTickets)
	for i := range s.slots.tickets {
		t := &s.slots.tickets[i]
		codeBelow(c, s.slots.seq, &t.number)
		codeBelow(c, s.processSeq, &t.owner)
		codeStamp(c, now, &t.due)
		c.accountNumber(s, &t.key)
	}
	resize(c, &s.slots.leases, maxTickets)
	for i := range s.slots.leases {
		l := &s.slots.leases[i]
		codeBelow(c, s.machine.permits, &l.permit)
		codeBelow(c, s.machine.epoch, &l.epoch)
		codeBelow(c, s.processSeq, &l.owner)
		codeStamp(c, now, &l.until)
		codeBool(c, &l.budget)
		c.accountNumber(s, &l.key)
		if c.version == plainVersion {
			l.accountEpoch, l.test = 0, false
			continue
		}
		c.uint64(&l.accountEpoch)
		codeBool(c, &l.test)
	}

	codeStamp(c, now, &s.budget.since)
	codeInt(c, &s.budget.used)
	codeInt(c, &s.budget.period)

	c.uint64(&s.overrides.seq)
	c.overrides(&s.overrides.list, now)

	resize(c, &s.processes, maxProcesses)
	for i := range s.processes {
		p := &s.processes[i]
		c.text(&p.id)
		codeBelow(c, s.processSeq, &p.key)
		codeStamp(c, now, &p.seen)
		c.float(&p.rate)
		c.float(&p.burst)
		codeStamp(c, now, &p.own.full)
		codeInt(c, &p.ceiling)
		codeInt(c, &p.window)
		codeInt(c, &p.slots)
		codeInt(c, &p.total)
		codeInt(c, &p.reserved)
		codeStamp(c, now, &p.reservedAt)
		p.codeAccounts(c, s)
	}
	s.codeAccounts(c, now)
}

func (c *codec) overrides(list *[]override, now Stamp) {
	resize(c, list, maxOverrides)
	for i := range *list {
		o := &(*list)[i]
		c.text(&o.key)
		c.text(&o.value)
		codeStamp(c, now, &o.until)
	}
}

func (l *timeline) code(c *codec) {
	codeInt(c, &l.now)
	codeInt(c, &l.wall)
	codeInt(c, &l.boot)
	c.text(&l.bootID)
	c.text(&l.machine)
	codeInt(c, &l.refused)
}

func (m *machine) code(c *codec, now Stamp) {
	codeEnum(c, &m.state)
	c.uint64(&m.epoch)
	codeStamp(c, now, &m.since)
	codeEnum(c, &m.reason)
	if int(m.reason) >= len(reasons) {
		m.reason = ReasonNone // a newer build's, which says why, not what
	}
	c.uint64(&m.permits)
	codeStamp(c, now, &m.sleepUntil)
	codeStamp(c, now, &m.pauseUntil)
	codeInt(c, &m.cooldown)
	codeInt(c, &m.exhausted)
	codeInt(c, &m.streak429)
	c.uint64(&m.overrun)
	codeInt(c, &m.overrunWait)
	codeInt(c, &m.failures)
	codeInt(c, &m.successes)
	codeInt(c, &m.armed)
	c.uint64(&m.armedPermit)
	codeStamp(c, now, &m.sustained)
	c.float(&m.ramp)
	codeStamp(c, now, &m.rampAt)
	codeBool(c, &m.trouble.limit)
	codeBool(c, &m.trouble.seen429)
	c.float(&m.trouble.rate)
	codeStamp(c, now, &m.blockUntil)
	codeStamp(c, now, &m.failing)
	codeStamp(c, now, &m.hungry)
	c.uint64(&m.lost)
	c.uint64(&m.lostPermit)
}

// sound reports whether decoded fields can be worked with at all.
func (s *Snapshot) sound() bool {
	if s.budget.period < 0 || s.budget.used < 0 || !s.machine.sound() {
		return false
	}
	return !slices.ContainsFunc(s.accounts, func(a account) bool { return !a.sound() }) &&
		!slices.ContainsFunc(s.processes, func(p process) bool { return !p.sound() })
}

// rate reports whether a number can be a rate.
func rate(v float64) bool { return v >= 0 && v <= math.MaxFloat64 } // false for NaN

func (m *machine) sound() bool {
	return rate(m.ramp) && rate(m.trouble.rate) && int(m.state) < len(stateNames) &&
		min(m.cooldown, m.exhausted, m.overrunWait) >= 0 && min(m.streak429, m.failures, m.successes, m.armed) >= 0
}

func (p *process) sound() bool {
	return rate(p.rate) && rate(p.burst) && p.ceiling >= 1 && p.ceiling <= maxGrants && p.window > 0 &&
		p.slots >= 1 && p.total >= 1 && p.reserved >= 0
}

func codeInt[T ~int | ~int64](c *codec, v *T) {
	x := int64(*v)
	c.int64(&x)
	*v = T(x)
}

func codeEnum[T ~uint8](c *codec, v *T) {
	x := uint64(*v)
	c.uint64(&x)
	*v = T(min(x, math.MaxUint8))
}

func codeBool(c *codec, v *bool) {
	var x uint64
	if *v {
		x = 1
	}
	c.uint64(&x)
	*v = x != 0
}

// codeStamp codes a time by its distance from now; the zero Stamp stays one.
func codeStamp(c *codec, now Stamp, v *Stamp) {
	var x int64
	if *v != 0 {
		if x = int64(now - *v); x >= 0 {
			x++ // so that 0 is free for "never"
		}
	}
	c.int64(&x)
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
	c.int64(&x)
	*v = top - uint64(x)
}

// code codes the answers, of which there are hundreds: two bits for the kind of each, the rest is the time since the
// one before.
func (w *window) code(c *codec, now Stamp) {
	resize(c, &w.records, maxRecords)
	last := millis(now)
	if !c.reading {
		b := c.b
		for _, r := range w.records {
			b = appendInt(b, (r.at-last)<<2|int64(r.outcome-OK)&3)
			last = r.at
		}
		c.b = b
		return
	}
	for i := range w.records {
		var x int64
		c.int64(&x)
		last += x >> 2
		w.records[i] = record{last, OK + Outcome(x&3)}
	}
}

func resize[T any](c *codec, v *[]T, limit int) {
	n := c.length(len(*v), limit)
	if n <= cap(*v) {
		*v = (*v)[:n]
		return
	}
	*v = append((*v)[:cap(*v)], make([]T, n-cap(*v))...)
}

func (c *codec) uint64(v *uint64) {
	if !c.reading {
		c.b = binary.AppendUvarint(c.b, *v)
		return
	}
	x, n := binary.Uvarint(c.b)
	if n <= 0 {
		c.fail()
		*v = 0
		return
	}
	c.b, *v = c.b[n:], x
}

// appendInt is binary.AppendVarint, faster for small numbers.
func appendInt(b []byte, v int64) []byte {
	switch x := uint64(v<<1) ^ uint64(v>>63); {
	case x < 1<<7: // most numbers
		return append(b, byte(x))
	case x < 1<<14: // most records
		return append(b, byte(x)|0x80, byte(x>>7))
	default:
		return binary.AppendUvarint(b, x)
	}
}

func (c *codec) int64(v *int64) {
	if !c.reading {
		c.b = appendInt(c.b, *v)
		return
	}
	if len(c.b) > 0 && c.b[0] < 0x80 {
		x := c.b[0]
		*v = int64(x>>1) ^ -int64(x&1)
		c.b = c.b[1:]
		return
	}
	x, n := binary.Varint(c.b)
	if n <= 0 {
		c.fail()
		*v = 0
		return
	}
	c.b, *v = c.b[n:], x
}

func (c *codec) float(v *float64) {
	if !c.reading {
		c.b = binary.LittleEndian.AppendUint64(c.b, math.Float64bits(*v))
		return
	}
	if len(c.b) < 8 {
		c.fail()
		*v = 0
		return
	}
	*v = math.Float64frombits(binary.LittleEndian.Uint64(c.b))
	c.b = c.b[8:]
}

func (c *codec) text(v *string) {
	if !c.reading {
		s := (*v)[:min(len(*v), maxText)]
		c.length(len(s), maxText)
		c.b = append(c.b, s...)
		return
	}
	n := c.length(0, maxText)
	if string(c.b[:n]) != *v { // the same names come again and again
		*v = string(c.b[:n])
	}
	c.b = c.b[n:]
}

// length codes a number of elements or bytes, at most limit.
func (c *codec) length(n, limit int) int {
	x := uint64(n)
	c.uint64(&x)
	// Every element takes at least one byte: a larger number is damaged.
	if c.reading && (x > uint64(limit) || x > uint64(len(c.b))) {
		c.fail()
		return 0
	}
	return int(x)
}

func (c *codec) fail() { c.bad, c.b = true, nil }

// accountNumber codes the number of an account or a key; 0 is none.
func (c *codec) accountNumber(s *Snapshot, v *uint64) {
	if c.version == plainVersion {
		*v = 0
		return
	}
	x := uint64(0)
	if *v != 0 {
		x = s.accountSeq - *v + 1
	}
	if c.uint64(&x); x == 0 || x > s.accountSeq {
		*v = 0
		return
	}
	*v = s.accountSeq - x + 1
}

// codeAccounts codes which accounts a process has. The version before names a set of limits instead: the next ask of the
// process says it anew.
func (p *process) codeAccounts(c *codec, s *Snapshot) {
	if c.version <= accountsVersion {
		p.accounts = nil
		c.accountNumber(s, new(uint64))
		return
	}
	resize(c, &p.accounts, maxAccounts)
	for i := range p.accounts {
		c.accountNumber(s, &p.accounts[i])
	}
}

func (s *Snapshot) codeAccounts(c *codec, now Stamp) {
	if c.reading { // what was there must not shine through
		s.accounts = nil
	}
	if c.version == plainVersion {
		return
	}
	resize(c, &s.accounts, maxAccounts)
	for i := range s.accounts {
		s.accounts[i].code(c, s, now)
	}
	if c.version == accountsVersion {
		c.skipTerms(s)
	}
}

// skipTerms reads the sets of limits of the version before.
func (c *codec) skipTerms(s *Snapshot) {
	for range c.length(0, maxAccounts) {
		c.accountNumber(s, new(uint64))
		for range c.length(0, maxAccounts) {
			c.accountNumber(s, new(uint64))
			new(accountLimits).code(c)
		}
	}
}

func (l *accountLimits) code(c *codec) {
	codeInt(c, &l.slots)
	codeInt(c, &l.keySlots)
	c.rate(&l.rate)
	codeInt(c, &l.quota.Requests)
	codeInt(c, &l.quota.Period)
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
	codeInt(c, &a.quota.period)
	codeInt(c, &a.quota.used)
	resize(c, &a.keys, maxKeys)
	for i := range a.keys {
		k := &a.keys[i]
		c.accountNumber(s, &k.id)
		c.uint64((*uint64)(&k.print))
		codeStamp(c, now, &k.seen)
		codeStamp(c, now, &k.last)
		codeEnum(c, &k.standing)
		codeStamp(c, now, &k.since)
	}
	c.overrides(&a.tuned, now)
	limited := a.machine.epoch != 0
	codeBool(c, &limited)
	if !limited {
		return
	}
	a.machine.code(c, now)
	a.machine.window.code(c, now)
}

// rate codes a rate that is usually 0.
func (c *codec) rate(v *float64) {
	some := *v != 0
	codeBool(c, &some)
	if some {
		c.float(v)
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
	return !slices.ContainsFunc(a.keys, func(k accountKey) bool { return k.id == 0 || int(k.standing) >= len(standingNames) })
}
