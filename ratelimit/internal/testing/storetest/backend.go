package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/internal/shared"
)

// Place is the memory that the backends of several processes share. Its function fields are called at every Exchange of
// every process and make it misbehave; nil ones do nothing. No field may be changed while a process uses the place.
type Place struct {
	turn  chan struct{} // holds a token while no Exchange runs
	start time.Time

	mu     sync.Mutex
	bytes  []byte
	living map[string]bool

	Patience       time.Duration        // how long an Exchange waits for the previous one; 0 means 250 ms
	Delay          func() time.Duration // how long an Exchange takes
	FailAfter      func() error         // an Exchange fails with this error after it has written
	ExtraCalls     func() int           // change is called this many extra times first, as after a lost race
	DistortTime    func(ratelimit.Instant) ratelimit.Instant
	MinAskInterval time.Duration            // see [shared.Waker]
	wakes          map[string]chan struct{} // by owner; guarded by mu

	// Coordinator makes the place a [shared.Coordinator] with each process on a machine of its own. Before an Exchange
	// that may fail, it calls change with the bytes that the process saw last.
	Coordinator bool
	// ProbeInterval is how often a process pings a silent server; 0: only when MayReconnect is called.
	ProbeInterval time.Duration
	FailureDelay  time.Duration   // how long an Exchange that fails takes
	Fallback      ratelimit.Store // of the next process
	// MachineClock is the clock of the next process's machine; nil: Now.
	MachineClock func() ratelimit.Instant

	Exchanges, Writes atomic.Int64

	failBefore atomic.Pointer[func() error] // see FailBefore; a process that is alone reads it at any time
}

// FailBefore makes each Exchange fail with the error of fail, if it returns one, before it has done anything. Nil ends
// that.
func (p *Place) FailBefore(fail func() error) {
	if fail == nil {
		p.failBefore.Store(nil)
		return
	}
	p.failBefore.Store(&fail)
}

func (p *Place) failureBefore() error {
	if fail := p.failBefore.Load(); fail != nil {
		return (*fail)()
	}
	return nil
}

var processes atomic.Int64 // numbers the processes, so that no id is used again

// NewPlace returns an empty place.
func NewPlace() *Place {
	p := &Place{
		turn: make(chan struct{}, 1), start: time.Now(), living: map[string]bool{},
		wakes: map[string]chan struct{}{}, Patience: 250 * time.Millisecond,
	}
	p.turn <- struct{}{}
	return p
}

// Bytes returns the stored bytes.
func (p *Place) Bytes() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bytes
}

// Put replaces the stored bytes; nil removes them.
func (p *Place) Put(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bytes = b
}

// Now returns the time of the place.
func (p *Place) Now() ratelimit.Instant {
	now := time.Now()
	at := ratelimit.Instant{Wall: now, Boot: time.Hour + now.Sub(p.start), BootID: "place"}
	if p.DistortTime != nil {
		at = p.DistortTime(at)
	}
	return at
}

// Open returns the store of one more process.
func (p *Place) Open(onWarning func(error)) *shared.Store {
	b := &backend{Place: p, owner: fmt.Sprintf("process-%d", processes.Add(1)), wake: make(chan struct{}, 1)}
	p.mu.Lock()
	p.wakes[b.owner] = b.wake
	p.mu.Unlock()
	opts := shared.Options{Place: "memory", Now: p.Now, Fallback: p.Fallback, OnWarning: onWarning}
	if p.MachineClock != nil {
		opts.Now = p.MachineClock
	}
	if p.Coordinator {
		return shared.New(&coordinator{backend: b}, opts)
	}
	return shared.New(b, opts)
}

// coordinator is the Backend of one process if the place is a server that several machines share.
type coordinator struct {
	*backend
	presence
	wakeOwner string
	wakeIn    time.Duration
	lastSeen  []byte
	lostAt    time.Time // when the last failed Exchange began
}

// presence is what a process knows about the server between its Exchanges.
type presence struct {
	mu            sync.Mutex
	pingScheduled bool
	silent        bool
	answeredAt    time.Time
	firstMissed   time.Time
}

func (c *coordinator) Exchange(ctx context.Context, change func(ratelimit.Instant, []byte) ([]byte, error)) error {
	c.wakeOwner = ""
	asked, missed := time.Now(), c.FirstMissed()
	if c.failBefore.Load() != nil && c.lastSeen != nil {
		if _, err := c.try(change, c.lastSeen); err != nil {
			return err
		}
	}
	wrote := false
	err := c.backend.Exchange(ctx, func(at ratelimit.Instant, old []byte) ([]byte, error) {
		next, err := change(at, old)
		wrote = next != nil
		return next, err
	})
	if err != nil {
		time.Sleep(c.FailureDelay)
		c.lostAt = asked
		c.recordAnswer(asked, false)
		return err
	}
	c.recordAnswer(asked, true)
	if wrote {
		c.clearMissed(missed)
	}
	c.Place.mu.Lock()
	defer c.Place.mu.Unlock()
	c.lastSeen = c.bytes
	woken := c.wakes[c.wakeOwner]
	time.AfterFunc(c.wakeIn, func() { wake(woken) })
	return nil
}

// recordAnswer records whether the server answered the command sent at sentAt, and schedules the next ping.
func (c *coordinator) recordAnswer(sentAt time.Time, answered bool) {
	c.presence.mu.Lock()
	defer c.presence.mu.Unlock()
	switch c.silent = !answered; {
	case answered:
		c.answeredAt = time.Now()
	case c.firstMissed.IsZero() && c.answeredAt.Before(sentAt):
		c.firstMissed = sentAt
	}
	if !c.pingScheduled && c.ProbeInterval > 0 {
		c.pingScheduled = true
		time.AfterFunc(c.ProbeInterval, c.ping)
	}
}

func (c *coordinator) ping() {
	asked := time.Now()
	answered := c.failureBefore() == nil
	if !answered {
		time.Sleep(c.FailureDelay)
		answered = c.FailureDelay > 0 && c.failureBefore() == nil // the server was only slow
	}
	c.presence.mu.Lock()
	c.pingScheduled = false
	c.presence.mu.Unlock()
	c.recordAnswer(asked, answered)
}

// clearMissed ends the silence that began at since.
func (c *coordinator) clearMissed(since time.Time) {
	c.presence.mu.Lock()
	defer c.presence.mu.Unlock()
	if c.firstMissed.Equal(since) {
		c.firstMissed = time.Time{}
	}
}

func (c *coordinator) Machines(owners []string) int {
	n := 1
	for _, o := range owners {
		if o != c.owner {
			n++
		}
	}
	return n
}

func (c *coordinator) MayReconnect() bool {
	c.presence.mu.Lock()
	defer c.presence.mu.Unlock()
	return !c.silent || c.ProbeInterval == 0 && c.failureBefore() == nil
}

func (c *coordinator) LostAt() time.Time { return c.lostAt }

func (c *coordinator) FirstMissed() time.Time {
	c.presence.mu.Lock()
	defer c.presence.mu.Unlock()
	return c.firstMissed
}

func (c *coordinator) WakeNext(owner string, in time.Duration) { c.wakeOwner, c.wakeIn = owner, in }

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Kill makes a process look dead to the others. Its store stays open.
func (p *Place) Kill(owner string) { p.setLiving(owner, false) }

func (p *Place) setLiving(owner string, living bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.living[owner] = living
}

type backend struct {
	*Place
	owner string
	wake  chan struct{}
}

func (b *backend) Exchange(ctx context.Context, change func(ratelimit.Instant, []byte) ([]byte, error)) error {
	b.Exchanges.Add(1)
	timer := time.NewTimer(b.Patience)
	defer timer.Stop()
	select {
	case <-b.turn:
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return shared.ErrBusy
	}
	defer func() { b.turn <- struct{}{} }()
	if b.Delay != nil {
		time.Sleep(b.Delay())
	}
	if err := b.failureBefore(); err != nil {
		return err
	}
	old := b.Bytes()
	if b.ExtraCalls != nil {
		for range b.ExtraCalls() { // as if another process had written meanwhile
			if _, err := change(b.Now(), nil); err != nil {
				break
			}
		}
	}
	next, err := b.try(change, old)
	if err != nil || next == nil {
		return err
	}
	b.setLiving(b.owner, true)
	b.Put(append([]byte(nil), next...))
	b.Writes.Add(1)
	if b.FailAfter != nil {
		return b.FailAfter()
	}
	return nil
}

func (b *backend) try(change func(ratelimit.Instant, []byte) ([]byte, error), old []byte) ([]byte, error) {
	at := b.Now()
	next, err := change(at, old)
	if errors.Is(err, shared.ErrDamaged) {
		at.Lost = true
		return change(at, nil)
	}
	return next, err
}

// WakeAll wakes one waiting request of each process.
func (p *Place) WakeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.wakes {
		wake(c)
	}
}

func (b *backend) Wake() <-chan struct{} { return b.wake }

func (b *backend) MinAskInterval() time.Duration { return b.Place.MinAskInterval }

func (b *backend) Owner() string { return b.owner }

func (b *backend) Dead(ids []string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var dead []string
	for _, id := range ids {
		if !b.living[id] {
			dead = append(dead, id)
		}
	}
	return dead
}

func (b *backend) Living() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 1
	for owner, lives := range b.living {
		if lives && owner != b.owner {
			n++
		}
	}
	return n
}

func (b *backend) Leave() []byte {
	b.setLiving(b.owner, true)
	return b.Bytes()
}

func (b *backend) Close() error {
	b.Kill(b.owner)
	return nil
}
