package ratelimit

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// This file decides what the limiter asks of a place that keeps its state.

// Store keeps one [Snapshot] for everybody who shares an upstream.
//
// Update is an atomic read-modify-write: it calls fn with the present moment
// and the current snapshot, and keeps what fn made of it. fn is short and pure;
// it does no I/O and does not call the store. When fn returns an error, it has
// left the snapshot alone, nothing is kept and Update returns that error. The snapshot
// must not be used after fn has returned. Update waits for the lock until ctx ends.
type Store interface {
	Update(ctx context.Context, fn func(now Instant, s *Snapshot) error) error
}

// Liveness is an optional interface of a [Store] whose users are processes
// that may die without saying goodbye. The limiter never calls it from within Update.
type Liveness interface {
	// Owner is this process's id: short, never used again by another process.
	Owner() string
	// Dead returns those of the ids whose processes are certainly gone.
	Dead(ids []string) []string
}

// MemoryStore is a [Store] for the limiters of one process. The zero value is
// not usable; NewMemoryStore makes one.
type MemoryStore struct {
	mu    sync.Mutex
	s     Snapshot
	start time.Time
	parts int
}

// NewMemoryStore returns an empty store: its limiter starts in Normal with a full bucket.
func NewMemoryStore() *MemoryStore { return NewDividedMemoryStore(1) }

// NewDividedMemoryStore returns an empty store for one of parts processes that
// cannot see each other: its limiters use one part of the rate, burst, ceiling and slots.
func NewDividedMemoryStore(parts int) *MemoryStore {
	return &MemoryStore{start: time.Now(), parts: max(parts, 1)}
}

// Update implements [Store].
func (m *MemoryStore) Update(ctx context.Context, fn func(now Instant, s *Snapshot) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	return fn(Instant{Wall: now, Boot: now.Sub(m.start), BootID: "memory", Parts: m.parts}, &m.s)
}

var localOwners atomic.Uint64

// newOwner names a limiter on a store without [Liveness].
func newOwner() string { return "local-" + strconv.FormatUint(localOwners.Add(1), 10) }
