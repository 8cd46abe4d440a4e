// Package core is the pure part of the limiter, in one value, the [Snapshot].
//
//	machine.go, rules.go, state.go   the five states and how they change
//	scope.go                         what an address or an account has: machine, bucket, quota, learned limit; ceiling
//	turns.go, ask.go                 which processes take part, whose turn it is, and what a request waits for
//	account.go, pick.go              accounts and keys, and the choice of them for a request
//	budget.go, report.go             reserved and used requests of the budget; answers as evidence
//	isolation.go, operator.go        a process that can't reach the others; changes by operators
//
// Time and random numbers are arguments. Nothing here waits, locks, reads a clock or does I/O, except [MemoryStore] and
// [SystemInstant].
package core

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Store keeps one [Snapshot] for all users of an upstream.
//
// Update is an atomic read-modify-write: it calls fn with the current moment and the current snapshot, and stores the
// changed snapshot. fn must be short, do no I/O and not call the store. Update may call fn several times, with
// different snapshots; only the last call counts. So fn must overwrite its results in each call and have no other
// effect. fn must not keep the snapshot. Update does not call fn after it has returned.
//
// If fn returns an error, Update stores nothing and returns that error, or nil for [ErrUnchanged]. Update waits for
// other users until ctx ends.
type Store interface {
	Update(ctx context.Context, fn func(now Instant, s *Snapshot) error) error
}

// ErrUnchanged is the error of an fn that has only read the snapshot. Update then writes nothing and returns nil.
var ErrUnchanged = errors.New("limiter state is unchanged")

// ErrStoreClosed is the error of Update after Close.
var ErrStoreClosed = errors.New("limiter store is closed")

// Liveness is an optional interface of a [Store] that processes share. It tells which of them have died without
// releasing their slots. Its methods are never called during Update.
type Liveness interface {
	// Owner returns this process's id. It is short, and no other process ever gets the same.
	Owner() string
	// Dead returns those of these ids whose process no longer runs, and removes the files or records of those processes.
	Dead(ids []string) []string
	// Living returns the number of running processes, this one included; 0 if it is unknown.
	Living() int
}

// Sharing is an optional interface of a [Store] that keeps working, with a share of the limits, when it loses contact
// with the other processes.
type Sharing interface {
	// IsolationCause returns why other processes do not see the changes of the last Update; nil if they do.
	IsolationCause() error
}

// MemoryStore is a [Store] for the limiters of one process. NewMemoryStore makes one.
type MemoryStore struct {
	mu    sync.Mutex
	s     Snapshot
	start time.Time
}

// NewMemoryStore returns an empty store: its limiter starts in Normal with a full bucket.
func NewMemoryStore() *MemoryStore { return &MemoryStore{start: time.Now()} }

// Update implements [Store].
func (m *MemoryStore) Update(ctx context.Context, fn func(now Instant, s *Snapshot) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	err := fn(Instant{Wall: now, Boot: now.Sub(m.start), BootID: "memory"}, &m.s)
	if errors.Is(err, ErrUnchanged) {
		return nil
	}
	return err
}

var localOwners atomic.Uint64

// NewOwner returns a unique id for a limiter on a store without [Liveness].
func NewOwner() string { return "local-" + strconv.FormatUint(localOwners.Add(1), 10) }

var limiterCounts sync.Map // process id -> *atomic.Uint64, the number of limiters that the process has made

// NewOwnerOf returns a unique id for a limiter of a process: the process's id for the first, "id#n" for the n-th.
// Tickets and reservations belong to a limiter, not to its store, so closing one limiter does not affect others on the
// store.
func NewOwnerOf(process string) string {
	count, _ := limiterCounts.LoadOrStore(process, new(atomic.Uint64))
	if n := count.(*atomic.Uint64).Add(1); n > 1 {
		return process + "#" + strconv.FormatUint(n, 10)
	}
	return process
}

func processIDOf(owner string) string {
	id, _, _ := strings.Cut(owner, "#")
	return id
}

// ReadSnapshot returns a copy of the snapshot in a store, and the current moment. It writes nothing.
func ReadSnapshot(ctx context.Context, store Store) (at Instant, s Snapshot, err error) {
	err = store.Update(ctx, func(now Instant, shared *Snapshot) error {
		at, s = now, shared.Clone()
		return ErrUnchanged
	})
	return at, s, err
}

// Snapshot is everything that the users of one upstream share: the state machine and its evidence, bucket, ceiling,
// slots, budget, accounts and operators' overrides.
//
// A zero Snapshot becomes a fresh one (Normal, full bucket) at its first use. Clone is the only way to copy a Snapshot.
// It is not safe for concurrent use: a [Store] gives access to one user at a time.
type Snapshot struct {
	clock     timeline
	address   scope // the limits for all requests together, by the address they come from
	ceiling   ceiling
	queue     queue
	processes processes
	accounts  accounts
	overrides overrides
}

// NewSnapshot returns the snapshot for an upstream without stored state: Normal, full bucket.
func NewSnapshot(now Instant) Snapshot {
	var s Snapshot
	s.advance(now)
	return s
}

// NewCautiousSnapshot returns the snapshot that replaces a damaged one: Throttle with an empty bucket. It grants
// nothing for the first ceiling_window, because it is unknown how many requests have just been sent.
func NewCautiousSnapshot(now Instant) Snapshot {
	s := NewSnapshot(now)
	m := &s.address.machine
	m.state, m.reason, m.easingSince = Throttle, ReasonCorrupt, s.clock.now
	s.address.bucket.empty(s.clock.now)
	s.ceiling.unknownBefore = s.clock.now
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

// Users returns the ids of the processes that share the snapshot, without duplicates.
func (s *Snapshot) Users() []string {
	var ids []string
	for i := range s.processes.list {
		if id := processIDOf(s.processes.list[i].id); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// advance moves the snapshot on to an instant and returns the shared time at it. It turns a zero snapshot into a fresh
// one. After a reboot it drops processes with their tickets and leases, but keeps blocks and pauses. The end of a pause
// leaves at most one token in the bucket, because a burst would meet the same limit again.
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

// view is a snapshot at one moment, together with the tuning of the process that uses it.
type view struct {
	s   *Snapshot
	now Stamp
	t   *Tuning
	at  Instant // its Parts divide the limits of accounts and what was left of the budgets
}

// undivided returns the view with the accounts' whole limits.
func (v view) undivided() view {
	v.at.Parts = 1
	return v
}

// Instant is a moment as a [Store] sees it, with what the store knows about the snapshot at that moment.
type Instant struct {
	Wall    time.Time     // the wall clock: for display, and to measure how long a machine was off
	Boot    time.Duration // the time since boot, suspends included; it measures elapsed time
	BootID  string        // identifies the boot that Boot counts from; "" if unknown
	Machine string        // identifies the machine; "" if unknown
	// Parts divides the limits if some users of the upstream do not share this snapshot; 0 and 1 mean that all do.
	Parts int
	Alone *Isolation // whose parts these are; nil if all share this snapshot
	Lost  bool       // whether earlier writes may be missing from the snapshot
}

// SystemInstant returns the current moment. All processes of the machine get the same time since boot and the same ids,
// so their instants are comparable. The file store uses it.
func SystemInstant() Instant {
	now := Instant{Wall: time.Now(), BootID: bootID(), Machine: machineID()}
	boot, ok := sinceBoot()
	if !ok {
		// Without a time since boot, only the wall clock is common to all processes.
		boot, now.BootID = time.Duration(now.Wall.UnixNano()), "wall"
	}
	now.Boot = boot
	return now
}

// machineID returns a hash of the system's id. The id itself must not be exposed (machine-id(5)).
var machineID = sync.OnceValue(func() string {
	id := rawMachineID()
	if id == "" {
		return ""
	}
	sum := sha256.Sum256([]byte("limiter state of " + id))
	return hex.EncodeToString(sum[:8])
})

// Stamp is a moment of shared time, in roughly Unix nanoseconds (see [timeline]). The zero Stamp means "never".
type Stamp int64

func (s Stamp) add(d time.Duration) Stamp { return s + Stamp(d) }

func (s Stamp) sub(o Stamp) time.Duration { return time.Duration(s - o) }

// clockTolerance is how far the time since boot may advance ahead of the wall clock between two updates. If it advances
// further, it is a different clock, such as that of another container.
const clockTolerance = 2 * time.Second

// timeline is the shared clock that all times in a snapshot refer to.
//
// A wall clock jumps when somebody sets it. The time since boot does not jump, but starts again with every boot. So
// shared time begins as the wall clock at the first use and then advances with the time since boot, or across a reboot
// with the wall clock. It never runs backwards. Setting the system's clock therefore neither releases a flood of tokens
// nor blocks requests for hours.
type timeline struct {
	now          Stamp         // shared time at the last update
	wall         int64         // the wall clock at the last update, in Unix nanoseconds
	boot         time.Duration // the time since boot at the last update
	bootID       string        // the boot of the last writer
	machine      string        // the machine of the last writer
	refusedUntil int64         // Unix nanoseconds until which no machine may use this state, because several did
}

// advance moves shared time on to an instant. It reports whether the last update was before a reboot.
func (l *timeline) advance(at Instant) (rebooted bool) {
	wall := at.Wall.UnixNano()
	elapsed, byWall := at.Boot-l.boot, time.Duration(max(wall-l.wall, 0))
	boot := at.Boot
	switch {
	case l.now == 0:
		l.now = Stamp(max(wall, 1))
	case at.BootID != l.bootID, elapsed < 0 && at.BootID == "":
		l.now, rebooted = l.now.add(byWall), true
	case elapsed < -clockTolerance, elapsed > byWall+clockTolerance:
		l.now = l.now.add(byWall) // a different clock, or a jump that the wall clock does not confirm
	case elapsed < 0:
		boot = l.boot // a different clock that lags a little: shared time stands still until this clock catches up
	default:
		l.now = l.now.add(elapsed)
	}
	l.wall, l.boot, l.bootID, l.machine = wall, boot, at.BootID, at.Machine
	return rebooted
}

// writtenElsewhere reports whether the last update was in another boot or, without boot ids, on another machine.
func (l *timeline) writtenElsewhere(at Instant) bool {
	return l.now != 0 && (at.BootID != l.bootID || at.BootID == "" && at.Machine != l.machine)
}

func (l *timeline) wallTime(s Stamp) time.Time {
	if s == 0 {
		return time.Time{}
	}
	return time.Unix(0, l.wall+int64(s-l.now))
}
