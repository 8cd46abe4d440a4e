package store

// This file has the lock of the database, and the claims on keys. A process that waits for the database must know
// whether the holder of its lock is slow or stopped. So the holder keeps touching the lock file, and the others watch
// its modification time.
//
// One byte of the file says whether a session is in progress. If it is set although no process is in a session, a
// process died in one, perhaps because of a damaged page: if a page refers to itself, bbolt overflows the stack.

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/anivault/anivault/internal/lockfile"
)

var (
	// ErrLocked reports that another process held the cache's lock for longer than the store waits.
	ErrLocked = errors.New("cache is locked by another process")
	// ErrHolderActive is an ErrLocked whose holder has touched the lock file recently.
	ErrHolderActive = fmt.Errorf("%w that is at work", ErrLocked)
)

const (
	// lockTouchInterval is how often the holder of the exclusive lock touches the file.
	lockTouchInterval = 50 * time.Millisecond
	// activeHolderPause is the delay between two checks whether a slow holder has released the lock.
	activeHolderPause = 10 * time.Millisecond
	// sessionOffset is the offset of the session byte; Windows locks byte 0. The generation has eight bytes.
	sessionOffset    = 1
	generationOffset = 8
)

// isReadOnly reports whether err means that a file or folder can be read but not written.
func isReadOnly(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// isLockUnavailable reports whether locks can't be used, because of the file system or an irregular lock file.
func isLockUnavailable(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.As(err, new(*lockfile.NotRegularError))
}

// dbLock is the lock of the database, with the session byte and the generation.
type dbLock struct {
	lock           *lockfile.Lock
	mu             sync.Mutex
	holderActivity activityWatch
	file           *lockfile.File // for the session byte and the generation
}

// acquire takes the lock if it can within wait. Otherwise it returns ErrHolderActive if the holder was active recently,
// and ErrLocked if not. If wait is short, as for requests, it waits for other sessions of this process without limit,
// because one of them may be storing the requested answer.
func (l *dbLock) acquire(ctx context.Context, kind lockfile.Kind, wait time.Duration) (release func(), err error) {
	unlock := l.lock.Unlock
	err = l.lock.Lock(ctx, kind, 0)
	if errors.Is(err, lockfile.ErrBusy) && wait > 0 {
		_ = l.busyError()
		if wait <= l.holderActivity.limit {
			err = l.lock.Lock(ctx, kind, wait)
		} else { // unlike Lock, Acquire also limits the wait for sessions of this process
			unlock, err = lockfile.Acquire(ctx, l.lock.Path(), kind, wait)
		}
	}
	switch {
	case errors.Is(err, lockfile.ErrBusy):
		return nil, l.busyError()
	case ctx.Err() != nil && err != nil:
		return nil, ContextError(ctx)
	case err != nil:
		return nil, err
	case kind == lockfile.Shared:
		return unlock, nil
	}
	touch(l.lock.Path()) // many quick holders in a row would otherwise look like one stopped holder
	stop := keepTouching(l.lock.Path(), lockTouchInterval)
	return func() {
		stop()
		unlock()
	}, nil
}

func (l *dbLock) busyError() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holderActivity.isActive(touchTime(l.lock.Path()), time.Now()) {
		return ErrHolderActive
	}
	return ErrLocked
}

// setSessionByte sets or clears the session byte, and returns its previous value. It fails on a read-only file.
func (l *dbLock) setSessionByte(set bool) (previous bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.openFile(); err != nil {
		return false, err
	}
	var b [1]byte
	_, _ = l.file.ReadAt(b[:], sessionOffset) // a missing byte counts as cleared
	if previous = b[0] != 0; previous != set {
		b[0] ^= 1
		_, err = l.file.WriteAt(b[:], sessionOffset)
	}
	return previous, err
}

func (l *dbLock) openFile() (err error) {
	if l.file != nil && l.file.IsAtPath() {
		return nil
	}
	if l.file != nil {
		l.file.Close()
	}
	l.file, err = lockfile.OpenNoFollow(l.lock.Path(), os.O_RDWR, 0)
	return err
}

// generation returns the number of the last session that could write, or 0 if it is unknown.
func (l *dbLock) generation() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b [8]byte
	if l.openFile() != nil {
		return 0
	}
	_, _ = l.file.ReadAt(b[:], generationOffset) // missing bytes count as 0
	return binary.BigEndian.Uint64(b[:])
}

// nextGeneration begins a new generation; the caller holds the exclusive lock. now is 0 if the file can't be written.
func (l *dbLock) nextGeneration() (before, now uint64) {
	before = l.generation()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.openFile() != nil {
		return before, 0
	}
	now = max(before+1, uint64(time.Now().UnixNano())) // the time makes it unique even if the file was recreated
	if _, err := l.file.WriteAt(binary.BigEndian.AppendUint64(nil, now), generationOffset); err != nil {
		return before, 0
	}
	return before, now
}

func (l *dbLock) close() {
	l.lock.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
}

// touch sets the modification time of a lock file. Other processes ignore the lock of an inactive holder.
func touch(path string) {
	now := time.Now()
	_ = os.Chtimes(path, now, now)
}

// keepTouching touches a lock file until stop is called. Most locks are released before the first interval ends.
func keepTouching(path string, interval time.Duration) (stop func()) {
	var mu sync.Mutex // held while touching, so that no touch happens after stop
	over := false
	mu.Lock()
	defer mu.Unlock()
	var timer *time.Timer
	timer = time.AfterFunc(interval, func() {
		mu.Lock()
		defer mu.Unlock()
		if !over {
			touch(path)
			timer.Reset(interval)
		}
	})
	return func() {
		mu.Lock()
		defer mu.Unlock()
		over = true
		timer.Stop()
	}
}

// touchTime returns the modification time of a lock file in Unix nanoseconds, or 0 if the file does not exist.
func touchTime(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.ModTime().UnixNano()
}

// activityWatch detects whether the holder of a lock has stopped.
type activityWatch struct {
	limit      time.Duration // a holder that does not touch the file for this long has stopped
	lastTouch  int64
	lastChange time.Time
}

// isActive takes the modification time of the lock file, and reports whether it has changed within the limit. It
// measures the limit with this machine's clock, because the holder may be on a machine with another clock.
func (w *activityWatch) isActive(touched int64, now time.Time) bool {
	if touched != w.lastTouch {
		w.lastTouch, w.lastChange = touched, now
	}
	return now.Sub(w.lastChange) < w.limit
}

// ContextError returns why ctx ended: its cause, joined with [context.Canceled] if ctx was canceled.
func ContextError(ctx context.Context) error {
	cause := context.Cause(ctx)
	if err := ctx.Err(); errors.Is(err, context.Canceled) && !errors.Is(cause, err) {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return cause
}

// WaitForActiveHolder pauses briefly before the caller tries the database's lock again. It returns false if limit has
// passed since begun, or if ctx has ended.
func WaitForActiveHolder(ctx context.Context, begun time.Time, limit time.Duration) bool {
	if time.Since(begun) >= limit {
		return false
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(activeHolderPause):
		return true
	}
}

// A claim is the exclusive right of a process to ask the upstream about a key. It is an advisory lock on a file named
// after the hash of the key, held during the request. If its holder dies, the system releases the lock and wakes the
// next process, which reads the store again before it asks. Releasing a claim removes its file.
//
// The holder touches the file once a second. This shows other processes that it has not stopped, although it may be
// waiting for a rate limiter.

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

// Claim waits until no other process has a claim on the key. It fails only if ctx ends meanwhile, with the cause. If
// locks are unavailable, it returns an empty Claim, and the caller should ask anyway. Before it waits, it calls onWait.
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
	lock, atOnce := entry.lock, context.WithoutCancel(ctx) // a free claim needs no time, which ctx may not have
	err := lock.Lock(atOnce, lockfile.Exclusive, 0)
	if errors.Is(err, fs.ErrNotExist) && lockfile.MkdirAll(c.dir) == nil { // another program removed the cache's folder
		err = lock.Lock(atOnce, lockfile.Exclusive, 0)
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
// kernel's wait then continues, and the lock stays in the table so that the next request joins that wait.
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
