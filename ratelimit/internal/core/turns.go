package core

import (
	"slices"
	"time"
)

const (
	forgetProcessAfter  = time.Hour        // a process that has asked for nothing this long is dropped
	activeProcessPeriod = 10 * time.Second // a process that has asked for a permit this recently is active
	// lateTicketAfter is how late a ticket's owner may try again. After that, other tickets go first until it does,
	// because its process is probably stopped or dead.
	lateTicketAfter = 100 * time.Millisecond
	dropTicketAfter = 30 * time.Second // a ticket whose owner is this late is dropped
	// MaxLease is the length of a lease if the request states none. Limiters renew their leases up to this age.
	MaxLease = time.Hour
)

// process is one limiter that shares the snapshot. Leases and tickets refer to it by its key.
type process struct {
	id     string
	key    uint64 // a number that stands for id in leases and tickets
	seen   Stamp  // when the process last asked for or returned a permit
	bucket bucket // the bucket at the process's own pace

	// The process's settings. The smallest ceiling and totalSlots and the longest window of all processes apply to all.
	normalPace pace          // rate_base and bucket_cap: the pace in Normal
	ceiling    int           // most permits in window
	window     time.Duration // ceiling_window
	slots      int           // concurrency: the process's slots in Normal
	totalSlots int           // concurrency_total: the slots of all processes in Normal

	accounts []uint64 // the numbers of its accounts

	reserved   int   // requests reserved from the budget, running ones included
	reservedAt Stamp // when the process last asked for a permit or a reservation
}

type processes struct {
	list []process
	seq  uint64 // the key of the newest process
}

func (l *processes) byID(id string) *process {
	return find(l.list, func(p *process) bool { return p.id == id })
}

func (l *processes) byKey(key uint64) *process {
	return find(l.list, func(p *process) bool { return p.key == key })
}

// find returns the first element of a list that matches, nil if none does.
func find[T any](list []T, matches func(*T) bool) *T {
	for i := range list {
		if matches(&list[i]) {
			return &list[i]
		}
	}
	return nil
}

// count returns how many elements of a list match.
func count[T any](list []T, matches func(*T) bool) int {
	n := 0
	for i := range list {
		if matches(&list[i]) {
			n++
		}
	}
	return n
}

// fastestPace returns the largest rate and burst in Normal among the active processes, or among all processes if none
// is active. It returns the zero pace if there are no processes.
func (l *processes) fastestPace(now Stamp) pace {
	var active, all pace
	for i := range l.list {
		p := &l.list[i]
		all = pace{max(all.rate, p.normalPace.rate), max(all.burst, p.normalPace.burst)}
		if now.sub(p.seen) <= activeProcessPeriod {
			active = pace{max(active.rate, p.normalPace.rate), max(active.burst, p.normalPace.burst)}
		}
	}
	if active.rate == 0 {
		return all
	}
	return active
}

// commonLimits returns the smallest ceiling, longest window and smallest concurrency_total of all processes.
func (l *processes) commonLimits() (ceiling int, window time.Duration, total int) {
	ceiling, total = maxGrants, maxTickets
	for i := range l.list {
		p := &l.list[i]
		ceiling, window, total = min(ceiling, p.ceiling), max(window, p.window), min(total, p.totalSlots)
	}
	return ceiling, window, total
}

// join adds a process, whose bucket starts with the shared bucket's tokens, or updates a known one's settings.
func (v view) join(id string) *process {
	l := &v.s.processes
	p := l.byID(id)
	known := p != nil
	if !known {
		v.s.dropUnseenProcesses(v.now)
		l.seq++
		l.list = append(l.list, process{id: id, key: l.seq})
		p = &l.list[len(l.list)-1]
	}
	p.seen, p.normalPace = v.now, v.t.normalPace()
	p.ceiling, p.window, p.slots, p.totalSlots = v.t.Ceiling, v.t.CeilingWindow, v.t.Concurrency, v.t.ConcurrencyTotal
	if !known {
		c := &v.s.address
		p.bucket.start(v.now, c.machine.pace(p.normalPace, v.t, v.now), c.bucket.tokens(v.now, v.commonPace()))
	}
	return p
}

// normalPace returns the shared bucket's pace in Normal: the fastest process's or, without processes, the tuning's.
func (v view) normalPace() pace {
	if p := v.s.processes.fastestPace(v.now); p.rate > 0 {
		return p
	}
	return v.t.normalPace()
}

// ownPace returns the pace of one process. While the machine is probing it is that of Normal: only the shared bucket
// spaces probes, and what the process has sent before does not delay them.
func (v view) ownPace(p *process) pace {
	if m := &v.s.address.machine; !m.probing() {
		return m.pace(p.normalPace, v.t, v.now)
	}
	return newPace(p.normalPace.rate, p.normalPace.burst)
}

func (v view) commonPace() pace { return v.s.address.machine.pace(v.normalPace(), v.t, v.now) }

func (s *Snapshot) dropUnseenProcesses(now Stamp) {
	s.removeProcesses(func(p *process) bool { return now.sub(p.seen) >= forgetProcessAfter })
	if n := len(s.processes.list) - maxProcesses; n >= 0 {
		oldest := s.processes.list[n].key
		s.removeProcesses(func(p *process) bool { return p.key <= oldest })
	}
}

// RemoveDead removes processes that have died, with their tickets, leases and reservations.
func (s *Snapshot) RemoveDead(at Instant, ids []string) {
	s.advance(at)
	s.removeProcesses(func(p *process) bool { return slices.Contains(ids, processIDOf(p.id)) })
}

func (s *Snapshot) removeProcesses(matches func(*process) bool) {
	s.processes.list = slices.DeleteFunc(s.processes.list, func(p process) bool {
		gone := matches(&p)
		if gone {
			s.queue.dropTickets(func(owner uint64) bool { return owner == p.key })
			s.queue.leases = slices.DeleteFunc(s.queue.leases, func(l lease) bool { return l.owner == p.key })
		}
		return gone
	})
}

// Leave removes a closed limiter's tickets and reservations, and the limiter itself if no permit of it is in use.
func (s *Snapshot) Leave(at Instant, owner string) {
	s.advance(at)
	p := s.processes.byID(owner)
	switch {
	case p == nil:
	case s.queue.leasesOf(p.key) == 0:
		s.removeProcesses(func(o *process) bool { return o.id == owner })
	default:
		s.queue.dropTickets(func(key uint64) bool { return key == p.key })
		p.reserved = s.queue.budgetLeases(p.key)
	}
}

func (v view) expire() {
	q := &v.s.queue
	q.leases = slices.DeleteFunc(q.leases, func(l lease) bool {
		if v.now < l.until {
			return false
		}
		if p := v.s.processes.byKey(l.owner); l.usesReservation && p != nil {
			p.releaseReserved(1)
		}
		return true
	})
	v.freeOrphanedReservations()
	q.tickets = slices.DeleteFunc(q.tickets, func(t ticket) bool { return v.now.sub(t.retryAt) >= dropTicketAfter })
}

// Renew extends the leases of these permits to end no earlier than duration from now.
func (s *Snapshot) Renew(at Instant, permits map[PermitID]bool, duration time.Duration) {
	until := s.advance(at).add(duration)
	for i := range s.queue.leases {
		if l := &s.queue.leases[i]; permits[PermitID{l.permit, l.epoch}] {
			l.until = max(l.until, until)
		}
	}
}

// ticket is the place of a waiting request in the queue.
type ticket struct {
	number  uint64
	owner   uint64 // process key
	retryAt Stamp  // when the owner will ask again
	key     uint64 // the only key whose slot the request waits for; 0: any
}

// lease is a permit in use. It takes a slot until the request ends or the lease expires.
type lease struct {
	permit          uint64
	epoch           uint64
	owner           uint64 // process key
	until           Stamp  // when the lease expires
	usesReservation bool   // whether the lease includes one of its owner's reserved requests

	key          uint64 // the account's key; 0: none
	accountEpoch uint64 // the epoch of the account's machine at the grant
	isTest       bool   // whether an operator is testing the key with this request
}

// queue holds the requests of all processes: a running request has a lease, a waiting request a ticket. Tickets are
// served in order of arrival. A waiting request holds no slot and no tokens.
type queue struct {
	tickets []ticket // in order of arrival
	leases  []lease
	seq     uint64 // the number of the newest ticket
}

func (q *queue) ticketIndex(number uint64) int {
	return slices.IndexFunc(q.tickets, func(t ticket) bool { return t.number == number })
}

func (q *queue) withdraw(number uint64) {
	if i := q.ticketIndex(number); i >= 0 {
		q.tickets = slices.Delete(q.tickets, i, i+1)
	}
}

// release ends and returns the lease of a permit. It returns false if the lease has already ended.
func (q *queue) release(p PermitID) (lease, bool) {
	for i, l := range q.leases {
		if l.permit == p.Number && l.epoch == p.Epoch {
			q.leases = slices.Delete(q.leases, i, i+1)
			return l, true
		}
	}
	return lease{}, false
}

func (q *queue) runningProbes(m *machine) int {
	return count(q.leases, func(l *lease) bool { return l.epoch == m.epoch && l.permit > m.probingAfter })
}

func (q *queue) leasesOf(owner uint64) int {
	return count(q.leases, func(l *lease) bool { return l.owner == owner })
}

func (q *queue) budgetLeases(owner uint64) int {
	return count(q.leases, func(l *lease) bool { return l.owner == owner && l.usesReservation })
}

func (q *queue) leasesOfKey(key uint64) int {
	return count(q.leases, func(l *lease) bool { return l.key == key })
}

func (q *queue) leasesOfAccount(a *account) int {
	return count(q.leases, func(l *lease) bool { return l.key != 0 && a.hasKey(l.key) })
}

func (q *queue) dropTickets(matches func(owner uint64) bool) {
	q.tickets = slices.DeleteFunc(q.tickets, func(t ticket) bool { return matches(t.owner) })
}

// ticketsAhead counts the tickets that must be served before the one at index, or before a new one if index is -1. It
// skips tickets that can't be served now: late ones, and those of processes without a free slot or token.
func (v view) ticketsAhead(index int) int {
	tickets := v.s.queue.tickets
	if index >= 0 {
		tickets = tickets[:index]
	}
	return count(tickets, v.canBeServed)
}

// canBeServed reports whether the process of a ticket could use a permit now. Limits that all tickets share, such as
// the address's bucket, do not matter.
func (v view) canBeServed(t *ticket) bool {
	if v.now.sub(t.retryAt) > lateTicketAfter {
		return false
	}
	v = v.undivided()
	q, m := &v.s.queue, &v.s.address.machine
	if a, k := v.s.accounts.keyByID(t.key); k != nil {
		if l := v.limitsOf(a); !v.isKeyFree(k, &l) || l.slots > 0 && q.leasesOfAccount(a) >= l.slots {
			return false // the request waits for this key only
		}
	}
	p := v.s.processes.byKey(t.owner)
	return p != nil && (m.probing() || q.leasesOf(p.key) < m.allowance().slotsOf(p.slots)) &&
		p.bucket.wait(v.now, v.ownPace(p)) == 0 && v.accountReady(p)
}

// hasFreeSlot reports whether a slot is free: one of all processes together and, if p is not nil, one of the process.
// While the machine is probing, only one probe may run; older permits do not count then. After failures, no more
// requests run than would make n_failures in a row, because in an outage each further one is wasted.
func (v view) hasFreeSlot(p *process, total int) bool {
	q, m := &v.s.queue, &v.s.address.machine
	if m.probing() {
		return q.runningProbes(m) == 0
	}
	r := m.allowance()
	unanswered := func(l *lease) bool { return l.permit > m.lastGoodPermit }
	return len(q.leases) < r.slotsOf(total) && (p == nil || q.leasesOf(p.key) < r.slotsOf(p.slots)) &&
		(m.failures == 0 || count(q.leases, unanswered) < max(v.t.NFailures-m.failures, 1))
}

// hasRoomFor reports whether n requests can go at once. If so, a request need not wait for tickets ahead of it, whose
// owners may take a while to ask over a network.
func (v view) hasRoomFor(n int) bool {
	s, m := v.s, &v.s.address.machine
	limit, window, total := s.processes.commonLimits()
	return !m.probing() && m.failures == 0 && len(s.queue.leases)+n <= m.allowance().slotsOf(total) &&
		s.ceiling.grantsWithin(v.now, window)+n <= limit && s.address.bucket.tokens(v.now, v.commonPace()) >= float64(n)
}

// NextToWake returns the first ticket that can be served before its owner asks again, its process, and the time until
// then. It returns 0 if there is none.
func NextToWake(s *Snapshot, at Instant) (ticket uint64, process string, in time.Duration) {
	clock := s.clock
	clock.advance(at)
	now := clock.now
	v := view{s, now, &defaults, Instant{}}
	limit, window, total := s.processes.commonLimits()
	if _, _, blocked := s.address.machine.blocked(now); blocked || !v.hasFreeSlot(nil, total) {
		return 0, "", 0
	}
	in = max(s.address.bucket.wait(now, v.commonPace()), s.ceiling.wait(now, limit, window),
		s.address.machine.learned.wait(now, &s.ceiling), s.address.machine.stated.wait(now, &s.ceiling, window))
	due := now.add(in)
	for i := range s.queue.tickets {
		q := &s.queue.tickets[i]
		if !v.canBeServed(q) {
			continue
		}
		if q.retryAt.sub(due) < minWakeGain {
			return 0, "", 0 // the owner will ask soon enough by itself
		}
		return q.number, processIDOf(s.processes.byKey(q.owner).id), in
	}
	return 0, "", 0
}

// minWakeGain is the shortest time before a request's next try at which waking it is worthwhile.
const minWakeGain = 5 * time.Millisecond
