package ratelimit

import "slices"

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
