package ratelimit

import "slices"

// below3 codes a number of an account, a key or terms; 0 is none. Versions before 3 have none.
func (c *codec) below3(s *Snapshot, v uint64) uint64 {
	if c.version < SnapshotVersion {
		return 0
	}
	x := uint64(0)
	if v != 0 {
		x = s.accountSeq - v + 1
	}
	c.uint64(&x)
	if x == 0 || x > s.accountSeq {
		return 0
	}
	return s.accountSeq - x + 1
}

func (s *Snapshot) codeAccounts(c *codec, now Stamp) {
	if c.reading { // what was there must not shine through
		s.accounts, s.terms = nil, nil
	}
	if c.version < SnapshotVersion {
		return
	}
	resize(c, &s.accounts, maxAccounts)
	for i := range s.accounts {
		s.accounts[i].code(c, s, now)
	}
	resize(c, &s.terms, maxTerms)
	for i := range s.terms {
		t := &s.terms[i]
		t.id = c.below3(s, t.id)
		resize(c, &t.rows, maxAccounts)
		for j := range t.rows {
			r := &t.rows[j]
			r.account = c.below3(s, r.account)
			codeInt(c, &r.slots)
			codeInt(c, &r.keySlots)
			c.rate(&r.rate)
			codeInt(c, &r.quota.Requests)
			codeInt(c, &r.quota.Period)
		}
	}
}

func (a *account) code(c *codec, s *Snapshot, now Stamp) {
	a.id = c.below3(s, a.id)
	c.text(&a.name)
	codeStamp(c, now, &a.seen)
	codeStamp(c, now, &a.last)
	codeStamp(c, now, &a.bucket.full)
	codeStamp(c, now, &a.quota.since)
	codeInt(c, &a.quota.period)
	codeInt(c, &a.quota.used)
	resize(c, &a.keys, maxKeys)
	for i := range a.keys {
		k := &a.keys[i]
		k.id = c.below3(s, k.id)
		c.uint64((*uint64)(&k.print))
		codeStamp(c, now, &k.seen)
		codeStamp(c, now, &k.last)
		codeEnum(c, &k.standing)
		codeStamp(c, now, &k.since)
	}
	resize(c, &a.tuned, maxOverrides)
	for i := range a.tuned {
		o := &a.tuned[i]
		c.text(&o.key)
		c.text(&o.value)
		codeStamp(c, now, &o.until)
	}
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
	if a.id == 0 || a.quota.used < 0 || a.quota.period < 0 || !a.machine.sound() {
		return false
	}
	if slices.ContainsFunc(a.tuned, func(o override) bool { return setAccountField(new(limits), o.key, o.value) != nil }) {
		return false
	}
	return !slices.ContainsFunc(a.keys, func(k accountKey) bool { return k.id == 0 || int(k.standing) >= len(standingNames) })
}

func (t *terms) sound() bool {
	return t.id != 0 && !slices.ContainsFunc(t.rows, func(r term) bool {
		return r.slots < 0 || r.keySlots < 0 || !rate(r.rate) || r.quota.Requests < 0 || r.quota.Period < 0
	})
}
