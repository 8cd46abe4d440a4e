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

// Place is the memory that the backends of several processes share. It may misbehave: the functions are asked at every
// Exchange of every process, nil ones never do.
type Place struct {
	turn  chan struct{} // a token while nobody is inside
	start time.Time

	mu     sync.Mutex
	bytes  []byte
	living map[string]bool

	Patience time.Duration        // how long an Exchange waits for the one before; 0 means 250 ms
	Delay    func() time.Duration // how long an Exchange takes
	Fail     func() error         // an Exchange fails before it has done anything
	Lose     func() error         // an Exchange fails after it has written
	Repeat   func() int           // so often change is called before, on a state that then was replaced
	Lie      func(ratelimit.Instant) ratelimit.Instant
	Nap      time.Duration            // what [shared.Pacer] says
	wakes    map[string]chan struct{} // by owner; guarded by mu

	// Coordinator makes the place a [shared.Coordinator] whose every process is a machine. It decides on what it saw
	// last before it asks, so an Exchange that fails has called change.
	Coordinator bool
	// how often a process asks one that says nothing whether it is there; 0: each time, when it is lost
	Looks    time.Duration
	TimeOut  time.Duration   // how long it waits for one that fails
	Fallback ratelimit.Store // of the next process that is opened
	// Machine is the time of the next process's own machine; nil: it is the place's.
	Machine func() ratelimit.Instant

	Exchanges, Writes atomic.Int64 // how many there were
}

var processes atomic.Int64 // an id is never used again

// NewPlace returns an empty place.
func NewPlace() *Place {
	p := &Place{
		turn: make(chan struct{}, 1), start: time.Now(), living: map[string]bool{},
		wakes: map[string]chan struct{}{}, Patience: 250 * time.Millisecond,
	}
	p.turn <- struct{}{}
	return p
}

// Bytes returns what lies there.
func (p *Place) Bytes() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bytes
}

// Put replaces what lies there; nil removes it.
func (p *Place) Put(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bytes = b
}

// Now is the place's time.
func (p *Place) Now() ratelimit.Instant {
	now := time.Now()
	at := ratelimit.Instant{Wall: now, Boot: time.Hour + now.Sub(p.start), BootID: "place"}
	if p.Lie != nil {
		at = p.Lie(at)
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
	if p.Machine != nil {
		opts.Now = p.Machine
	}
	if p.Coordinator {
		return shared.New(&coordinator{backend: b}, opts)
	}
	return shared.New(b, opts)
}

// coordinator is the Backend of one process where the place is a server that several machines share.
type coordinator struct {
	*backend
	presence
	rouse string
	in    time.Duration
	seen  []byte
	lost  time.Time // when it was asked and failed
}

// presence is what a process knows of the server between its Exchanges.
type presence struct {
	mu     sync.Mutex
	asks   bool // it asks whenever the server says nothing for a while
	away   bool
	heard  time.Time
	missed time.Time
}

// Exchange implements [shared.Backend].
func (c *coordinator) Exchange(ctx context.Context, change func(ratelimit.Instant, []byte) ([]byte, error)) error {
	c.rouse = ""
	asked, missed := time.Now(), c.Missed()
	if c.Fail != nil && c.seen != nil {
		if _, err := c.try(change, c.seen); err != nil {
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
		time.Sleep(c.TimeOut)
		c.lost = asked
		c.note(asked, false)
		return err
	}
	c.note(asked, true)
	if wrote {
		c.found(missed)
	}
	c.Place.mu.Lock()
	defer c.Place.mu.Unlock()
	c.seen = c.bytes
	roused := c.wakes[c.rouse]
	time.AfterFunc(c.in, func() { wake(roused) })
	return nil
}

// note takes note of whether the server has answered what it was asked then, and goes on asking.
func (c *coordinator) note(asked time.Time, answered bool) {
	c.presence.mu.Lock()
	defer c.presence.mu.Unlock()
	switch c.away = !answered; {
	case answered:
		c.heard = time.Now()
	case c.missed.IsZero() && c.heard.Before(asked):
		c.missed = asked
	}
	if !c.asks && c.Looks > 0 {
		c.asks = true
		time.AfterFunc(c.Looks, c.ask)
	}
}

// ask asks the server whether it is there.
func (c *coordinator) ask() {
	asked := time.Now()
	answered := c.Fail == nil || c.Fail() == nil
	if !answered {
		time.Sleep(c.TimeOut)
		answered = c.TimeOut > 0 && c.Fail() == nil // it was only silent
	}
	c.presence.mu.Lock()
	c.asks = false
	c.presence.mu.Unlock()
	c.note(asked, answered)
}

// found forgets what was missed by then.
func (c *coordinator) found(missed time.Time) {
	c.presence.mu.Lock()
	defer c.presence.mu.Unlock()
	if c.missed.Equal(missed) {
		c.missed = time.Time{}
	}
}

// Machines implements [shared.Coordinator].
func (c *coordinator) Machines(owners []string) int {
	n := 1
	for _, o := range owners {
		if o != c.owner {
			n++
		}
	}
	return n
}

// Back implements [shared.Coordinator].
func (c *coordinator) Back() bool {
	c.presence.mu.Lock()
	defer c.presence.mu.Unlock()
	return !c.away || c.Looks == 0 && (c.Fail == nil || c.Fail() == nil)
}

// Lost implements [shared.Coordinator].
func (c *coordinator) Lost() time.Time { return c.lost }

// Missed implements [shared.Coordinator].
func (c *coordinator) Missed() time.Time {
	c.presence.mu.Lock()
	defer c.presence.mu.Unlock()
	return c.missed
}

// Rouse implements [shared.Coordinator].
func (c *coordinator) WakeNext(owner string, in time.Duration) { c.rouse, c.in = owner, in }

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Kill lets a process die: its store stays as it is, and the others see it gone.
func (p *Place) Kill(owner string) { p.live(owner, false) }

func (p *Place) live(owner string, lives bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.living[owner] = lives
}

// backend is the Backend of one process.
type backend struct {
	*Place
	owner string
	wake  chan struct{}
}

// Exchange implements [shared.Backend].
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
	if b.Fail != nil {
		if err := b.Fail(); err != nil {
			return err
		}
	}
	old := b.Bytes()
	if b.Repeat != nil {
		for range b.Repeat() { // as if somebody else had written meanwhile
			if _, err := change(b.Now(), nil); err != nil {
				break
			}
		}
	}
	next, err := b.try(change, old)
	if err != nil || next == nil {
		return err
	}
	b.live(b.owner, true)
	b.Put(append([]byte(nil), next...))
	b.Writes.Add(1)
	if b.Lose != nil {
		return b.Lose()
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

// WakeAll wakes one request of each process that waits for its turn.
func (p *Place) WakeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.wakes {
		wake(c)
	}
}

// Wake implements [shared.Waker].
func (b *backend) Wake() <-chan struct{} { return b.wake }

// Nap implements [shared.Pacer].
func (b *backend) Nap() time.Duration { return b.Place.Nap }

// Owner implements [core.Liveness].
func (b *backend) Owner() string { return b.owner }

// Dead implements [core.Liveness].
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

// Living implements [core.Liveness].
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

// Leave implements [shared.Leaver].
func (b *backend) Leave() []byte {
	b.live(b.owner, true)
	return b.Bytes()
}

// Close implements io.Closer.
func (b *backend) Close() error {
	b.Kill(b.owner)
	return nil
}
