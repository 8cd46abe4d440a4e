package store

// A claim is the exclusive right of a process to ask the upstream about a key. It is an advisory lock on a file named
// after the hash of the key, entry during the request. If its holder dies, the system releases the lock and wakes the
// next process, which reads the store again before it asks. Releasing a claim removes its file.
//
// The holder touches the file once a second. This shows other processes that it has not stopped, although it may be
// waiting for a rate limiter.

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anivault/anivault/internal/lockfile"
)

const claimTouchInterval = time.Second

// Claim is the exclusive right to ask the upstream about a key.
type Claim struct {
	Release func()
	Waited  time.Duration // how long Claim waited for other holders
}

// claimTable holds the claims that this process has or waits for.
type claimTable struct {
	db              *database
	dir             string
	inactivityLimit time.Duration // a holder without activity for this long has stopped
	waiting         atomic.Int64  // requests that wait for another process

	mu    sync.Mutex
	locks map[string]*claimLock // by file path
}

// Claim waits until no other process has a claim on the key. It fails only if ctx ends, with the cause. If locks are
// unavailable, it returns an empty Claim, and the caller should ask anyway. Before it waits, it calls onWait.
func (s *Store) Claim(ctx context.Context, key string, onWait func()) (Claim, error) {
	return s.claims.acquire(ctx, key, onWait)
}

// WaitingRequests returns how many requests of this process are waiting for the answer of another process.
func (s *Store) WaitingRequests() int { return int(s.claims.waiting.Load()) }

func (c *claimTable) acquire(ctx context.Context, key string, onWait func()) (Claim, error) {
	none := Claim{Release: func() {}}
	if c.db.mode() != modeReadWrite {
		return none, nil
	}
	entry := c.lockFor(key)
	lock := entry.lock
	err := lock.Lock(ctx, lockfile.Exclusive, 0)
	if errors.Is(err, fs.ErrNotExist) && os.MkdirAll(c.dir, 0o700) == nil { // another program removed the cache's folder
		err = lock.Lock(ctx, lockfile.Exclusive, 0)
	}
	var waited time.Duration
	if errors.Is(err, lockfile.ErrBusy) {
		onWait()
		c.waiting.Add(1)
		begun := time.Now()
		err = lock.Lock(ctx, lockfile.Exclusive, c.inactivityLimit)
		waited = max(time.Since(begun), 1)
		c.waiting.Add(-1)
	}
	if err == nil {
		if waited > 0 {
			touch(lock.Path()) // show processes that still wait that the new holder is active
		}
		stop := keepTouching(lock.Path(), claimTouchInterval)
		return Claim{Waited: waited, Release: func() {
			stop()
			lock.Unlock()
			c.removeUser(entry, true)
		}}, nil
	}
	c.removeUser(entry, false)
	switch {
	case errors.Is(err, lockfile.ErrBusy): // the holder has stopped
		c.db.warnings.warn(Warning{Kind: WarnLocked, Path: lock.Path(), Err: err})
		none.Waited = waited
		return none, nil
	case ctx.Err() != nil:
		return none, ContextError(ctx)
	case isLockUnavailable(err):
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
	lock      *lockfile.Lock
	userCount int
}

func (c *claimTable) lockFor(key string) *claimLock {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(key))
	path := filepath.Join(c.dir, fmt.Sprintf("claim-%016x", sum.Sum64()))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.locks[path] == nil {
		lastTouch := func() time.Time { return time.Unix(0, touchTime(path)) }
		c.locks[path] = &claimLock{lock: lockfile.New(path, lockfile.Options{RemoveOnUnlock: true, LastUse: lastTouch})}
	}
	c.locks[path].userCount++
	return c.locks[path]
}

// removeUser removes a lock that no goroutine uses any longer. waitEnded is false if the caller gave up waiting. The
// kernel's wait then goes on, and the lock stays in the table so that the next request joins that wait.
func (c *claimTable) removeUser(l *claimLock, waitEnded bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.userCount--; l.userCount == 0 && waitEnded {
		delete(c.locks, l.lock.Path())
	}
}

// removeDeadClaims removes claim files that dead processes left behind, if they are at least a day old.
func (c *claimTable) removeDeadClaims() {
	for _, name := range listFolder(c.dir) {
		path := filepath.Join(c.dir, name)
		if info, err := os.Lstat(path); err == nil && time.Since(info.ModTime()) >= day {
			lockfile.RemoveDead(path)
		}
	}
}
