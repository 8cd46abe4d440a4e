package ratelimit

import "time"

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
}

type lease struct {
	permit uint64
	epoch  uint64
	owner  uint64 // process key
	until  Stamp  // when it ends by itself
	budget bool   // it holds one reserved request of its owner's budget
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
	for i := range s.tickets {
		if s.tickets[i].number == number {
			return i
		}
	}
	return -1
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
		s.tickets = append(s.tickets[:i], s.tickets[i+1:]...)
	}
}

// release ends a lease. It reports false if the lease had ended before.
func (s *slots) release(permit, epoch uint64) (lease, bool) {
	for i, l := range s.leases {
		if l.permit == permit && l.epoch == epoch {
			s.leases = append(s.leases[:i], s.leases[i+1:]...)
			return l, true
		}
	}
	return lease{}, false
}

// running counts the leases of one epoch, or of all with epoch 0.
func (s *slots) running(epoch uint64) int {
	if epoch == 0 {
		return len(s.leases)
	}
	n := 0
	for i := range s.leases {
		if s.leases[i].epoch == epoch {
			n++
		}
	}
	return n
}

// held counts the leases of one process.
func (s *slots) held(owner uint64) int {
	n := 0
	for i := range s.leases {
		if s.leases[i].owner == owner {
			n++
		}
	}
	return n
}

// forget drops what belongs to one process.
func (s *slots) forget(owner uint64) {
	s.filter(func(o uint64) bool { return o != owner })
}

// filter keeps what belongs to some processes.
func (s *slots) filter(keep func(owner uint64) bool) {
	tickets, leases := s.tickets[:0], s.leases[:0]
	for _, t := range s.tickets {
		if keep(t.owner) {
			tickets = append(tickets, t)
		}
	}
	for _, l := range s.leases {
		if keep(l.owner) {
			leases = append(leases, l)
		}
	}
	s.tickets, s.leases = tickets, leases
}

// booked counts the leases of one process that hold a request of its budget.
func (s *slots) booked(owner uint64) int {
	n := 0
	for _, l := range s.leases {
		if l.owner == owner && l.budget {
			n++
		}
	}
	return n
}
