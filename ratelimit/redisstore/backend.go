// Package redisstore keeps the limiter's state in Redis or Valkey, so that several machines share one limit. [Open]
// returns the Backend for [NewStore]; [Check] tests whether a server is suitable.
//
// All decisions are made in Go, on the one value that the processes exchange. Redis only grants turns, keeps the value
// and supplies the time.
package redisstore

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
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

// Backend is a [shared.Backend] on a server that several machines share. It is a [shared.Waker] and a
// [shared.Coordinator] as well, and safe for concurrent use.
type Backend struct {
	client         *redis.Client
	opts           Options
	keyPrefix      string
	owner          string // <machine>-<process>
	writer         uint64
	clock          clock
	localProcesses localProcesses
	heartbeat      heartbeat
	roundTrips     atomic.Int64 // scripts run and values read
	silentSince    time.Time    // when the first unanswered command was sent; zero: the server answers

	turn chan struct{} // holds a token during an Exchange

	// The fields below belong to the Exchange that holds the token.
	cached      frame // the newest state that was read or written; without a snapshot if there is none
	cachedValid bool
	closed      bool
	trusted     version // the newest state that continues everything this process knows
	hasTrusted  bool    // trusted is set
	damagedCopy string
	damageCause error
	wakeOwner   string // the owner of the request to wake
	wakeIn      time.Duration
	conn        *redis.Conn
}

// Open returns the backend on a server. It connects on first use. The error is about the options.
func Open(o Options) (*Backend, error) {
	o.complete()
	client, err := o.client()
	if err != nil {
		return nil, err
	}
	b := &Backend{
		client: client, opts: o, keyPrefix: o.keyPrefix(), turn: make(chan struct{}, 1), clock: clock{boot: o.sinceBoot},
	}
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	b.writer = binary.LittleEndian.Uint64(id[8:])
	b.localProcesses.open(o.Dir, id[:8])
	b.owner = b.localProcesses.machine + "-" + b.localProcesses.process
	b.heartbeat.init(b)
	return b, nil
}

func (b *Backend) key(name string) string { return b.keyPrefix + name }

// Exchange implements [shared.Backend].
func (b *Backend) Exchange(ctx context.Context, change func(ratelimit.Instant, []byte) ([]byte, error)) error {
	select {
	case b.turn <- struct{}{}: // tried first without ctx.Done, which may start a timer
	default:
		select {
		case b.turn <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	defer func() { <-b.turn }()
	e := &exchange{Backend: b, change: change, silentBefore: b.heartbeat.silentSince.Load()}
	err := e.do(ctx)
	if e.fence != 0 {
		b.giveUpTurn(e.fence)
	}
	givenUp, own := ctx.Err() != nil && errors.Is(err, ctx.Err()), e.changeErr != nil && errors.Is(err, e.changeErr)
	if err == nil || givenUp || own || errors.Is(err, shared.ErrNewer) {
		return err
	}
	b.cachedValid = false
	b.heartbeat.markLost()
	if isReply(err) && strings.Contains(err.Error(), "WRONGTYPE") {
		b.removeWrongTypes()
	}
	return b.explain(err)
}

// removeWrongTypes deletes turn and line, and renames state, if another program has written values of other types.
func (b *Backend) removeWrongTypes() {
	ctx, cancel := context.WithTimeout(context.Background(), b.opts.Timeout)
	defer cancel()
	b.client.Del(ctx, b.key("turn"), b.key("line"))
	if b.client.GetRange(ctx, b.key("state"), 0, 0).Err() != nil {
		b.client.Rename(ctx, b.key("state"), b.key("state:corrupt"))
		b.client.Expire(ctx, b.key("state:corrupt"), damagedTTL)
	}
}

// damagedTTL is how long a damaged state is kept. scriptHead repeats it in seconds.
const damagedTTL = 7 * 24 * time.Hour

type exchange struct {
	*Backend
	change       func(ratelimit.Instant, []byte) ([]byte, error)
	changeErr    error
	fence        int64 // 0: this process doesn't have the turn
	next         frame
	value        []byte        // next, encoded
	decidedAt    time.Duration // time since boot when value was made; 0: value is outdated
	damage       error         // why the server's state can't be read; nil: it is readable
	silentBefore int64         // the heartbeat's silentSince when this exchange began
	unconfirmed  version       // a write without a reply, which may have happened
}

func (e *exchange) do(ctx context.Context) error {
	b := e.Backend
	if !b.cachedValid {
		if err := b.readState(ctx, e); err != nil {
			return err
		}
	}
	write, err := e.decide()
	if err == nil && !write || err != nil && e.changeErr != nil { // decide again on fresh state
		if err := b.readState(ctx, e); err != nil {
			return err
		}
		write, err = e.decide()
	}
	if err != nil || !write {
		return err
	}
	if err := b.heartbeat.start(ctx); err != nil {
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

// round writes the decision, or gets the turn and decides again. done is false if another process wrote first.
func (e *exchange) round(ctx context.Context) (done bool, err error) {
	b := e.Backend
	o := scriptCall{
		value: e.value, moveDamaged: e.damage != nil, wakeIn: e.wakeIn, sentAt: e.decidedAt,
	}
	if e.wakeOwner != e.owner {
		o.wakeOwner = e.wakeOwner
	}
	e.decidedAt = 0
	var v scriptReply
	if e.fence != 0 {
		o.expected = fmt.Sprint(e.fence)
		v, err = b.run(commitScript, o)
		e.fence = 0
	} else {
		if len(b.cached.snapshot) > 0 || e.damage != nil {
			o.expected = b.cached.version().String()
		}
		b.heartbeat.dropTurn()
		v, err = b.run(tryScript, o)
	}
	switch {
	case err != nil:
		return e.resolveLostReply(ctx, err)
	case v.kind == "done":
		e.cacheWritten()
		return true, nil
	case v.kind == "late":
		b.cachedValid = false
		if err := b.readState(ctx, e); err != nil {
			return false, err
		}
	case v.kind == "wait":
		if v, err = b.awaitTurn(ctx, v.wait); err != nil {
			return false, err
		}
		fallthrough
	case v.kind == "turn":
		e.fence = v.fence
		if err := e.adopt(v.value); err != nil {
			return false, err
		}
		if e.wasWritten() {
			return true, nil
		}
	}
	write, err := e.decide()
	return err == nil && !write, err
}

// resolveLostReply finds out whether a script whose reply was lost has written.
func (e *exchange) resolveLostReply(ctx context.Context, err error) (done bool, _ error) {
	if isReply(err) {
		return false, err
	}
	e.unconfirmed = e.next.version()
	if e.readState(context.WithoutCancel(ctx), e) != nil {
		return false, err
	}
	if e.wasWritten() {
		return true, nil
	}
	if now := &e.cached; now.generation != e.unconfirmed.generation || now.sequence >= e.unconfirmed.sequence+writersKept {
		return false, err // too many writes since then to know
	}
	write, err := e.decide()
	return err == nil && !write, err
}

func (e *exchange) wasWritten() bool {
	if e.unconfirmed.sequence == 0 || !e.cached.wrote(e.writer, e.unconfirmed.generation, e.unconfirmed.sequence) {
		return false
	}
	e.afterWrite()
	return true
}

func (e *exchange) decide() (write bool, err error) {
	b := e.Backend
	var old []byte
	lost := false
	if e.damage == nil && len(b.cached.snapshot) > 0 {
		old, lost = b.cached.snapshot, b.lacksKnownWrite(&b.cached)
	}
	e.next = frame{generation: b.cached.generation, sequence: b.cached.sequence + 1}
	switch k := &b.trusted; {
	case old == nil && b.hasTrusted:
		e.next.generation, e.next.sequence = k.generation, k.sequence+1
	case old == nil:
		_, _ = rand.Read(e.next.generation[:])
	case lost && k.generation == b.cached.generation:
		e.next.sequence = max(e.next.sequence, k.sequence+1)
	}
	e.decidedAt = b.clock.boot()
	now, bias := b.clock.now(e.decidedAt)
	at := ratelimit.Instant{
		Wall: time.Unix(0, int64(now)), Boot: now, BootID: "redis-" + hex.EncodeToString(e.next.generation[:]),
		Lost: lost || e.damage != nil,
	}
	b.wakeOwner = ""
	next, err := e.change(at, old)
	if errors.Is(err, shared.ErrDamaged) {
		e.damage, at.Lost = err, true
		next, err = e.change(at, nil)
	}
	e.changeErr = err
	if err != nil || next == nil {
		return false, err
	}
	e.next.time, e.next.bias, e.next.snapshot = now, bias, next
	e.next.setWriters(&b.cached, b.writer)
	if size := e.next.size(); size > maxFrame {
		return false, fmt.Errorf("write limiter state: %d bytes, room for %d", size, maxFrame)
	}
	e.value = e.next.encode()
	return true, nil
}

func (b *Backend) lacksKnownWrite(f *frame) bool {
	k := &b.trusted
	return b.hasTrusted && (f.generation != k.generation || f.sequence < k.sequence ||
		f.sequence == k.sequence && f.check != k.check)
}

func (e *exchange) cacheWritten() {
	b := e.Backend
	if e.damage != nil {
		b.damagedCopy, b.damageCause, e.damage = b.opts.Address.Place()+" ("+b.key("state:corrupt")+")", e.damage, nil
	}
	b.cached = e.next
	b.cached.sliceFrom(e.value)
	b.cachedValid = true
	e.afterWrite()
}

func (e *exchange) afterWrite() {
	e.trustCached()
	if e.wakeOwner == e.owner {
		e.heartbeat.wakeAfter(e.wakeIn)
	}
	e.heartbeat.silentSince.CompareAndSwap(e.silentBefore, 0)
}

func (b *Backend) trustCached() {
	b.trusted, b.hasTrusted = b.cached.version(), true
}

// adopt caches a value that the server returned. The error is [shared.ErrNewer].
func (e *exchange) adopt(value []byte) error {
	b := e.Backend
	b.cachedValid, e.damage = true, nil
	if value == nil {
		b.cached = frame{}
		return nil
	}
	f, err := decodeFrame(value)
	if err != nil {
		b.cached, e.damage = frame{}, err
		b.cachedValid = !errors.Is(err, shared.ErrNewer)
		if !b.cachedValid {
			return err
		}
		return nil
	}
	b.clock.adopt(&f)
	b.cached = f
	if !b.lacksKnownWrite(&f) {
		b.trustCached()
	}
	return nil
}

func (b *Backend) readState(ctx context.Context, e *exchange) error {
	ctx, cancel := context.WithTimeout(ctx, b.opts.Timeout)
	defer cancel()
	b.roundTrips.Add(1)
	var (
		now   *redis.TimeCmd
		value *redis.StringCmd
		there *redis.IntCmd
		sent  time.Duration
	)
	asked := time.Now()
	err := retryIfClosed(func() error {
		pipe := b.client.Pipeline()
		now, value, there = pipe.Time(ctx), pipe.GetRange(ctx, b.key("state"), 0, maxFrame), pipe.Exists(ctx, b.key("state"))
		sent = b.clock.boot()
		_, err := pipe.Exec(ctx)
		return err
	})
	if b.recordAnswer(asked, err); err != nil {
		return err
	}
	b.clock.observe(sent, b.clock.boot(), time.Duration(now.Val().UnixNano()))
	v := nilIfEmpty(value.Val())
	if v == nil && there.Val() > 0 {
		v = []byte(" ")
	}
	return e.adopt(v)
}

// awaitTurn waits in line for the turn. In case the granting message gets lost, it asks again after the current turn.
func (b *Backend) awaitTurn(ctx context.Context, wait time.Duration) (scriptReply, error) {
	for {
		timer := time.NewTimer(max(wait, 0) + time.Millisecond)
		select {
		case v := <-b.heartbeat.grantedTurns:
			timer.Stop()
			return v, nil
		case <-ctx.Done():
			timer.Stop()
			b.giveUpTurn(0)
			return scriptReply{}, ctx.Err()
		case <-timer.C:
		}
		v, err := b.run(tryScript, scriptCall{})
		if err != nil || v.kind == "turn" {
			return v, err
		}
		wait = v.wait
	}
}

// giveUpTurn releases the turn or the place in line. It tries once, because both expire.
func (b *Backend) giveUpTurn(fence int64) {
	o := scriptCall{}
	if fence != 0 {
		o.expected = fmt.Sprint(fence)
	}
	_, _ = b.run(commitScript, o)
}

// recordAnswer records whether the server answered a command that was sent at sentAt.
func (b *Backend) recordAnswer(sentAt time.Time, err error) {
	switch {
	case err == nil:
		b.silentSince = time.Time{}
		b.heartbeat.answeredAt.Store(time.Now().UnixNano())
	case b.silentSince.IsZero():
		b.silentSince = sentAt
	}
}

// Wake implements [shared.Waker].
func (b *Backend) Wake() <-chan struct{} { return b.heartbeat.wake }

// MinAskInterval implements [shared.Waker].
func (b *Backend) MinAskInterval() time.Duration { return b.opts.Turn }

// DamagedCopy implements [shared.Quarantine].
func (b *Backend) DamagedCopy() (place string, cause error) { return b.damagedCopy, b.damageCause }

// WakeNext implements [shared.Coordinator].
func (b *Backend) WakeNext(owner string, in time.Duration) { b.wakeOwner, b.wakeIn = owner, in }

// MayReconnect implements [shared.Coordinator].
func (b *Backend) MayReconnect() bool { return b.heartbeat.serverUp.Load() }

// LostAt implements [shared.Coordinator]. If the server dies, its subscription closes before the next command fails.
func (b *Backend) LostAt() time.Time {
	if ns := b.heartbeat.unsubscribedSince.Load(); ns != 0 &&
		(b.silentSince.IsZero() || time.Unix(0, ns).Before(b.silentSince)) {
		return time.Unix(0, ns)
	}
	return b.silentSince
}

// FirstMissed implements [shared.Coordinator].
func (b *Backend) FirstMissed() time.Time {
	if ns := b.heartbeat.silentSince.Load(); ns != 0 {
		return time.Unix(0, ns)
	}
	return time.Time{}
}

// Owner implements [core.Liveness].
func (b *Backend) Owner() string { return b.owner }

// Machines implements [shared.Coordinator].
func (b *Backend) Machines(ids []string) int {
	seen := []string{b.localProcesses.machine}
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

// RoundTrips returns the number of round trips to the server.
func (b *Backend) RoundTrips() int64 { return b.roundTrips.Load() }

// Close releases the turn, files and connections. It waits for the current Exchange.
func (b *Backend) Close() error {
	b.turn <- struct{}{}
	defer func() { <-b.turn }()
	if b.closed {
		return nil
	}
	b.closed = true
	b.heartbeat.stop()
	b.localProcesses.close()
	b.closeConn()
	return b.client.Close()
}

// Store is a [shared.Store] for the processes of several machines. It never fails because of the server: trouble is a
// warning, and the machine continues alone, with its share of the limits, until the server works again.
type Store = shared.Store

// StoreOptions tunes a [Store]: Place names the server in warnings, Fallback is the store that the processes of this
// machine share while the server can't be used, and OnWarning receives the warnings.
type StoreOptions = shared.Options

// NewStore returns the store over a backend. Close closes both the backend and the fallback.
func NewStore(b *Backend, o StoreOptions) *Store { return shared.New(b, o) }
