// Package core is the pure part of the limiter, in one value, the [Snapshot].
//
//	machine.go, rules.go, table.go   the five states and how they change
//	scope.go                         what an address or an account has: machine, bucket, quota; the ceiling
//	turns.go, ask.go                 who takes part, who is next, what a request waits for
//	account.go, pick.go              accounts and keys, and which of them a request goes through
//	budget.go, report.go             what was reserved and used; what an answer says
//	isolation.go, operator.go        going on alone; what operators change
//
// Every step takes the moment and the random draw as arguments; nothing here waits, locks, reads a clock or does I/O,
// but for [MemoryStore] and [SystemInstant], which callers hand in.
package core

import (
	"slices"
)

// Snapshot is everything that the users of one upstream share: the state machine and its evidence, bucket, ceiling,
// slots, budget, accounts and operators' overrides.
//
// A zero Snapshot becomes a fresh one (Normal, full bucket) at its first use. Clone is the only way to copy a Snapshot.
// It is not safe for concurrent use: a [Store] lets its users in one after the other.
type Snapshot struct {
	clock     timeline
	address   scope // the upstream's limits for all together
	ceiling   ceiling
	queue     queue
	processes processes
	accounts  accounts
	overrides overrides
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
	s.address.machine.state, s.address.machine.reason = Throttle, ReasonCorrupt
	s.address.bucket.empty(s.clock.now)
	s.ceiling.unknownSince = s.clock.now
	return s
}

// Clone returns a deep copy.
func (s *Snapshot) Clone() Snapshot {
	c := *s
	c.address.machine.window.records = append([]record(nil), s.address.machine.window.records...)
	c.ceiling.grants = append([]Stamp(nil), s.ceiling.grants...)
	c.queue.tickets = append([]ticket(nil), s.queue.tickets...)
	c.queue.leases = append([]lease(nil), s.queue.leases...)
	c.overrides.list = append([]override(nil), s.overrides.list...)
	c.processes.list = append([]process(nil), s.processes.list...)
	for i := range c.processes.list {
		c.processes.list[i].accounts = slices.Clone(c.processes.list[i].accounts)
	}
	c.accounts.list = append([]account(nil), s.accounts.list...)
	for i := range c.accounts.list {
		a := &c.accounts.list[i]
		a.keys, a.overrides = slices.Clone(a.keys), slices.Clone(a.overrides)
		a.machine.window.records = append([]record(nil), a.machine.window.records...)
	}
	return c
}

// State returns the state the limiter is in.
func (s *Snapshot) State() State { return s.address.machine.state }

// Now returns the shared time of the last update.
func (s *Snapshot) Now() Stamp { return s.clock.now }

// Users returns the ids of the processes that take part, each once.
func (s *Snapshot) Users() []string {
	var ids []string
	for i := range s.processes.list {
		if id := processOf(s.processes.list[i].id); !slices.Contains(ids, id) {
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
	now, m := s.clock.now, &s.address.machine
	if end := m.pauseUntil; before < end && end <= now {
		s.address.bucket.drain(end, s.processes.fastestPace(end).rate)
	}
	if m.epoch == 0 {
		m.start(now, ReasonFresh)
	}
	if rebooted {
		s.queue = queue{seq: s.queue.seq}
		s.processes.list = s.processes.list[:0]
	}
	return now
}

// view is a snapshot at one moment, as a process with this tuning sees it. It has one of parts of everything where it
// does not see all users.
type view struct {
	s     *Snapshot
	now   Stamp
	t     *Tuning
	parts int
}

func (v view) whole() view {
	v.parts = 1
	return v
}
