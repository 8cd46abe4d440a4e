package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// This file decides nothing about requests: it carries asks and reports to the
// snapshot and back. Waiting is in call.go.

// Config is what a Limiter is made of.
type Config struct {
	Store   Store          // required; everybody with the same store shares one upstream
	Tuning  Tuning         // the zero Tuning means Default()
	Offline bool           // this process must not send; never written to the store
	Rand    func() float64 // draws in [0,1) for jitter; nil: math/rand/v2
	Hooks   Hooks
}

// Limiter lets requests of one process through, together with those of all
// others that use the same store. It is safe for concurrent use. It has no goroutines of its own.
type Limiter struct {
	store   Store
	live    Liveness // nil: nobody can die unnoticed
	owner   string
	own     Tuning
	offline bool
	draw    func() float64
	hooks   Hooks
	tells   bool // hooks want gauges

	gate   gate
	freed  bell // a slot of this process is free
	moved  bell // the state has changed
	ops    sync.Pool
	tuned  atomic.Pointer[tuned]
	state  atomic.Uint32 // State, as last seen
	reaped atomic.Int64  // when the dead were last looked for, ns since start
	start  time.Time
	closed atomic.Bool
}

// tuned is the tuning in force: the process's own, divided, with operators' overrides.
type tuned struct {
	Tuning
	seq   uint64 // of the overrides
	parts int
	odd   []error // values that had to give way
}

// New returns a limiter. It returns a *TuningError for a tuning that cannot be used.
func New(c Config) (*Limiter, error) {
	if c.Store == nil {
		return nil, errors.New("make limiter: no store")
	}
	c.Tuning = c.Tuning.withDefaults()
	if err := c.Tuning.Validate(); err != nil {
		return nil, fmt.Errorf("make limiter: %w", err)
	}
	l := &Limiter{store: c.Store, own: c.Tuning, offline: c.Offline, draw: c.Rand, hooks: c.Hooks, start: time.Now()}
	l.tells = c.Hooks.OnTransition != nil || c.Hooks.OnAnswer != nil || c.Hooks.OnWait != nil
	if l.draw == nil {
		l.draw = rand.Float64
	}
	if live, ok := c.Store.(Liveness); ok {
		l.live, l.owner = live, live.Owner()
	} else {
		l.owner = newOwner()
	}
	l.state.Store(uint32(Normal))
	l.reaped.Store(-int64(time.Hour))
	l.tuned.Store(&tuned{Tuning: c.Tuning, parts: 1})
	l.gate.limit = c.Tuning.Concurrency
	l.ops.New = func() any { return newOp(l) }
	return l, nil
}

// Tuning returns the tuning in force when the store was last asked: the configured one
// with what operators have overridden, divided where processes cannot see each other.
func (l *Limiter) Tuning() Tuning { return l.tuned.Load().Tuning }

// Acquire waits until a request may be sent and returns its permit, which has to be given
// back with Done. It waits for at most Tuning.MaxWait, and not at all if it is
// clear that this is not enough.
//
// Errors: *BlockedError, *AcquireTimeoutError, *BudgetError, ErrClosed, an error of
// the store, or ctx's. A Reservation in ctx (see WithReservation) pays for the request.
func (l *Limiter) Acquire(ctx context.Context) (*Permit, error) {
	c := call{l: l, attempt: 1, reservation: reservationFrom(ctx)}
	return c.acquire(ctx)
}

// Close leaves the shared queue and gives reservations back. Permits that are still out
// stay valid. Waiting and later calls of Acquire return ErrClosed.
func (l *Limiter) Close() error {
	if l.closed.Swap(true) {
		return nil
	}
	l.gate.close()
	l.freed.ring()
	l.moved.ring()
	if l.offline {
		return nil
	}
	err := l.store.Update(context.Background(), func(at Instant, s *Snapshot) error {
		s.advance(at)
		s.part(l.owner)
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
	pass        Pass
	attempt     int
	granted     time.Time
	reservation *Reservation
	done        atomic.Bool
}

// Pass names the permit.
func (p *Permit) Pass() Pass { return p.pass }

// Done gives the permit back and says what became of the request. Only the
// first call counts; so Done(Event{}) can be deferred for the case of a panic.
func (p *Permit) Done(e Event) {
	if p.done.Swap(true) {
		return
	}
	if e.Latency == 0 {
		e.Latency = time.Since(p.granted)
	}
	if e.Attempt == 0 {
		e.Attempt = p.attempt
	}
	p.l.record(p, e)
}

// op is one update of the store. Ops are kept and used again, with the function
// that Update needs, because this is the hot path.
type op struct {
	l    *Limiter
	kind opKind
	run  func(Instant, *Snapshot) error

	ask    Ask
	grant  Grant
	report Report
	out    Recorded
	state  State
	gauges Gauges // only if somebody is told
	budget BudgetError
	t      *tuned
	first  bool // the tuning in force is new
}

type opKind uint8

const (
	opGrant opKind = iota
	opRetry
	opRecord
)

func newOp(l *Limiter) *op {
	o := &op{l: l}
	o.run = o.update
	return o
}

func (o *op) update(at Instant, s *Snapshot) error {
	o.t, o.first = o.l.tune(at, s)
	switch o.kind {
	case opGrant, opRetry:
		o.ask.Owner, o.ask.Tuning = o.l.owner, &o.t.Tuning
		o.ask.Budget = o.t.Budget.On()
		if o.kind == opRetry {
			o.grant, _ = s.Blocked(at, o.ask)
		} else {
			o.grant = s.TryGrant(at, o.ask)
		}
		if o.grant.Why == WhyBudget {
			o.budget = s.spent(&o.t.Tuning, 1)
		}
	case opRecord:
		o.report.Owner, o.report.Tuning = o.l.owner, &o.t.Tuning
		o.out = s.Record(at, o.report)
		if o.l.closed.Load() {
			s.part(o.l.owner)
		}
	}
	o.state = s.machine.state
	if o.l.tells {
		o.gauges = s.Gauges(&o.t.Tuning)
	}
	return nil
}

// do runs the op and reports what it has changed.
func (l *Limiter) do(ctx context.Context, o *op) error {
	if err := l.store.Update(ctx, o.run); err != nil {
		return err
	}
	l.state.Store(uint32(o.state))
	if o.first {
		l.adopt(o.t)
	}
	tr, moved := o.grant.Transition, o.grant.Moved
	if o.kind == opRecord {
		tr, moved = o.out.Transition, o.out.Moved
	}
	if moved {
		l.moved.ring()
		if l.hooks.OnTransition != nil {
			tr.Gauges = o.gauges
			l.hooks.OnTransition(tr)
		}
	}
	return nil
}

// tune returns the tuning in force for a snapshot, and whether it is a new one, which
// the caller has to adopt after the update.
func (l *Limiter) tune(at Instant, s *Snapshot) (*tuned, bool) {
	s.dropOverrides(s.advance(at))
	parts := max(at.Parts, 1)
	t := l.tuned.Load()
	if t.seq == s.overrideSeq && t.parts == parts {
		return t, false
	}
	t = &tuned{seq: s.overrideSeq, parts: parts}
	t.Tuning, t.odd = s.overridden(l.own)
	t.Tuning = t.divided(parts)
	l.tuned.Store(t)
	return t, true
}

// adopt acts on a new tuning, once and outside the store's lock.
func (l *Limiter) adopt(t *tuned) {
	l.gate.resize(l.tuned.Load().Concurrency) // there may be a newer one already
	for _, err := range t.odd {
		l.warn(err)
	}
}

func (l *Limiter) record(p *Permit, e Event) {
	o := l.ops.Get().(*op)
	o.kind = opRecord
	keep := e.Status == 0 && p.reservation.put()
	o.report = Report{Pass: p.pass, Event: e, Draw: l.draw(), KeepBudget: keep}
	err := l.do(context.Background(), o)
	out, gauges := o.out, o.gauges
	l.ops.Put(o)
	l.gate.leave()
	l.freed.ring()
	if err != nil {
		l.warn(fmt.Errorf("record answer: %w", err))
	}
	if l.hooks.OnAnswer != nil {
		l.hooks.OnAnswer(Answer{Event: e, Late: out.Late, Pause: out.Pause, Gauges: gauges})
	}
}

func (l *Limiter) warn(err error) {
	if l.hooks.OnWarning != nil {
		l.hooks.OnWarning(err)
	}
}
