package redisstore

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	aliveFor   = 5 * time.Second         // how long a sign of life lasts
	aliveEvery = 1500 * time.Millisecond // how often it is renewed
	// backEvery is how often a silent server is asked, lost or not. A machine that goes alone sends nothing for one
	// window, so every machine must notice within a window less backEvery that the server is gone, idle ones too.
	backEvery = 250 * time.Millisecond
	// quiet is how long nothing may come from the server on the connection that listens: it is asked each aliveEvery.
	quiet = 4 * time.Second
	// deadAfter is the time between two looks at the sign of life of a process that is buried at the second.
	deadAfter = time.Second
)

// keeper is what a backend does between Exchanges: it shows that the process lives, listens for its turn, and looks for
// a server that was lost. Its goroutines run from the first write or the first loss on until the backend is closed.
type keeper struct {
	b    *Backend
	up   atomic.Bool  // the server works, as far as is known
	deaf atomic.Int64 // since when nobody listens because the connection was closed, Unix nanoseconds; 0: somebody does
	// absent is since when the server has had no answer, although nothing failed that anybody waits for, the first time
	// since a state was written; heard is when it answered last. Both in Unix nanoseconds; 0: never.
	absent, heard atomic.Int64
	turns         chan verdict  // the turn was given to this process
	wake          chan struct{} // a request's turn may have come

	mu      sync.Mutex
	running bool
	cancel  context.CancelFunc
	done    sync.WaitGroup
	since   time.Time            // since when there was no loss
	missed  map[string]time.Time // when a process's sign of life was first missed
}

func (k *keeper) init(b *Backend) {
	k.b, k.turns, k.wake = b, make(chan verdict, 1), make(chan struct{}, 1)
	k.since, k.missed = time.Now(), map[string]time.Time{}
	k.up.Store(true)
}

// start shows that this process lives, before the others see what it writes, and begins to listen.
func (k *keeper) start(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.running {
		return nil
	}
	if err := k.renew(ctx); err != nil {
		return err
	}
	ear, err := k.listen(ctx)
	if err != nil {
		return err
	}
	k.run(ear)
	return nil
}

func (k *keeper) lose() {
	k.up.Store(false)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.since = time.Time{}
	clear(k.missed)
	if !k.running {
		k.run(nil)
	}
}

func (k *keeper) run(ear *redis.PubSub) {
	ctx, cancel := context.WithCancel(context.Background())
	k.running, k.cancel = true, cancel
	k.done.Go(func() { k.live(ctx) })
	k.done.Go(func() { k.hear(ctx, ear) })
}

func (k *keeper) stop() {
	k.mu.Lock()
	running, cancel := k.running, k.cancel
	k.running = true // nothing starts any more
	k.mu.Unlock()
	if !running {
		return
	}
	cancel()
	k.done.Wait()
	ctx, done := context.WithTimeout(context.Background(), k.b.opts.Timeout)
	defer done()
	k.b.client.Del(ctx, k.b.key("alive:"+k.b.owner)) // else it ends by itself
}

// live renews the sign of life, and looks for a lost server, until ctx ends.
func (k *keeper) live(ctx context.Context) {
	tick := time.NewTicker(backEvery)
	defer tick.Stop()
	renewed := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		asked, ask := time.Now(), k.renew
		if k.up.Load() && asked.Sub(renewed) < aliveEvery-backEvery/2 {
			if asked.Sub(time.Unix(0, k.heard.Load())) < backEvery/2 {
				continue
			}
			ask = k.ping
		} else {
			renewed = asked
		}
		if err := persist(func() error { return ask(ctx) }); err != nil {
			k.miss(asked)
			k.mu.Lock()
			k.since = time.Time{}
			clear(k.missed)
			k.mu.Unlock()
			continue
		}
		k.mu.Lock()
		if k.since.IsZero() {
			k.since = time.Now()
		}
		k.mu.Unlock()
		k.heard.Store(time.Now().UnixNano())
		k.up.Store(true)
	}
}

// miss notes that the server has left what was asked then without an answer, unless it has answered something since.
func (k *keeper) miss(asked time.Time) {
	if k.heard.Load() < asked.UnixNano() {
		k.absent.CompareAndSwap(0, asked.UnixNano())
	}
}

func (k *keeper) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, k.b.opts.Timeout)
	defer cancel()
	return k.b.client.Ping(ctx).Err()
}

func (k *keeper) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, k.b.opts.Timeout)
	defer cancel()
	return k.b.client.Set(ctx, k.b.key("alive:"+k.b.owner), "1", aliveFor).Err()
}

func (k *keeper) listen(ctx context.Context) (*redis.PubSub, error) {
	ear := k.b.client.Subscribe(ctx, k.b.key("wake:"+k.b.owner))
	if _, err := ear.ReceiveTimeout(ctx, k.b.opts.Timeout); err != nil {
		_ = ear.Close()
		return nil, err
	}
	return ear, nil
}

// hear takes what is said on this process's channel, over one connection after the other, until ctx ends. Only where
// none can be had has the server not been heard: what was granted while one was opened is in its state.
func (k *keeper) hear(ctx context.Context, ear *redis.PubSub) {
	for ctx.Err() == nil {
		if ear != nil {
			began := time.Now()
			k.attend(ctx, ear)
			_ = ear.Close()
			ended := time.Now()
			if ended.Sub(began) > k.b.opts.Timeout { // else each is cut at once
				if ear, _ = k.listen(ctx); ear != nil {
					continue
				}
			}
			k.deaf.Store(ended.UnixNano())
			k.miss(ended)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(k.b.opts.Timeout):
		}
		if ear, _ = k.listen(ctx); ear != nil {
			k.deaf.Store(0)
		}
	}
}

func (k *keeper) attend(ctx context.Context, ear *redis.PubSub) {
	stop := context.AfterFunc(ctx, func() { _ = ear.Close() })
	defer stop()
	asked := time.Now()
	for heard := time.Now(); time.Since(heard) < quiet; {
		if time.Since(asked) >= aliveEvery {
			asked = time.Now()
			if ear.Ping(ctx) != nil {
				return
			}
		}
		message, err := ear.ReceiveTimeout(ctx, aliveEvery)
		if isTimeout(err) {
			continue
		} else if err != nil {
			return
		}
		heard = time.Now()
		if m, ok := message.(*redis.Message); ok {
			k.take([]byte(m.Payload))
		}
	}
}

func (k *keeper) take(message []byte) {
	if in, ok := parseRouse(message); ok {
		k.ringIn(in)
		return
	}
	v, ok := parseTurn(message)
	if !ok {
		return
	}
	for {
		select {
		case k.turns <- v:
			return
		case <-k.turns: // an older one is over
		}
	}
}

// parseTurn reads the message of commit: turn, fence and value.
func parseTurn(message []byte) (v verdict, ok bool) {
	kind, rest, _ := bytes.Cut(message, []byte(" "))
	fence, value, found := bytes.Cut(rest, []byte(" "))
	n, err := strconv.ParseInt(string(fence), 10, 64)
	if string(kind) != "turn" || !found || err != nil {
		return v, false
	}
	return verdict{kind: "turn", fence: n, value: presence(string(value))}, true
}

// rousing is the message of who has a request's turn come with the value: in how many microseconds.
func rousing(in time.Duration) string { return fmt.Sprint("rouse ", in.Microseconds()) }

// parseRouse reads it. No request sleeps for longer than a second.
func parseRouse(message []byte) (in time.Duration, ok bool) {
	text, ok := bytes.CutPrefix(message, []byte("rouse "))
	us, err := strconv.ParseUint(string(text), 10, 32)
	return min(time.Duration(us)*time.Microsecond, time.Second), ok && err == nil
}

func (k *keeper) ringIn(in time.Duration) {
	if in < time.Millisecond {
		k.ring()
		return
	}
	time.AfterFunc(in, k.ring)
}

func (k *keeper) ring() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

func (k *keeper) drain() {
	select {
	case <-k.turns:
	default:
	}
}

// Dead implements [core.Liveness]. A process of this machine is dead when nobody holds its lock file, one of another
// machine when its sign of life is missing in two looks: that is presumption, not proof.
func (b *Backend) Dead(ids []string) []string {
	var dead, far []string
	for _, id := range ids {
		switch {
		case id == b.owner:
		case machineOf(id) == b.home.machine:
			if b.home.dead(id) {
				dead = append(dead, id)
			}
		default:
			far = append(far, id)
		}
	}
	return append(dead, b.keeper.dead(far)...)
}

func (k *keeper) dead(ids []string) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	// Right after a loss the others may not have shown themselves yet.
	if len(ids) == 0 || k.since.IsZero() || time.Since(k.since) < 2*aliveEvery {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), k.b.opts.Timeout)
	defer cancel()
	pipe := k.b.client.Pipeline()
	looks := make([]*redis.IntCmd, len(ids))
	for i, id := range ids {
		looks[i] = pipe.Exists(ctx, k.b.key("alive:"+id))
	}
	k.b.trips.Add(1)
	if _, err := pipe.Exec(ctx); err != nil {
		return nil
	}
	var dead []string
	now := time.Now()
	for i, id := range ids {
		first, missed := k.missed[id]
		switch {
		case looks[i].Val() > 0:
			delete(k.missed, id)
		case !missed:
			k.missed[id] = now
		case now.Sub(first) >= deadAfter:
			delete(k.missed, id)
			dead = append(dead, id)
		}
	}
	return dead
}

// Living implements [core.Liveness]: who listens lives.
func (b *Backend) Living() int {
	ctx, cancel := context.WithTimeout(context.Background(), b.opts.Timeout)
	defer cancel()
	channels, err := b.client.PubSubChannels(ctx, globEscaped(b.key("wake:"))+"*").Result()
	if err != nil {
		return 0
	}
	n := len(channels)
	if !slices.Contains(channels, b.key("wake:"+b.owner)) {
		n++
	}
	return n
}

func globEscaped(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(s)
}
