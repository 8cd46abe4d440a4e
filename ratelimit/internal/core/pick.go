package core

import (
	"cmp"
	"slices"
	"time"
)

// Preference is the account and key that a request prefers, such as those of an earlier try.
type Preference struct {
	Account string
	Key     Fingerprint
	// Test makes the request use exactly this key, even if the key is refused or its account disabled or without quota.
	Test bool
}

// candidate is an account that a request may use, with what decides whether it is chosen.
type candidate struct {
	config  *Account
	account *account // the account's shared state; nil: no process has used the account yet
	limits  limits
	key     *accountKey   // a key that is free now
	running int           // running requests of the account
	limit   int           // most running requests of the account
	usable  bool          // whether the account is enabled and has a key that is not refused
	wait    time.Duration // until the account's pace allows a request

	cause Reason // why the account can't take a request now; ReasonNone if it can
	until Stamp  // when the cause ends; 0: unknown
}

func (v view) candidate(config *Account) candidate {
	c := candidate{config: config, account: v.s.accounts.byName(config.Name), cause: ReasonNoAccount}
	a := c.account
	if a == nil {
		return c
	}
	c.limits, c.running = v.limitsOf(a), v.s.queue.leasesOfAccount(a)
	c.cause = config.unusableReason(c.limits.enabledOverride, func(fingerprint Fingerprint) bool {
		k := a.findKey(fingerprint)
		return k == nil || k.standing.Unusable()
	})
	if c.usable = c.cause == ReasonNone; !c.usable {
		if c.cause == ReasonNoAccount && !config.Disabled {
			c.until = c.limits.overrideEnd
		}
		return c
	}
	running := c.running
	if c.limits.hasOwnMachine {
		if cause, until, blocked := a.machine.blocked(v.now); blocked {
			c.cause, c.until = cause, until
			return c
		}
		if a.machine.state == HalfOpen {
			epoch := a.machine.epoch
			running = count(v.s.queue.leases, func(l *lease) bool { return l.accountEpoch == epoch && a.hasKey(l.key) })
		}
	}
	switch {
	case c.limits.quota.On() && v.quotaLeft(a, &c.limits) < 1:
		c.cause, c.until = ReasonBudget, a.quota.current(v.now).end()
	case c.limits.slots > 0 && running >= c.limits.slots:
		c.cause = ReasonAccount
	default:
		if c.key = v.findFreeKey(&c); c.key == nil {
			c.cause = ReasonAccount
		}
	}
	return c
}

// findFreeKey returns the free key with the fewest running requests. Of several such keys it returns the one that was
// used least recently. It returns nil if no key is free.
func (v view) findFreeKey(c *candidate) (best *accountKey) {
	least := 0
	for _, fingerprint := range c.config.Keys {
		k := c.account.findKey(fingerprint)
		if k == nil || k.standing.Unusable() || !v.isKeyFree(k, &c.limits) {
			continue
		}
		n := v.s.queue.leasesOfKey(k.id)
		if best == nil || n < least || n == least && k.lastGrant < best.lastGrant {
			best, least = k, n
		}
	}
	return best
}

func (v view) accountReady(p *process) bool {
	for i := range v.s.accounts.list {
		a := &v.s.accounts.list[i]
		if !slices.Contains(p.accounts, a.id) {
			continue
		}
		own := Account{Name: a.name}
		for j := range a.keys {
			own.Keys = append(own.Keys, a.keys[j].fingerprint)
		}
		if c := v.candidate(&own); c.cause == ReasonNone && v.paceWait(a, &c.limits) == 0 {
			return true
		}
	}
	return len(p.accounts) == 0
}

// quotaCandidates returns the usable accounts if each of them has a quota, otherwise nil. If each has one, a request is
// refused when all quotas are used up.
func (v view) quotaCandidates(list []Account) (in []candidate) {
	for i := range list {
		c := v.candidate(&list[i])
		switch {
		case !c.usable:
		case !c.limits.quota.On():
			return nil
		default:
			in = append(in, c)
		}
	}
	return in
}

// pick is the account and key for a request, or the reason why no account can take the request now.
type pick struct {
	account *account // nil: no account can take the request
	key     *accountKey
	limits  limits
	running int // running requests of the account
	why     Why
	wait    time.Duration // until the account's own pace allows the request
	full    []string      // accounts that were skipped because all their slots are in use

	// The fields below are set if no account can take the request.

	cause  Reason
	state  State
	until  Stamp       // when an account is expected to take the request; 0: unknown
	refuse bool        // whether no account will ever take the request
	pinned *accountKey // the preferred key, if the request waits for this key only
}

func (v view) pick(ask *PermitRequest) pick {
	candidates := make([]candidate, len(ask.Accounts))
	for i := range ask.Accounts {
		candidates[i] = v.candidate(&ask.Accounts[i])
	}
	if ask.Prefer != nil {
		if p, ok := v.pickPreferred(ask.Prefer, candidates); ok {
			return p
		}
	}
	_, _, total := v.s.processes.commonLimits()
	var p pick
	for i := range candidates {
		c := &candidates[i]
		if !c.usable {
			continue
		}
		c.limit = cmp.Or(c.limits.slots, total)
		c.account.bucket.capDebt(v.now, c.limits.pace(v.t, v.now))
		c.wait = v.paceWait(c.account, &c.limits)
		if c.cause == ReasonAccount {
			p.full = append(p.full, c.config.Name)
		}
	}
	best := choose(candidates)
	if best == nil {
		p.setWaitReason(candidates)
		return p
	}
	p.useCandidate(best)
	p.wait = best.wait
	for i := range candidates {
		c := &candidates[i]
		if c.config.Priority < best.config.Priority && c.usable {
			p.why = BySpill
		}
		if c.cause == ReasonNone && c.config.Priority == best.config.Priority { // any account of this priority will do
			p.wait = min(p.wait, c.wait)
		}
	}
	return p
}

func (p *pick) useCandidate(c *candidate) {
	p.account, p.key, p.limits, p.running = c.account, c.key, c.limits, c.running
}

// pickPreferred picks the preferred account and key. ok is false if they are refused, blocked, disabled or without
// quota; then the request may use any account.
func (v view) pickPreferred(preference *Preference, candidates []candidate) (p pick, ok bool) {
	i := slices.IndexFunc(candidates, func(c candidate) bool { return c.config.Name == preference.Account })
	if i < 0 || !slices.Contains(candidates[i].config.Keys, preference.Key) || candidates[i].account == nil {
		return p, false
	}
	c := candidates[i] // a copy: without the preference, the account's free key counts
	c.key = c.account.findKey(preference.Key)
	switch {
	case preference.Test:
		p.useCandidate(&c)
		p.why = ByTest
	case !c.usable || c.key == nil || c.key.standing.Unusable() || c.cause != ReasonNone && c.cause != ReasonAccount:
		return p, false
	case c.cause == ReasonAccount || !v.isKeyFree(c.key, &c.limits):
		p = pick{cause: ReasonAccount, state: v.s.address.machine.state, pinned: c.key, full: []string{c.config.Name}}
	default:
		p.useCandidate(&c)
		p.why, p.wait = BySticky, v.paceWait(c.account, &c.limits)
	}
	return p, true
}

// setWaitReason sets what a request waits for if no account can take it: a slot, if only the slots of an account are in
// use; otherwise the first end of a block or renewal of a quota. If no account is usable, it sets refuse, and until to
// when an operator's change ends that has disabled one.
func (p *pick) setWaitReason(candidates []candidate) {
	p.cause, p.refuse = ReasonNoAccount, true
	for i := range candidates {
		c := &candidates[i]
		switch {
		case c.cause == ReasonAccount:
			p.cause, p.refuse = ReasonAccount, false
			return
		case !c.usable:
			if c.cause == ReasonCredentials && p.refuse {
				p.cause = ReasonCredentials
			}
			if p.refuse && isSooner(c.until, p.until) {
				p.until = c.until
			}
		case p.refuse || isSooner(c.until, p.until):
			p.cause, p.until, p.refuse = c.cause, c.until, false
			p.state = c.limits.machine.state
		}
	}
}

// isSooner reports whether a is before b. 0 means never.
func isSooner(a, b Stamp) bool { return a != 0 && (b == 0 || a < b) }

// takeKey records in the account's state and in the lease that a request uses the picked account and key.
func (v view) takeKey(p *pick, l *lease) Choice {
	a, k := p.account, p.key
	a.lastGrant, k.lastGrant = v.now, v.now
	if pace := p.limits.pace(v.t, v.now); pace.rate > 0 {
		a.bucket.take(v.now, pace)
	}
	l.key, l.isTest = k.id, p.why == ByTest
	if p.limits.hasOwnMachine {
		a.machine.permits = max(a.machine.permits, l.permit)
		l.accountEpoch = a.machine.epoch
	}
	return Choice{a.name, k.fingerprint, p.why, p.running + 1, p.limits.slots, p.full}
}

// choose returns the account for a request, nil if none can take it. It compares the accounts by priority number, then
// by whether their pace allows the request now, then by the share of their limit in use, and last by the time of their
// last use. So requests spill over to the next priority only if all slots of the first are in use, not if its pace
// makes them wait.
func choose(list []candidate) (best *candidate) {
	for i := range list {
		if c := &list[i]; c.cause == ReasonNone && (best == nil || c.betterThan(best)) {
			best = c
		}
	}
	return best
}

func (c *candidate) betterThan(o *candidate) bool {
	mine, theirs := c.running*max(o.limit, 1), o.running*max(c.limit, 1)
	switch {
	case c.config.Priority != o.config.Priority:
		return c.config.Priority < o.config.Priority
	case (c.wait == 0) != (o.wait == 0):
		return c.wait == 0
	case mine != theirs:
		return mine < theirs
	}
	return c.account.lastGrant < o.account.lastGrant
}

// Why is the reason for the choice of an account.
type Why uint8

// The reasons for a choice.
const (
	ByPriority Why = iota // no usable account has a smaller priority number
	BySpill               // the accounts with smaller priority numbers can't take the request
	BySticky              // the request prefers this account, which its session already uses
	ByTest                // an operator is testing the key
)

var whyNames = [...]string{ByPriority: "priority", BySpill: "spill", BySticky: "sticky", ByTest: "test"}

func (w Why) String() string { return enumName(w, whyNames[:], "Why") }
