package core

import (
	"slices"
	"time"
)

// Preference is the account and key that a request would like to keep.
type Preference struct {
	Account string
	Key     Fingerprint
	// Test asks with exactly this key, also where it is out, disabled or without quota.
	Test bool
}

// pick is which account and key a request goes through, or what it waits for.
type pick struct {
	account *account // nil: see cause
	key     *accountKey
	limits  limits
	why     Why
	full    []string // accounts that were passed by because all their slots are taken
	running int      // of the account

	token  time.Duration // until the account's own rate allows it
	cause  Reason        // why there is none
	state  State
	until  Stamp // when one is expected; 0: unknown
	refuse bool  // none will be, whatever the time
	pinned bool  // it waits for the slot of its preference alone
}

// candidate is an account of a process at one moment.
type candidate struct {
	own     *Account
	account *account
	limits  limits
	key     *accountKey // a free one
	in      bool        // enabled, and not all its keys are out

	cause Reason // why it is not usable; ReasonNone: it is
	until Stamp
}

func (s *Snapshot) candidate(now Stamp, own *Account, t *Tuning, parts int) candidate {
	e := candidate{own: own, account: s.accountBy(own.Name)}
	if e.account == nil {
		e.cause = ReasonNoAccount
		return e
	}
	e.limits = s.limitsOf(e.account, t, parts)
	e.cause = own.barred(e.limits.enabled, func(print Fingerprint) bool {
		k := e.account.key(print)
		return k == nil || k.standing.Unusable()
	})
	if e.in = e.cause == ReasonNone; e.in {
		e.checkFree(now, s)
	}
	return e
}

// checkFree finds out what keeps an account that is in from taking a request.
func (e *candidate) checkFree(now Stamp, s *Snapshot) {
	a, m := e.account, e.limits.machine
	if m == &a.machine {
		if cause, until, blocked := m.blocked(now); blocked {
			e.cause, e.until = cause, until
			return
		}
	}
	if e.limits.quota.On() && s.left(now, a, &e.limits) < 1 {
		e.cause, e.until = ReasonBudget, a.quota.at(now).ends()
		return
	}
	running := s.running(a)
	if m == &a.machine && m.state == HalfOpen {
		running = s.slots.count(func(l *lease) bool { return l.accountEpoch == m.epoch && a.owns(l.key) })
	}
	if e.limits.slots > 0 && running >= e.limits.slots {
		e.cause = ReasonAccount
		return
	}
	if e.key = s.freeKey(now, e); e.key == nil {
		e.cause = ReasonAccount
	}
}

// freeKey returns the key of the process with the fewest requests under way, and among them the one that is idle for
// longest; nil if none is free.
func (s *Snapshot) freeKey(now Stamp, e *candidate) *accountKey {
	var best *accountKey
	least := 0
	for _, print := range e.own.Keys {
		k := e.account.key(print)
		if k == nil || k.standing.Unusable() || !s.keyFree(now, k, &e.limits) {
			continue
		}
		n := s.runningWith(k.id)
		if best == nil || n < least || n == least && k.last < best.last {
			best, least = k, n
		}
	}
	return best
}

func (s *Snapshot) pick(now Stamp, a *Ask, parts, total int) pick {
	candidates := make([]candidate, len(a.Accounts))
	for i := range a.Accounts {
		candidates[i] = s.candidate(now, &a.Accounts[i], a.Tuning, parts)
	}
	if a.Prefer != nil {
		if p, ok := s.preferred(now, a, candidates); ok {
			return p
		}
	}
	list, in := make([]Option, len(candidates)), make([]bool, len(candidates))
	var p pick
	for i := range candidates {
		e := &candidates[i]
		if in[i] = e.in; !e.in {
			continue
		}
		limit := e.limits.slots
		if limit == 0 {
			limit = total
		}
		list[i] = Option{
			Usable: e.cause == ReasonNone, Ready: e.limits.due(e.account, a.Tuning, now) == 0,
			Priority: e.own.Priority, Running: s.running(e.account), Limit: limit, Last: e.account.last,
		}
		if e.cause == ReasonAccount {
			p.full = append(p.full, e.own.Name)
		}
	}
	i := Choose(list)
	if i < 0 {
		p.missing(candidates)
		return p
	}
	p.take(&candidates[i], list[i].Running)
	p.why = spilled(list, i, in)
	if !list[i].Ready { // whoever of its group is ready first
		p.token = p.limits.due(p.account, a.Tuning, now)
		for j := range list {
			if list[j].Usable && list[j].Priority == list[i].Priority {
				p.token = min(p.token, candidates[j].limits.due(candidates[j].account, a.Tuning, now))
			}
		}
	}
	return p
}

func (p *pick) take(e *candidate, running int) {
	p.account, p.key, p.limits, p.running = e.account, e.key, e.limits, running
}

// preferred is pick for a request that would like to keep its account and key. It isn't ok where those are out,
// blocked, disabled or without quota: then the choice is free.
func (s *Snapshot) preferred(now Stamp, a *Ask, candidates []candidate) (p pick, ok bool) {
	i := slices.IndexFunc(candidates, func(e candidate) bool { return e.own.Name == a.Prefer.Account })
	if i < 0 || !slices.Contains(candidates[i].own.Keys, a.Prefer.Key) || candidates[i].account == nil {
		return p, false
	}
	e := &candidates[i]
	e.key = e.account.key(a.Prefer.Key)
	if a.Prefer.Test {
		p.take(e, s.running(e.account))
		p.why = ByTest
		return p, true
	}
	if !e.in || e.key == nil || e.key.standing.Unusable() || e.cause != ReasonNone && e.cause != ReasonAccount {
		return p, false
	}
	if e.cause == ReasonAccount || !s.keyFree(now, e.key, &e.limits) {
		return pick{cause: ReasonAccount, state: s.machine.state, pinned: true, key: e.key, full: []string{e.own.Name}}, true
	}
	p.take(e, s.running(e.account))
	p.why, p.token = BySticky, e.limits.due(e.account, a.Tuning, now)
	return p, true
}

// missing says what a request without an account waits for: for a slot where one is in and only full, else for the
// first that is no longer blocked or has a quota again; where none is in, for nothing.
func (p *pick) missing(candidates []candidate) {
	p.cause, p.refuse = ReasonNoAccount, true
	for i := range candidates {
		e := &candidates[i]
		switch {
		case e.cause == ReasonAccount:
			p.cause, p.refuse = ReasonAccount, false
			return
		case !e.in:
			if e.cause == ReasonCredentials && p.refuse {
				p.cause = ReasonCredentials
			}
		case p.refuse || sooner(e.until, p.until):
			p.cause, p.until, p.refuse = e.cause, e.until, false
			p.state = e.limits.machine.state
		}
	}
}

// sooner compares ends of which 0 is none.
func sooner(a, b Stamp) bool { return a != 0 && (b == 0 || a < b) }

// canTake reports whether one of the accounts of a process could take a request now.
func (s *Snapshot) canTake(now Stamp, p *process, t *Tuning) bool {
	for i := range s.accounts {
		a := &s.accounts[i]
		if !slices.Contains(p.accounts, a.id) {
			continue
		}
		own := Account{Name: a.name}
		for j := range a.keys {
			own.Keys = append(own.Keys, a.keys[j].print)
		}
		if e := s.candidate(now, &own, t, 1); e.cause == ReasonNone && e.limits.due(a, t, now) == 0 {
			return true
		}
	}
	return len(p.accounts) == 0
}

// rationed returns the accounts of an ask whose quotas are the quotas, nil unless each account that could be used has
// one: then no request may wait that has none left.
func (s *Snapshot) rationed(now Stamp, list []Account, t *Tuning, parts int) (in []candidate) {
	for i := range list {
		e := s.candidate(now, &list[i], t, parts)
		switch {
		case !e.in:
		case !e.limits.quota.On():
			return nil
		default:
			in = append(in, e)
		}
	}
	return in
}

// unassigned counts the reserved requests that no account has yet.
func (s *Snapshot) unassigned(now Stamp, t *Tuning) int {
	n := 0
	for i := range s.processes {
		p := &s.processes[i]
		n += max(s.held(p, now, t)-s.slots.booked(p.key), 0)
	}
	return n
}

// Option is an account that may take a request, as [Choose] sees it.
type Option struct {
	Usable         bool // enabled, not out, not blocked, within its quota, with a free slot
	Ready          bool // its own rate allows a request now
	Priority       int  // smaller first
	Running, Limit int  // requests under way, and how many there may be: at least 1
	Last           Stamp
}

// Choose returns which account takes a request, -1 where none can: of the usable ones those with the smallest priority
// number; among them one that is ready before one that is not; then the one with the smallest share of its limit in
// use; then the one whose last request left longest ago. So a group that is full spills over at once, and only then:
// one whose rate allows nothing for the moment is waited for. Where the chosen one isn't ready, none of its group is.
func Choose(list []Option) int {
	best := -1
	for i := range list {
		if list[i].Usable && (best < 0 || list[i].before(&list[best])) {
			best = i
		}
	}
	return best
}

func (c *Option) before(o *Option) bool {
	mine, theirs := c.Running*max(o.Limit, 1), o.Running*max(c.Limit, 1)
	switch {
	case c.Priority != o.Priority:
		return c.Priority < o.Priority
	case c.Ready != o.Ready:
		return c.Ready
	case mine != theirs:
		return mine < theirs
	}
	return c.Last < o.Last
}

// Why says why a request went through its account.
type Why uint8

// The reasons of a choice.
const (
	ByPriority Why = iota // the first group that counts
	BySpill               // those before it could take none
	BySticky              // its session's
	ByTest                // an operator tests the key
)

var whyNames = [...]string{ByPriority: "priority", BySpill: "spill", BySticky: "sticky", ByTest: "test"}

// String returns the word of logs and metrics.
func (w Why) String() string { return nameOf(w, whyNames[:], "Why") }

// spilled reports whether an enabled account that is in, with a smaller number, was passed by.
func spilled(list []Option, chosen int, in []bool) Why {
	for i := range list {
		if in[i] && list[i].Priority < list[chosen].Priority {
			return BySpill
		}
	}
	return ByPriority
}
