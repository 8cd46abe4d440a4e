package core

import (
	"errors"
	"fmt"
	"time"
)

// Budget is a number of answered requests in a fixed period that begins with the first counted one, such as 5000 a day.
// A run reserves what it plans; only answered requests count as used, the rest goes back. The zero Budget is no limit.
type Budget struct {
	Requests int
	Period   time.Duration
}

// On reports whether there is a limit.
func (b Budget) On() bool { return b.Requests > 0 && b.Period > 0 }

// String returns the budget as it is configured: "5000/24h" or "off".
func (b Budget) String() string {
	if !b.On() {
		return "off"
	}
	return fmt.Sprintf("%d/%s", b.Requests, FormatDuration(b.Period))
}

// budgetUse is what has been used in the current period.
type budgetUse struct {
	since  Stamp // of the first counted request; 0: none yet
	period time.Duration
	used   int
}

// at returns the use at a moment: none once the period has passed. A period that has begun keeps its length,
// whatever the asking process's own is.
func (u budgetUse) at(now Stamp) budgetUse {
	if u.since != 0 && now >= u.ends() {
		return budgetUse{}
	}
	return u
}

func (u budgetUse) ends() Stamp {
	if u.since == 0 {
		return 0
	}
	return u.since.add(u.period)
}

// count counts an answered request. A period begins only where there is a budget.
func (u *budgetUse) count(now Stamp, b Budget) {
	*u = u.at(now)
	if u.since == 0 {
		if !b.On() {
			return
		}
		u.since, u.period = now, b.Period
	}
	u.used++
}

// reserved sums up what all processes have reserved, orphaned reservations excluded.
func (s *Snapshot) reserved(now Stamp, t *Tuning) int {
	sum := 0
	for i := range s.processes {
		sum += s.held(&s.processes[i], now, t)
	}
	return sum
}

// held returns how many requests a process has reserved: of an orphaned reservation those under way.
func (s *Snapshot) held(p *process, now Stamp, t *Tuning) int {
	if p.reserved > 0 && now.sub(p.reservedAt) >= t.QuotaOrphanAfter {
		return min(p.reserved, s.slots.booked(p.key))
	}
	return p.reserved
}

// FreeOrphans frees reservations whose owners have asked for nothing for long, and returns what was freed, if anything.
func (s *Snapshot) FreeOrphans(t *Tuning) Orphans { return s.freeOrphans(s.clock.now, t) }

// freeOrphans frees reservations whose owners have asked for nothing for long, and returns what was freed, if anything.
func (s *Snapshot) freeOrphans(now Stamp, t *Tuning) (o Orphans) {
	for i := range s.processes {
		p := &s.processes[i]
		if held := s.held(p, now, t); held < p.reserved {
			o.Requests += p.reserved - held
			p.reserved = held
		}
	}
	if o.Requests > 0 {
		o.Used, o.Limit, o.Reserved = s.budget.at(now).used, t.Budget.Requests, s.reserved(now, t)
	}
	return o
}

// fits reports whether n more requests fit into the budget, and into what the accounts' quotas have left together.
func (s *Snapshot) fits(now Stamp, n int, t *Tuning, quotas []candidate) bool {
	return s.inBudget(now, n, t) && (len(quotas) == 0 || n <= s.leftTogether(now, t, quotas))
}

func (s *Snapshot) inBudget(now Stamp, n int, t *Tuning) bool {
	return !t.Budget.On() || s.budget.at(now).used+s.reserved(now, t)+n <= t.Budget.Requests
}

// leftTogether is what accounts have left and nobody has reserved.
func (s *Snapshot) leftTogether(now Stamp, t *Tuning, quotas []candidate) int {
	n := -s.unassigned(now, t)
	for i := range quotas {
		n += s.left(now, quotas[i].account, &quotas[i].limits)
	}
	return n
}

// renews returns when n requests that do not fit may fit: with the budget's next period, or the first of the accounts'.
func (s *Snapshot) renews(now Stamp, t *Tuning, n int, quotas []candidate) Stamp {
	if !s.inBudget(now, n, t) {
		return s.budget.at(now).ends()
	}
	var first Stamp
	for i := range quotas {
		if end := quotas[i].account.quota.at(now).ends(); sooner(end, first) {
			first = end
		}
	}
	return first
}

// Reserve books n requests of the budget and, where each account that could be used has a quota, of what those have
// left together. It returns how many were booked: all or, where nothing limits them, none. A *BudgetError says that
// they do not fit.
func (s *Snapshot) Reserve(at Instant, owner string, n int, t *Tuning, accounts []Account) (booked int,
	refused *BudgetError,
) {
	now := s.advance(at)
	if !t.Budget.On() && len(accounts) == 0 {
		return 0, nil
	}
	p := s.join(now, owner, t)
	p.accounts = s.declare(now, accounts, at.Wall)
	quotas := s.rationed(now, accounts, t, at.Parts)
	if !t.Budget.On() && len(quotas) == 0 {
		return 0, nil
	}
	s.freeOrphans(now, t)
	if !s.fits(now, n, t, quotas) {
		e := s.spent(t, n, quotas)
		return 0, &e
	}
	p.reserved += n
	p.reservedAt = now
	return n, nil
}

// Unreserve gives n reserved requests of a process back.
func (s *Snapshot) Unreserve(at Instant, owner string, n int) {
	s.advance(at)
	if p := s.process(owner); p != nil {
		p.settle(n)
	}
}

// settle ends the reservation of n requests of a process, used or not.
func (p *process) settle(n int) { p.reserved = max(p.reserved-n, 0) }

// Orphans are requests of the budget that were reserved and forgotten.
type Orphans struct {
	Requests int // that are free again
	Used     int // of the budget's period
	Reserved int // still
	Limit    int
}

// ErrBudget is what a *BudgetError is.
var ErrBudget = errors.New("request budget is spent")

// BudgetError says that a request or reservation does not fit into the budget.
type BudgetError struct {
	Budget    Budget
	Used      int
	Reserved  int
	Requested int
	Renews    time.Time // when the period ends; zero: it has not begun
	Accounts  bool      // it is that of all accounts together
}

// Error implements error.
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

// spent is the error for n requests that do not fit.
func (s *Snapshot) spent(t *Tuning, n int, quotas []candidate) BudgetError {
	now := s.clock.now
	if s.inBudget(now, n, t) && len(quotas) > 0 {
		e := BudgetError{
			Accounts: true, Reserved: s.unassigned(now, t), Requested: n,
			Renews: s.clock.time(s.renews(now, t, n, quotas)),
		}
		for i := range quotas {
			a, q := quotas[i].account, quotas[i].limits.quota
			e.Budget = Budget{e.Budget.Requests + q.Requests, max(e.Budget.Period, q.Period)}
			e.Used, e.Reserved = e.Used+a.quota.at(now).used, e.Reserved+s.running(a)
		}
		return e
	}
	use := s.budget.at(now)
	return BudgetError{
		Budget: t.Budget, Used: use.used, Reserved: s.reserved(now, t), Requested: n, Renews: s.clock.time(use.ends()),
	}
}
