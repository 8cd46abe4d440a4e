package ratelimit

import (
	"slices"
	"time"
)

const (
	// lateAfter is how much later than promised a ticket's owner may ask again. After that others pass the ticket
	// until its owner asks: its process is stopped or dead.
	lateAfter = 100 * time.Millisecond
	// lostAfter is when a late ticket is dropped.
	lostAfter = 30 * time.Second
	// leaseMax is the length of a lease whose holder did not say how long it needs it.
	leaseMax = time.Hour
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

// find returns the position of a ticket, -1 if it is not queued.
func (s *slots) find(number uint64) int {
	return slices.IndexFunc(s.tickets, func(t ticket) bool { return t.number == number })
}

// enqueue appends a new ticket and returns its position.
func (s *slots) enqueue(owner uint64) int {
	s.seq++
	s.tickets = append(s.tickets, ticket{number: s.seq, owner: owner})
	return len(s.tickets) - 1
}

// withdraw removes a ticket.
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

// count counts the leases that fit.
func (s *slots) count(fits func(*lease) bool) int {
	n := 0
	for i := range s.leases {
		if fits(&s.leases[i]) {
			n++
		}
	}
	return n
}

// running counts the leases of one epoch.
func (s *slots) running(epoch uint64) int {
	return s.count(func(l *lease) bool { return l.epoch == epoch })
}

// held counts the leases of one process.
func (s *slots) held(owner uint64) int {
	return s.count(func(l *lease) bool { return l.owner == owner })
}

// booked counts the leases of one process that hold a request of its budget.
func (s *slots) booked(owner uint64) int {
	return s.count(func(l *lease) bool { return l.owner == owner && l.budget })
}

// drop removes the tickets of some processes.
func (s *slots) drop(whose func(owner uint64) bool) {
	s.tickets = slices.DeleteFunc(s.tickets, func(t ticket) bool { return whose(t.owner) })
}

// forget removes what belongs to some processes.
func (s *slots) forget(whose func(owner uint64) bool) {
	s.drop(whose)
	s.leases = slices.DeleteFunc(s.leases, func(l lease) bool { return whose(l.owner) })
}

// contends reports whether tickets of others than a process stand in the queue.
func (s *Snapshot) contends(owner string) bool {
	own := slices.IndexFunc(s.processes, func(p process) bool { return p.id == owner })
	return slices.ContainsFunc(s.slots.tickets, func(t ticket) bool { return own < 0 || t.owner != s.processes[own].key })
}
