// Package shared is a store for several processes over any [Backend]. All that is hard is here, once: patience, going
// on alone, coming back, damage, versions and warnings.
package shared

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/anivault/anivault/ratelimit/internal/core"
)

// Options tunes a [Store]. The zero value is what programs want.
type Options struct {
	Place string // the folder or address of the backend, for warnings
	// Fallback is where the process goes on while a [Coordinator] can't be used: the store that all processes of this
	// machine share. Nil: in memory. Close closes one that is an [io.Closer].
	Fallback  core.Store
	Processes int                 // to divide by when the backend can't be used and nobody knows who else is there; 0: 2
	Patience  time.Duration       // how long the others wait for an update before they go on alone; 0: 250 ms
	Now       func() core.Instant // the present moment while the process is on its own; nil: [SystemInstant]
	// OnWarning is told, with no lock held, that something is wrong and has been dealt with. The error is a
	// [*StoreWarning]. It may use the store. Nil drops the warnings.
	OnWarning func(error)
}

const (
	defaultProcesses = 2
	// DefaultPatience is how long others wait for an update before they go on alone.
	DefaultPatience = 250 * time.Millisecond
	// RetryEvery is how often a store that is alone tries to get back.
	RetryEvery = time.Second
	// shareFrom is how long an Exchange must have taken for the next one to be shared by all callers that wait. Where
	// it is fast each does its own: it leaves as soon as it was let go, while others have to be woken first, which
	// takes tens of milliseconds on a busy machine and lets requests of two windows arrive in one.
	shareFrom = 5 * time.Millisecond
)

// Store is a [Store] for several processes over a [Backend]. It is a [Liveness] and a [Sharing] as well, and safe
// for concurrent use.
//
// It never fails for reasons of its own: what goes wrong with the backend is a warning, and the process goes on alone,
// with a part of everything ([Instant.Parts]), until the backend can be used again. Then it brings along what it did.
// Where Exchange is slow, callers that wait at one moment share one.
type Store struct {
	backend     Backend
	live        core.Liveness // nil: nobody can die unnoticed
	coordinator Coordinator   // nil: the backend is of this machine
	owner       string
	opts        Options

	turn    chan struct{} // holds a token while it is somebody's turn
	mu      sync.Mutex
	waiting []*request // for the next Exchange, in order of arrival; guarded by mu

	// What follows belongs to the one whose turn it is.

	closed bool
	took   time.Duration // by the last Exchange
	alone  *detached     // nil: in contact
	notes  notes

	snap    core.Snapshot
	decoded bool      // snap is what known says
	known   []byte    // the newest bytes that were the shared state
	spare   []byte    // the buffer for the next ones
	seen    bool      // there was a shared state
	seenAt  time.Time // when this process first saw known
	wrote   bool      // this process has written the shared state

	before   *core.Snapshot // what was known before something was lost; nil: nothing was, or it is written
	stalled  core.Stamp     // when an update began that took longer than the others' patience; 0: none
	episodes uint64         // of being alone
}

type request struct {
	fn       func(core.Instant, *core.Snapshot) error
	err      error
	panicked any
	done     chan struct{} // gets a value when somebody else has done it
}

// New returns a store over a backend. Close closes a backend that is an [io.Closer].
func New(b Backend, opts Options) *Store {
	if opts.Now == nil {
		opts.Now = core.SystemInstant
	}
	if opts.Processes <= 0 {
		opts.Processes = defaultProcesses
	}
	if opts.Patience <= 0 {
		opts.Patience = DefaultPatience
	}
	s := &Store{backend: b, opts: opts, turn: make(chan struct{}, 1), episodes: rand.Uint64() >> 34}
	s.coordinator, _ = b.(Coordinator)
	if live, ok := b.(core.Liveness); ok {
		s.live, s.owner = live, live.Owner()
	} else {
		s.owner = core.NewOwner()
	}
	return s
}

// Owner implements [Liveness].
func (s *Store) Owner() string { return s.owner }

// Dead implements [Liveness].
func (s *Store) Dead(ids []string) []string {
	if s.live == nil {
		return nil
	}
	return s.live.Dead(ids)
}

// Living implements [Liveness].
func (s *Store) Living() int {
	if s.live == nil {
		return 0
	}
	return s.live.Living()
}

// Wake implements [Waker].
func (s *Store) Wake() <-chan struct{} {
	if w, ok := s.backend.(Waker); ok {
		return w.Wake()
	}
	return nil
}

// Nap implements [Pacer].
func (s *Store) Nap() time.Duration {
	if p, ok := s.backend.(Pacer); ok {
		return p.Nap()
	}
	return 0
}

// Coordinated reports whether several machines share the state.
func (s *Store) Coordinated() bool { return s.coordinator != nil }

// Apart implements [Sharing].
func (s *Store) Apart() error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if s.alone == nil {
		return nil
	}
	return s.alone.why
}

// Close gives everything back. It waits for an update that is under way.
func (s *Store) Close() error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if s.closed {
		return nil
	}
	s.closed = true
	var errs []error
	for _, part := range []any{s.backend, s.opts.Fallback} {
		if c, ok := part.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}

// Update implements [Store]. Its errors are those of fn and of ctx, and [ErrStoreClosed].
func (s *Store) Update(ctx context.Context, fn func(now core.Instant, s *core.Snapshot) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r := &request{fn: fn, done: make(chan struct{}, 1)}
	select {
	case s.turn <- struct{}{}:
		return s.lead(ctx, r, false)
	default:
	}
	s.mu.Lock()
	s.waiting = append(s.waiting, r)
	s.mu.Unlock()
	select {
	case s.turn <- struct{}{}:
		return s.lead(ctx, r, true)
	case <-r.done:
	case <-ctx.Done():
		if s.withdraw(r) {
			return ctx.Err()
		}
		<-r.done // somebody is at it
	}
	return r.result()
}

func (s *Store) withdraw(r *request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting := len(s.waiting)
	s.waiting = slices.DeleteFunc(s.waiting, func(other *request) bool { return other == r })
	return len(s.waiting) < waiting
}

// lead does the update of r and, where the backend is slow, of all others that wait. It has the turn and gives it back.
func (s *Store) lead(ctx context.Context, r *request, waited bool) error {
	select {
	case <-r.done: // somebody else has done it in this very moment
		<-s.turn
		return r.result()
	default:
	}
	var batch []*request
	if s.took >= shareFrom || s.coordinator != nil {
		s.mu.Lock()
		batch, s.waiting = s.waiting, nil
		s.mu.Unlock()
	} else if waited {
		s.withdraw(r)
	}
	if !slices.Contains(batch, r) {
		batch = append(batch, r)
	}
	s.run(ctx, batch)
	warnings := s.notes.take()
	for _, other := range batch {
		if other != r {
			other.done <- struct{}{}
		}
	}
	<-s.turn
	s.tell(warnings)
	return r.result()
}

// result is what Update returns; a panic of fn goes on in its own goroutine.
func (r *request) result() error {
	if r.panicked != nil {
		panic(r.panicked)
	}
	if errors.Is(r.err, core.ErrUnchanged) {
		return nil
	}
	return r.err
}

func (r *request) failed() bool {
	return r.panicked != nil || r.err != nil && !errors.Is(r.err, core.ErrUnchanged)
}

func (r *request) call(at core.Instant, snap *core.Snapshot) {
	defer func() { r.panicked = recover() }()
	r.err = r.fn(at, snap)
}

func (s *Store) run(ctx context.Context, batch []*request) {
	if s.closed {
		fail(batch, core.ErrStoreClosed)
		return
	}
	if len(batch) > 1 {
		ctx = context.WithoutCancel(ctx) // the others have not given up
	}
	if s.alone == nil || s.mayReturn() {
		trouble := s.runShared(ctx, batch)
		if trouble == nil {
			return
		}
		s.goAlone(trouble, s.lastSeen())
	}
	if s.alone.store != nil {
		s.alone.runThere(ctx, batch)
		return
	}
	now := s.opts.Now()
	now.Parts = s.alone.parts
	for _, r := range batch {
		r.call(now, &s.alone.Snapshot)
	}
}

func fail(batch []*request, err error) {
	for _, r := range batch {
		r.err = err
	}
}
