package core

import (
	"slices"
	"time"
)

// Isolation is the limiter's state in a process that can't reach the others.
type Isolation struct {
	Snapshot    Snapshot
	Coordinated bool // the others are on other machines

	// since is when Snapshot began as a copy of the shared one; 0: this process had never seen that. By then granted was
	// the newest permit, and used and quotas were used of the budget and of the accounts' quotas.
	since        Stamp
	lastGrant    Stamp
	usedBefore   int
	quotasBefore map[string]int

	ownChanges *Changes // what this process did, where others of its machine share Snapshot; nil: all of it is its own
}

const (
	refusalPeriod = 10 * time.Minute
	recently      = time.Minute
)

// Changes are what one process has done on a snapshot that it shares with others.
type Changes struct {
	grants []Stamp
	used   int            // of the budget
	quotas map[string]int // of each account's
}

// NewIsolation starts one from the last that was seen of the shared snapshot, nil when nothing ever was. State,
// pause, bucket, ceiling and budget are kept, tickets and slots of others are not. The numbers of its permits and
// tickets are above all others: episode, which is never the same twice, is in them. So none is taken for another's.
func NewIsolation(last *Snapshot, now Instant, owner string, episode uint64) *Isolation {
	a := &Isolation{}
	s := &a.Snapshot
	if last != nil {
		*s = last.Clone()
		a.since = s.advance(now)
		if n := len(s.ceiling.grants); n > 0 {
			a.lastGrant = s.ceiling.grants[n-1]
		}
		a.usedBefore, a.quotasBefore = s.address.quota.used, s.accounts.usedSince(nil)
		s.dropProcesses(func(process string) bool { return process != owner })
	}
	s.address.machine.permits = firstIsolatedNumber + episode<<32
	s.queue.seq = s.address.machine.permits
	return a
}

// firstIsolatedNumber is the smallest number of a permit or ticket that is granted alone.
const firstIsolatedNumber = 1 << 62

func (s *Snapshot) dropProcesses(which func(process string) bool) {
	s.processes.list = slices.DeleteFunc(s.processes.list, func(p process) bool { return which(processOf(p.id)) })
	s.queue.dropOwners(func(owner uint64) bool { return s.processes.byKey(owner) == nil })
}

// MoveTo goes on in the machine's own state, with what was last seen of the shared one, that long ago, nil if nothing
// ever was, unless another process of the machine has gone there with newer knowledge. silent is for how long nobody
// has known of grants; elsewhere says which processes are on other machines.
func (a *Isolation) MoveTo(
	there *Snapshot, at Instant, last *Snapshot, ago, silent time.Duration, elsewhere func(process string) bool,
) {
	a.ownChanges = &Changes{}
	before := there.clock.now
	a.since = there.advance(at)
	m := &there.address.machine
	switch {
	case last == nil:
	case m.permits >= firstIsolatedNumber && before > last.clock.now:
		m.pauseUntil = max(m.pauseUntil, last.address.machine.pauseUntil)
	default:
		// The moment at which it was seen, by the clock of this machine: another count of time would be a reboot.
		clock := there.clock
		clock.now, clock.boot, clock.wall = last.clock.now, clock.boot-ago, clock.wall-int64(ago)
		*there = last.Clone()
		there.clock = clock
		a.since = there.advance(at)
		there.Silent(at, silent)
		there.dropProcesses(elsewhere)
		m.permits = 0
	}
	if m.permits < firstIsolatedNumber {
		m.permits = a.Snapshot.address.machine.permits // above all others, see NewAbsence
		there.queue.seq = m.permits
	}
}

// Refresh makes what the processes of the machine share now the state of the absence.
func (a *Isolation) Refresh(at Instant, there Snapshot) {
	there.advance(at)
	a.Snapshot = there
}

// TrackChanges calls do, which changes a snapshot, and returns what it did.
func TrackChanges(s *Snapshot, do func()) Changes {
	m := &s.address.machine
	permits, used, quotas := m.permits, s.address.quota.used, s.accounts.usedSince(nil)
	do()
	d := Changes{used: max(s.address.quota.used-used, 0), quotas: s.accounts.usedSince(quotas)}
	if n := len(s.ceiling.grants); m.permits > permits {
		d.grants = slices.Clone(s.ceiling.grants[max(n-int(m.permits-permits), 0):])
	}
	return d
}

// Add notes what this process did.
func (a *Isolation) Add(d Changes) {
	a.ownChanges.used += d.used
	for name, n := range d.quotas {
		if a.ownChanges.quotas == nil {
			a.ownChanges.quotas = map[string]int{}
		}
		a.ownChanges.quotas[name] += n
	}
	a.ownChanges.grants = append(a.ownChanges.grants, d.grants...)
	a.ownChanges.grants = slices.Delete(a.ownChanges.grants, 0, max(len(a.ownChanges.grants)-maxGrants, 0))
}

func (a *Isolation) changes() Changes {
	if a.ownChanges != nil {
		return *a.ownChanges
	}
	s := &a.Snapshot
	return Changes{
		grants: slices.DeleteFunc(slices.Clone(s.ceiling.grants), func(g Stamp) bool { return g <= a.lastGrant }),
		used:   max(s.address.quota.used-a.usedBefore, 0),
		quotas: s.accounts.usedSince(a.quotasBefore),
	}
}

// Rejoin brings into the shared snapshot what the process did alone: the pauses it met, the grants that count against
// the ceiling, the use of the bucket and the budget, and the slots that it gave back meanwhile.
//
// Other machines may be alone still. So the first of them that finds a coordinator again is silent for a window, in
// which all others find it. Who comes into the traffic of those that were before needs not be.
func (a *Isolation) Rejoin(s *Snapshot, at Instant, owner string, parts int) {
	wrote := s.clock.now
	now := s.advance(at)
	if a.ownChanges == nil {
		a.Snapshot.advance(at)
	} // else it has just been looked at, by another clock
	alone := &a.Snapshot
	shift := now.sub(alone.clock.now) // the same moment in both
	carried := func(t Stamp) Stamp {
		if t == 0 {
			return 0
		}
		return t.add(shift)
	}
	s.address.merge(&alone.address, carried)
	s.address.machine.learned.mergeLower(alone.address.machine.learned, carried)
	if !a.Coordinated {
		s.reserveForOthers(now, carried(a.since), owner, parts)
	} else if s.ceiling.othersReservedAt <= carried(a.since) || now.sub(wrote) >= trafficGap {
		s.pauseForOthers(at)
	}
	did := a.changes()
	for _, g := range did.grants {
		s.ceiling.grants = append(s.ceiling.grants, carried(g))
	}
	slices.Sort(s.ceiling.grants)
	s.ceiling.trim()
	for i := range alone.accounts.list {
		theirs := &alone.accounts.list[i]
		ours := s.accounts.byName(theirs.name)
		if ours == nil {
			continue
		}
		if a.since != 0 {
			ours.merge(theirs, carried)
			ours.machine.learned.mergeLower(theirs.machine.learned, carried)
		}
		if n := did.quotas[theirs.name]; n > 0 {
			if ours.quota.since == 0 {
				ours.quota = usage{since: carried(theirs.quota.since), period: theirs.quota.period}
			}
			ours.quota.used += n
		}
	}
	if a.since == 0 {
		return
	}
	if s.address.quota.since == alone.address.quota.since {
		s.address.quota.used += did.used
	}
	for _, p := range s.processes.list {
		if processOf(p.id) == owner {
			s.queue.dropReleased(p.key, &alone.queue)
		}
	}
}

func (q *queue) dropReleased(owner uint64, held *queue) {
	q.tickets = slices.DeleteFunc(
		q.tickets,
		func(t ticket) bool { return t.owner == owner && held.ticketIndex(t.number) < 0 },
	)
	q.leases = slices.DeleteFunc(q.leases, func(l lease) bool {
		return l.owner == owner && !slices.ContainsFunc(held.leases, func(h lease) bool {
			return h.permit == l.permit && h.epoch == l.epoch
		})
	})
}

// MarkUncertain makes the snapshot careful where nobody knows what was granted: nothing is granted for one
// ceiling_window. That is so at most once at a time: what is pending is not renewed.
func MarkUncertain(s *Snapshot, at Instant) {
	now := s.advance(at)
	_, window, _ := s.processes.commonLimits()
	if c := &s.ceiling; c.unknownSince == 0 || now.sub(c.unknownSince) >= window {
		c.unknownSince = now
	}
}

// Silent makes the snapshot uncertain since ago.
func (s *Snapshot) Silent(at Instant, ago time.Duration) {
	s.ceiling.unknownSince = s.advance(at).add(-ago)
}

// pauseForOthers makes the snapshot silent for a window, in which all that are alone find the coordinator again.
func (s *Snapshot) pauseForOthers(at Instant) {
	s.Silent(at, 0)
	s.ceiling.othersReservedAt = s.clock.now
}

// PauseAfterOutage does so where nobody was heard of since the coordinator was lost, that long ago, by a process that
// had nothing to ask meanwhile: it is not alone, others may be. It reports whether that is so.
func PauseAfterOutage(s *Snapshot, at Instant, ago time.Duration) bool {
	wrote := s.clock.now
	now := s.advance(at)
	if s.ceiling.othersReservedAt > now.add(-ago) || now.sub(wrote) < trafficGap || len(s.Users()) < 2 {
		return false
	}
	s.pauseForOthers(at)
	return true
}

// trafficGap is how long nobody writes while several machines send. After it the coordinator may have been lost again.
const trafficGap = 100 * time.Millisecond

// ReserveForOthers makes room under the ceiling for what others may have granted since a moment, in which the update of
// this process kept them waiting.
func ReserveForOthers(s *Snapshot, at Instant, since Stamp, owner string) {
	s.reserveForOthers(s.advance(at), since, owner, max(len(s.Users()), 1))
}

// reserveForOthers makes room under the ceiling for what others may have granted alone, from since on, when the shared
// state could not be reached: none of them has told it yet.
//
// Who is alone grants its part of the ceiling, and counts against it what was granted before. So where the last window
// held more than that part when the trouble began, nobody can have granted anything, and nobody is held up now. Once a
// doubt is noted, those who come back later from the same trouble add none.
func (s *Snapshot) reserveForOthers(now, since Stamp, owner string, parts int) {
	if s.ceiling.othersReservedAt > since || len(s.processes.list) == 0 {
		return
	}
	limit, window, _ := s.processes.commonLimits()
	heard := []string{owner} // of the processes, since then
	for _, p := range s.processes.list {
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
	s.ceiling.othersReservedAt = now
	for range max(parts-len(heard), 0) * max(limit/parts-known, 0) {
		s.ceiling.grants = append(s.ceiling.grants, now)
	}
	s.ceiling.trim()
}

func (c *ceiling) trim() {
	c.grants = slices.Delete(c.grants, 0, max(len(c.grants)-maxGrants, 0))
}

// RestoreLost brings back what this process knew of the state before something was lost. Where it knew more than the
// others, all of it counts; else what must not be forgotten.
func RestoreLost(s, last *Snapshot, at Instant, owner string) {
	m := &s.address.machine
	ignorant := m.reason == ReasonFresh && m.since.sub(last.clock.now) < recently // who made it knew nothing
	newer := last.clock.now >= s.clock.now || ignorant
	now := s.advance(at)
	if newer {
		clock := s.clock
		*s = last.Clone()
		clock.now = max(clock.now, s.clock.now)
		s.clock = clock
		s.address.bucket.empty(s.clock.now)
		return
	}
	same := func(t Stamp) Stamp { return t }
	s.address.merge(&last.address, same)
	s.address.quota.mergeMax(last.address.quota)
	for i := range last.accounts.list {
		theirs := &last.accounts.list[i]
		if ours := s.accounts.byName(theirs.name); ours != nil {
			ours.merge(theirs, same)
			ours.quota.mergeMax(theirs.quota)
		}
	}
	for _, p := range last.processes.list {
		if processOf(p.id) != owner || s.processes.byID(p.id) != nil {
			continue
		}
		key := p.key
		s.processes.seq++
		p.key, p.accounts = s.processes.seq, nil
		s.processes.list = append(s.processes.list, p)
		for _, l := range last.queue.leases {
			if l.owner == key && now < l.until {
				l.owner, l.key = p.key, s.accounts.translateKey(&last.accounts, l.key)
				s.queue.leases = append(s.queue.leases, l)
			}
		}
	}
}

func (u *usage) mergeMax(last usage) {
	if u.since == last.since {
		u.used = max(u.used, last.used)
	}
}

func (l *accounts) translateKey(others *accounts, id uint64) uint64 {
	theirs, k := others.keyByID(id)
	if k == nil {
		return 0
	}
	if a := l.byName(theirs.name); a != nil {
		if ours := a.findKey(k.fingerprint); ours != nil {
			return ours.id
		}
	}
	return 0
}

// NewRestoredSnapshot returns the snapshot that replaces a removed one of which last was seen: with care.
func NewRestoredSnapshot(last *Snapshot, at Instant) Snapshot {
	s := last.Clone()
	MarkUncertain(&s, at)
	s.address.bucket.empty(s.clock.now)
	return s
}

// IsRefused reports whether several machines have used the state of late, so that none may.
func IsRefused(s *Snapshot, at Instant) bool {
	left := time.Unix(0, s.clock.refusedUntil).Sub(at.Wall)
	return left > 0 && left <= refusalPeriod
}

// Refuse notes that several machines use the state.
func Refuse(s *Snapshot, at Instant) { s.clock.refusedUntil = at.Wall.Add(refusalPeriod).UnixNano() }

// IsForeign reports whether another machine, or another boot of this one, has just written the state.
func IsForeign(s *Snapshot, at Instant) bool {
	return s.clock.writtenElsewhere(at) && at.Wall.Sub(time.Unix(0, s.clock.wall)) < recently
}

// IsWrittenBy reports whether a machine has written the state, as far as is known.
func IsWrittenBy(s *Snapshot, machine string) bool {
	return s.clock.machine == machine || s.clock.machine == ""
}

// Touch lets time pass, so that who writes is seen, whatever it wrote.
func (s *Snapshot) Touch(at Instant) { s.advance(at) }
