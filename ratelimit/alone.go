package ratelimit

import (
	"errors"
	"slices"
	"time"
)

// goAlone leaves the shared state because of cause, with what was last seen of it (nil if nothing). Called again while
// alone, it only notes the new cause.
func (s *SharedStore) goAlone(cause error, last *Snapshot) {
	now := s.opts.Now()
	w := &StoreWarning{Event: s.eventOf(cause), Path: s.opts.Place, Err: cause}
	same := s.alone != nil && s.eventOf(s.trouble) == w.Event
	s.trouble = cause
	if same && !s.due(now) {
		return
	}
	switch w.Event {
	case "coordinator_lost":
		w.Parts = s.machines(last)
	case "lock_degraded":
		w.Parts = max(s.living(), 2)
	case "state_newer":
		w.Parts = 2
		if s.coordinator != nil {
			w.Parts = s.machines(last)
		}
	case "state_shared":
		w.Parts = max(s.living(), s.opts.Processes)
	default:
		w.Parts = s.opts.Processes
	}
	if s.alone == nil {
		s.episodes++
		s.alone = leave(last, now, s.owner, s.episodes)
		s.alone.coordinated = s.coordinator != nil
		if s.alone.coordinated && last != nil {
			s.alone.snap.silent(now, s.lostFor())
		}
		if s.alone.coordinated && s.opts.Fallback != nil {
			s.move(last)
		}
	}
	s.alone.parts, s.retryAt = w.Parts, now.Boot+retryEvery
	if !same || !s.alone.told {
		s.alone.told = s.notes.warn(w)
	}
}

// living counts the processes that share the state, this one included.
func (s *SharedStore) living() int {
	if n := s.Living(); n > 0 {
		return n
	}
	return s.opts.Processes
}

// mayReturn reports whether it is worth trying the shared state again. Whether a lock is free is seen at once.
func (s *SharedStore) mayReturn() bool {
	if s.coordinator != nil && !errors.Is(s.trouble, ErrNewer) {
		return s.coordinator.Back()
	}
	return errors.Is(s.trouble, ErrBusy) || s.due(s.opts.Now())
}

func (s *SharedStore) due(now Instant) bool {
	return now.Boot >= s.retryAt || now.Boot < s.retryAt-retryEvery
}

// lastSeen returns the newest snapshot that can be had without the backend's consent, nil if there is none.
func (s *SharedStore) lastSeen() *Snapshot {
	if s.alone != nil {
		return nil
	}
	if s.before != nil { // newer than what is there
		last := s.before.Clone()
		return &last
	}
	var last Snapshot
	if l, ok := s.backend.(Leaver); ok {
		if old := l.Leave(); old != nil && last.Decode(old) == nil {
			return &last
		}
	}
	if s.seen && last.Decode(s.known) == nil {
		return &last
	}
	return nil
}

// detached is the limiter's state of a process that is cut off from the others.
type detached struct {
	snap        Snapshot
	parts       int  // in how many parts everything is divided
	coordinated bool // the others are on other machines
	// since is when snap began as a copy of the shared snapshot; 0: this process had never seen that. By then granted
	// was the newest permit and used was used of the budget.
	since   Stamp
	granted Stamp
	used    int
	quotas  map[string]int // and of each account's

	began time.Time
	told  bool  // that it is alone
	store Store // where snap really is, shared by the processes of the machine; nil: here
	mine  own   // what this process did there
}

// leave starts a detached state from the last that was seen of the shared snapshot, nil when nothing ever was. State,
// pause, bucket, ceiling and budget are kept, tickets and slots of others are not. The numbers of its permits and
// tickets are above all others: episode, which is never the same twice, is in them. So none is taken for another's.
func leave(last *Snapshot, now Instant, owner string, episode uint64) *detached {
	a := &detached{parts: 1, began: time.Now()}
	if last != nil {
		a.snap = last.Clone()
		a.since = a.snap.advance(now)
		if n := len(a.snap.ceiling.grants); n > 0 {
			a.granted = a.snap.ceiling.grants[n-1]
		}
		a.used, a.quotas = a.snap.budget.used, a.snap.uses()
		a.snap.processes = slices.DeleteFunc(a.snap.processes, func(p process) bool { return processOf(p.id) != owner })
		a.snap.slots.forget(func(key uint64) bool { return !a.snap.has(key) })
	}
	a.snap.machine.permits = 1<<62 + episode<<32
	a.snap.slots.seq = a.snap.machine.permits
	return a
}

// rejoin brings into the shared snapshot what the process did alone: the pauses it met, the grants that count against
// the ceiling, the use of the bucket and the budget, and the slots that it gave back meanwhile.
//
// Other machines may be alone still. So the first of them that finds a coordinator again is silent for a window, in which
// all others find it. Who comes into the traffic of those that were before needs not be.
func (s *Snapshot) rejoin(at Instant, a *detached, owner string) {
	wrote := s.clock.now
	now := s.advance(at)
	if a.store == nil {
		a.snap.advance(at)
	} // else it has just been looked at, by another clock
	shift := now.sub(a.snap.clock.now) // the same moment in both
	carried := func(t Stamp) Stamp {
		if t == 0 {
			return 0
		}
		return t.add(shift)
	}
	s.machine.pauseUntil = max(s.machine.pauseUntil, carried(a.snap.machine.pauseUntil))
	s.bucket.full = max(s.bucket.full, carried(a.snap.bucket.full))
	if !a.coordinated {
		s.doubt(now, carried(a.since), owner, a.parts)
	} else if s.ceiling.doubted <= carried(a.since) || now.sub(wrote) >= trafficGap {
		s.found(at)
	}
	for _, g := range a.grants() {
		s.ceiling.grants = append(s.ceiling.grants, carried(g))
	}
	slices.Sort(s.ceiling.grants)
	s.ceiling.bound()
	s.rejoinAccounts(a, carried)
	if a.since == 0 {
		return
	}
	if s.budget.since == a.snap.budget.since {
		s.budget.used += a.spent()
	}
	for _, p := range s.processes {
		if processOf(p.id) == owner {
			s.slots.keepHeld(p.key, &a.snap.slots)
		}
	}
}

// has reports whether an entry of a process has this key.
func (s *Snapshot) has(key uint64) bool {
	return slices.ContainsFunc(s.processes, func(p process) bool { return p.key == key })
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

// uncertain makes the snapshot careful where nobody knows what was granted: nothing is granted for one ceiling_window.
// That is so at most once at a time: what is pending is not renewed.
func (s *Snapshot) uncertain(at Instant) {
	now := s.advance(at)
	_, window, _ := s.limits()
	if c := &s.ceiling; c.unknownSince == 0 || now.sub(c.unknownSince) >= window {
		c.unknownSince = now
	}
}

// silent makes the snapshot uncertain since ago.
func (s *Snapshot) silent(at Instant, ago time.Duration) {
	s.ceiling.unknownSince = s.advance(at).add(-ago)
}

// lostFor returns for how long the coordinator has not answered. Nobody here knows what the others were given before.
func (s *SharedStore) lostFor() time.Duration {
	if lost := s.coordinator.Lost(); !lost.IsZero() {
		return time.Since(lost)
	}
	return 0
}

// found makes the snapshot silent for a window, in which all that are alone find the coordinator again.
func (s *Snapshot) found(at Instant) {
	s.silent(at, 0)
	s.ceiling.doubted = s.clock.now
}

// missed does so where nobody was heard of since the coordinator was lost, that long ago, by a process that had nothing
// to ask meanwhile: it is not alone, others may be. It reports whether that is so.
func (s *Snapshot) missed(at Instant, ago time.Duration) bool {
	wrote := s.clock.now
	now := s.advance(at)
	if s.ceiling.doubted > now.add(-ago) || now.sub(wrote) < trafficGap || len(s.users()) < 2 {
		return false
	}
	s.found(at)
	return true
}

// trafficGap is how long nobody writes while several machines send. After it the coordinator may have been lost again.
const trafficGap = 100 * time.Millisecond

// doubt makes room under the ceiling for what others may have granted alone, from since on, when the shared state could
// not be reached: none of them has told it yet.
//
// Who is alone grants its part of the ceiling, and counts against it what was granted before. So where the last window
// held more than that part when the trouble began, nobody can have granted anything, and nobody is held up now. Once a
// doubt is noted, those who come back later from the same trouble add none.
func (s *Snapshot) doubt(now, since Stamp, owner string, parts int) {
	if s.ceiling.doubted > since || len(s.processes) == 0 {
		return
	}
	limit, window, _ := s.limits()
	heard := []string{owner} // of the processes, since then
	for _, p := range s.processes {
		if id := processOf(p.id); p.seen > since && !slices.Contains(heard, id) {
			heard = append(heard, id)
		}
	}
	known := 0
	for _, g := range s.ceiling.grants {
		if g <= since && now.sub(g) < window {
			known++
		}
	}
	s.ceiling.doubted = now
	for range max(parts-len(heard), 0) * max(limit/parts-known, 0) {
		s.ceiling.grants = append(s.ceiling.grants, now)
	}
	s.ceiling.bound()
}

// bound forgets the oldest grants where there are too many.
func (c *ceiling) bound() {
	c.grants = slices.Delete(c.grants, 0, max(len(c.grants)-maxGrants, 0))
}
