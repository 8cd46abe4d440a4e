// Package redisstore keeps the limiter's state in Redis or Valkey, so that several machines share one limit. [Open]
// returns the Backend for a [NewStore]; [Backend.Check] looks whether a server will do.
//
// All that is decided is decided in Go, on the one value that the processes exchange. Redis only says whose turn it is,
// keeps the value and supplies the time.
package redisstore

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/internal/shared"
)

const maxRounds = 20

// Backend is a [shared.Backend] on a server that several machines share. It is a [core.Liveness], a
// [shared.Waker], a [shared.Pacer] and a [shared.Coordinator] as well, and safe for concurrent use.
type Backend struct {
	client *redis.Client
	opts   Options
	base   string // of all keys
	names  names
	owner  string // <machine>-<process>
	writer uint64
	clock  clock
	home   home
	keeper keeper
	trips  atomic.Int64 // scripts run and values read
	lost   time.Time    // when what has had no answer was sent; zero: the server answers

	turn chan struct{} // a token while an Exchange is under way

	// These belong to the Exchange under way.
	cached   frame // the newest state that was read or written; without snapshot where there is none
	read     bool  // cached is what the server had
	closed   bool
	known    version // the newest state before which nothing was lost
	knows    bool    // there was one
	aside    string
	cause    error
	rouse    string        // whose request is to be woken
	rouseIn  time.Duration // and when
	buffer   []byte
	payload  []byte // the frame that cached was made of
	writers  []byte // of the frame that is being made
	line     *redis.Conn
	exchange exchange
	life     string // the name of lived
	lived    generation
}

// Open returns the backend on a server. It connects when it is first used. The error is about the options.
func Open(o Options) (*Backend, error) {
	o.complete()
	client, err := o.client()
	if err != nil {
		return nil, err
	}
	b := &Backend{client: client, opts: o, turn: make(chan struct{}, 1), clock: clock{boot: o.sinceBoot}}
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	b.writer = binary.LittleEndian.Uint64(id[8:])
	b.home.open(o.Dir, id[:8])
	b.owner = b.home.machine + "-" + b.home.process
	b.name(o.base())
	b.keeper.init(b)
	return b, nil
}

func (b *Backend) key(name string) string { return b.base + name }

// Exchange implements [shared.Backend].
func (b *Backend) Exchange(ctx context.Context, change func(ratelimit.Instant, []byte) ([]byte, error)) error {
	select {
	case b.turn <- struct{}{}: // to ask ctx for its end may make a timer
	default:
		select {
		case b.turn <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	defer func() { <-b.turn }()
	e := &b.exchange
	*e = exchange{Backend: b, change: change, absent: b.keeper.absent.Load()}
	err := e.do(ctx)
	e.change = nil
	if e.fence != 0 {
		b.leave(e.fence)
	}
	givenUp, own := ctx.Err() != nil && errors.Is(err, ctx.Err()), e.own != nil && errors.Is(err, e.own)
	if err == nil || givenUp || own || errors.Is(err, shared.ErrNewer) {
		return err
	}
	b.read = false
	b.keeper.lose()
	if isReply(err) && strings.Contains(err.Error(), "WRONGTYPE") {
		b.mend()
	}
	return b.explain(err)
}

// mend sets aside what is no state at all, and removes what is no turn and no line: keys of other kinds.
func (b *Backend) mend() {
	ctx, cancel := context.WithTimeout(context.Background(), b.opts.Timeout)
	defer cancel()
	b.client.Del(ctx, b.key("turn"), b.key("line"))
	if b.client.GetRange(ctx, b.key("state"), 0, 0).Err() != nil {
		b.client.Rename(ctx, b.key("state"), b.key("state:corrupt"))
		b.client.Expire(ctx, b.key("state:corrupt"), asideFor)
	}
}

// asideFor is how long a damaged state is kept; scriptHead has it in seconds.
const asideFor = 7 * 24 * time.Hour

type exchange struct {
	*Backend
	change func(ratelimit.Instant, []byte) ([]byte, error)
	own    error // of change
	fence  int64 // of the turn; 0: not held
	next   frame
	value  []byte
	at     time.Duration // time since boot when value was decided; 0: it is old
	damage error         // of what would be replaced
	absent int64         // of the keeper, when it began
	asked  version       // whose writing was asked for without a reply; it may still be done
}

func (e *exchange) do(ctx context.Context) error {
	b := e.Backend
	if !b.read {
		if err := b.look(ctx, e); err != nil {
			return err
		}
	}
	write, err := e.apply()
	if err == nil && !write || err != nil && e.own != nil { // of what is there now, not of what this process saw last
		if err := b.look(ctx, e); err != nil {
			return err
		}
		write, err = e.apply()
	}
	if err != nil || !write {
		return err
	}
	if err := b.keeper.start(ctx); err != nil {
		return err
	}
	for range maxRounds {
		done, err := e.round(ctx)
		if done || err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: the state is replaced all the time", shared.ErrBusy)
}

// round writes what was decided, or gets the turn and decides anew. It isn't done where others were faster.
func (e *exchange) round(ctx context.Context) (done bool, err error) {
	b := e.Backend
	o := order{value: e.value, aside: e.damage != nil, rouse: e.others(), in: e.rouseIn, sent: e.at}
	e.at = 0
	var v verdict
	if e.fence != 0 {
		o.with = fmt.Sprint(e.fence)
		v, err = b.run(commit, o)
		e.fence = 0
	} else {
		if len(b.cached.snapshot) > 0 || e.damage != nil {
			o.with = b.cached.version().String()
		}
		b.keeper.drain()
		v, err = b.run(try, o)
	}
	switch {
	case err != nil:
		return e.settle(ctx, err)
	case v.kind == "done":
		e.keep()
		return true, nil
	case v.kind == "late":
		b.read = false
		if err := b.look(ctx, e); err != nil {
			return false, err
		}
	case v.kind == "wait":
		if v, err = b.await(ctx, v.wait); err != nil {
			return false, err
		}
		fallthrough
	case v.kind == "turn":
		e.fence = v.fence
		if err := e.take(v.value); err != nil {
			return false, err
		}
		if e.late() {
			return true, nil
		}
	}
	write, err := e.apply()
	return err == nil && !write, err
}

// settle finds out what became of a script whose reply did not come.
func (e *exchange) settle(ctx context.Context, err error) (done bool, _ error) {
	if isReply(err) {
		return false, err
	}
	e.asked = e.next.version()
	if e.look(context.WithoutCancel(ctx), e) != nil {
		return false, err
	}
	if e.late() {
		return true, nil
	}
	if now := &e.cached; now.generation != e.asked.generation || now.sequence >= e.asked.sequence+writersKept {
		return false, err // too much has happened since
	}
	write, err := e.apply()
	return err == nil && !write, err
}

// late reports whether what was asked for without a reply has been written after all.
func (e *exchange) late() bool {
	if e.asked.sequence == 0 || !e.cached.wrote(e.writer, e.asked.generation, e.asked.sequence) {
		return false
	}
	e.written()
	return true
}

func (e *exchange) apply() (write bool, err error) {
	b := e.Backend
	var old []byte
	lost := false
	if e.damage == nil && len(b.cached.snapshot) > 0 {
		old, lost = b.cached.snapshot, b.lostBefore(&b.cached)
	}
	e.next = frame{generation: b.cached.generation, sequence: b.cached.sequence + 1}
	switch k := &b.known; {
	case old == nil && b.knows:
		e.next.generation, e.next.sequence = k.generation, k.sequence+1
	case old == nil:
		_, _ = rand.Read(e.next.generation[:])
	case lost && k.generation == b.cached.generation:
		e.next.sequence = max(e.next.sequence, k.sequence+1)
	}
	e.at = b.clock.boot()
	now, bias := b.clock.now(e.at)
	if b.life == "" || b.lived != e.next.generation {
		b.lived, b.life = e.next.generation, life(e.next.generation)
	}
	at := ratelimit.Instant{
		Wall: time.Unix(0, int64(now)), Boot: now, BootID: b.life, Lost: lost || e.damage != nil,
	}
	b.rouse = ""
	next, err := e.change(at, old)
	if errors.Is(err, shared.ErrDamaged) {
		e.damage, at.Lost = err, true
		next, err = e.change(at, nil)
	}
	e.own = err
	if err != nil || next == nil {
		return false, err
	}
	e.next.time, e.next.bias, e.next.snapshot = now, bias, next
	e.next.follow(&b.cached, b.writer, b.writers)
	b.writers = e.next.writers
	if size := e.next.size(); size > maxFrame {
		return false, fmt.Errorf("write limiter state: %d bytes, room for %d", size, maxFrame)
	}
	b.buffer = e.next.append(b.buffer[:0])
	e.value = b.buffer
	return true, nil
}

// lostBefore reports whether something that this process knows of was lost before f was written.
func (b *Backend) lostBefore(f *frame) bool {
	k := &b.known
	return b.knows && (f.generation != k.generation || f.sequence < k.sequence ||
		f.sequence == k.sequence && f.check != k.check)
}

func (e *exchange) keep() {
	b := e.Backend
	if e.damage != nil {
		b.aside, b.cause, e.damage = b.opts.Address.Place()+" ("+b.key("state:corrupt")+")", e.damage, nil
	}
	b.cached = e.next
	b.cached.within(b.buffer) // what is written is kept, not copied
	b.buffer, b.payload = b.payload, b.buffer
	b.read = true
	e.written()
}

func (e *exchange) written() {
	e.trust()
	e.tellOwn()
	e.keeper.absent.CompareAndSwap(e.absent, 0)
}

func (b *Backend) trust() {
	b.known, b.knows = b.cached.version(), true
}

func (e *exchange) others() string {
	if e.rouse == e.owner {
		return ""
	}
	return e.rouse
}

func (e *exchange) tellOwn() {
	if e.rouse == e.owner {
		e.keeper.ringIn(e.rouseIn)
	}
}

// take makes value the newest state that is known. The error is [shared.ErrNewer].
func (e *exchange) take(value []byte) error {
	b := e.Backend
	b.read, e.damage = true, nil
	if value == nil {
		b.cached = frame{}
		return nil
	}
	f, err := decodeFrame(value)
	if err != nil {
		b.cached, e.damage = frame{}, err
		b.read = !errors.Is(err, shared.ErrNewer)
		if !b.read {
			return err
		}
		return nil
	}
	b.clock.join(&f)
	b.payload = value
	b.cached = f
	if !b.lostBefore(&f) {
		b.trust()
	}
	return nil
}

func (b *Backend) look(ctx context.Context, e *exchange) error {
	ctx, cancel := context.WithTimeout(ctx, b.opts.Timeout)
	defer cancel()
	b.trips.Add(1)
	var (
		now   *redis.TimeCmd
		value *redis.StringCmd
		there *redis.IntCmd
		sent  time.Duration
	)
	asked := time.Now()
	err := persist(func() error {
		pipe := b.client.Pipeline()
		now, value, there = pipe.Time(ctx), pipe.GetRange(ctx, b.key("state"), 0, maxFrame), pipe.Exists(ctx, b.key("state"))
		sent = b.clock.boot()
		_, err := pipe.Exec(ctx)
		return err
	})
	if b.answered(asked, err); err != nil {
		return err
	}
	b.clock.look(sent, b.clock.boot(), time.Duration(now.Val().UnixNano()))
	v := presence(value.Val())
	if v == nil && there.Val() > 0 {
		v = []byte(" ")
	}
	return e.take(v)
}

// await waits in line for the turn. It asks again when the turn before should have ended: a message may be lost.
func (b *Backend) await(ctx context.Context, wait time.Duration) (verdict, error) {
	for {
		timer := time.NewTimer(max(wait, 0) + time.Millisecond)
		select {
		case v := <-b.keeper.turns:
			timer.Stop()
			return v, nil
		case <-ctx.Done():
			timer.Stop()
			b.leave(0)
			return verdict{}, ctx.Err()
		case <-timer.C:
		}
		v, err := b.run(try, order{})
		if err != nil || v.kind == "turn" {
			return v, err
		}
		wait = v.wait
	}
}

// leave gives the turn, or the place in line, back. It is tried once: both end by themselves.
func (b *Backend) leave(fence int64) {
	o := order{}
	if fence != 0 {
		o.with = fmt.Sprint(fence)
	}
	_, _ = b.run(commit, o)
}

// answered takes note of whether the server has done what it was asked for.
func (b *Backend) answered(asked time.Time, err error) {
	switch {
	case err == nil:
		b.lost = time.Time{}
		b.keeper.heard.Store(time.Now().UnixNano())
	case b.lost.IsZero():
		b.lost = asked
	}
}

// Wake implements [shared.Waker].
func (b *Backend) Wake() <-chan struct{} { return b.keeper.wake }

// Nap implements [shared.Pacer].
func (b *Backend) Nap() time.Duration { return b.opts.Turn }

// Aside implements [shared.Quarantine].
func (b *Backend) Aside() (place string, cause error) { return b.aside, b.cause }

// WakeNext implements [shared.Coordinator].
func (b *Backend) WakeNext(owner string, in time.Duration) { b.rouse, b.rouseIn = owner, in }

// Back implements [shared.Coordinator].
func (b *Backend) Back() bool { return b.keeper.up.Load() }

// Lost implements [shared.Coordinator]. A server that dies closes the connection that listens before anything is asked.
func (b *Backend) Lost() time.Time {
	if ns := b.keeper.deaf.Load(); ns != 0 && (b.lost.IsZero() || time.Unix(0, ns).Before(b.lost)) {
		return time.Unix(0, ns)
	}
	return b.lost
}

// Missed implements [shared.Coordinator].
func (b *Backend) Missed() time.Time {
	if ns := b.keeper.absent.Load(); ns != 0 {
		return time.Unix(0, ns)
	}
	return time.Time{}
}

// Owner implements [core.Liveness].
func (b *Backend) Owner() string { return b.owner }

// Machines implements [shared.Coordinator].
func (b *Backend) Machines(ids []string) int {
	seen := []string{b.home.machine}
	for _, id := range ids {
		if m := machineOf(id); !slices.Contains(seen, m) {
			seen = append(seen, m)
		}
	}
	return len(seen)
}

func machineOf(owner string) string {
	machine, _, _ := strings.Cut(owner, "-")
	return machine
}

// Trips returns how many round trips updates and questions have taken.
func (b *Backend) Trips() int64 { return b.trips.Load() }

// Close gives everything back. It waits for an Exchange that is under way.
func (b *Backend) Close() error {
	b.turn <- struct{}{}
	defer func() { <-b.turn }()
	if b.closed {
		return nil
	}
	b.closed = true
	b.keeper.stop()
	b.home.close()
	b.hangUp()
	return b.client.Close()
}
