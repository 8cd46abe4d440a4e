package ratelimit

import (
	"context"
	"errors"
	"slices"
	"time"
)

// own is what one process has done on a store that it shares with the others of its machine.
type own struct {
	grants []Stamp
	used   int            // of the budget
	quotas map[string]int // of each account's
}

// look takes a copy of the machine's state, to bring it along.
func (a *detached) look(ctx context.Context) {
	if a.store == nil {
		return
	}
	if at, there, err := look(ctx, a.store); err == nil {
		there.advance(at)
		a.snap = there
	}
}

// grants returns the permits that this process gave itself while alone.
func (a *detached) grants() []Stamp {
	if a.store != nil {
		return a.mine.grants
	}
	return slices.DeleteFunc(slices.Clone(a.snap.ceiling.grants), func(g Stamp) bool { return g <= a.granted })
}

// spent returns what this process used of the budget while alone.
func (a *detached) spent() int {
	if a.store != nil {
		return a.mine.used
	}
	return max(a.snap.budget.used-a.used, 0)
}

// machines returns in how many parts everything is divided without the coordinator: one for each machine last seen.
func (s *SharedStore) machines(last *Snapshot) int {
	switch {
	case s.alone != nil:
		return s.alone.parts
	case last == nil:
		return s.opts.Processes
	case s.opts.Fallback == nil:
		return max(len(last.users()), 2)
	}
	return max(s.coordinator.Machines(last.users()), 2)
}

// move goes on in the machine's own state, with what was last seen of the shared one, nil if nothing ever was, unless
// another process of the machine has gone there with newer knowledge.
func (s *SharedStore) move(last *Snapshot) {
	a := s.alone
	a.store = s.opts.Fallback
	numbers := a.snap.machine.permits // above all others, see leave
	_ = a.store.Update(context.Background(), func(at Instant, there *Snapshot) error {
		before := there.clock.now
		stamp := there.advance(at)
		switch {
		case last == nil:
			a.since = stamp
		case there.machine.permits >= 1<<62 && before > last.clock.now:
			a.since = stamp
			there.machine.pauseUntil = max(there.machine.pauseUntil, last.machine.pauseUntil)
		default:
			// The moment at which it was seen, by the clock of this machine: another count of time would be a reboot.
			clock, ago := there.clock, time.Since(s.seenAt)
			clock.now, clock.boot, clock.wall = last.clock.now, clock.boot-ago, clock.wall-int64(ago)
			*there = last.Clone()
			there.clock = clock
			a.since = there.advance(at)
			there.silent(at, s.lostFor())
			there.processes = slices.DeleteFunc(there.processes, func(p process) bool {
				return s.coordinator.Machines([]string{processOf(p.id)}) > 1
			})
			there.slots.forget(func(key uint64) bool { return !there.has(key) })
			there.machine.permits = 0
		}
		if there.machine.permits < 1<<62 {
			there.machine.permits, there.slots.seq = numbers, numbers
		}
		return nil
	})
}

// errRefused ends an update of the machine's state whose function has panicked.
var errRefused = errors.New("function has panicked")

// runThere does the updates of the batch on the machine's own state, and notes what this process has to bring along.
func (s *SharedStore) runThere(ctx context.Context) {
	for _, r := range s.batch {
		var did own
		err := s.alone.store.Update(ctx, func(at Instant, there *Snapshot) error {
			at.Parts = max(at.Parts, 1) * s.alone.parts
			permits, used, quotas := there.machine.permits, there.budget.used, there.uses()
			r.err, r.panicked = nil, nil
			if r.call(at, there); r.panicked != nil {
				return errRefused
			}
			did = own{used: max(there.budget.used-used, 0), quotas: there.usedSince(quotas, nil)}
			if n := len(there.ceiling.grants); there.machine.permits > permits {
				did.grants = append(did.grants, there.ceiling.grants[max(n-int(there.machine.permits-permits), 0):]...)
			}
			return r.err
		})
		if r.panicked == nil {
			r.err = err
		}
		if err == nil {
			mine := &s.alone.mine
			mine.used += did.used
			for name, n := range did.quotas {
				if mine.quotas == nil {
					mine.quotas = map[string]int{}
				}
				mine.quotas[name] += n
			}
			mine.grants = append(mine.grants, did.grants...)
			mine.grants = slices.Delete(mine.grants, 0, max(len(mine.grants)-maxGrants, 0))
		}
	}
}

// recall brings back what this process knew of the state before something was lost. Where it knew more than the others,
// all of it counts; else what must not be forgotten.
func (s *Snapshot) recall(last *Snapshot, at Instant, owner string) {
	known, clock := last.clock.now, s.clock
	ignorant := s.machine.reason == ReasonFresh && s.machine.since.sub(known) < recently // who made it knew nothing
	newer := known >= s.clock.now || ignorant
	now := s.advance(at)
	if newer {
		clock = s.clock
		*s = last.Clone()
		clock.now = max(clock.now, s.clock.now)
		s.clock = clock
		s.bucket.empty(s.clock.now)
		return
	}
	s.machine.pauseUntil = max(s.machine.pauseUntil, last.machine.pauseUntil)
	s.bucket.full = max(s.bucket.full, last.bucket.full)
	if s.budget.since == last.budget.since {
		s.budget.used = max(s.budget.used, last.budget.used)
	}
	s.recallAccounts(last)
	for _, p := range last.processes {
		if processOf(p.id) != owner || slices.ContainsFunc(s.processes, func(o process) bool { return o.id == p.id }) {
			continue
		}
		key := p.key
		s.processSeq++
		p.key, p.accounts = s.processSeq, nil
		s.processes = append(s.processes, p)
		for _, l := range last.slots.leases {
			if l.owner == key && now < l.until {
				l.owner, l.key = p.key, s.sameKey(last, l.key)
				s.slots.leases = append(s.slots.leases, l)
			}
		}
	}
}

// upNext returns the first ticket in the queue, its process, and how long until it can be let go, if that is before it
// asks again; 0 if not.
func (s *Snapshot) upNext(now Stamp) (ticket uint64, process string, in time.Duration) {
	if len(s.slots.tickets) == 0 {
		return 0, "", 0
	}
	limit, window, total := s.limits()
	m := &s.machine
	free := len(s.slots.leases) < regimes[m.state].part(total)
	if m.state == HalfOpen {
		free = s.slots.running(m.epoch) < regimes[HalfOpen].slots
	}
	if _, _, blocked := s.blocked(now); blocked || !free {
		return 0, "", 0
	}
	in = max(s.bucket.wait(now, s.commonPace(&defaults, now)), s.ceiling.wait(now, limit, window))
	due := now.add(in)
	for _, q := range s.slots.tickets {
		if now.sub(q.due) > lateAfter || !s.mayRun(now, &q, &defaults) {
			continue
		}
		if q.due.sub(due) < wakeFor {
			return 0, "", 0 // it comes by itself
		}
		for i := range s.processes {
			if s.processes[i].key == q.owner {
				return q.number, processOf(s.processes[i].id), in
			}
		}
	}
	return 0, "", 0
}

// suffices reports whether slots, tokens and room under the ceiling are there for n requests at once. Then one that asks
// takes nothing from those ahead of it: over a network the first in line may be on its way for a while.
func (s *Snapshot) suffices(now Stamp, n int, p pace) bool {
	limit, window, total := s.limits()
	return s.machine.state != HalfOpen && len(s.slots.leases)+n <= regimes[s.machine.state].part(total) &&
		s.ceiling.within(now, window)+n <= limit && s.bucket.tokens(now, p) >= float64(n)
}

// wakeFor is by how much earlier than by itself a request must be able to go to be woken.
const wakeFor = 5 * time.Millisecond

// rouse tells the coordinator whose turn comes with what is about to be kept. before is the ticket that was next already.
func (s *SharedStore) rouse(before uint64) {
	if s.coordinator == nil {
		return
	}
	ticket, process, in := s.snap.upNext(s.snap.clock.now)
	if ticket == before {
		process = ""
	}
	s.coordinator.Rouse(process, in)
}

// nextBefore returns the ticket that is next at an instant, before anything is done.
func (s *SharedStore) nextBefore(at Instant) uint64 {
	if s.coordinator == nil {
		return 0
	}
	clock := s.snap.clock
	clock.advance(at)
	ticket, _, _ := s.snap.upNext(clock.now)
	return ticket
}

// noteCoordinator warns of what has just ended with a successful exchange.
func (s *SharedStore) noteCoordinator() {
	if s.coordinator == nil {
		return
	}
	if s.alone != nil && s.alone.told {
		s.notes.warn(&StoreWarning{Event: "coordinator_back", Path: s.opts.Place, Alone: time.Since(s.alone.began)})
	}
	if s.recalled {
		s.notes.warn(&StoreWarning{Event: "coordinator_state_lost", Path: s.opts.Place})
	}
}
