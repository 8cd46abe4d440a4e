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
	Store   Store          // required; all limiters with the same store share one upstream
	Tuning  Tuning         // zero fields mean the defaults
	Offline bool           // this process must not send; never written to the store
	Rand    func() float64 // draws in [0,1) for all jitter; nil: math/rand/v2
	Hooks   Hooks
	Queue   Queue // in whose turn requests of this process ask; nil: first come, first served
	// orders this process's requests; nil: first come, first served
	Accounts []Account
}

// Queue is the queue of one process in front of the shared one. At most Tuning.Concurrency requests should be inside at
// a time: each holds a ticket of the shared queue, or a permit. What a request has to say of itself travels in its
// context.
type Queue interface {
	// Enter returns when the request may ask for permission, or with ctx's error, or with one of its own, which is
	// Acquire's then. A retry enters anew.
	Enter(ctx context.Context) error
	// Granted says that one request inside has its permit: it asks no longer.
	Granted()
	// Leave gives the place of one request back, which was granted or asked still.
	Leave(granted bool)
}

// Limiter lets requests of one process through, together with those of all others that use the same
// store. Most callers want [Transport]; others use Acquire and Permit.Done. A Limiter is safe for concurrent use and
// has no goroutines of its own.
type Limiter struct {
	store    Store
	live     core.Liveness   // nil: no process can die unnoticed
	process  string          // what live calls this process
	owner    string          // this limiter in the snapshot
	wake     <-chan struct{} // of the store; nil: it wakes nobody
	nap      time.Duration   // the shortest between two asks for a turn
	own      atomic.Pointer[Tuning]
	accounts atomic.Pointer[[]Account] // nil: none were ever set
	offline  bool
	draw     func() float64
	hooks    Hooks
	gauged   bool // hooks want gauges

	coordinated bool         // several machines share the store
	breaker     localBreaker // these two only then
	ceiling     localCeiling

	gate      gate
	queue     Queue       // in place of gate; may be nil
	contended atomic.Bool // others stood in the shared queue
	freed     bell        // a slot of this process is free
	moved     bell        // the state has changed
	life      context.Context
	end       context.CancelFunc
	tuned     atomic.Pointer[core.InForce]
	state     atomic.Uint32 // State, as last seen
	reaped    atomic.Int64  // when dead processes were last looked for, ns since start
	start     time.Time
	closed    atomic.Bool
	out       atomic.Int64 // permits that have not been given back
}

// New returns a limiter. It returns a *TuningError for a tuning that cannot be used.
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
	l.gauged = c.Hooks.OnTransition != nil || c.Hooks.OnAnswer != nil || c.Hooks.OnWait != nil
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
	l.tuned.Store(&core.InForce{Tuning: c.Tuning})
	l.gate.resize(c.Tuning.Concurrency)
	return l, nil
}

// Tuning returns the tuning in force when the store was last asked: the configured one
// with what operators have overridden, divided where processes cannot see each other.
func (l *Limiter) Tuning() Tuning { return l.tuned.Load().Tuning }

// Retune replaces the process's own tuning, for what comes from now on. It returns a *TuningError for one that cannot
// be used, and keeps the old one then.
func (l *Limiter) Retune(t Tuning) error {
	t = t.WithDefaults()
	if err := t.Validate(); err != nil {
		return fmt.Errorf("tune limiter: %w", err)
	}
	l.own.Store(&t)
	return nil
}

// Acquire waits until a request may be sent and returns its permit, which has to be given
// back with Done, Fail or Report. It waits for at most Tuning.MaxWait, and not at all if it is
// clear that this is not enough.
//
// Errors: *BlockedError, *AcquireTimeoutError, *BudgetError, ErrClosed, an error of
// the store, or ctx's. An *AcquireTimeoutError is ctx's error as well where ctx's deadline ended the wait.
// A Reservation in ctx (see With) pays for the request.
func (l *Limiter) Acquire(ctx context.Context) (*Permit, error) {
	return newCall(ctx, l, 0).acquire(ctx)
}

// Contended reports whether requests of other processes stood in the shared queue when this process last asked, and
// with several machines always: then its part of the rate is that of its tickets. Else one request that asks is as
// good as many.
func (l *Limiter) Contended() bool { return l.coordinated || l.contended.Load() }

// Blocked returns the *BlockedError that Acquire would return at once, nil if it would wait for its turn. A caller with
// a queue of its own asks before it lets a request wait there.
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

// Close ends all waiting, leaves the shared queue and gives reservations back. Permits that are still out
// stay valid. Waiting and later calls of Acquire return ErrClosed.
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
	lease       *time.Timer // gives the place back
	pass        core.Pass
	attempt     int
	first       uint64 // the number of the first try's permit
	probe       bool   // granted in HalfOpen
	stopped     bool   // its answer has led to Sleep or CacheOnly
	choice      Choice
	granted     time.Time
	booked      bool // it has a request of the budget
	reservation *Reservation
	done        atomic.Bool
}

// Pass names the permit.
func (p *Permit) Pass() core.Pass { return p.pass }

// Choice returns through which account and key the request goes, the zero Choice where the limiter has none.
func (p *Permit) Choice() Choice { return p.choice }

// Done gives the permit back: the request was answered well. Of Done, Fail and Report only the first call counts.
func (p *Permit) Done() { p.Report(Event{Outcome: OK, Status: http.StatusOK}) }

// Fail gives the permit back: the request failed, and err counts as [ClassifyStatus] counts an error. So a cancelled
// context says nothing about the upstream, and most other errors are Network. Without an error Fail is Done.
func (p *Permit) Fail(err error) {
	if err == nil {
		p.Done()
		return
	}
	p.Report(Event{Outcome: classifyError(err)})
}

// Report gives the permit back and says how the request ended, for what is neither Done nor Fail, such as a 429.
// Report(Event{}) says nothing about the upstream. Deferred, it gives the permit back after a panic.
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
		core.Recorded
		update
	}
	r.Report = core.Report{Owner: l.owner, Pass: p.pass, Event: e, Draw: l.draw()}
	if l.coordinated {
		r.Event = l.shareOutcome(e)
		l.release(p.pass)
	}
	r.KeepBudget = e.Status == 0 && p.booked && p.reservation.put()
	r.step = func(at Instant, s *Snapshot, t *Tuning) (Transition, bool, error) {
		r.Report.Tuning = t
		r.Recorded = s.Record(at, r.Report)
		if l.closed.Load() {
			s.Leave(at, l.owner)
		}
		return r.Recorded.Transition, r.Recorded.Moved, nil
	}
	err := l.do(context.Background(), &r.update)
	p.leave()
	p.stopped = r.Moved && (r.Transition.To == Sleep || r.Transition.To == CacheOnly)
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

	tuning     *core.InForce
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
		if l.gauged {
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

// tune returns the tuning in force for a snapshot, which the caller has to adopt after the update.
func (l *Limiter) tune(at Instant, s *Snapshot) *core.InForce {
	return s.InForce(at, *l.own.Load(), l.tuned.Load())
}

func (l *Limiter) adopt(t *core.InForce) {
	if t == l.tuned.Load() {
		return
	}
	before := l.tuned.Swap(t)
	l.gate.resize(t.Concurrency)
	if l.hooks.OnTuned != nil {
		tellTuned(before, t, l.hooks.OnTuned)
	}
	for _, err := range t.Problems {
		l.warn(err)
	}
}

// tellTuned calls tell with each setting that operators have changed since before, and each of which a change has
// ended.
func tellTuned(before, now *core.InForce, tell func(Tuned)) {
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

// SetAccounts replaces the accounts that the process's requests go through, from now on; none: requests have a key
// already.
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

// Rationed reports whether requests may have to be reserved before they wait: there is a budget, or a quota of an
// account.
func (l *Limiter) Rationed() bool {
	return l.tuned.Load().Budget.On() || slices.ContainsFunc(l.ownAccounts(), func(a Account) bool { return a.Quota.On() })
}
