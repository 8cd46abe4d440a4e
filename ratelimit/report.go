package ratelimit

import "time"

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
	Pause      time.Duration // every process is delayed for so long from now; 0: no pause
	Transition Transition
	Moved      bool        // whether there was a transition
	Keys       []KeyChange // keys that are in or out from now on
}

// Record ends a request: its slot is free, its budget settled, and what it
// says about the upstream is evidence if it belongs to the present epoch.
func (s *Snapshot) Record(at Instant, r Report) Recorded {
	now := s.advance(at)
	p := s.join(now, r.Owner, r.Tuning)
	m := &s.machine
	held, ok := s.slots.release(r.Pass.Number, r.Pass.Epoch)
	s.settle(now, p, held, r)
	if r.Event.Connection != 0 {
		r.Event.Connection = r.Event.Connection*31 + p.key // numbers of two processes may be the same
	}

	out := Recorded{Late: !ok || r.Pass.Epoch != m.epoch}
	row := evidence{address: true}
	if account, key := s.keyOf(held.key); account != nil {
		row = evidenceOf(&r.Event, r.Tuning.LimitedBy)
		out.Keys = account.judge(now, key, row.keys, &held)
		if row.account {
			out.Transition, out.Moved = s.recordAt(now, account, &held, &r)
		}
	}
	if !row.address {
		return out
	}
	m.pause(now, &r.Event, r.Pass.Number, !out.Late, r.Draw)
	if r.Event.Outcome == Throttled || r.Event.RetryAfter.Given {
		out.Pause = max(m.pauseUntil.sub(now), 0)
	}
	if !out.Late && !out.Moved { // one transition an event
		v := move{on: onAnswer, event: r.Event, permit: r.Pass.Number, draw: r.Draw}
		out.Transition, out.Moved = s.step(now, r.Tuning, v)
	}
	return out
}

// settle books a request: an answered one is used, any other gives back what it had.
func (s *Snapshot) settle(now Stamp, p *process, held lease, r Report) {
	answered := r.Event.Status > 0
	if answered {
		s.budget.count(now, r.Tuning.Budget)
		if a, _ := s.keyOf(held.key); a != nil {
			l := s.limitsOf(a, r.Tuning, 1)
			a.quota.count(now, l.quota)
		}
	}
	if held.budget && (answered || !r.KeepBudget) {
		p.settle(1)
	}
}

// step makes the machine's step, and keeps the bucket in step with it.
func (s *Snapshot) step(now Stamp, t *Tuning, v move) (Transition, bool) {
	m := &s.machine
	if v.rate = s.fastest(now).rate; v.rate == 0 {
		v.rate = t.RateBase
	}
	before := s.commonPace(t, now)
	tr, moved := m.step(t, now, v)
	if !moved {
		return tr, false
	}
	s.bucket.enter(now, m.state, before, s.commonPace(t, now))
	tr.At, tr.Until, tr.Epoch = s.clock.time(now), s.until(), m.epoch
	return tr, true
}

// enter keeps the bucket in step with a new state.
func (b *bucket) enter(now Stamp, state State, before, after pace) {
	switch {
	case regimes[state].entering == emptyBucket:
		b.empty(now)
	case before.rate > 0:
		b.carry(now, before, after)
	case state == HalfOpen: // a probe is due when Sleep ends
		b.full = min(b.full, now)
	}
}

// until returns when the present block ends by itself, zero if there is none or it does not.
func (s *Snapshot) until() time.Time { return s.untilOf(&s.machine) }

func (s *Snapshot) untilOf(m *machine) time.Time {
	switch m.state {
	case Sleep:
		return s.clock.time(max(m.sleepUntil, m.pauseUntil))
	case CacheOnly:
		return s.clock.time(m.blockUntil)
	case Normal, Throttle, HalfOpen:
		if m.pauseUntil > s.clock.now {
			return s.clock.time(m.pauseUntil)
		}
	}
	return time.Time{}
}
