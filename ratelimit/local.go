package ratelimit

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anivault/anivault/ratelimit/internal/core"
)

// localQueue is the queue of one process in front of the shared one. At most Tuning.Concurrency of its requests may ask
// for a permit or have one; the others wait here, first come, first served.
type localQueue struct {
	mu          sync.Mutex
	limit       int
	insideCount int
	waiting     []*place
}

// place is one request's place in the localQueue, or in the Queue that replaces it.
type place struct {
	queued  atomic.Bool   // the place is in a Queue, which replaces the localQueue
	granted bool          // used only with a Queue
	inside  bool          // not waiting in the localQueue any more
	ready   chan struct{} // closed when inside becomes true; nil if it was true at once
}

func (g *localQueue) join(p *place) (inside bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.insideCount < g.limit && len(g.waiting) == 0 {
		g.insideCount++
		p.inside = true
		return true
	}
	p.ready = make(chan struct{})
	g.waiting = append(g.waiting, p)
	return false
}

// leave gives up a place, inside or still waiting. It returns false if the place was given up before.
func (g *localQueue) leave(p *place) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.inside {
		p.inside = false
		g.insideCount--
		g.admit()
		return true
	}
	i := slices.Index(g.waiting, p)
	if i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	}
	return i >= 0
}

func (g *localQueue) resize(limit int) {
	g.mu.Lock()
	g.limit = limit
	g.admit()
	g.mu.Unlock()
}

func (g *localQueue) admit() {
	for g.insideCount < g.limit && len(g.waiting) > 0 {
		p := g.waiting[0]
		g.waiting = slices.Delete(g.waiting, 0, 1)
		g.insideCount++
		p.inside = true
		close(p.ready)
	}
}

// broadcaster wakes the waiting requests of a process when a slot becomes free, so that they need not poll the store.
// Call listen before checking whether to wait.
type broadcaster struct {
	mu sync.Mutex
	ch chan struct{}
}

func (b *broadcaster) listen() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

func (b *broadcaster) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}

const (
	reapIntervalStalled = 5 * time.Millisecond // between looks for dead processes while one may hold a slot
	reapIntervalWaiting = time.Second          // while waiting for anything else
	reapIntervalIdle    = 10 * time.Second     // otherwise
)

// reap removes dead processes from the shared state, unless it did so within the last interval. It waits at most
// patience for the store. It reports whether it has removed any.
func (l *Limiter) reap(ctx context.Context, interval, patience time.Duration) bool {
	if l.liveness == nil {
		return false
	}
	switch { // with minAskInterval set, each access to the store is expensive
	case l.minAskInterval == 0:
	case interval == reapIntervalStalled:
		interval = 2 * l.minAskInterval
	case interval == reapIntervalWaiting: // the request at the head of the shared queue reaps more often
		interval = 20 * l.minAskInterval
	}
	now, last := int64(time.Since(l.started)), l.lastReap.Load()
	if now-last < int64(interval) || !l.lastReap.CompareAndSwap(last, now) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, min(patience, core.MaxRetryWait))
	defer cancel()
	_, s, err := core.ReadSnapshot(ctx, l.store)
	others := slices.DeleteFunc(s.Users(), func(id string) bool { return id == l.processID })
	if err != nil || len(others) == 0 {
		return false // the next ask meets the same error and reports it
	}
	dead := l.liveness.Dead(others)
	if len(dead) == 0 {
		return false
	}
	err = l.update(ctx, always(func(at Instant, s *Snapshot) { s.RemoveDead(at, dead) }))
	return err == nil
}

// Status returns the limiter's current status, as this process sees it.
func (l *Limiter) Status(ctx context.Context) (Status, error) {
	at, s, err := core.ReadSnapshot(ctx, l.store)
	if err != nil {
		return Status{Offline: l.offline}, err
	}
	t := l.tuningFor(at, &s)
	l.adopt(t)
	st := s.Status(at, t.Tuning, l.ownerID, l.ownAccounts()...)
	st.Offline = l.offline
	return st, nil
}

// localBreaker counts this process's requests without a response if several machines share the state: a machine without
// a network must not put all others to Sleep. After Tuning.NFailures in a row it blocks this process, for the same
// growing cooldown as Sleep, and then lets one probe through at a time.
type localBreaker struct {
	mu             sync.Mutex
	failures       int       // in a row
	failingSince   time.Time // when the first of them failed
	lostConnection uint64    // the same connection isn't counted twice
	blockedUntil   time.Time
	cooldown       time.Duration // 0: not blocked
	probeUntil     time.Time     // a running probe blocks the next one until then; zero: no probe
}

// enter returns 0 if a request or probe may be sent, else how long to wait, and when the failures began.
func (k *localBreaker) enter(now time.Time) (wait time.Duration, since time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.cooldown == 0:
		return 0, k.failingSince
	case now.Before(k.blockedUntil):
		return k.blockedUntil.Sub(now), k.failingSince
	case now.Before(k.probeUntil):
		return core.ProbeRetryWait, k.failingSince
	}
	k.probeUntil = now.Add(core.MaxProbeLease)
	return 0, k.failingSince
}

// record counts the end of a request and returns the event for the shared state, where a network failure of this
// machine counts as Cancelled. blocked is the cooldown if this request starts a block, else 0.
func (k *localBreaker) record(now time.Time, e Event, t *Tuning, draw float64) (_ Event, blocked time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.probeUntil = time.Time{}
	switch e.Outcome {
	case Cancelled, Misconfigured:
		return e, 0
	case OK, Throttled, Server, Client, Deferred:
		k.failures, k.failingSince, k.lostConnection, k.blockedUntil, k.cooldown = 0, time.Time{}, 0, time.Time{}, 0
		return e, 0
	case Network:
	}
	shared := e
	shared.Outcome = Cancelled
	if e.Connection != 0 && e.Connection == k.lostConnection {
		return shared, 0
	}
	k.lostConnection = e.Connection
	if k.failures++; k.failures == 1 {
		k.failingSince = now
	}
	first := k.cooldown == 0
	switch {
	case k.failures < t.NFailures:
		return shared, 0
	case first:
		k.cooldown = t.SleepMin
	case now.Before(k.blockedUntil):
		return shared, 0 // the request was sent before the block
	default:
		longest := max(min(t.SleepMaxOutage, t.SleepMax), t.SleepMin)
		k.cooldown = min(time.Duration(float64(k.cooldown)*t.CooldownFactor), longest)
	}
	k.blockedUntil = now.Add(k.cooldown + time.Duration(draw*float64(k.cooldown)/10))
	if first {
		return shared, k.cooldown
	}
	return shared, 0
}

func (c *call) awaitNetwork(ctx context.Context) error {
	for {
		wait, since := c.l.breaker.enter(time.Now())
		if wait == 0 {
			return nil
		}
		if long := time.Since(since) > c.l.effectiveTuning.Load().MaxWait; long || wait > c.waitLeft() {
			return &BlockedError{Block{
				State: Sleep, Cause: ReasonConsecutiveFailures, Since: since,
				Until: time.Now().Add(wait),
			}}
		}
		if err := c.wait(ctx, min(wait, core.MaxRetryWait), true, nil, nil); err != nil {
			return err
		}
	}
}

func (l *Limiter) recordOutcome(e Event) Event {
	t := &l.effectiveTuning.Load().Tuning
	shared, blocked := l.breaker.record(time.Now(), e, t, l.randFloat())
	if blocked > 0 {
		l.warn(fmt.Errorf("%d requests in a row got no answer: this process sends nothing for %v, then probes; "+
			"other machines go on", t.NFailures, blocked))
	}
	return shared
}

const (
	// maxGrantAge is the age at which a permit expires unused: later, other processes no longer count it.
	maxGrantAge = 250 * time.Millisecond
	// defaultLease is how long a permit from a coordinator lasts if the caller did not say how long it needs the permit.
	// The lease is renewed every renewInterval.
	defaultLease  = 10 * time.Minute
	renewInterval = 3 * time.Minute
)

// localCeiling keeps a process below the ceiling even if the coordinator is manipulated. It also renews leases.
type localCeiling struct {
	mu           sync.Mutex
	sentTimes    []time.Time
	renewed      map[core.PermitID]time.Time // permits whose leases are renewed, by the time they were granted
	renewalTimer *time.Timer
}

// accept reports whether a permit granted at grantedAt may be used; if not, wait is how long to wait before asking.
func (g *localCeiling) accept(grantedAt time.Time, t *Tuning) (wait time.Duration, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if now.Sub(grantedAt) >= maxGrantAge {
		return 0, false
	}
	window := t.CeilingWindow - t.CeilingWindow/20 // permits arrive closer together than they were granted
	for len(g.sentTimes) > 0 && now.Sub(g.sentTimes[0]) >= window {
		g.sentTimes = g.sentTimes[1:]
	}
	if len(g.sentTimes) >= t.Ceiling {
		return g.sentTimes[0].Add(window).Sub(now), false
	}
	g.sentTimes = append(g.sentTimes, now)
	return 0, true
}

func (l *Limiter) startRenewal(p core.PermitID) {
	g := &l.ceiling
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.renewed == nil {
		g.renewed = map[core.PermitID]time.Time{}
	}
	g.renewed[p] = time.Now()
	if g.renewalTimer == nil {
		g.renewalTimer = time.AfterFunc(renewInterval, l.renew)
	}
}

// renew extends all leases in one update, except those older than core.MaxLease, which were probably forgotten.
func (l *Limiter) renew() {
	g := &l.ceiling
	g.mu.Lock()
	kept := make(map[core.PermitID]bool, len(g.renewed))
	for p, since := range g.renewed {
		if time.Since(since) >= core.MaxLease {
			delete(g.renewed, p)
			continue
		}
		kept[p] = true
	}
	g.renewalTimer = nil
	if len(kept) > 0 && !l.closed.Load() {
		g.renewalTimer = time.AfterFunc(renewInterval, l.renew)
	}
	g.mu.Unlock()
	if len(kept) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), renewInterval)
	defer cancel()
	err := l.update(ctx, always(func(at Instant, s *Snapshot) { s.Renew(at, kept, defaultLease) }))
	if err != nil {
		l.warn(fmt.Errorf("renew permits: %w", err))
	}
}
