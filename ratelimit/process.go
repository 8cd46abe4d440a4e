package ratelimit

import "time"

// This file decides who takes part, and what becomes of those who are gone.

// unseenAfter is when a process nobody has heard of is forgotten.
const unseenAfter = time.Hour

// join returns the entry of a process, and makes or updates it.
func (s *Snapshot) join(now Stamp, id string, t *Tuning) *process {
	for i := range s.processes {
		if p := &s.processes[i]; p.id == id {
			p.bring(now, t)
			return p
		}
	}
	s.forgetUnseen(now)
	s.processSeq++
	s.processes = append(s.processes, process{id: id, key: s.processSeq})
	p := &s.processes[len(s.processes)-1]
	p.bring(now, t)
	return p
}

func (p *process) bring(now Stamp, t *Tuning) {
	p.seen = now
	p.rate, p.ceiling, p.window, p.slots, p.total = t.RateBase, t.Ceiling, t.CeilingWindow, t.Concurrency, t.ConcurrencyTotal
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

// Bury drops the processes with these ids with all they held: tickets, slots
// and reservations.
func (s *Snapshot) Bury(at Instant, ids []string) {
	s.advance(at)
	for i := len(s.processes) - 1; i >= 0; i-- {
		for _, id := range ids {
			if s.processes[i].id == id {
				s.remove(i)
				break
			}
		}
	}
}

func (s *Snapshot) remove(i int) {
	s.slots.forget(s.processes[i].key)
	s.processes = append(s.processes[:i], s.processes[i+1:]...)
}

// expire ends leases that have run out and drops tickets nobody asks about any more.
func (s *Snapshot) expire(now Stamp) {
	leases := s.slots.leases[:0]
	for _, l := range s.slots.leases {
		if now < l.until {
			leases = append(leases, l)
			continue
		}
		for i := range s.processes {
			if p := &s.processes[i]; l.budget && p.key == l.owner {
				p.settle(now, 1)
			}
		}
	}
	s.slots.leases = leases
	tickets := s.slots.tickets[:0]
	for _, t := range s.slots.tickets {
		if now.sub(t.due) < lostAfter {
			tickets = append(tickets, t)
		}
	}
	s.slots.tickets = tickets
}

// part takes a process that says goodbye out of the snapshot: its tickets and
// reservations at once, itself when its last permit is back.
func (s *Snapshot) part(id string) {
	for i := range s.processes {
		p := &s.processes[i]
		if p.id != id {
			continue
		}
		if s.slots.held(p.key) == 0 {
			s.remove(i)
			return
		}
		tickets := s.slots.tickets[:0]
		for _, t := range s.slots.tickets {
			if t.owner != p.key {
				tickets = append(tickets, t)
			}
		}
		s.slots.tickets = tickets
		p.reserved = s.slots.booked(p.key)
		return
	}
}
