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

// damagedTTL is how long a damaged state is kept. functions.lua repeats it in seconds.
const damagedTTL = 7 * 24 * time.Hour

func (b *Backend) lacksKnownWrite(f *frame) bool {
	k := &b.trusted
	return b.hasTrusted && (f.generation != k.generation || f.sequence < k.sequence ||
		f.sequence == k.sequence && f.check != k.check)
}

func (b *Backend) trustCached() { b.trusted, b.hasTrusted = b.cached.version(), true }

func (b *Backend) awaitTurn(ctx context.Context, wait time.Duration) (scriptReply, error) {
	for {
		select {
		case v := <-b.heartbeat.grantedTurns:
			return v, nil
		case <-ctx.Done():
			b.giveUpTurn(0)
			return scriptReply{}, ctx.Err()
		case <-time.After(max(wait, 0) + time.Millisecond):
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
