package core

import (
	"slices"
	"time"
)

const (
	// unseenAfter is when a silent process is forgotten.
	unseenAfter = time.Hour
	// activeFor is how long a process that has asked counts for the rate of the shared bucket.
	activeFor = 10 * time.Second
)

// process is one participant: a limiter. Slots and tickets refer to it by its key.
type process struct {
	id   string
	key  uint64
	seen Stamp
	own  bucket // its own pace

	// What it brings to the common limits.
	rate    float64       // requests a second it would like to send in Normal
	burst   float64       // and at once, after a rest
	ceiling int           // the smallest of all holds
	window  time.Duration // of the ceiling; the longest of all holds
	slots   int           // its own concurrency in Normal
	total   int           // the smallest of all holds

	accounts []uint64 // the numbers of those it has

	reserved   int   // requests reserved from the budget, those under way included
	reservedAt Stamp // when it last asked
}

func (s *Snapshot) process(id string) *process {
	for i := range s.processes {
		if s.processes[i].id == id {
			return &s.processes[i]
		}
	}
	return nil
}

func (s *Snapshot) join(now Stamp, id string, t *Tuning) *process {
	if p := s.process(id); p != nil {
		p.bring(now, t)
		return p
	}
	s.forgetUnseen(now)
	s.processSeq++
	s.processes = append(s.processes, process{id: id, key: s.processSeq})
	p := &s.processes[len(s.processes)-1]
	p.bring(now, t)
	p.own.start(now, s.machine.pace(t, now), s.bucket.tokens(now, s.commonPace(t, now)))
	return p
}

func (p *process) bring(now Stamp, t *Tuning) {
	p.seen = now
	p.rate, p.burst, p.ceiling, p.window = t.RateBase, t.bucketCap(), t.Ceiling, t.CeilingWindow
	p.slots, p.total = t.Concurrency, t.ConcurrencyTotal
}

// fastest returns the largest rate and burst in Normal among the processes that have asked of late, or among
// all if none has; the zero pace without any process.
func (s *Snapshot) fastest(now Stamp) pace {
	var active, any pace
	for i := range s.processes {
		p := &s.processes[i]
		any.rate, any.burst = max(any.rate, p.rate), max(any.burst, p.burst)
		if now.sub(p.seen) <= activeFor {
			active.rate, active.burst = max(active.rate, p.rate), max(active.burst, p.burst)
		}
	}
	if active.rate == 0 {
		return any
	}
	return active
}

// commonPace returns the pace of the shared bucket in the present state: the fastest process's, or that of a
// tuning where no process takes part.
func (s *Snapshot) commonPace(t *Tuning, now Stamp) pace {
	p := s.fastest(now)
	if p.rate == 0 {
		p = pace{t.RateBase, t.bucketCap()}
	}
	return s.machine.paceOf(p.rate, p.burst, t, now)
}

// limits returns what holds for all: the smallest ceiling over the longest
// window, and the smallest number of slots.
func (s *Snapshot) limits() (ceiling int, window time.Duration, total int) {
	ceiling, total = maxGrants, maxTickets
	for i := range s.processes {
		p := &s.processes[i]
		ceiling, window, total = min(ceiling, p.ceiling), max(window, p.window), min(total, p.total)
	}
	return ceiling, window, total
}

// forgetUnseen drops processes that have been silent for long, and the oldest if there are too many.
func (s *Snapshot) forgetUnseen(now Stamp) {
	for i := len(s.processes) - 1; i >= 0; i-- {
		if now.sub(s.processes[i].seen) >= unseenAfter {
			s.remove(i)
		}
	}
	for len(s.processes) >= maxProcesses {
		s.remove(0)
	}
}

// Bury drops what the limiters of these processes held: tickets, slots and reservations.
func (s *Snapshot) Bury(at Instant, ids []string) {
	s.advance(at)
	for i := len(s.processes) - 1; i >= 0; i-- {
		if slices.Contains(ids, processOf(s.processes[i].id)) {
			s.remove(i)
		}
	}
}

func (s *Snapshot) remove(i int) {
	key := s.processes[i].key
	s.slots.forget(func(owner uint64) bool { return owner == key })
	s.processes = slices.Delete(s.processes, i, i+1)
}

// expire ends leases that have run out, drops abandoned tickets and frees orphaned reservations.
func (s *Snapshot) expire(now Stamp, t *Tuning) {
	s.slots.leases = slices.DeleteFunc(s.slots.leases, func(l lease) bool {
		if now < l.until {
			return false
		}
		for i := range s.processes {
			if p := &s.processes[i]; l.budget && p.key == l.owner {
				p.settle(1)
			}
		}
		return true
	})
	s.freeOrphans(now, t)
	s.slots.tickets = slices.DeleteFunc(s.slots.tickets, func(t ticket) bool { return now.sub(t.due) >= lostAfter })
}

// Leave takes a process that says goodbye out of the snapshot: its tickets and
// reservations at once, itself when its last permit is back.
func (s *Snapshot) Leave(at Instant, owner string) {
	s.advance(at)
	p := s.process(owner)
	switch {
	case p == nil:
	case s.slots.held(p.key) == 0:
		s.remove(slices.IndexFunc(s.processes, func(o process) bool { return o.key == p.key }))
	default:
		s.slots.drop(func(key uint64) bool { return key == p.key })
		p.reserved = s.slots.booked(p.key)
	}
}

// Renew lengthens the leases of these permits.
func (s *Snapshot) Renew(at Instant, kept map[Pass]bool, by time.Duration) {
	until := s.advance(at).add(by)
	for i := range s.slots.leases {
		if l := &s.slots.leases[i]; kept[Pass{l.permit, l.epoch}] {
			l.until = max(l.until, until)
		}
	}
}

const (
	// lateAfter is how much later than promised a ticket's owner may ask again. After that others pass the ticket
	// until its owner asks: its process is stopped or dead.
	lateAfter = 100 * time.Millisecond
	// lostAfter is when a late ticket is dropped.
	lostAfter = 30 * time.Second
	// LeaseMax is the length of a lease whose holder did not say how long it needs it.
	LeaseMax = time.Hour
)

type ticket struct {
	number uint64
	owner  uint64 // process key
	due    Stamp  // when its owner promised to ask again
	key    uint64 // of an account, for whose slot alone it waits; 0: for any
}

type lease struct {
	permit uint64
	epoch  uint64
	owner  uint64 // process key
	until  Stamp  // when it ends by itself
	budget bool   // it holds one reserved request of its owner's budget

	key          uint64 // of an account; 0: none
	accountEpoch uint64 // of the account's machine, when it was granted
	test         bool   // it finds out whether the key is accepted
}

// slots are the requests of all processes: those under way hold a lease, those that wait a ticket. Tickets are
// served in order of arrival, and nothing but a lease is ever held while waiting for something else.
type slots struct {
	tickets []ticket // in order of arrival
	leases  []lease
	seq     uint64 // the newest ticket
}

func (s *slots) find(number uint64) int {
	return slices.IndexFunc(s.tickets, func(t ticket) bool { return t.number == number })
}

func (s *slots) enqueue(owner uint64) int {
	s.seq++
	s.tickets = append(s.tickets, ticket{number: s.seq, owner: owner})
	return len(s.tickets) - 1
}

func (s *slots) withdraw(number uint64) {
	if i := s.find(number); i >= 0 {
		s.tickets = slices.Delete(s.tickets, i, i+1)
	}
}

// release ends a lease. It reports false if the lease had ended before.
func (s *slots) release(permit, epoch uint64) (lease, bool) {
	for i, l := range s.leases {
		if l.permit == permit && l.epoch == epoch {
			s.leases = slices.Delete(s.leases, i, i+1)
			return l, true
		}
	}
	return lease{}, false
}

func (s *slots) count(fits func(*lease) bool) int {
	n := 0
	for i := range s.leases {
		if fits(&s.leases[i]) {
			n++
		}
	}
	return n
}

func (s *slots) running(epoch uint64) int {
	return s.count(func(l *lease) bool { return l.epoch == epoch })
}

// probes counts the requests that were let through one at a time.
func (s *slots) probes(m *machine) int {
	return s.count(func(l *lease) bool { return l.epoch == m.epoch && l.permit > m.faltering })
}

func (s *slots) held(owner uint64) int {
	return s.count(func(l *lease) bool { return l.owner == owner })
}

func (s *slots) booked(owner uint64) int {
	return s.count(func(l *lease) bool { return l.owner == owner && l.budget })
}

func (s *slots) drop(whose func(owner uint64) bool) {
	s.tickets = slices.DeleteFunc(s.tickets, func(t ticket) bool { return whose(t.owner) })
}

func (s *slots) forget(whose func(owner uint64) bool) {
	s.drop(whose)
	s.leases = slices.DeleteFunc(s.leases, func(l lease) bool { return whose(l.owner) })
}

func (s *Snapshot) contends(owner string) bool {
	own := slices.IndexFunc(s.processes, func(p process) bool { return p.id == owner })
	return slices.ContainsFunc(s.slots.tickets, func(t ticket) bool { return own < 0 || t.owner != s.processes[own].key })
}
