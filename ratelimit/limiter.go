package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/anivault/anivault/ratelimit/internal/core"
	"github.com/anivault/anivault/ratelimit/internal/shared"
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
// time. Each of them has a ticket of the shared queue or a permit. The request's context carries what the queue needs
// to know about it.
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
	store       Store
	live        core.Liveness   // nil: no process can die unnoticed
	process     string          // this process's id in live
	owner       string          // this limiter's id in the snapshot
	wake        <-chan struct{} // the store's; nil if it wakes nobody
	nap         time.Duration   // shortest time between two asks for a permit
	own         atomic.Pointer[Tuning]
	accounts    atomic.Pointer[[]Account] // nil: none were ever set
	offline     bool
	draw        func() float64
	hooks       Hooks
	wantsGauges bool // hooks want gauges

	coordinated bool         // several machines share the store
	breaker     localBreaker // these two only then
	ceiling     localCeiling

	localQueue localQueue
	queue      Queue       // in place of localQueue; may be nil
	contended  atomic.Bool // other processes were in the shared queue
	freed      broadcaster // a slot of this process is free
	moved      broadcaster // the state has changed
	life       context.Context
	end        context.CancelFunc
	tuned      atomic.Pointer[core.EffectiveTuning]
	state      atomic.Uint32 // State, as last seen
	reaped     atomic.Int64  // when dead processes were last looked for, ns since start
	start      time.Time
	closed     atomic.Bool
	out        atomic.Int64 // permits that have not been given back
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
		store: c.Store, offline: c.Offline, draw: c.Rand, hooks: c.Hooks, queue: c.Queue, start: time.Now(),
	}
	l.own.Store(&c.Tuning)
	if len(c.Accounts) > 0 {
		if err := l.SetAccounts(c.Accounts); err != nil {
			return nil, fmt.Errorf("make limiter: %w", err)
		}
	}
	l.life, l.end = context.WithCancel(context.Background())
	l.wantsGauges = c.Hooks.OnTransition != nil || c.Hooks.OnAnswer != nil || c.Hooks.OnWait != nil
	if l.draw == nil {
		l.draw = rand.Float64
	}
	if live, ok := c.Store.(core.Liveness); ok {
		l.live, l.process = live, live.Owner()
		l.owner = core.NewOwnerOf(l.process)
	} else {
		l.owner = core.NewOwner()
	}
	if w, ok := c.Store.(shared.Waker); ok {
		l.wake = w.Wake()
	}
	if s, ok := c.Store.(interface{ Coordinated() bool }); ok {
		l.coordinated = s.Coordinated()
	}
	if p, ok := c.Store.(shared.Pacer); ok {
		l.nap = p.Nap()
	}
	l.state.Store(uint32(Normal))
	l.reaped.Store(-int64(time.Hour))
	l.tuned.Store(&core.EffectiveTuning{Tuning: c.Tuning})
	l.localQueue.resize(c.Tuning.Concurrency)
	return l, nil
}

// Tuning returns the tuning in force at the last access to the store: the configured one with operators' overrides,
// divided among processes that cannot see each other.
func (l *Limiter) Tuning() Tuning { return l.tuned.Load().Tuning }

// Retune replaces this process's own tuning for later requests. For an invalid tuning it returns a *TuningError and
// keeps the old one.
func (l *Limiter) Retune(t Tuning) error {
	t = t.WithDefaults()
	if err := t.Validate(); err != nil {
		return fmt.Errorf("tune limiter: %w", err)
	}
	l.own.Store(&t)
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
// machines it is always true. Then this process's share of the rate depends on how many requests it has queued there.
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
	l.end()
	l.ceiling.mu.Lock()
	if l.ceiling.timer != nil {
		l.ceiling.timer.Stop()
	}
	l.ceiling.mu.Unlock()
	if l.offline {
		return nil
	}
	err := l.store.Update(context.Background(), func(at Instant, s *Snapshot) error {
		s.Leave(at, l.owner)
		return nil
	})
	if err != nil {
		return fmt.Errorf("close limiter: %w", err)
	}
	return nil
}

// Permit is the right to send one request.
type Permit struct {
	l           *Limiter
	place       place
	lease       *time.Timer // gives the place back when it fires
	pass        core.PermitID
	attempt     int
	first       uint64 // the number of the first try's permit
	probe       bool   // granted in HalfOpen
	stopped     bool   // its response caused Sleep or CacheOnly
	choice      Choice
	granted     time.Time
	booked      bool // it has used one request of the budget
	reservation *Reservation
	done        atomic.Bool
}

// Pass returns the permit's id.
func (p *Permit) Pass() core.PermitID { return p.pass }

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
	if p.done.Swap(true) {
		return
	}
	p.l.out.Add(-1)
	p.lease.Stop()
	if e.Latency == 0 {
		e.Latency = time.Since(p.granted)
	}
	if e.Attempt == 0 {
		e.Attempt = p.attempt
	}
	e.First = p.first
	p.l.record(p, e)
}

func (p *Permit) leave() {
	if p.l.leave(&p.place) {
		p.l.freed.ring()
	}
}

func (l *Limiter) record(p *Permit, e Event) {
	defer p.leave() // if a hook panics
	var r struct {
		core.Report
		core.RecordResult
		update
	}
	r.Report = core.Report{Owner: l.owner, Pass: p.pass, Event: e, Draw: l.draw()}
	if l.coordinated {
		r.Event = l.recordOutcome(e)
		l.release(p.pass)
	}
	r.KeepBudget = e.Status == 0 && p.booked && p.reservation.put()
	r.step = func(at Instant, s *Snapshot, t *Tuning) (Transition, bool, error) {
		r.Report.Tuning = t
		r.RecordResult = s.Record(at, r.Report)
		if l.closed.Load() {
			s.Leave(at, l.owner)
		}
		return r.RecordResult.Transition, r.RecordResult.Transitioned, nil
	}
	err := l.do(context.Background(), &r.update)
	p.leave()
	p.stopped = r.Transitioned && (r.Transition.To == Sleep || r.Transition.To == CacheOnly)
	if err != nil {
		l.warn(fmt.Errorf("record answer: %w", err))
	}
	if l.hooks.OnAnswer != nil {
		l.hooks.OnAnswer(Answer{
			Event: e, Choice: p.choice, Late: r.Late, Pause: r.Pause, Keys: r.Keys, Gauges: r.gauges,
		})
	}
}

type update struct {
	// step returns the transition that it has made, if any. It may be called several times; the last call counts.
	step func(Instant, *Snapshot, *Tuning) (tr Transition, moved bool, err error)

	tuning     *core.EffectiveTuning
	transition Transition
	moved      bool
	orphans    Orphans
	state      State
	gauges     Gauges // if a hook wants them
}

func (l *Limiter) do(ctx context.Context, u *update) error {
	u.gauges = Gauges{}
	err := l.store.Update(ctx, func(at Instant, s *Snapshot) (err error) {
		u.tuning = l.tune(at, s)
		t := &u.tuning.Tuning
		u.orphans = s.FreeOrphans(t)
		if u.transition, u.moved, err = u.step(at, s, t); err != nil {
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
	if u.moved {
		l.moved.ring()
		if l.hooks.OnTransition != nil {
			u.transition.Gauges = u.gauges
			l.hooks.OnTransition(u.transition)
		}
	}
	if u.orphans.Requests > 0 && l.hooks.OnOrphans != nil {
		l.hooks.OnOrphans(u.orphans)
	}
	return nil
}

// tune returns the tuning in force for a snapshot. The caller must pass it to adopt after the update.
func (l *Limiter) tune(at Instant, s *Snapshot) *core.EffectiveTuning {
	return s.EffectiveTuning(at, *l.own.Load(), l.tuned.Load())
}

func (l *Limiter) adopt(t *core.EffectiveTuning) {
	if t == l.tuned.Load() {
		return
	}
	before := l.tuned.Swap(t)
	l.localQueue.resize(t.Concurrency)
	if l.hooks.OnTuned != nil {
		notifyTuned(before, t, l.hooks.OnTuned)
	}
	for _, err := range t.Problems {
		l.warn(err)
	}
}

// notifyTuned calls tell for each setting whose value changes because an operator's override begins or ends.
func notifyTuned(before, now *core.EffectiveTuning, tell func(Tuned)) {
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
			tell(change)
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

func (l *Limiter) ownAccounts() []Account {
	if list := l.accounts.Load(); list != nil {
		return *list
	}
	return nil
}

// Rationed reports whether there is a budget or an account has a quota, so that requests may need a reservation.
func (l *Limiter) Rationed() bool {
	return l.tuned.Load().Budget.On() || slices.ContainsFunc(l.ownAccounts(), func(a Account) bool { return a.Quota.On() })
}
