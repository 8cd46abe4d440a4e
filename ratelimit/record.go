package ratelimit

import "time"

// This file decides what the end of a request changes. It is pure, like grant.go.

// Report is the end of a request that had a permit.
type Report struct {
	Owner  string
	Tuning *Tuning
	Pass   Pass
	Event  Event
	Draw   float64 // in [0,1), for waits that are drawn by lot
	// KeepBudget keeps the permit's share of the budget reserved if the request
	// was not answered: it belongs to a reservation.
	KeepBudget bool
}

// Recorded is what a report has changed.
type Recorded struct {
	Late       bool          // of an older epoch, or after the permit had run out: no evidence
	Pause      time.Duration // everybody is held back for so long from now; 0: no pause
	Transition Transition
	Moved      bool // whether there was a transition
}

// Record ends a request: its slot is free, its budget settled, and what it
// says about the upstream is evidence if it belongs to the present epoch.
func (s *Snapshot) Record(at Instant, r Report) Recorded {
	now := s.advance(at)
	p := s.join(now, r.Owner, r.Tuning)
	m := &s.machine
	held, ok := s.slots.release(r.Pass.Number, r.Pass.Epoch)
	s.settle(now, p, held, r)

	out := Recorded{Late: !ok || r.Pass.Epoch != m.epoch}
	if !r.Event.Outcome.counts() {
		return out
	}
	m.pause(now, &r.Event, r.Pass.Number, !out.Late, r.Draw)
	if r.Event.Outcome == Throttled || r.Event.RetryAfter.Given {
		out.Pause = max(m.pauseUntil.sub(now), 0)
	}
	if !out.Late {
		out.Transition, out.Moved = s.step(now, r.Tuning, move{on: onAnswer, event: r.Event, permit: r.Pass.Number, draw: r.Draw})
	}
	return out
}

// settle books a request: an answered one is used, any other gives back what it had.
func (s *Snapshot) settle(now Stamp, p *process, held lease, r Report) {
	b := r.Tuning.Budget
	answered := r.Event.Status > 0
	if answered && (b.On() || s.budget.since != 0) {
		if b.On() {
			s.budget.renew(now, b)
		}
		s.budget.count(now)
	}
	if held.budget && (answered || !r.KeepBudget) {
		p.settle(now, 1)
	}
}

// TryRetry asks for permission to repeat a request, before it queues for a
// permit again: granted, refused because of a block that outlasts its patience, or to be
// asked again after Wait because there have been too many retries of late.
func (s *Snapshot) TryRetry(at Instant, a Ask) Grant {
	now := s.advance(at)
	m := &s.machine
	g := Grant{State: m.state, Since: s.clock.time(m.since)}
	if why, cause, until := s.blocked(now, a.Tuning); why != WhyNothing && s.hopeless(now, a, why, until) {
		return s.refuse(a, g, why, cause, until)
	}
	wait := s.retries.retry(now, a.Tuning.RetryBudget)
	if wait > 0 && len(s.slots.tickets)+len(s.slots.leases) == 0 {
		// Nobody has a first try to make: the callers are all waiting with their retries. Holding these back
		// spares the upstream nothing and would starve the allowance, which grows with first tries.
		s.retries.move(now).retry++
		wait = 0
	}
	if wait > 0 {
		g.Why, g.Until, g.Wait = WhyRetryBudget, s.clock.time(now.add(wait)), min(wait, probeNap)
		return g
	}
	g.Granted = true
	return g
}

// fits reports whether n more requests fit into the budget.
func (s *Snapshot) fits(now Stamp, n int, b Budget) bool {
	s.budget.renew(now, b)
	return s.budget.used+s.reserved(now)+n <= b.Requests
}

// renewal returns when the budget's period ends, 0 if it has not begun.
func (s *Snapshot) renewal(b Budget) Stamp {
	if s.budget.since == 0 {
		return 0
	}
	return s.budget.since.add(b.Period)
}
