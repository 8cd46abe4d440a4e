package ratelimit

import (
	"fmt"
	"time"
)

// This file decides how many requests may be made in a long period, such as
// 5000 a day. What a run plans it reserves first; only requests that were
// answered count as used, and what was not used goes back.

// reservationMax is when a reservation nobody has touched is free again.
const reservationMax = time.Hour

// Budget is a number of answered requests in a fixed period that begins with
// the first counted one. The zero Budget is no limit.
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
	return fmt.Sprintf("%d/%s", b.Requests, formatDuration(b.Period))
}

// budgetUse is what has been used in the current period.
type budgetUse struct {
	since Stamp // of the first counted request; 0: none yet
	used  int
}

// renew starts over when the period has passed.
func (u *budgetUse) renew(now Stamp, b Budget) {
	if u.since != 0 && now.sub(u.since) >= b.Period {
		*u = budgetUse{}
	}
}

// count counts an answered request.
func (u *budgetUse) count(now Stamp) {
	if u.since == 0 {
		u.since = now
	}
	u.used++
}

// reserved sums up what all processes have reserved, without what has been
// left lying for too long.
func (s *Snapshot) reserved(now Stamp) int {
	sum := 0
	for i := range s.processes {
		p := &s.processes[i]
		if p.reserved > 0 && now.sub(p.reservedAt) >= reservationMax {
			p.reserved = 0
		}
		sum += p.reserved
	}
	return sum
}

// reserve reserves n requests for a process, or none if they do not all fit.
func (s *Snapshot) reserve(now Stamp, p *process, n int, b Budget) bool {
	s.budget.renew(now, b)
	if s.budget.used+s.reserved(now)+n > b.Requests {
		return false
	}
	p.reserved += n
	p.reservedAt = now
	return true
}

// settle ends the reservation of n requests of a process, used or not.
func (p *process) settle(now Stamp, n int) {
	p.reserved = max(p.reserved-n, 0)
	p.reservedAt = now
}
