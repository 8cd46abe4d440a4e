// Package shared is a store for several processes over any [Backend]. It handles lock timeouts, working alone, the
// return to the shared state, damage, versions and warnings for all backends.
package shared

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/anivault/anivault/internal/lockfile"
	"github.com/anivault/anivault/ratelimit/internal/core"
)

// Options are the settings of a [Store]. The zero value suits most programs.
type Options struct {
	Place string // the folder or address of the backend, for warnings
	// Fallback is the store to use while a [Coordinator] can't be used, shared by all processes of this machine; nil: in
	// memory. Close closes it if it is an [io.Closer].
	Fallback  core.Store
	Processes int                 // number of processes to assume if the backend can't be used and can't count them; 0: 2
	Patience  time.Duration       // how long a process waits for an update before it continues alone; 0: 250 ms
	Now       func() core.Instant // the current time while the process is alone; nil: [core.SystemInstant]
	// OnWarning gets each [*StoreWarning], with no lock held, so it may use the store. Nil drops them.
	OnWarning func(error)
}

const (
	defaultProcesses = 2
	// DefaultPatience is how long a process waits for an update before it continues alone.
	DefaultPatience = 250 * time.Millisecond
	// RetryEvery is how often a store that is alone tries the shared state again.
	RetryEvery = time.Second
	// batchThreshold is the duration of an Exchange above which the next one serves all waiting callers. Below it each
	// caller does its own, because waking the others takes tens of milliseconds on a busy machine, so their requests would
	// arrive in the next window.
	batchThreshold = 5 * time.Millisecond
)

// Store is a [core.Store] for several processes over a [Backend]. It is a [core.Liveness] and a [core.Sharing] as well,
// and safe for concurrent use.
//
// It never fails because of the backend: trouble is a warning, and the process continues alone, with its share of the
// limits ([core.Instant.Parts]), until the backend works again. Then it merges what it did alone. If Exchange is slow,
// waiting callers share one.
type Store struct {
	liveness    // the backend's
	backend     Backend
	coordinator Coordinator // nil: the backend is local
	owner       string
	opts        Options

	turn    chan struct{} // holds a token while a caller has the turn
	mu      sync.Mutex
	waiting []*request // for the next Exchange, in order of arrival; guarded by mu

	// The fields below belong to the caller that has the turn.

	closed       bool
	lastDuration time.Duration // of the last Exchange
	alone        *detached     // nil: the shared state is in use
	willRejoin   bool          // a timer will call rejoin
	warnings     warningLog

	snap       core.Snapshot
	decoded    bool      // snap is the decoded knownBytes
	knownBytes []byte    // the newest bytes of the shared state
	spareBytes []byte    // reused for the next encoded snapshot
	hasSeen    bool      // this process has seen a shared state
	seenAt     time.Time // when this process first saw knownBytes
	hasWritten bool

	beforeLoss   *core.Snapshot // the last snapshot before a loss; nil: no loss, or it is restored
	stalledSince core.Stamp     // start of the last update if it took longer than Patience; 0: none
	episodes     uint64         // how often this process went alone, from a random start
}

type liveness = core.Liveness // gives Store its methods without an exported field

type request struct {
	fn       func(core.Instant, *core.Snapshot) error
	err      error
	panicked any
	done     chan struct{} // gets a value when another caller has run it
}

// New returns a store over a backend. Close closes a backend that is an [io.Closer].
func New(b Backend, opts Options) *Store {
	if opts.Now == nil {
		opts.Now = core.SystemInstant
	}
	if opts.OnWarning == nil {
		opts.OnWarning = func(error) {}
	}
	opts.Processes = cmp.Or(max(opts.Processes, 0), defaultProcesses)
	opts.Patience = cmp.Or(max(opts.Patience, 0), DefaultPatience)
	s := &Store{
		liveness: b, backend: b, owner: b.Owner(), opts: opts, turn: make(chan struct{}, 1), episodes: rand.Uint64() >> 34,
	}
	s.coordinator, _ = b.(Coordinator)
	return s
}

// Pacing returns the backend's Wake and MinAskInterval, zero unless it is a [Waker], and whether several machines share
// the state.
func (s *Store) Pacing() (wake <-chan struct{}, minAskInterval time.Duration, coordinated bool) {
	if w, ok := s.backend.(Waker); ok {
		wake, minAskInterval = w.Wake(), w.MinAskInterval()
	}
	return wake, minAskInterval, s.coordinator != nil
}

// IsolationCause implements [core.Sharing].
func (s *Store) IsolationCause() error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if s.alone == nil {
		return nil
	}
	return s.alone.cause
}

// Close closes the backend and the fallback, which keeps what this process knows. It waits for the current update.
func (s *Store) Close() error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if s.closed {
		return nil
	}
	s.closed = true
	s.leaveToMachine()
	var errs []error
	for _, part := range []any{s.backend, s.opts.Fallback} {
		if c, ok := part.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}

// Update implements [core.Store]. Its errors are those of fn and of ctx, and [core.ErrStoreClosed].
func (s *Store) Update(ctx context.Context, fn func(now core.Instant, s *core.Snapshot) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r := &request{fn: fn, done: make(chan struct{}, 1)}
	select {
	case s.turn <- struct{}{}:
		return s.leadBatch(ctx, r, false)
	default:
	}
	s.mu.Lock()
	s.waiting = append(s.waiting, r)
	s.mu.Unlock()
	select {
	case s.turn <- struct{}{}:
		return s.leadBatch(ctx, r, true)
	case <-r.done:
	case <-ctx.Done():
		if s.withdraw(r) {
			return ctx.Err()
		}
		<-r.done // another caller is running it
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

// leadBatch runs the update of r and, if the backend is slow, all waiting ones. It holds the turn and releases it.
func (s *Store) leadBatch(ctx context.Context, r *request, waited bool) error {
	select {
	case <-r.done: // another caller has just run it
		<-s.turn
		return r.result()
	default:
	}
	var batch []*request
	if s.lastDuration >= batchThreshold || s.coordinator != nil {
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
	warnings := s.warnings.pending
	s.warnings.pending = nil
	for _, other := range batch {
		if other != r {
			other.done <- struct{}{}
		}
	}
	<-s.turn
	for _, w := range warnings {
		s.opts.OnWarning(w)
	}
	return r.result()
}

// result returns the result of Update. A panic of fn continues in the caller's goroutine.
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
		ctx = context.WithoutCancel(ctx) // the other callers have not given up
	}
	if s.alone == nil || s.shouldRetryShared() {
		trouble := s.runShared(ctx, batch)
		if trouble == nil {
			return
		}
		s.goAlone(trouble, s.lastSnapshot())
	}
	if s.coordinator != nil && !s.willRejoin {
		s.willRejoin = true
		time.AfterFunc(RetryEvery/4, s.rejoin)
	}
	if s.alone.fallback != nil {
		s.alone.runOnFallback(ctx, batch)
		return
	}
	now := s.opts.Now()
	now.Parts, now.Alone = s.alone.parts, s.alone.Isolation
	for _, r := range batch {
		r.call(now, &s.alone.Snapshot)
	}
}

// rejoin returns to the shared state if it works again, even if this process asks for nothing more.
func (s *Store) rejoin() {
	s.turn <- struct{}{}
	s.willRejoin = false
	<-s.turn
	_ = s.Update(context.Background(), func(at core.Instant, _ *core.Snapshot) error {
		if at.Alone != nil {
			return core.ErrUnchanged
		}
		return nil
	})
}

func fail(batch []*request, err error) {
	for _, r := range batch {
		r.err = err
	}
}

// Backend keeps the bytes of one snapshot for several processes, and knows which of them live. It has no policy: a
// [Store] works the same over all backends. A Backend may implement [Waker], [Leaver], [Quarantine],
// [Coordinator] and io.Closer as well.
type Backend interface {
	core.Liveness
	// Exchange replaces old by the result of change in one atomic step. change is pure; Exchange may call it several
	// times, and the last call counts. It gets
	//   - old nil if there are no bytes yet,
	//   - old nil and at.Lost if the bytes can't be trusted, and
	//   - old and at.Lost if newer bytes may be missing.
	// It returns the bytes to write, nil for none. If it returns [ErrDamaged], Exchange calls it again with nil and
	// at.Lost; any other error ends Exchange, which returns it. Exchange keeps a copy of damaged bytes before it replaces
	// them. The bytes on both sides are valid until change or Exchange returns.
	//
	// Other errors are [ErrBusy], [ErrNewer], ctx's and the system's. After one of them nothing was written, as far as
	// is known.
	Exchange(ctx context.Context, change func(at core.Instant, old []byte) (next []byte, err error)) error
}

// Waker is an optional interface of a [Backend] whose updates are expensive, and that is notified of changes.
type Waker interface {
	// Wake returns a channel that gets a value when a request of this process may be next; nil if it never does.
	Wake() <-chan struct{}
	// MinAskInterval returns the shortest time between two tries of a waiting request that isn't woken.
	MinAskInterval() time.Duration
}

// Leaver is an optional interface of a [Backend] that can be read while Exchange fails.
type Leaver interface {
	// Leave is called when this process continues alone. Other processes still count it as living. It returns the
	// newest available bytes, nil if there are none. It must not wait.
	Leave() []byte
}

// Coordinator is an optional interface of a [Backend] on a server that several machines share.
type Coordinator interface {
	// Machines returns the number of machines that these processes and this one run on.
	Machines(owners []string) int
	// MayReconnect reports whether to try Exchange again after a failure. It must not wait.
	MayReconnect() bool
	// LostAt returns when the server stopped answering, after Exchange has failed; zero means just now. What the server
	// granted to others since then is unknown.
	LostAt() time.Time
	// FirstMissed returns when the server first failed to answer since the last write, although no Exchange has failed;
	// zero if it always answered. Other machines may have worked alone meanwhile.
	FirstMissed() time.Time
	// WakeNext is called each time before change returns bytes to write. After the write, the server must wake owner's
	// waiting request after the delay in; owner "" means nobody.
	WakeNext(owner string, in time.Duration)
}

// Quarantine is an optional interface of a [Backend] that keeps a copy of damaged bytes.
type Quarantine interface {
	// DamagedCopy returns where the latest copy is, and why the bytes were damaged.
	DamagedCopy() (place string, cause error)
}

var (
	// ErrBusy means that another process held the lock for longer than Patience.
	ErrBusy = lockfile.ErrBusy
	// ErrNewer means that a newer version of the program has written the bytes.
	ErrNewer = errors.New("limiter state was written by a newer version")
	// ErrDamaged means that the bytes can't be decoded.
	ErrDamaged = errors.New("limiter state is damaged")
)
