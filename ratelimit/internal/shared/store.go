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
	// Place is the folder or address of the backend, for warnings.
	Place string
	// Fallback is where the process goes on while a [Coordinator] can't be used: the store that all processes of this
	// machine share. Nil: in memory. Close closes one that is an [io.Closer].
	Fallback core.Store
	// Processes is by how much everything is divided when the backend can't be used at all and nobody knows who else
	// is there; 0 means 2.
	Processes int
	// Patience is how long the others wait for an update of this process before they go on alone; 0 means 250 ms.
	Patience time.Duration
	// Now supplies the present moment while the process is on its own; nil means [SystemInstant].
	Now func() core.Instant
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

	// Everything below belongs to the one whose turn it is.
	closed bool
	batch  []*request    // of this Exchange
	took   time.Duration // by the last Exchange
	change func(core.Instant, []byte) ([]byte, error)

	snap    core.Snapshot
	known   []byte    // the newest bytes that were the shared state
	seenAt  time.Time // when this process first saw them
	next    []byte    // what change has returned
	decoded bool      // snap is what known says
	seen    bool      // there was a shared state
	wrote   bool      // this process has written the shared state

	decision decision       // of this Exchange
	before   *core.Snapshot // what was known before something was lost; nil: nothing was, or it is written
	peers    peers
	stalled  core.Stamp // when an update began that took longer than the others' patience; 0: none

	alone    *detached // nil: in contact
	trouble  error     // while alone: why
	retryAt  time.Duration
	episodes uint64 // of being alone
	notes    notes
}

// decision is what the last call of change in an Exchange has made of the shared state.
type decision struct {
	began    time.Time // when change was first called; zero: not yet
	keep     bool      // there is something to keep
	refuses  bool      // it refuses the place to several machines
	lost     bool      // what it was made of may have lacked something
	recalled bool      // what was lost was brought back
}

// request is one call of Update.
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
	s.change = s.exchange
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
	return s.trouble
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

// withdraw takes a request back. It reports false if its Exchange has begun.
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
	s.batch = s.batch[:0]
	if s.took >= shareFrom || s.coordinator != nil {
		s.mu.Lock()
		s.batch = append(s.batch, s.waiting...)
		clear(s.waiting)
		s.waiting = s.waiting[:0]
		s.mu.Unlock()
	} else if waited {
		s.withdraw(r)
	}
	if !slices.Contains(s.batch, r) {
		s.batch = append(s.batch, r)
	}
	s.run(ctx)
	warnings := s.notes.take()
	for _, other := range s.batch {
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

// failed reports whether fn has ended in a way that keeps nothing of it.
func (r *request) failed() bool {
	return r.panicked != nil || r.err != nil && !errors.Is(r.err, core.ErrUnchanged)
}

func (r *request) call(at core.Instant, snap *core.Snapshot) {
	defer func() { r.panicked = recover() }()
	r.err = r.fn(at, snap)
}

// run does the updates of the batch: on the shared state or, where that can't be reached, alone.
func (s *Store) run(ctx context.Context) {
	if s.closed {
		s.fail(core.ErrStoreClosed)
		return
	}
	if len(s.batch) > 1 {
		ctx = context.WithoutCancel(ctx) // the others have not given up
	}
	if s.alone == nil || s.mayReturn() {
		trouble := s.runShared(ctx)
		if trouble == nil {
			return
		}
		s.goAlone(trouble, s.lastSeen())
	}
	if s.alone.store != nil {
		s.runThere(ctx)
		return
	}
	now := s.opts.Now()
	now.Parts = s.alone.parts
	for _, r := range s.batch {
		r.call(now, &s.alone.Snapshot)
	}
}

func (s *Store) fail(err error) {
	for _, r := range s.batch {
		r.err = err
	}
}

// runShared does the updates on the shared state. It returns why that can't be reached.
func (s *Store) runShared(ctx context.Context) (trouble error) {
	s.peers = peers{}
	if s.alone != nil {
		s.alone.look(ctx)
	}
	for range maxLooks {
		s.decision = decision{}
		start := time.Now()
		err := s.backend.Exchange(ctx, s.change)
		switch {
		case errors.Is(err, errWhoLives):
			s.look()
			continue
		case err != nil && s.decision.keep && !s.decision.refuses && s.coordinator == nil:
			s.goAlone(err, &s.snap) // the decisions hold: they were made with the lock held
			return nil
		case err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()):
			s.fail(err)
			return nil
		case err != nil:
			return err
		case s.decision.refuses:
			return errSeveralMachines
		}
		s.written(start)
		return nil
	}
	return errors.New("the limiter's state is replaced all the time")
}

// written notes what follows from an Exchange that has succeeded.
func (s *Store) written(start time.Time) {
	now := time.Now()
	s.took = now.Sub(start)
	s.slow(start, now)
	if !s.decision.keep {
		return
	}
	if s.decision.lost {
		s.noteAside()
	}
	s.noteCoordinator()
	s.known, s.next, s.seenAt = s.next, s.known, now
	s.wrote, s.seen, s.decoded = true, true, true
	s.alone, s.trouble, s.stalled, s.before = nil, nil, 0, nil
	if now.Sub(s.decision.began) >= s.opts.Patience && s.coordinator == nil { // a coordinator takes the turn away instead
		s.stalled = s.snap.Now()
	}
}
