package store

// A claim is a process's exclusive right to ask the upstream about a key: an advisory lock, held during the request, on
// a file named after the key's hash. When its holder dies, the system frees the lock and wakes the next process, which
// looks into the store again before it asks. Releasing a claim removes its file.
//
// The holder touches the file once a second, so that others can tell a stopped process from one that waits for its turn
// in a rate limiter.

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
	claimTouchInterval = time.Second
	// noTimeout is a lock timeout for waits that end by other means.
	noTimeout = 1 << 62
)

// Claim is the exclusive right to ask the upstream about a key.
type Claim struct {
	Release func()
	Waited  time.Duration // how long other holders were waited for; 0 if it was free
}

// errHolderStopped ends the wait for a claim whose holder shows no activity.
var errHolderStopped = errors.New("holder of the claim does not move")

type claims struct {
	db       *database
	dir      string
	timeout  time.Duration // how long a holder may show no activity
	awaiting atomic.Int64

	mu    sync.Mutex
	locks map[string]*claimLock // by file path
}

// Claim waits until no other process has a claim on the key. It fails only when ctx ends, with its cause. If locks are
// unavailable it returns an empty Claim, and the caller asks anyway. It calls waits before it waits.
func (s *Store) Claim(ctx context.Context, key string, waits func()) (Claim, error) {
	return s.claims.acquire(ctx, key, waits)
}

// Awaiting returns how many requests of this process wait for another process's answer.
func (s *Store) Awaiting() int { return int(s.claims.awaiting.Load()) }

// acquire waits for the claim on a key; see Store.Claim.
func (c *claims) acquire(ctx context.Context, key string, waits func()) (Claim, error) {
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
		waited, err = c.waitForHolder(ctx, lock)
	}
	if err == nil {
		if waited > 0 {
			touch(lock.Path()) // others may still be waiting
		}
		stop := keepTouching(lock.Path(), claimTouchInterval)
		return Claim{Waited: waited, Release: func() {
			stop()
			lock.Unlock()
			c.dropUser(held, true)
		}}, nil
	}
	c.dropUser(held, false)
	switch {
	case errors.Is(err, errHolderStopped):
		c.db.warnings.warn(Warning{Kind: WarnLocked, Path: lock.Path(), Err: err})
		none.Waited = waited
		return none, nil
	case ctx.Err() != nil:
		return none, ContextError(ctx)
	case isUnlockable(err):
		c.db.stopUsingDisk(err)
	case isReadOnly(err):
		c.db.stopWriting(err)
	default:
		c.db.warnings.warn(Warning{Kind: WarnWrite, Path: lock.Path(), Err: err})
	}
	return none, nil
}

// claimLock is the lock for one key, shared by all goroutines that want its claim.
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
		c.locks[path] = &claimLock{lock: lockfile.New(path, lockfile.Options{RemoveOnUnlock: true})}
	}
	c.locks[path].users++
	return c.locks[path]
}

// dropUser removes a lock without users. After an abandoned wait, the lock stays until it has been free once: the wait
// in the kernel goes on, and the next request must join it.
func (c *claims) dropUser(l *claimLock, free bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.users--; l.users == 0 && free {
		delete(c.locks, l.lock.Path())
	}
}

// removeDeadClaims removes claim files that dead processes left a day ago or earlier.
func (c *claims) removeDeadClaims() {
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

// waitForHolder waits for a claim of another process, and returns how long it waited. It returns errHolderStopped if
// the holder shows no activity for ClaimTimeout.
func (c *claims) waitForHolder(ctx context.Context, lock *lockfile.Lock) (time.Duration, error) {
	c.awaiting.Add(1)
	defer c.awaiting.Add(-1)
	begun := time.Now()
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		if holderStopped(inner, lock.Path(), c.timeout) {
			cancel(errHolderStopped)
		}
	}()
	err := lock.Lock(inner, lockfile.Exclusive, noTimeout)
	if err != nil && errors.Is(context.Cause(inner), errHolderStopped) {
		err = errHolderStopped
	}
	cancel(nil)
	<-watched
	return max(time.Since(begun), 1), err
}

// holderStopped returns true once a claim's holder has shown no activity for limit, and false if ctx ends first.
func holderStopped(ctx context.Context, path string, limit time.Duration) bool {
	life := activityWatch{limit: limit, changedAt: time.Now()} // another goroutine may be about to create the file
	tick := time.NewTicker(limit / 5)
	defer tick.Stop()
	for life.isActive(touchTime(path), time.Now()) {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
	return true
}
