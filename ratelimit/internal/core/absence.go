package core

import (
	"slices"
	"time"
)

// Absence is the limiter's state of a process that is cut off from the others.
type Absence struct {
	Snapshot    Snapshot
	Coordinated bool // the others are on other machines

	// since is when Snapshot began as a copy of the shared one; 0: this process had never seen that. By then granted was
	// the newest permit, and used and quotas were used of the budget and of the accounts' quotas.
	since   Stamp
	granted Stamp
	used    int
	quotas  map[string]int

	mine *Deeds // what this process did, where others of its machine share Snapshot; nil: all of it is its own
}

const (
	// refuseFor is how long a place that several machines use is refused by all of them.
	refuseFor = 10 * time.Minute
	// recently is how long ago another machine may have written to count as alive.
	recently = time.Minute
)

// Deeds are what one process has done on a snapshot that it shares with others.
type Deeds struct {
	grants []Stamp
	used   int            // of the budget
	quotas map[string]int // of each account's
}

// NewAbsence starts one from the last that was seen of the shared snapshot, nil when nothing ever was. State,
// pause, bucket, ceiling and budget are kept, tickets and slots of others are not. The numbers of its permits and
// tickets are above all others: episode, which is never the same twice, is in them. So none is taken for another's.
func NewAbsence(last *Snapshot, now Instant, owner string, episode uint64) *Absence {
	a := &Absence{}
	if last != nil {
		a.Snapshot = last.Clone()
		a.since = a.Snapshot.advance(now)
		if n := len(a.Snapshot.ceiling.grants); n > 0 {
			a.granted = a.Snapshot.ceiling.grants[n-1]
		}
		a.used, a.quotas = a.Snapshot.budget.used, a.Snapshot.uses()
		a.Snapshot.processes = slices.DeleteFunc(a.Snapshot.processes,
			func(p process) bool { return processOf(p.id) != owner })
		a.Snapshot.slots.forget(func(key uint64) bool { return !a.Snapshot.has(key) })
	}
	a.Snapshot.machine.permits = 1<<62 + episode<<32
	a.Snapshot.slots.seq = a.Snapshot.machine.permits
	return a
}

// MoveTo goes on in the machine's own state, with what was last seen of the shared one, that long ago, nil if nothing
// ever was, unless another process of the machine has gone there with newer knowledge. silent is for how long nobody
// has known of grants; elsewhere says which processes are on other machines.
func (a *Absence) MoveTo(
	there *Snapshot, at Instant, last *Snapshot, ago, silent time.Duration, elsewhere func(process string) bool,
) {
	a.mine = &Deeds{}
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
		clock := there.clock
		clock.now, clock.boot, clock.wall = last.clock.now, clock.boot-ago, clock.wall-int64(ago)
		*there = last.Clone()
		there.clock = clock
		a.since = there.advance(at)
		there.Silent(at, silent)
		there.processes = slices.DeleteFunc(there.processes, func(p process) bool { return elsewhere(processOf(p.id)) })
		there.slots.forget(func(key uint64) bool { return !there.has(key) })
		there.machine.permits = 0
	}
	if there.machine.permits < 1<<62 {
		numbers := a.Snapshot.machine.permits // above all others, see NewAbsence
		there.machine.permits, there.slots.seq = numbers, numbers
	}
}

// Look makes what the processes of the machine share now the state of the absence.
func (a *Absence) Look(at Instant, there Snapshot) {
	there.advance(at)
	a.Snapshot = there
}

// Watch calls do, which changes a snapshot, and returns what it did.
func (s *Snapshot) Watch(do func()) Deeds {
	permits, used, quotas := s.machine.permits, s.budget.used, s.uses()
	do()
	d := Deeds{used: max(s.budget.used-used, 0), quotas: s.usedSince(quotas)}
	if n := len(s.ceiling.grants); s.machine.permits > permits {
		d.grants = slices.Clone(s.ceiling.grants[max(n-int(s.machine.permits-permits), 0):])
	}
	return d
}

// Add notes what this process did.
func (a *Absence) Add(d Deeds) {
	a.mine.used += d.used
	for name, n := range d.quotas {
		if a.mine.quotas == nil {
			a.mine.quotas = map[string]int{}
		}
		a.mine.quotas[name] += n
	}
	a.mine.grants = append(a.mine.grants, d.grants...)
	a.mine.grants = slices.Delete(a.mine.grants, 0, max(len(a.mine.grants)-maxGrants, 0))
}

func (a *Absence) deeds() Deeds {
	if a.mine != nil {
		return *a.mine
	}
	return Deeds{
		grants: slices.DeleteFunc(slices.Clone(a.Snapshot.ceiling.grants), func(g Stamp) bool { return g <= a.granted }),
		used:   max(a.Snapshot.budget.used-a.used, 0),
		quotas: a.Snapshot.usedSince(a.quotas),
	}
}

// Rejoin brings into the shared snapshot what the process did alone: the pauses it met, the grants that count against
// the ceiling, the use of the bucket and the budget, and the slots that it gave back meanwhile.
//
// Other machines may be alone still. So the first of them that finds a coordinator again is silent for a window, in
// which all others find it. Who comes into the traffic of those that were before needs not be.
func (s *Snapshot) Rejoin(at Instant, a *Absence, owner string, parts int) {
	wrote := s.clock.now
	now := s.advance(at)
	if a.mine == nil {
		a.Snapshot.advance(at)
	} // else it has just been looked at, by another clock
	shift := now.sub(a.Snapshot.clock.now) // the same moment in both
	carried := func(t Stamp) Stamp {
		if t == 0 {
			return 0
		}
		return t.add(shift)
	}
	s.machine.pauseUntil = max(s.machine.pauseUntil, carried(a.Snapshot.machine.pauseUntil))
	s.machine.learned.lowerOf(a.Snapshot.machine.learned, carried)
	s.bucket.full = max(s.bucket.full, carried(a.Snapshot.bucket.full))
	if !a.Coordinated {
		s.doubt(now, carried(a.since), owner, parts)
	} else if s.ceiling.doubted <= carried(a.since) || now.sub(wrote) >= trafficGap {
		s.found(at)
	}
	did := a.deeds()
	for _, g := range did.grants {
		s.ceiling.grants = append(s.ceiling.grants, carried(g))
	}
	slices.Sort(s.ceiling.grants)
	s.ceiling.bound()
	s.rejoinAccounts(a, did.quotas, carried)
	if a.since == 0 {
		return
	}
	if s.budget.since == a.Snapshot.budget.since {
		s.budget.used += did.used
	}
	for _, p := range s.processes {
		if processOf(p.id) == owner {
			s.slots.keepHeld(p.key, &a.Snapshot.slots)
		}
	}
}

func (s *Snapshot) has(key uint64) bool {
	return slices.ContainsFunc(s.processes, func(p process) bool { return p.key == key })
}

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

// Uncertain makes the snapshot careful where nobody knows what was granted: nothing is granted for one ceiling_window.
// That is so at most once at a time: what is pending is not renewed.
func (s *Snapshot) Uncertain(at Instant) {
	now := s.advance(at)
	_, window, _ := s.limits()
	if c := &s.ceiling; c.unknownSince == 0 || now.sub(c.unknownSince) >= window {
		c.unknownSince = now
	}
}

// Silent makes the snapshot uncertain since ago.
func (s *Snapshot) Silent(at Instant, ago time.Duration) {
	s.ceiling.unknownSince = s.advance(at).add(-ago)
}

// found makes the snapshot silent for a window, in which all that are alone find the coordinator again.
func (s *Snapshot) found(at Instant) {
	s.Silent(at, 0)
	s.ceiling.doubted = s.clock.now
}

// Missed does so where nobody was heard of since the coordinator was lost, that long ago, by a process that had nothing
// to ask meanwhile: it is not alone, others may be. It reports whether that is so.
func (s *Snapshot) Missed(at Instant, ago time.Duration) bool {
	wrote := s.clock.now
	now := s.advance(at)
	if s.ceiling.doubted > now.add(-ago) || now.sub(wrote) < trafficGap || len(s.Users()) < 2 {
		return false
	}
	s.found(at)
	return true
}

// trafficGap is how long nobody writes while several machines send. After it the coordinator may have been lost again.
const trafficGap = 100 * time.Millisecond

// Doubt makes room under the ceiling for what others may have granted since a moment, in which the update of this
// process kept them waiting.
func (s *Snapshot) Doubt(at Instant, since Stamp, owner string) {
	s.doubt(s.advance(at), since, owner, max(len(s.Users()), 1))
}

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

func (c *ceiling) bound() {
	c.grants = slices.Delete(c.grants, 0, max(len(c.grants)-maxGrants, 0))
}

// Recall brings back what this process knew of the state before something was lost. Where it knew more than the others,
// all of it counts; else what must not be forgotten.
func (s *Snapshot) Recall(last *Snapshot, at Instant, owner string) {
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

// IsRefused reports whether several machines have used the state of late, so that none may.
func (s *Snapshot) IsRefused(at Instant) bool {
	left := time.Unix(0, s.clock.refused).Sub(at.Wall)
	return left > 0 && left <= refuseFor
}

// Refuse notes that several machines use the state.
func (s *Snapshot) Refuse(at Instant) { s.clock.refused = at.Wall.Add(refuseFor).UnixNano() }

// IsForeign reports whether another machine, or another boot of this one, has just written the state.
func (s *Snapshot) IsForeign(at Instant) bool {
	return s.clock.foreign(at) && at.Wall.Sub(time.Unix(0, s.clock.wall)) < recently
}

// IsOf reports whether a machine has written the state, as far as is known.
func (s *Snapshot) IsOf(machine string) bool {
	return s.clock.machine == machine || s.clock.machine == ""
}

// Touch lets time pass, so that who writes is seen, whatever it wrote.
func (s *Snapshot) Touch(at Instant) { s.advance(at) }

// Now returns the shared time of the last update.
func (s *Snapshot) Now() Stamp { return s.clock.now }

// NewRestoredSnapshot returns the snapshot that replaces a removed one of which last was seen: with care.
func NewRestoredSnapshot(last *Snapshot, at Instant) Snapshot {
	s := last.Clone()
	s.Uncertain(at)
	s.bucket.empty(s.clock.now)
	return s
}

// UpNext returns the first ticket in the queue, its process, and how long until it can be let go, if that is before it
// asks again; 0 if not.
func (s *Snapshot) UpNext(at Instant) (ticket uint64, process string, in time.Duration) {
	clock := s.clock
	clock.advance(at)
	now := clock.now
	if len(s.slots.tickets) == 0 {
		return 0, "", 0
	}
	limit, window, total := s.limits()
	m := &s.machine
	free := len(s.slots.leases) < m.regime().slotsOf(total)
	if m.probing() {
		free = s.slots.probes(m) == 0
	}
	if _, _, blocked := s.blocked(now); blocked || !free {
		return 0, "", 0
	}
	in = max(s.bucket.wait(now, s.commonPace(&defaults, now)), s.ceiling.wait(now, limit, window),
		m.learned.room(now, &s.ceiling))
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

// wakeFor is by how much earlier than by itself a request must be able to go to be woken.
const wakeFor = 5 * time.Millisecond

// uses returns how much of its quota each account has used, nil where there are no accounts.
func (s *Snapshot) uses() map[string]int {
	if len(s.accounts) == 0 {
		return nil
	}
	m := make(map[string]int, len(s.accounts))
	for i := range s.accounts {
		m[s.accounts[i].name] = s.accounts[i].quota.used
	}
	return m
}

func (s *Snapshot) usedSince(before map[string]int) map[string]int {
	m := s.uses()
	for name := range m {
		m[name] = max(m[name]-before[name], 0)
	}
	return m
}

// rejoinAccounts brings along what a process did with the accounts while it was alone: use of quotas, pauses, and what
// it learnt of keys since then.
func (s *Snapshot) rejoinAccounts(a *Absence, used map[string]int, carried func(Stamp) Stamp) {
	for i := range a.Snapshot.accounts {
		theirs := &a.Snapshot.accounts[i]
		ours := s.accountBy(theirs.name)
		if ours == nil {
			continue
		}
		if a.since != 0 {
			ours.learn(theirs, carried)
		}
		if n := used[theirs.name]; n > 0 {
			if ours.quota.since == 0 {
				ours.quota = budgetUse{since: carried(theirs.quota.since), period: theirs.quota.period}
			}
			ours.quota.used += n
		}
	}
}

func (s *Snapshot) recallAccounts(last *Snapshot) {
	for i := range last.accounts {
		theirs := &last.accounts[i]
		ours := s.accountBy(theirs.name)
		if ours == nil {
			continue
		}
		ours.learn(theirs, func(t Stamp) Stamp { return t })
		if ours.quota.since == theirs.quota.since {
			ours.quota.used = max(ours.quota.used, theirs.quota.used)
		}
	}
}

// learn takes over pauses, and the standing of keys where it is newer.
func (a *account) learn(from *account, carried func(Stamp) Stamp) {
	if a.machine.epoch != 0 {
		a.machine.pauseUntil = max(a.machine.pauseUntil, carried(from.machine.pauseUntil))
	}
	a.bucket.full = max(a.bucket.full, carried(from.bucket.full))
	for i := range a.keys {
		k := &a.keys[i]
		j := slices.IndexFunc(from.keys, func(o accountKey) bool { return o.print == k.print })
		if j >= 0 && carried(from.keys[j].since) > k.since {
			k.standing, k.since = from.keys[j].standing, carried(from.keys[j].since)
		}
	}
}

// sameKey returns the number here of a key of another snapshot, 0 where it is unknown.
func (s *Snapshot) sameKey(last *Snapshot, id uint64) uint64 {
	theirs, k := last.keyOf(id)
	if k == nil {
		return 0
	}
	if a := s.accountBy(theirs.name); a != nil {
		if ours := a.key(k.print); ours != nil {
			return ours.id
		}
	}
	return 0
}
