package store

// Claims: "I am asking this key". Two processes never ask the same question: before it asks, a process takes an
// advisory lock on a file named after the key's hash, and holds it during the request. The system frees the lock when
// its process dies and wakes the next one at once, which looks once more before it asks. A released claim removes its
// file.
//
// The holder touches the file once a second, so that others can distinguish a stopped process from one that waits for
// its turn in a limiter.

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anivault/anivault/internal/lockfile"
)

const (
	touchEvery = time.Second
	// forever is how long a lock is waited for whose wait ends otherwise.
	forever = 1 << 62
)

// Claim is the right to ask a question.
type Claim struct {
	Release func()
	Waited  time.Duration // for others that held it; 0 when it was free
}

// errStopped ends the wait for a claim whose holder gives no sign of life.
var errStopped = errors.New("holder of the claim does not move")

type claims struct {
	db       *database
	dir      string
	timeout  time.Duration // how long a holder may give no sign of life
	awaiting atomic.Int64

	mu    sync.Mutex
	locks map[string]*claimLock // by the file's path
}

// Claim waits until nobody else is asking for the key. Its error is ctx's cause. Where claims can't be kept it claims
// nothing, and the caller asks all the same. waits is called where it has to wait.
func (s *Store) Claim(ctx context.Context, key string, waits func()) (Claim, error) {
	return s.claims.take(ctx, key, waits)
}

// Awaiting is how many questions of this process wait now for another process's answer.
func (s *Store) Awaiting() int { return int(s.claims.awaiting.Load()) }

func (c *claims) take(ctx context.Context, key string, waits func()) (Claim, error) {
	none := Claim{Release: func() {}}
	if c.db.mode() != modeShared {
		return none, nil
	}
	held := c.lock(key)
	lock := held.lock
	err := lock.Lock(ctx, lockfile.Exclusive, 0)
	var waited time.Duration
	if errors.Is(err, lockfile.ErrBusy) {
		waits()
		waited, err = c.await(ctx, lock)
	}
	if err == nil {
		if waited > 0 {
			touch(lock.Path()) // others may be waiting still
		}
		stop := pulse(lock.Path(), touchEvery)
		return Claim{Waited: waited, Release: func() {
			stop()
			lock.Unlock()
			c.leave(held, true)
		}}, nil
	}
	c.leave(held, false)
	switch {
	case errors.Is(err, errStopped):
		c.db.warned.say(Warning{Kind: WarnLocked, Path: lock.Path(), Err: err})
		none.Waited = waited
		return none, nil
	case ctx.Err() != nil:
		return none, Ended(ctx)
	case isUnlockable(err):
		c.db.goPrivate(err)
	case isReadOnly(err):
		c.db.goReadOnly(err)
	default:
		c.db.warned.say(Warning{Kind: WarnWrite, Path: lock.Path(), Err: err})
	}
	return none, nil
}

// claimLock is the lock of one key's claim, for all of this store who ask for it.
type claimLock struct {
	lock  *lockfile.Lock
	users int
}

func (c *claims) lock(key string) *claimLock {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(key))
	path := filepath.Join(c.dir, fmt.Sprintf("claim-%016x", sum.Sum64()))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.locks[path] == nil {
		c.locks[path] = &claimLock{lock: lockfile.New(path, lockfile.Options{Remove: true})}
	}
	c.locks[path].users++
	return c.locks[path]
}

// leave forgets a lock that nobody uses. One whose wait was given up stays until it was free once: the wait in the
// kernel goes on, and who asks again must join it instead of leaving another one behind.
func (c *claims) leave(l *claimLock, free bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.users--; l.users == 0 && free {
		delete(c.locks, l.lock.Path())
	}
}

// dropDead removes the files of claims whose process died with them, a day later.
func (c *claims) dropDead() {
	for _, name := range listFolder(c.dir) {
		path := filepath.Join(c.dir, name)
		if info, err := os.Lstat(path); err != nil || time.Since(info.ModTime()) < day {
			continue
		}
		if dead, err := lockfile.TakeOver(path); err == nil {
			dead.Close()
		}
	}
}

// await waits for a claim that somebody holds, and returns for how long it has. It gives up with errStopped when
// the holder gives no sign of life for ClaimTimeout.
func (c *claims) await(ctx context.Context, lock *lockfile.Lock) (time.Duration, error) {
	c.awaiting.Add(1)
	defer c.awaiting.Add(-1)
	begun := time.Now()
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		if watchClaim(inner, lock.Path(), c.timeout) {
			cancel(errStopped)
		}
	}()
	err := lock.Lock(inner, lockfile.Exclusive, forever)
	if err != nil && errors.Is(context.Cause(inner), errStopped) {
		err = errStopped
	}
	cancel(nil)
	<-watched
	return max(time.Since(begun), 1), err
}

// watchClaim reports whether a claim's holder stood still for so long, or returns false when ctx ends.
func watchClaim(ctx context.Context, path string, limit time.Duration) bool {
	life := pulseWatch{limit: limit, moved: time.Now()} // another goroutine may be about to make the file
	tick := time.NewTicker(limit / 5)
	defer tick.Stop()
	for life.moves(touched(path), time.Now()) {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
	return true
}
