package ratelimit

import "slices"

// This file decides how a process leaves the shared snapshot when it cannot reach it, and
// what it brings back: what it knew is kept, what it did alone is told to the others.

// solitude is the state of a process on its own.
type solitude struct {
	snap Snapshot
	// detached is set when snap began as a copy of the shared snapshot; then it says when,
	// and how much of the budget was used by then.
	detached bool
	since    Stamp
	used     int
}

// leave starts a solitude from the last that was seen of the shared snapshot, nil when
// none ever was.
func leave(last *Snapshot, now Instant, owner string) *solitude {
	if last == nil {
		return &solitude{}
	}
	a := &solitude{snap: last.Detached(owner), detached: true}
	a.since = a.snap.advance(now)
	a.used = a.snap.budget.used
	// As with permits: no ticket from here may be taken for somebody's shared one.
	a.snap.slots.seq += 1 << 32
	return a
}

// rejoin brings into the shared snapshot what the process did alone: the pauses it met,
// the grants that count against the ceiling, the use of the bucket and the budget, and
// the slots that it gave back meanwhile. Nothing is granted for the next ceiling_window.
func (s *Snapshot) rejoin(now Instant, a *solitude, owner string) {
	s.advance(now)
	a.snap.advance(now)
	shift := s.clock.now.sub(a.snap.clock.now) // the same moment in both
	carried := func(t Stamp) Stamp {
		if t == 0 {
			return 0
		}
		return t.add(shift)
	}
	s.machine.pauseUntil = max(s.machine.pauseUntil, carried(a.snap.machine.pauseUntil))
	s.bucket.full = max(s.bucket.full, carried(a.snap.bucket.full))
	for _, g := range a.snap.ceiling.grants {
		if g >= a.since {
			s.ceiling.grants = append(s.ceiling.grants, carried(g))
		}
	}
	slices.Sort(s.ceiling.grants)
	if n := len(s.ceiling.grants) - maxGrants; n > 0 {
		s.ceiling.grants = slices.Delete(s.ceiling.grants, 0, n)
	}
	s.ceiling.unknownSince = s.clock.now // others may have been alone too, and come later
	if !a.detached {
		return
	}
	if s.budget.since == a.snap.budget.since {
		s.budget.used += max(a.snap.budget.used-a.used, 0)
	}
	for _, p := range s.processes {
		if p.id == owner {
			s.slots.keepHeld(p.key, &a.snap.slots)
		}
	}
}

// keepHeld drops the tickets and leases of one process that are not in held.
func (s *slots) keepHeld(owner uint64, held *slots) {
	s.tickets = slices.DeleteFunc(s.tickets, func(t ticket) bool {
		return t.owner == owner && held.find(t.number) < 0
	})
	s.leases = slices.DeleteFunc(s.leases, func(l lease) bool {
		return l.owner == owner && !slices.ContainsFunc(held.leases, func(h lease) bool {
			return h.permit == l.permit && h.epoch == l.epoch
		})
	})
}

// uncertain makes the snapshot careful when others may have sent requests that it does not
// know of: nothing is granted for one ceiling_window.
func (s *Snapshot) uncertain(now Instant) {
	s.ceiling.unknownSince = s.advance(now)
}
