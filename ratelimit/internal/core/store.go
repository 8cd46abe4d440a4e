package core

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Store keeps one [Snapshot] for all users of an upstream.
//
// Update is an atomic read-modify-write: it calls fn with the present moment and the current snapshot, and stores the
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

// ReadSnapshot returns a copy of the snapshot in a store, and the present moment. It writes nothing.
func ReadSnapshot(ctx context.Context, store Store) (at Instant, s Snapshot, err error) {
	err = store.Update(ctx, func(now Instant, shared *Snapshot) error {
		at, s = now, shared.Clone()
		return ErrUnchanged
	})
	return at, s, err
}
