package core

import (
	"slices"
	"time"
)

// Isolation is the limiter's state in a process that can't reach the others.
type Isolation struct {
	Snapshot    Snapshot
	Coordinated bool // the others are on other machines

	since        Stamp          // when Snapshot was copied from the shared one; 0: that was never seen
	lastGrant    Stamp          // the newest permit then
	usedBefore   int            // the budget's use then
	quotasBefore map[string]int // the use of the accounts' quotas then

	ownChanges *Changes // of this process, if others of its machine share Snapshot; nil: all changes are its own
}

const (
	refusalPeriod  = 10 * time.Minute
	recentActivity = time.Minute
)

// Changes are one process's grants and its use of budget and quotas, on a snapshot that it shares.
type Changes struct {
	grants []Stamp
	used   int            // requests used of the budget
	quotas map[string]int // requests used of each account's quota
}

// NewIsolation starts an Isolation from the last shared snapshot that the process saw; nil if it never saw one. It
// keeps state, pause, bucket, ceiling and budget, and drops the tickets and slots of others. Its permits and tickets
// get numbers above all shared ones, made unique by episode, so that none is mistaken for another.
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

// firstIsolatedNumber is the smallest number of a permit or ticket granted in isolation.
const firstIsolatedNumber = 1 << 62

func (s *Snapshot) dropProcesses(which func(process string) bool) {
	s.processes.list = slices.DeleteFunc(s.processes.list, func(p process) bool { return which(processOf(p.id)) })
	s.queue.dropOwners(func(owner uint64) bool { return s.processes.byKey(owner) == nil })
}

// MoveTo continues in the machine's own state, there. It replaces it with the last shared snapshot, seen ago, unless
// that is nil or another process of the machine has moved there with a newer one. silent is how long the grants of
// others have been unknown; elsewhere reports whether a process is on another machine.
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
		// The time at which it was seen, by this machine's clock: another count of time would look like a reboot.
		clock := there.clock
		clock.now, clock.boot, clock.wall = last.clock.now, clock.boot-ago, clock.wall-int64(ago)
		*there = last.Clone()
		there.clock = clock
		a.since = there.advance(at)
		there.MarkUncertainSince(at, silent)
		there.dropProcesses(elsewhere)
		m.permits = 0
	}
	if m.permits < firstIsolatedNumber {
		m.permits = a.Snapshot.address.machine.permits // above all shared numbers, see NewIsolation
		there.queue.seq = m.permits
	}
}

// Refresh replaces the isolated state with what the processes of the machine share now.
func (a *Isolation) Refresh(at Instant, there Snapshot) {
	there.advance(at)
	a.Snapshot = there
}

// TrackChanges calls do and returns its changes to a snapshot.
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

// Add adds changes of this process.
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

// Rejoin merges into the shared snapshot what the process did alone: pauses, grants under the ceiling, use of the
// bucket and the budget, and released slots.
//
// Other machines may still be alone. So the first machine back at a coordinator sends nothing for one window, in which
// all others return. A machine that finds traffic there does not wait.
func (a *Isolation) Rejoin(s *Snapshot, at Instant, owner string, parts int) {
	wrote := s.clock.now
	now := s.advance(at)
	if a.ownChanges == nil {
		a.Snapshot.advance(at)
	} // otherwise Refresh has just done it, by another clock
	alone := &a.Snapshot
	shift := now.sub(alone.clock.now) // the difference between the two clocks
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

// MarkUncertain stops grants for one ceiling_window, because recent grants are unknown. It does not extend a window
// that is already running.
func MarkUncertain(s *Snapshot, at Instant) {
	now := s.advance(at)
	_, window, _ := s.processes.commonLimits()
	if c := &s.ceiling; c.unknownSince == 0 || now.sub(c.unknownSince) >= window {
		c.unknownSince = now
	}
}

// MarkUncertainSince is like [MarkUncertain], for a window that began that long ago.
func (s *Snapshot) MarkUncertainSince(at Instant, ago time.Duration) {
	s.ceiling.unknownSince = s.advance(at).add(-ago)
}

// pauseForOthers stops grants for a window, in which all machines that are alone return to the coordinator.
func (s *Snapshot) pauseForOthers(at Instant) {
	s.MarkUncertainSince(at, 0)
	s.ceiling.othersReservedAt = s.clock.now
}

// PauseAfterOutage does as pauseForOthers, for a process that had no request during an outage that began ago: it did
// not go alone, but others may have. It does nothing and returns false if another process has written since.
func PauseAfterOutage(s *Snapshot, at Instant, ago time.Duration) bool {
	wrote := s.clock.now
	now := s.advance(at)
	if s.ceiling.othersReservedAt > now.add(-ago) || now.sub(wrote) < trafficGap || len(s.Users()) < 2 {
		return false
	}
	s.pauseForOthers(at)
	return true
}

// trafficGap is the longest time between two writes while several machines send. A longer one may be an outage.
const trafficGap = 100 * time.Millisecond

// ReserveForOthers counts against the ceiling what others may have granted alone since this process's update kept them
// waiting.
func ReserveForOthers(s *Snapshot, at Instant, since Stamp, owner string) {
	s.reserveForOthers(s.advance(at), since, owner, max(len(s.Users()), 1))
}

// reserveForOthers counts against the ceiling what others may have granted alone since the shared state became
// unreachable, and have not merged yet.
//
// A process that is alone may grant its share of the ceiling, less what was granted in the window before. So if that
// window was fuller than a share, nobody has granted anything, and nothing is reserved. Processes that come back later
// from the same outage reserve nothing more.
func (s *Snapshot) reserveForOthers(now, since Stamp, owner string, parts int) {
	if s.ceiling.othersReservedAt > since || len(s.processes.list) == 0 {
		return
	}
	limit, window, _ := s.processes.commonLimits()
	heard := []string{owner} // the processes seen since then
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

// RestoreLost restores what this process knew before a part of the state was lost: all of it if it is newer than the
// state, otherwise pauses, use and leases.
func RestoreLost(s, last *Snapshot, at Instant, owner string) {
	m := &s.address.machine
	ignorant := m.reason == ReasonFresh && m.since.sub(last.clock.now) < recentActivity // its creator knew nothing
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

// NewRestoredSnapshot returns a cautious snapshot to replace a removed one that was last seen as last.
func NewRestoredSnapshot(last *Snapshot, at Instant) Snapshot {
	s := last.Clone()
	MarkUncertain(&s, at)
	s.address.bucket.empty(s.clock.now)
	return s
}

// IsRefused reports whether several machines have used the state recently, so that none may.
func IsRefused(s *Snapshot, at Instant) bool {
	left := time.Unix(0, s.clock.refusedUntil).Sub(at.Wall)
	return left > 0 && left <= refusalPeriod
}

// Refuse marks the state as used by several machines.
func Refuse(s *Snapshot, at Instant) { s.clock.refusedUntil = at.Wall.Add(refusalPeriod).UnixNano() }

// IsForeign reports whether another machine, or another boot of this one, has just written the state.
func IsForeign(s *Snapshot, at Instant) bool {
	return s.clock.writtenElsewhere(at) && at.Wall.Sub(time.Unix(0, s.clock.wall)) < recentActivity
}

// IsWrittenBy reports whether a machine has written the state, as far as is known.
func IsWrittenBy(s *Snapshot, machine string) bool {
	return s.clock.machine == machine || s.clock.machine == ""
}

// AdvanceClock advances the clock, so that the snapshot names its last writer even if nothing else changed.
func (s *Snapshot) AdvanceClock(at Instant) { s.advance(at) }
