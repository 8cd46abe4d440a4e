package redisstore

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	heartbeatTTL      = 5 * time.Second         // how long the key alive:<owner> lasts
	heartbeatInterval = 1500 * time.Millisecond // how often that key is renewed
	// probeInterval is how often a silent server is pinged. A machine that goes alone sends nothing for one window, so
	// every machine, idle or not, must notice within a window less probeInterval that the server is gone.
	probeInterval = 250 * time.Millisecond
	// maxSilence is how long the subscription may be silent although it is pinged each heartbeatInterval.
	maxSilence = 4 * time.Second
	// deathDelay is how long the key of a process must be missing before the process counts as dead.
	deathDelay = time.Second
)

// heartbeat works between Exchanges: it shows the others that this process is alive, receives turns granted to it, and
// notices that the server is lost. Its goroutines run from the first write or loss until the backend is closed.
type heartbeat struct {
	b                 *Backend
	serverUp          atomic.Bool  // the server answered last time
	unsubscribedSince atomic.Int64 // when the subscription was closed, Unix nanoseconds; 0: it is open
	// silentSince is when pings first failed after the last write, answeredAt the last answer, in Unix ns; 0: never.
	silentSince, answeredAt atomic.Int64
	grantedTurns            chan scriptReply // receives the turn that this process was granted
	wake                    chan struct{}    // receives a value when a request of this process may be next

	mu          sync.Mutex
	running     bool
	cancel      context.CancelFunc
	done        sync.WaitGroup
	upSince     time.Time            // zero: the server is lost
	firstMissed map[string]time.Time // when a process's key was first missing, by process
}

func (k *heartbeat) init(b *Backend) {
	k.b, k.grantedTurns, k.wake = b, make(chan scriptReply, 1), make(chan struct{}, 1)
	k.upSince, k.firstMissed = time.Now(), map[string]time.Time{}
	k.serverUp.Store(true)
}

// start sets the key that shows that this process is alive, before its first write, and subscribes to the messages that
// wake it.
func (k *heartbeat) start(ctx context.Context) error {
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

func (k *heartbeat) markLost() {
	k.serverUp.Store(false)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.upSince = time.Time{}
	clear(k.firstMissed)
	if !k.running {
		k.run(nil)
	}
}

func (k *heartbeat) run(subscription *redis.PubSub) {
	ctx, cancel := context.WithCancel(context.Background())
	k.running, k.cancel = true, cancel
	k.done.Go(func() { k.beat(ctx) })
	k.done.Go(func() { k.receiveAll(ctx, subscription) })
}

func (k *heartbeat) stop() {
	k.mu.Lock()
	running, cancel := k.running, k.cancel
	k.running = true // prevents another start
	k.mu.Unlock()
	if !running {
		return
	}
	cancel()
	k.done.Wait()
	ctx, done := context.WithTimeout(context.Background(), k.b.opts.Timeout)
	defer done()
	k.b.client.Del(ctx, k.b.key("alive:"+k.b.owner)) // otherwise it would stay until it expires
}

// beat renews this process's key, and pings a silent server, until ctx ends.
func (k *heartbeat) beat(ctx context.Context) {
	tick := time.NewTicker(probeInterval)
	defer tick.Stop()
	renewed := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		asked, ask := time.Now(), k.renew
		if k.serverUp.Load() && asked.Sub(renewed) < heartbeatInterval-probeInterval/2 {
			if asked.Sub(time.Unix(0, k.answeredAt.Load())) < probeInterval/2 {
				continue
			}
			ask = k.ping
		} else {
			renewed = asked
		}
		if err := retryIfClosed(func() error { return ask(ctx) }); err != nil {
			k.noteSilence(asked)
			k.mu.Lock()
			k.upSince = time.Time{}
			clear(k.firstMissed)
			k.mu.Unlock()
			continue
		}
		k.mu.Lock()
		if k.upSince.IsZero() {
			k.upSince = time.Now()
		}
		k.mu.Unlock()
		k.answeredAt.Store(time.Now().UnixNano())
		k.serverUp.Store(true)
	}
}

// noteSilence records that the server did not answer a command sent at sentAt, unless it has answered a later one.
func (k *heartbeat) noteSilence(sentAt time.Time) {
	if k.answeredAt.Load() < sentAt.UnixNano() {
		k.silentSince.CompareAndSwap(0, sentAt.UnixNano())
	}
}

func (k *heartbeat) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, k.b.opts.Timeout)
	defer cancel()
	return k.b.client.Ping(ctx).Err()
}

func (k *heartbeat) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, k.b.opts.Timeout)
	defer cancel()
	return k.b.client.Set(ctx, k.b.key("alive:"+k.b.owner), "1", heartbeatTTL).Err()
}

func (k *heartbeat) listen(ctx context.Context) (*redis.PubSub, error) {
	ear := k.b.client.Subscribe(ctx, k.b.key("wake:"+k.b.owner))
	if _, err := ear.ReceiveTimeout(ctx, k.b.opts.Timeout); err != nil {
		_ = ear.Close()
		return nil, err
	}
	return ear, nil
}

// receiveAll receives the messages to this process until ctx ends, and subscribes again after a closed connection. A
// turn granted meanwhile is in the server's state, so it is lost only if subscribing fails.
func (k *heartbeat) receiveAll(ctx context.Context, subscription *redis.PubSub) {
	for ctx.Err() == nil {
		if subscription != nil {
			began := time.Now()
			k.receive(ctx, subscription)
			_ = subscription.Close()
			ended := time.Now()
			if ended.Sub(began) > k.b.opts.Timeout { // a shorter one was closed at once, so wait before the next
				if subscription, _ = k.listen(ctx); subscription != nil {
					continue
				}
			}
			k.unsubscribedSince.Store(ended.UnixNano())
			k.noteSilence(ended)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(k.b.opts.Timeout):
		}
		if subscription, _ = k.listen(ctx); subscription != nil {
			k.unsubscribedSince.Store(0)
		}
	}
}

func (k *heartbeat) receive(ctx context.Context, subscription *redis.PubSub) {
	stop := context.AfterFunc(ctx, func() { _ = subscription.Close() })
	defer stop()
	asked := time.Now()
	for heard := time.Now(); time.Since(heard) < maxSilence; {
		if time.Since(asked) >= heartbeatInterval {
			asked = time.Now()
			if subscription.Ping(ctx) != nil {
				return
			}
		}
		message, err := subscription.ReceiveTimeout(ctx, heartbeatInterval)
		if isTimeout(err) {
			continue
		} else if err != nil {
			return
		}
		heard = time.Now()
		if m, ok := message.(*redis.Message); ok {
			k.handle([]byte(m.Payload))
		}
	}
}

func (k *heartbeat) handle(message []byte) {
	if in, ok := parseWake(message); ok {
		k.wakeAfter(in)
		return
	}
	v, ok := parseTurn(message)
	if !ok {
		return
	}
	for {
		select {
		case k.grantedTurns <- v:
			return
		case <-k.grantedTurns: // an older turn has ended
		}
	}
}

// parseTurn reads the message with which commitScript hands over the turn: "turn", the fence and the value.
func parseTurn(message []byte) (v scriptReply, ok bool) {
	kind, rest, _ := bytes.Cut(message, []byte(" "))
	fence, value, found := bytes.Cut(rest, []byte(" "))
	n, err := strconv.ParseInt(string(fence), 10, 64)
	if string(kind) != "turn" || !found || err != nil {
		return v, false
	}
	return scriptReply{kind: "turn", fence: n, value: nilIfEmpty(string(value))}, true
}

// parseWake reads a message that wakes a request. It limits the delay to a second, the longest sleep of a request.
func parseWake(message []byte) (in time.Duration, ok bool) {
	text, ok := bytes.CutPrefix(message, []byte("wake "))
	us, err := strconv.ParseUint(string(text), 10, 32)
	return min(time.Duration(us)*time.Microsecond, time.Second), ok && err == nil
}

func (k *heartbeat) wakeAfter(in time.Duration) {
	if in < time.Millisecond {
		k.wakeNow()
		return
	}
	time.AfterFunc(in, k.wakeNow)
}

func (k *heartbeat) wakeNow() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

func (k *heartbeat) dropTurn() {
	select {
	case <-k.grantedTurns:
	default:
	}
}

// Dead implements [core.Liveness]. A process of this machine is dead if nobody holds its lock file. A process of
// another machine is presumed dead if its key is missing twice.
func (b *Backend) Dead(ids []string) []string {
	var dead, far []string
	for _, id := range ids {
		switch {
		case id == b.owner:
		case machineOf(id) == b.localProcesses.machine:
			if b.localProcesses.dead(id) {
				dead = append(dead, id)
			}
		default:
			far = append(far, id)
		}
	}
	return append(dead, b.heartbeat.deadRemote(far)...)
}

func (k *heartbeat) deadRemote(ids []string) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	// Right after a loss, the others may not have renewed their keys yet.
	if len(ids) == 0 || k.upSince.IsZero() || time.Since(k.upSince) < 2*heartbeatInterval {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), k.b.opts.Timeout)
	defer cancel()
	pipe := k.b.client.Pipeline()
	looks := make([]*redis.IntCmd, len(ids))
	for i, id := range ids {
		looks[i] = pipe.Exists(ctx, k.b.key("alive:"+id))
	}
	k.b.roundTrips.Add(1)
	if _, err := pipe.Exec(ctx); err != nil {
		return nil
	}
	var dead []string
	now := time.Now()
	for i, id := range ids {
		first, missed := k.firstMissed[id]
		switch {
		case looks[i].Val() > 0:
			delete(k.firstMissed, id)
		case !missed:
			k.firstMissed[id] = now
		case now.Sub(first) >= deathDelay:
			delete(k.firstMissed, id)
			dead = append(dead, id)
		}
	}
	return dead
}

// Living implements [core.Liveness]. It counts the subscribed processes.
func (b *Backend) Living() int {
	ctx, cancel := context.WithTimeout(context.Background(), b.opts.Timeout)
	defer cancel()
	glob := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`)
	channels, err := b.client.PubSubChannels(ctx, glob.Replace(b.key("wake:"))+"*").Result()
	if err != nil {
		return 0
	}
	n := len(channels)
	if !slices.Contains(channels, b.key("wake:"+b.owner)) {
		n++
	}
	return n
}
