package core

import (
	"errors"
	"fmt"
	"time"
)

// Budget limits the number of answered requests in a period, such as 5000 a day. The period begins with the first
// counted request. A run reserves the requests that it plans to send. Only answered requests count as used; a reserved
// request without an answer is given back. The zero Budget is no limit.
type Budget struct {
	Requests int
	Period   time.Duration
}

// On reports whether the budget limits anything.
func (b Budget) On() bool { return b.Requests > 0 && b.Period > 0 }

// String returns the budget as it is configured: "5000/24h" or "off".
func (b Budget) String() string {
	if !b.On() {
		return "off"
	}
	return fmt.Sprintf("%d/%s", b.Requests, FormatDuration(b.Period))
}

// usage counts the answered requests in the current period of a budget.
type usage struct {
	since  Stamp // when the period began, with its first request; 0: it has not begun
	period time.Duration
	used   int // answered requests
}

// current returns the usage at now, which is zero once the period has passed. A period keeps the length it began with,
// even if the calling process is configured with another one.
func (u usage) current(now Stamp) usage {
	if u.since != 0 && now >= u.end() {
		return usage{}
	}
	return u
}

func (u usage) end() Stamp {
	if u.since == 0 {
		return 0
	}
	return u.since.add(u.period)
}

// count counts an answered request. It begins a period only if there is a budget.
func (u *usage) count(now Stamp, b Budget) {
	*u = u.current(now)
	if u.since == 0 {
		if !b.On() {
			return
		}
		u.since, u.period = now, b.Period
	}
	u.used++
}

func (u usage) usedSince(before int, at Stamp) int {
	if u.since > at { // another period
		before = 0
	}
	return max(u.used-before, 0)
}

// add counts n answered requests of the current period that a process counted alone in another usage.
func (u *usage) add(now Stamp, alone usage, translate func(Stamp) Stamp, n int) {
	alone.since = translate(alone.since)
	alone = alone.current(now)
	if *u = u.current(now); u.since == 0 {
		u.since, u.period = alone.since, alone.period
	}
	u.used += min(n, alone.used)
}

// currentReservation returns how many requests a process has reserved. A process that has asked for nothing for
// quota_orphan_after keeps only its running requests; the rest of its reservation is orphaned.
func (v view) currentReservation(p *process) int {
	if p.reserved > 0 && v.now.sub(p.reservedAt) >= v.t.QuotaOrphanAfter {
		return min(p.reserved, v.s.queue.budgetLeases(p.key))
	}
	return p.reserved
}

// totalReserved returns how many requests all processes have reserved, and how many of those are not running yet.
func (v view) totalReserved() (sum, unassigned int) {
	for i := range v.s.processes.list {
		p := &v.s.processes.list[i]
		held := v.currentReservation(p)
		sum += held
		unassigned += max(held-v.s.queue.budgetLeases(p.key), 0)
	}
	return sum, unassigned
}

// FreeOrphanedReservations frees the reservations of processes that have asked for nothing for quota_orphan_after.
func (s *Snapshot) FreeOrphanedReservations(t *Tuning) FreedReservations {
	return view{s, s.clock.now, t, Instant{}}.freeOrphanedReservations()
}

func (v view) freeOrphanedReservations() (freed FreedReservations) {
	for i := range v.s.processes.list {
		p := &v.s.processes.list[i]
		if held := v.currentReservation(p); held < p.reserved {
			freed.Requests += p.reserved - held
			p.reserved = held
		}
	}
	if freed.Requests > 0 {
		freed.Used, freed.Limit = v.s.address.quota.current(v.now).used, v.t.Budget.Requests
		freed.Reserved, _ = v.totalReserved()
	}
	return freed
}

func (v view) fitsBudget(n int, quotas []candidate) bool {
	if !v.fitsAddressBudget(n) {
		return false
	}
	_, unassigned := v.totalReserved()
	left := -unassigned
	for i := range quotas {
		left += v.quotaLeft(quotas[i].account, &quotas[i].limits)
	}
	return len(quotas) == 0 || n <= left
}

func (v view) fitsAddressBudget(n int) bool {
	reserved, _ := v.totalReserved()
	use := v.s.address.quota.current(v.now)
	return !v.t.Budget.On() || use.used+reserved+n <= v.localLimit(v.t.Budget, use, "")
}

// localLimit returns how many requests of an account's quota, or of the common budget if account is "", this machine
// may use. That is all of them or, while the machine is alone, those used before and its part of the rest.
func (v view) localLimit(b Budget, use usage, account string) int {
	if v.at.Alone == nil || v.at.Parts <= 1 {
		return b.Requests
	}
	before := use.used - use.usedSince(v.at.Alone.usedBefore[account], v.at.Alone.since)
	return before + max(b.Requests-before, 0)/v.at.Parts
}

// budgetRenewal returns when n requests that exceed a budget may fit again: when the address's budget renews, or else
// when the first quota renews or the first account that an operator has disabled is enabled again.
func (v view) budgetRenewal(n int, quotas []candidate) (first Stamp) {
	if !v.fitsAddressBudget(n) {
		return v.s.address.quota.current(v.now).end()
	}
	for i := range quotas {
		if end := quotas[i].account.quota.current(v.now).end(); isSooner(end, first) {
			first = end
		}
	}
	for i := range v.s.accounts.list {
		l := v.limitsOf(&v.s.accounts.list[i])
		if l.enabledOverride != nil && !*l.enabledOverride && isSooner(l.overrideEnd, first) {
			first = l.overrideEnd
		}
	}
	return first
}

// Reserve reserves n requests of the budget and, if each usable account has a quota, of the sum of those quotas. It
// returns the number of reserved requests: n, or 0 if there is no budget or quota. It returns a *BudgetError if the
// requests do not fit.
func (s *Snapshot) Reserve(at Instant, owner string, n int, t *Tuning, accounts []Account) (reserved int,
	refused *BudgetError,
) {
	v := view{s, s.advance(at), t, at}
	if !t.Budget.On() && len(accounts) == 0 {
		return 0, nil
	}
	p := v.join(owner)
	p.accounts = s.accounts.register(v.now, accounts, at.Wall, &s.queue)
	quotas := v.quotaCandidates(accounts)
	if !t.Budget.On() && len(quotas) == 0 {
		return 0, nil
	}
	v.freeOrphanedReservations()
	if !v.fitsBudget(n, quotas) {
		return 0, v.budgetError(n, quotas)
	}
	p.reserved += n
	p.reservedAt = v.now
	return n, nil
}

// Unreserve gives back n requests that a process had reserved.
func (s *Snapshot) Unreserve(at Instant, owner string, n int) {
	s.advance(at)
	if p := s.processes.byID(owner); p != nil {
		p.releaseReserved(n)
	}
}

func (p *process) releaseReserved(n int) { p.reserved = max(p.reserved-n, 0) }

// FreedReservations is the result of freeing orphaned reservations: how many requests were freed, and the budget now.
type FreedReservations struct {
	Requests int // reserved requests that were freed
	Used     int // requests used in the current period
	Reserved int // requests still reserved by active processes
	Limit    int // most requests in a period
}

// ErrBudget is the error that every *BudgetError matches with errors.Is.
var ErrBudget = errors.New("request budget is spent")

// BudgetError says that a request or reservation does not fit into the budget.
type BudgetError struct {
	Budget    Budget
	Used      int
	Reserved  int
	Requested int
	Renews    time.Time // when the period ends; zero: the period has not begun
	Accounts  bool      // whether Budget is the sum of all accounts' quotas
}

func (e *BudgetError) Error() string {
	whose := "request budget"
	if e.Accounts {
		whose = "accounts' quotas"
	}
	s := fmt.Sprintf("reserve %d of the %s %s: %d used, %d reserved", e.Requested, whose, e.Budget, e.Used, e.Reserved)
	if !e.Renews.IsZero() {
		s += ", renews at " + e.Renews.UTC().Format(time.RFC3339)
	}
	return s
}

// Is reports whether target is ErrBudget.
func (e *BudgetError) Is(target error) bool { return target == ErrBudget }

func (v view) budgetError(n int, quotas []candidate) *BudgetError {
	clock := &v.s.clock
	reserved, unassigned := v.totalReserved()
	if len(quotas) == 0 || !v.fitsAddressBudget(n) {
		use := v.s.address.quota.current(v.now)
		return &BudgetError{
			Budget: v.t.Budget, Used: use.used, Reserved: reserved, Requested: n, Renews: clock.wallTime(use.end()),
		}
	}
	renews := clock.wallTime(v.budgetRenewal(n, quotas))
	e := &BudgetError{Accounts: true, Reserved: unassigned, Requested: n, Renews: renews}
	for i := range quotas {
		a, q := quotas[i].account, quotas[i].limits.quota
		e.Budget = Budget{e.Budget.Requests + q.Requests, max(e.Budget.Period, q.Period)}
		e.Used, e.Reserved = e.Used+a.quota.current(v.now).used, e.Reserved+quotas[i].running
	}
	return e
}
