// Package core is the pure part of the limiter: the state machine with its table of transitions, token bucket, ceiling,
// slots, budget, accounts and operators' overrides, in one value, the [Snapshot].
//
// Every step takes the moment and the random draw as arguments; nothing here waits, locks, reads a clock or does I/O,
// but for [MemoryStore] and [SystemInstant], which callers hand in.
package core

import (
	"slices"
)

// Snapshot is everything that the users of one upstream share: the state machine and its evidence, bucket, ceiling,
// slots, budget and operators' overrides.
//
// A zero Snapshot becomes a fresh one (Normal, full bucket) at its first use. Clone is the only way to copy a Snapshot.
// It is not safe for concurrent use: a [Store] lets its users in one after the other.
type Snapshot struct {
	clock   timeline
	machine machine
	bucket  bucket
	ceiling ceiling
	slots   slots
	budget  budgetUse

	overrides overrides

	processes  []process // all participants, in the order of arrival
	processSeq uint64    // the key of the newest process

	accounts   []account // through whose keys the requests go; none where nobody has any
	accountSeq uint64    // the newest number of an account or a key
}

// NewSnapshot returns the snapshot of an unknown upstream: Normal, full bucket. A store uses it when there is no stored
// state.
func NewSnapshot(now Instant) Snapshot {
	var s Snapshot
	s.advance(now)
	return s
}

// NewCautiousSnapshot returns the snapshot that replaces a damaged one: Throttle with an empty bucket. It grants
// nothing for the first ceiling_window, because nobody knows what has just been sent.
func NewCautiousSnapshot(now Instant) Snapshot {
	s := NewSnapshot(now)
	s.machine.state, s.machine.reason = Throttle, ReasonCorrupt
	s.bucket.empty(s.clock.now)
	s.ceiling.unknownSince = s.clock.now
	return s
}

// Clone returns a deep copy.
func (s *Snapshot) Clone() Snapshot {
	c := *s
	c.machine.window.records = append([]record(nil), s.machine.window.records...)
	c.ceiling.grants = append([]Stamp(nil), s.ceiling.grants...)
	c.slots.tickets = append([]ticket(nil), s.slots.tickets...)
	c.slots.leases = append([]lease(nil), s.slots.leases...)
	c.overrides.list = append([]override(nil), s.overrides.list...)
	c.processes = append([]process(nil), s.processes...)
	for i := range c.processes {
		c.processes[i].accounts = slices.Clone(c.processes[i].accounts)
	}
	c.accounts = append([]account(nil), s.accounts...)
	for i := range c.accounts {
		a := &c.accounts[i]
		a.keys, a.tuned = slices.Clone(a.keys), slices.Clone(a.tuned)
		a.machine.window.records = append([]record(nil), a.machine.window.records...)
	}
	return c
}

// State returns the state the limiter is in.
func (s *Snapshot) State() State { return s.machine.state }

// Users returns the ids of the processes that take part, each once.
func (s *Snapshot) Users() []string {
	var ids []string
	for i := range s.processes {
		if id := processOf(s.processes[i].id); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// advance moves the snapshot to the instant and returns the shared time there. It makes a zero snapshot a fresh one.
// After a reboot it drops slots and processes, and keeps what blocks. A pause leaves one token when it ends: a burst
// would run into the limit that has just been met.
func (s *Snapshot) advance(at Instant) Stamp {
	before := s.clock.now
	rebooted := s.clock.advance(at)
	now := s.clock.now
	if end := s.machine.pauseUntil; before < end && end <= now {
		s.bucket.drain(end, s.fastest(end).rate)
	}
	if s.machine.epoch == 0 {
		s.machine.begin(now, ReasonFresh)
	}
	if rebooted {
		s.slots = slots{seq: s.slots.seq}
		s.processes = s.processes[:0]
	}
	return now
}
