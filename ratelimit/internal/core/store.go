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

// Store keeps one [Snapshot] for everybody who shares an upstream.
//
// Update is an atomic read-modify-write: it calls fn with the present moment and the current snapshot, and keeps what
// fn made of it. fn is short; it does no I/O and does not call the store. It may be called several times, with
// different snapshots, and its last call counts: so it sets its results anew each time and changes nothing else until
// Update has returned. The snapshot must not be used after fn has returned, and fn is not called after Update has.
//
// When fn returns an error nothing is kept and Update returns that error, but for [ErrUnchanged]. Update waits for
// others until ctx ends.
type Store interface {
	Update(ctx context.Context, fn func(now Instant, s *Snapshot) error) error
}

// ErrUnchanged is what an fn returns that has only read the snapshot. Update then writes nothing and returns nil.
var ErrUnchanged = errors.New("limiter state is unchanged")

// ErrStoreClosed is what Update returns after Close.
var ErrStoreClosed = errors.New("limiter store is closed")

// Liveness is an optional interface of a [Store] or [Backend] whose users are processes that may die without saying
// goodbye. It is never called from within Update or Exchange.
type Liveness interface {
	// Owner is this process's id: short, never used again by another process.
	Owner() string
	// Dead returns those of the ids whose processes are gone, and clears away what they have left behind.
	Dead(ids []string) []string
	// Living returns how many processes live, this one included; 0 if nobody knows.
	Living() int
}

// Sharing is an optional interface of a [Store] that goes on alone when it
// loses contact with the other processes.
type Sharing interface {
	// Apart returns why no other process sees what the last Update changed; nil if
	// all do.
	Apart() error
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

// NewOwner names a limiter on a store without [Liveness].
func NewOwner() string { return "local-" + strconv.FormatUint(localOwners.Add(1), 10) }

// A limiter's owner is itself, not its store: of two limiters on one store each keeps its own tickets and
// reservations when the other is closed. The first limiter of a process has the process's id, the n-th "id#n".

var limiters sync.Map // process id -> *atomic.Uint64, how many limiters it has had

// NewOwnerOf names a limiter of a process.
func NewOwnerOf(process string) string {
	count, _ := limiters.LoadOrStore(process, new(atomic.Uint64))
	if n := count.(*atomic.Uint64).Add(1); n > 1 {
		return process + "#" + strconv.FormatUint(n, 10)
	}
	return process
}

func processOf(owner string) string {
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
