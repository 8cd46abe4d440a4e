package core

import (
	"slices"
	"time"
)

// Isolation is the limiter's state in a process that can't reach the others.
type Isolation struct {
	Snapshot    Snapshot
	Coordinated bool // whether the shared state is on a coordinator, with processes on other machines

	// when Snapshot was copied from the shared snapshot; 0: this process has never seen the shared one
	since      Stamp
	lastGrant  Stamp          // the time of the newest permit in the copied snapshot
	usedBefore map[string]int // the requests of the budget and of the accounts' quotas used in the copied snapshot

	ownChanges *Changes // this process's changes, if other processes of the machine share Snapshot; otherwise nil
}

const (
	refusalPeriod  = 10 * time.Minute // how long a state that several machines have used is refused
	recentActivity = time.Minute      // a writer whose last write is older is inactive
)

// Changes are what one process has added to a snapshot that it shares: permits, and use of the budget and quotas.
type Changes struct {
	grants []Stamp        // the times of its permits
	used   map[string]int // requests used of each account's quota, and under "" of the budget
}

// NewIsolation starts an Isolation from the last shared snapshot that the process saw; nil if it never saw one. It
// keeps state, pause, bucket, ceiling and budget, and drops the tickets and leases of other processes. Its permits and
// tickets get numbers above all shared ones. episode makes the numbers unique among all isolations of the process.
func NewIsolation(last *Snapshot, now Instant, owner string, episode uint64) *Isolation {
	a := &Isolation{}
	s := &a.Snapshot
	if last != nil {
		*s = last.Clone()
		a.since = s.advance(now)
		if n := len(s.ceiling.grants); n > 0 {
			a.lastGrant = s.ceiling.grants[n-1]
		}
		a.usedBefore = s.usedSince(nil, a.since)
		s.dropProcesses(func(process string) bool { return process != owner })
	}
	s.address.machine.permits = firstIsolatedNumber + episode<<32
	s.queue.seq = s.address.machine.permits
	return a
}

// firstIsolatedNumber is the smallest number of a permit or ticket granted in isolation.
const firstIsolatedNumber = 1 << 62

func (s *Snapshot) dropProcesses(matches func(process string) bool) {
	s.removeProcesses(func(p *process) bool { return matches(processIDOf(p.id)) })
}

// MoveTo moves the isolation to target, a snapshot that the processes of one machine share. It overwrites target with
// last, the shared snapshot that was seen a time lastAge ago, unless last is nil or another process of the machine has
// moved there with a newer snapshot. silence is how long the permits of other processes have been unknown.
// onOtherMachine reports whether a process is on another machine.
func (a *Isolation) MoveTo(
	target *Snapshot, at Instant, last *Snapshot, lastAge, silence time.Duration, onOtherMachine func(process string) bool,
) {
	a.ownChanges = &Changes{used: map[string]int{}}
	before := target.clock.now
	a.since = target.advance(at)
	m := &target.address.machine
	switch {
	case last == nil:
	case m.permits >= firstIsolatedNumber && before > last.clock.now:
		m.pauseUntil = max(m.pauseUntil, last.address.machine.pauseUntil)
	default:
		// Date the snapshot by this machine's clock: the clock of another machine would look like a reboot.
		clock := target.clock
		clock.now, clock.boot, clock.wall = last.clock.now, clock.boot-lastAge, clock.wall-int64(lastAge)
		*target = last.Clone()
		target.clock = clock
		a.since = target.advance(at)
		target.MarkUncertainSince(at, silence)
		target.dropProcesses(onOtherMachine)
		m.permits = 0
	}
	if m.permits < firstIsolatedNumber {
		m.permits = a.Snapshot.address.machine.permits // above all shared numbers, see NewIsolation
		target.queue.seq = m.permits
	}
}

// Refresh replaces the isolated state with the present snapshot of the machine.
func (a *Isolation) Refresh(at Instant, machineState Snapshot) {
	machineState.advance(at)
	a.Snapshot = machineState
}

// TrackChanges calls do and returns what it added to a snapshot.
func TrackChanges(s *Snapshot, do func()) Changes {
	m := &s.address.machine
	permits, used, before := m.permits, s.usedSince(nil, 0), s.clock.now
	do()
	d := Changes{used: s.usedSince(used, before)}
	if n := len(s.ceiling.grants); m.permits > permits {
		d.grants = slices.Clone(s.ceiling.grants[max(n-int(m.permits-permits), 0):])
	}
	return d
}

// Add records changes that this process has made to the snapshot of its machine.
func (a *Isolation) Add(d Changes) {
	for name, n := range d.used {
		a.ownChanges.used[name] += n
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
		used:   s.usedSince(a.usedBefore, a.since),
	}
}

// Rejoin merges into the shared snapshot what the process did alone: pauses, grants under the ceiling, use of the
// bucket and the budget, reservations, and released slots.
//
// Other machines may still be alone. So the first machine to return to a coordinator stops all permits for one
// ceiling_window, in which the other machines return too. A machine that finds others active there stops nothing.
func (a *Isolation) Rejoin(s *Snapshot, at Instant, owner string, parts int) {
	wrote := s.clock.now
	now := s.advance(at)
	if a.ownChanges == nil {
		a.Snapshot.advance(at)
	} // else Refresh has just advanced the clock, by the clock of the machine's own state
	alone := &a.Snapshot
	shift := now.sub(alone.clock.now) // the difference between the two clocks
	translate := func(t Stamp) Stamp {
		if t == 0 {
			return 0
		}
		return t.add(shift)
	}
	s.address.merge(&alone.address, translate)
	s.address.machine.learned.mergeLower(alone.address.machine.learned, translate)
	if !a.Coordinated {
		s.reserveForOthers(now, translate(a.since), owner, parts)
	} else if s.ceiling.othersReservedAt <= translate(a.since) || now.sub(wrote) >= trafficGap {
		s.pauseForOthers(at)
	}
	did := a.changes()
	for _, g := range did.grants {
		s.ceiling.grants = append(s.ceiling.grants, translate(g))
	}
	slices.Sort(s.ceiling.grants)
	s.ceiling.trim()
	s.address.quota.add(now, alone.address.quota, translate, did.used[""])
	for i := range alone.accounts.list {
		theirs := &alone.accounts.list[i]
		ours := s.accounts.getOrAdd(now, theirs.name)
		if a.since != 0 {
			ours.merge(theirs, translate)
			ours.machine.learned.mergeLower(theirs.machine.learned, translate)
		}
		ours.quota.add(now, theirs.quota, translate, did.used[theirs.name])
	}
	s.accounts.dropOld(now, &s.queue)
	for i := range s.processes.list {
		p := &s.processes.list[i]
		if a.since == 0 || processIDOf(p.id) != owner {
			continue
		}
		s.queue.dropReleased(p.key, &alone.queue)
		if there := alone.processes.byID(p.id); there != nil { // the ends of requests that began alone release nothing here
			p.reserved = there.reserved - count(alone.queue.leases, func(l *lease) bool {
				return l.owner == there.key && l.usesReservation && l.permit > firstIsolatedNumber
			})
		}
	}
}

func (q *queue) dropReleased(owner uint64, heldQueue *queue) {
	q.tickets = slices.DeleteFunc(q.tickets, func(t ticket) bool {
		return t.owner == owner && heldQueue.ticketIndex(t.number) < 0
	})
	q.leases = slices.DeleteFunc(q.leases, func(l lease) bool {
		return l.owner == owner && !slices.ContainsFunc(heldQueue.leases, func(h lease) bool {
			return h.permit == l.permit && h.epoch == l.epoch
		})
	})
}

// MarkUncertain stops grants for one ceiling_window, because recent grants are unknown. It extends no running one.
func MarkUncertain(s *Snapshot, at Instant) {
	now := s.advance(at)
	_, window, _ := s.processes.commonLimits()
	if c := &s.ceiling; c.unknownBefore == 0 || now.sub(c.unknownBefore) >= window {
		c.unknownBefore = now
	}
}

// MarkUncertainSince is like [MarkUncertain], for a window that began that long ago.
func (s *Snapshot) MarkUncertainSince(at Instant, ago time.Duration) {
	s.ceiling.unknownBefore = s.advance(at).add(-ago)
}

// pauseForOthers stops grants for one ceiling_window, in which all machines that are alone return to the coordinator.
func (s *Snapshot) pauseForOthers(at Instant) {
	s.MarkUncertainSince(at, 0)
	s.ceiling.othersReservedAt = s.clock.now
}

// PauseAfterOutage stops grants for one ceiling_window after an outage that began a time ago before now. This process
// sent no request meanwhile, but others may have sent requests alone. It does nothing and returns false if another
// process has written since then, or if there is no other process.
func PauseAfterOutage(s *Snapshot, at Instant, ago time.Duration) bool {
	wrote := s.clock.now
	now := s.advance(at)
	if s.ceiling.othersReservedAt > now.add(-ago) || now.sub(wrote) < trafficGap || len(s.Users()) < 2 {
		return false
	}
	s.pauseForOthers(at)
	return true
}

// trafficGap is the longest gap between writes while several machines send. A longer one may be an outage.
const trafficGap = 100 * time.Millisecond

// ReserveForOthers counts permits against the ceiling that other processes may have granted alone after since, because
// this process blocked the shared state with a long update.
func ReserveForOthers(s *Snapshot, at Instant, since Stamp, owner string) {
	s.reserveForOthers(s.advance(at), since, owner, max(len(s.Users()), 1))
}

// reserveForOthers counts permits against the ceiling that other processes may have granted alone since the shared
// state became unreachable, and have not merged yet.
//
// A process that is alone may grant its share of the ceiling, less the permits in the window before. So if that window
// had more permits than one share, no process has granted any, and nothing is reserved. Only the first process to
// return from an outage reserves room.
func (s *Snapshot) reserveForOthers(now, since Stamp, owner string, parts int) {
	if s.ceiling.othersReservedAt > since || len(s.processes.list) == 0 {
		return
	}
	limit, window, _ := s.processes.commonLimits()
	heard := []string{owner} // the processes that have returned since the state became unreachable
	for _, p := range s.processes.list {
		if id := processIDOf(p.id); p.seen > since && !slices.Contains(heard, id) {
			heard = append(heard, id)
		}
	}
	known := count(s.ceiling.grants, func(g *Stamp) bool { return *g <= since && now.sub(*g) < window })
	s.ceiling.othersReservedAt = now
	for range max(parts-len(heard), 0) * max(limit/parts-known, 0) {
		s.ceiling.grants = append(s.ceiling.grants, now)
	}
	s.ceiling.trim()
}

func (c *ceiling) trim() {
	c.grants = slices.Delete(c.grants, 0, max(len(c.grants)-maxGrants, 0))
}

// RestoreLost restores what this process knew before a part of the state was lost. If last, the snapshot that it saw
// last, is newer than the state, or the state was created without knowing of it, last replaces the state. Pauses and
// used quotas of both are merged, and otherwise leases too.
func RestoreLost(s, last *Snapshot, at Instant, owner string) {
	m, known := &s.address.machine, &last.address.machine
	ignorant := m.reason == ReasonFresh && m.since != known.since && m.since.sub(last.clock.now) < recentActivity
	newer := last.clock.now >= s.clock.now || ignorant
	now := s.advance(at)
	if newer {
		found := *s
		*s = last.Clone()
		s.clock = found.clock
		s.clock.now = max(found.clock.now, last.clock.now)
		s.address.bucket.empty(s.clock.now)
		if ignorant {
			s.mergeUse(&found)
		}
		return
	}
	s.mergeUse(last)
	for _, p := range last.processes.list {
		if processIDOf(p.id) != owner || s.processes.byID(p.id) != nil {
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

func (s *Snapshot) mergeUse(other *Snapshot) {
	now, same := s.clock.now, func(t Stamp) Stamp { return t }
	s.address.merge(&other.address, same)
	s.address.quota.merge(now, other.address.quota)
	for i := range other.accounts.list {
		theirs := &other.accounts.list[i]
		ours := s.accounts.getOrAdd(now, theirs.name)
		ours.merge(theirs, same)
		ours.quota.merge(now, theirs.quota)
	}
}

// merge takes over the use in another copy of the state. Two copies with the same period have counted the same
// requests; with different periods, one began without knowing of the other.
func (u *usage) merge(now Stamp, other usage) {
	*u, other = u.current(now), other.current(now)
	switch {
	case u.since == other.since:
		other.used = max(other.used-u.used, 0)
	case u.since == 0 || other.since != 0 && other.since < u.since:
		u.since, u.period = other.since, other.period
	}
	u.used += other.used
}

// translateKey returns the number of a key whose number in another state is id; 0 if the key is unknown here.
func (l *accounts) translateKey(others *accounts, id uint64) uint64 {
	theirs, k := others.keyByID(id)
	if k == nil {
		return 0
	}
	if ours := l.byName(theirs.name).findKey(k.fingerprint); ours != nil { // mergeUse has added the account
		return ours.id
	}
	return 0
}

// NewRestoredSnapshot returns a snapshot to replace one whose file was removed. It is like last, the snapshot that was
// last seen, but with an empty bucket and no grants for one ceiling_window.
func NewRestoredSnapshot(last *Snapshot, at Instant) Snapshot {
	s := last.Clone()
	MarkUncertain(&s, at)
	s.address.bucket.empty(s.clock.now)
	return s
}

// IsRefused reports whether no machine may use the state, because several machines have used it at the same time.
func IsRefused(s *Snapshot, at Instant) bool {
	left := time.Unix(0, s.clock.refusedUntil).Sub(at.Wall)
	return left > 0 && left <= refusalPeriod
}

// Refuse marks the state as used by several machines. IsRefused then returns true for ten minutes.
func Refuse(s *Snapshot, at Instant) { s.clock.refusedUntil = at.Wall.Add(refusalPeriod).UnixNano() }

// IsForeign reports whether another machine, or another boot of this one, has just written the state.
func IsForeign(s *Snapshot, at Instant) bool {
	return s.clock.writtenElsewhere(at) && at.Wall.Sub(time.Unix(0, s.clock.wall)) < recentActivity
}

// IsWrittenBy reports whether a machine wrote the state last, or the last writer is unknown.
func IsWrittenBy(s *Snapshot, machine string) bool {
	return s.clock.machine == machine || s.clock.machine == ""
}

// AdvanceClock advances the clock to an instant. The snapshot then names its writer even if nothing else has changed.
func (s *Snapshot) AdvanceClock(at Instant) { s.advance(at) }
