package ratelimit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/anivault/anivault/ratelimit/internal/core"
)

// Config configures a Limiter.
type Config struct {
	Store    Store          // required; all limiters with the same store share one upstream
	Tuning   Tuning         // zero fields mean the defaults
	Offline  bool           // this process must not send; never written to the store
	Rand     func() float64 // draws in [0,1) for all jitter; nil: math/rand/v2
	Hooks    Hooks
	Queue    Queue // orders this process's requests; nil: first come, first served
	Accounts []Account
}

// Queue is a process's own queue in front of the shared one. It should let at most Tuning.Concurrency requests in at a
// time. Each request inside holds a ticket of the shared queue or a permit. Enter reads what it needs to know about the
// request, such as a priority, from the context.
type Queue interface {
	// Enter returns nil when the request may ask for permission, or ctx's error, or an error that Acquire then returns. A
	// retry calls it again.
	Enter(ctx context.Context) error
	// Granted means that one of the requests inside now has its permit.
	Granted()
	// Leave frees the place of one request; granted is true if Granted was called for it.
	Leave(granted bool)
}

// Limiter decides when the requests of this process may be sent, together with all other processes that use the same
// store. Most callers want [Transport]; others use Acquire and Permit.Done. A Limiter is safe for concurrent use and
// has no goroutines of its own.
type Limiter struct {
	store          Store
	liveness       core.Liveness // nil: all users of the store are in this process
	processID      string
	ownerID        string
	wake           <-chan struct{} // the store sends when this process should ask again; nil if it never does
	minAskInterval time.Duration   // 0: no minimum
	ownTuning      atomic.Pointer[Tuning]
	accounts       atomic.Pointer[[]Account]
	offline        bool
	randFloat      func() float64
	hooks          Hooks
	wantsGauges    bool // hooks want gauges

	coordinated bool // several machines share the store, so breaker and ceiling are used
	breaker     localBreaker
	ceiling     localCeiling

	localQueue        localQueue
	queue             Queue       // replaces localQueue if not nil
	contended         atomic.Bool // other processes had requests in the shared queue at the last ask
	slotFreed         broadcaster
	stateChanged      broadcaster
	lifetime          context.Context
	endLifetime       context.CancelFunc
	effectiveTuning   atomic.Pointer[core.EffectiveTuning]
	state             atomic.Uint32 // State, as last seen
	lastReap          atomic.Int64  // ns since started
	started           time.Time
	closed            atomic.Bool
	hasUpdated        atomic.Bool // the store may know of this limiter
	unreturnedPermits atomic.Int64
	lastGoodPermit    atomic.Uint64 // number of the permit whose request was answered last
}

// New returns a limiter. It returns a *TuningError for an invalid tuning.
func New(c Config) (*Limiter, error) {
	if c.Store == nil {
		return nil, errors.New("make limiter: no store")
	}
	c.Tuning = c.Tuning.WithDefaults()
	if err := c.Tuning.Validate(); err != nil {
		return nil, fmt.Errorf("make limiter: %w", err)
	}
	l := &Limiter{
		store: c.Store, offline: c.Offline, randFloat: c.Rand, hooks: c.Hooks, queue: c.Queue, started: time.Now(),
	}
	l.ownTuning.Store(&c.Tuning)
	if err := l.SetAccounts(c.Accounts); err != nil {
		return nil, fmt.Errorf("make limiter: %w", err)
	}
	l.lifetime, l.endLifetime = context.WithCancel(context.Background())
	l.wantsGauges = c.Hooks.OnTransition != nil || c.Hooks.OnAnswer != nil || c.Hooks.OnWait != nil
	if l.randFloat == nil {
		l.randFloat = rand.Float64
	}
	if live, ok := c.Store.(core.Liveness); ok {
		l.liveness, l.processID = live, live.Owner()
		l.ownerID = core.NewOwnerOf(l.processID)
	} else {
		l.ownerID = core.NewOwner()
	}
	if s, ok := c.Store.(interface {
		Pacing() (<-chan struct{}, time.Duration, bool)
	}); ok {
		l.wake, l.minAskInterval, l.coordinated = s.Pacing()
	}
	l.state.Store(uint32(Normal))
	l.lastReap.Store(-int64(time.Hour))
	l.effectiveTuning.Store(&core.EffectiveTuning{Tuning: c.Tuning})
	l.localQueue.resize(c.Tuning.Concurrency)
	return l, nil
}

// Tuning returns the tuning in force at the last access to the store: the configured one with operators' overrides,
// divided among processes that cannot see each other.
func (l *Limiter) Tuning() Tuning { return l.effectiveTuning.Load().Tuning }

// Retune replaces this process's own tuning for later requests. It rejects an invalid one with a *TuningError.
func (l *Limiter) Retune(t Tuning) error {
	t = t.WithDefaults()
	if err := t.Validate(); err != nil {
		return fmt.Errorf("tune limiter: %w", err)
	}
	l.ownTuning.Store(&t)
	return nil
}

// Acquire waits until a request may be sent and returns its permit; give it back with Done, Fail or Report. It waits at
// most Tuning.MaxWait, and fails at once if that is certainly not enough. A Reservation in ctx (see With) pays for the
// request.
//
// Errors: *BlockedError, *AcquireTimeoutError, *BudgetError, ErrClosed, an error of the store, or ctx's. If ctx's
// deadline ended the wait, the *AcquireTimeoutError unwraps to ctx's error.
func (l *Limiter) Acquire(ctx context.Context) (*Permit, error) {
	return newCall(ctx, l, 0).acquire(ctx)
}

// Contended reports whether other processes had requests in the shared queue at this process's last ask; with several
// machines it is always true. If so, this process's share of the rate depends on how many requests it has queued there.
func (l *Limiter) Contended() bool { return l.coordinated || l.contended.Load() }

// Blocked returns the *BlockedError that Acquire would return at once, nil if it would wait. A caller with its own
// queue calls it before a request waits there.
func (l *Limiter) Blocked(ctx context.Context) error {
	if l.offline {
		return &BlockedError{Block{State: CacheOnly, Cause: ReasonOffline}}
	}
	block, refused, _, err := newCall(ctx, l, 0).blocked(ctx)
	if err == nil && refused {
		return &BlockedError{block}
	}
	return err
}

// Close ends all waiting, leaves the shared queue and releases reservations. Permits not yet given back stay valid.
// Waiting and later calls of Acquire return ErrClosed.
func (l *Limiter) Close() error {
	if l.closed.Swap(true) {
		return nil
	}
	l.endLifetime()
	l.ceiling.mu.Lock()
	if l.ceiling.renewalTimer != nil {
		l.ceiling.renewalTimer.Stop()
	}
	l.ceiling.mu.Unlock()
	if l.offline || !l.hasUpdated.Load() {
		return nil
	}
	err := l.update(context.Background(), always(func(at Instant, s *Snapshot) { s.Leave(at, l.ownerID) }))
	if err != nil {
		return fmt.Errorf("close limiter: %w", err)
	}
	return nil
}

func (l *Limiter) update(ctx context.Context, fn func(Instant, *Snapshot) error) error {
	l.hasUpdated.Store(true)
	return l.store.Update(ctx, fn)
}

// Permit is the right to send one request.
type Permit struct {
	l           *Limiter
	place       place
	leaseTimer  *time.Timer // gives the place back if the caller forgets to
	permitID    core.PermitID
	attempt     int
	firstNumber uint64 // the number of the first try's permit
	isProbe     bool   // granted in HalfOpen
	causedBlock bool   // the response to its request caused Sleep or CacheOnly
	choice      Choice
	grantedAt   time.Time
	hasBudget   bool
	reservation *Reservation
	reported    atomic.Bool
}

// Pass returns the permit's id.
func (p *Permit) Pass() core.PermitID { return p.permitID }

// Choice returns the account and key for the request, the zero Choice if the limiter has no accounts.
func (p *Permit) Choice() Choice { return p.choice }

// Done gives the permit back after a successful request. Only the first call of Done, Fail or Report counts.
func (p *Permit) Done() { p.Report(Event{Outcome: OK, Status: http.StatusOK}) }

// Fail gives the permit back after a failed request and classifies err like [ClassifyStatus]: a cancelled context is no
// evidence about the upstream, most other errors are Network. Fail(nil) is Done.
func (p *Permit) Fail(err error) {
	if err == nil {
		p.Done()
		return
	}
	p.Report(Event{Outcome: classifyError(err)})
}

// Report gives the permit back with details such as a 429. Report(Event{}) is no evidence about the upstream; defer it
// to give the permit back after a panic.
func (p *Permit) Report(e Event) {
	if p.reported.Swap(true) {
		return
	}
	p.l.unreturnedPermits.Add(-1)
	p.leaseTimer.Stop()
	e.Latency, e.Attempt = cmp.Or(e.Latency, time.Since(p.grantedAt)), cmp.Or(e.Attempt, p.attempt)
	e.First = p.firstNumber
	p.l.record(p, e)
}

func (p *Permit) leave() {
	if p.l.leave(&p.place) {
		p.l.slotFreed.ring()
	}
}

func (l *Limiter) record(p *Permit, e Event) {
	defer p.leave() // a hook may panic
	var r struct {
		core.Report
		core.RecordResult
		update
	}
	r.Report = core.Report{Owner: l.ownerID, Pass: p.permitID, Event: e, Draw: l.randFloat()}
	if l.coordinated {
		r.Event = l.recordOutcome(e)
		l.ceiling.mu.Lock()
		delete(l.ceiling.renewed, p.permitID)
		l.ceiling.mu.Unlock()
	}
	r.KeepBudget = e.Status == 0 && p.hasBudget && p.reservation.putBack()
	r.step = func(at Instant, s *Snapshot, t *Tuning) (Transition, bool, error) {
		r.Report.Tuning = t
		r.RecordResult = s.Record(at, r.Report)
		if l.closed.Load() {
			s.Leave(at, l.ownerID)
		}
		return r.RecordResult.Transition, r.RecordResult.Transitioned, nil
	}
	if e.Outcome == OK {
		l.lastGoodPermit.Store(p.permitID.Number)
	}
	err := l.updateStore(context.Background(), &r.update)
	p.leave()
	p.causedBlock = r.Transitioned && (r.Transition.To == Sleep || r.Transition.To == CacheOnly)
	if err != nil {
		l.warn(fmt.Errorf("record answer: %w", err))
	}
	if l.hooks.OnAnswer != nil {
		l.hooks.OnAnswer(Answer{Event: e, Choice: p.choice, Late: r.Late, Pause: r.Pause, Keys: r.Keys, Gauges: r.gauges})
	}
}

type update struct {
	// step returns the transition that it has made, if any. It may be called several times; the last call counts.
	step func(Instant, *Snapshot, *Tuning) (tr Transition, moved bool, err error)

	tuning       *core.EffectiveTuning
	transition   Transition
	transitioned bool
	freed        FreedReservations
	state        State
	gauges       Gauges // zero unless wantsGauges
}

func (l *Limiter) updateStore(ctx context.Context, u *update) error {
	u.gauges = Gauges{}
	err := l.update(ctx, func(at Instant, s *Snapshot) (err error) {
		u.tuning = l.tuningFor(at, s)
		t := &u.tuning.Tuning
		u.freed = s.FreeOrphanedReservations(t)
		if u.transition, u.transitioned, err = u.step(at, s, t); err != nil {
			return err
		}
		u.state = s.State()
		if l.wantsGauges {
			u.gauges = s.Gauges(t)
		}
		return nil
	})
	if err != nil {
		u.gauges = Gauges{}
		return err
	}
	l.state.Store(uint32(u.state))
	l.adopt(u.tuning)
	if u.transitioned {
		l.stateChanged.ring()
		if l.hooks.OnTransition != nil {
			u.transition.Gauges = u.gauges
			l.hooks.OnTransition(u.transition)
		}
	}
	if u.freed.Requests > 0 && l.hooks.OnReservationsFreed != nil {
		l.hooks.OnReservationsFreed(u.freed)
	}
	return nil
}

// tuningFor returns the tuning in force for a snapshot. The caller must pass it to adopt after the update.
func (l *Limiter) tuningFor(at Instant, s *Snapshot) *core.EffectiveTuning {
	return s.EffectiveTuning(at, *l.ownTuning.Load(), l.effectiveTuning.Load())
}

func (l *Limiter) adopt(t *core.EffectiveTuning) {
	if t == l.effectiveTuning.Load() {
		return
	}
	before := l.effectiveTuning.Swap(t)
	l.localQueue.resize(t.Concurrency)
	if l.hooks.OnTuned != nil {
		notifyTuned(before, t, l.hooks.OnTuned)
	}
	for _, err := range t.Problems {
		l.warn(err)
	}
}

// notifyTuned calls notify for each setting whose value changes because an operator's override begins or ends.
func notifyTuned(before, now *core.EffectiveTuning, notify func(Tuned)) {
	for _, f := range Fields() {
		is := func(o Override) bool { return o.Key == f.Key }
		i := slices.IndexFunc(now.Overrides, is)
		if i < 0 && !slices.ContainsFunc(before.Overrides, is) {
			continue
		}
		change := Tuned{Key: f.Key, From: f.Get(before.Tuning), To: f.Get(now.Tuning), Ended: i < 0}
		if i >= 0 {
			change.Until = now.Overrides[i].Until
		}
		if change.From != change.To {
			notify(change)
		}
	}
}

func (l *Limiter) warn(err error) {
	if l.hooks.OnWarning != nil {
		l.hooks.OnWarning(err)
	}
}

// SetAccounts replaces the accounts for this process's later requests. Use none if requests already have a key.
func (l *Limiter) SetAccounts(list []Account) error {
	if err := core.CheckAccounts(list); err != nil {
		return err
	}
	list = slices.Clone(list)
	l.accounts.Store(&list)
	return nil
}

func (l *Limiter) ownAccounts() []Account { return *l.accounts.Load() }

// Rationed reports whether there is a budget or an account has a quota, so that requests may need a reservation.
func (l *Limiter) Rationed() bool {
	return l.effectiveTuning.Load().Budget.On() ||
		slices.ContainsFunc(l.ownAccounts(), func(a Account) bool { return a.Quota.On() })
}

// Hooks are called without locks by the goroutine that caused the event, also concurrently. Nil hooks are skipped.
type Hooks struct {
	OnTransition        func(Transition)        // the state has changed
	OnAnswer            func(Answer)            // a request has ended
	OnWait              func(WaitInfo)          // a request starts or stops waiting for something that may take long
	OnWarning           func(error)             // something went wrong and was handled
	OnTuned             func(Tuned)             // a setting's value changes because an operator's override begins or ends
	OnReservationsFreed func(FreedReservations) // abandoned reservations were freed
}

// Tuned is a change of a setting that an operator made, or the end of such a change.
type Tuned struct {
	Key      string
	From, To string    // the values in force, as core.Field.Get writes them
	Ended    bool      // the override has ended; the process's own value applies again
	Until    time.Time // when the override ends by itself; zero: when an operator ends it
}

// Answer describes a finished request.
type Answer struct {
	Event
	Choice                  // the account and key it used
	Late   bool             // the state has changed since the request was sent, so the answer isn't evidence
	Keys   []core.KeyChange // keys that this answer made usable or unusable
	Pause  time.Duration    // how long all processes wait from now; 0: no pause
	Gauges Gauges           // after this answer
}

// WaitInfo describes a wait that begins or ends.
type WaitInfo struct {
	Block
	Attempt int           // of the request, from 1
	Ended   bool          // false at the beginning
	Waited  time.Duration // at the end: how long it took
	Gauges  Gauges
}
