package redisstore

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/internal/shared"
)

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
	o := scriptCall{value: e.value, moveDamaged: e.damage != nil, wakeIn: e.wakeIn, sentAt: e.decidedAt}
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
