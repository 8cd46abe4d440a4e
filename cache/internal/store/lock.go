package store

// The lock of the database. A waiting process must know whether the holder is slow or stopped, so the holder keeps
// touching the lock file, and the others watch its modification time.
//
// One byte of the file says that a session is running. If it is set while no process is in a session, a process died in
// one, perhaps because of a damaged page: bbolt overflows the stack if a page refers to itself.

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
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
	// activeHolderPause is the delay before the next look at a slow holder of the lock.
	activeHolderPause = 10 * time.Millisecond
	// sessionOffset is the offset of the session byte; byte 0 is the one that Windows locks. The generation after it
	// takes eight bytes.
	sessionOffset = 1
	generationAt  = 8
)

// isReadOnly reports whether err means that a place can be read but not written.
func isReadOnly(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// isUnlockable reports whether err means that locks are unavailable, as on some network file systems or if the lock
// file is not a regular file.
func isUnlockable(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.As(err, new(*lockfile.NotRegularError))
}

type dbLock struct {
	lock   *lockfile.Lock
	mu     sync.Mutex
	holder activityWatch
	file   *lockfile.File // for the session byte
}

// acquire takes the lock within wait. Otherwise it returns ErrLocked, or ErrHolderActive if the holder was recently
// active. For a session of this process it waits without limit, because that may be storing the requested answer.
func (l *dbLock) acquire(ctx context.Context, kind lockfile.Kind, wait time.Duration) (release func(), err error) {
	unlock := l.lock.Unlock
	err = l.lock.Lock(ctx, kind, 0)
	if errors.Is(err, lockfile.ErrBusy) && wait > 0 {
		_ = l.busyError()
		if wait <= l.holder.limit {
			err = l.lock.Lock(ctx, kind, wait)
		} else { // the wait for sessions of this process does not count
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
	touch(l.lock.Path()) // keeps the file recent even if many quick holders follow one another
	stop := keepTouching(l.lock.Path(), lockTouchInterval)
	return func() {
		stop()
		unlock()
	}, nil
}

func (l *dbLock) busyError() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holder.isActive(touchTime(l.lock.Path()), time.Now()) {
		return ErrHolderActive
	}
	return ErrLocked
}

// setSessionByte sets or clears the session byte and returns whether it was set. It fails if the file can't be written.
func (l *dbLock) setSessionByte(set bool) (was bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.open(); err != nil {
		return false, err
	}
	var b [1]byte
	_, _ = l.file.ReadAt(b[:], sessionOffset) // a missing byte counts as not set
	if was = b[0] != 0; was != set {
		b[0] ^= 1
		_, err = l.file.WriteAt(b[:], sessionOffset)
	}
	return was, err
}

func (l *dbLock) open() (err error) {
	if l.file != nil && l.file.IsAtPathCached() {
		return nil
	}
	if l.file != nil {
		l.file.Close()
	}
	if l.file, err = lockfile.OpenNoFollow(l.lock.Path(), os.O_RDWR, 0); err != nil {
		l.file = nil
	}
	return err
}

// generation returns the number of the last session that could write, or 0 if it is unknown.
func (l *dbLock) generation() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b [8]byte
	if l.open() != nil {
		return 0
	}
	_, _ = l.file.ReadAt(b[:], generationAt) // missing bytes count as 0
	return binary.BigEndian.Uint64(b[:])
}

// nextGeneration begins a generation. now is 0 if that is impossible. The caller holds the exclusive lock.
func (l *dbLock) nextGeneration() (before, now uint64) {
	before = l.generation()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open() != nil {
		return before, 0
	}
	now = max(before+1, uint64(time.Now().UnixNano())) // differs from every earlier one, even if the file was recreated
	if _, err := l.file.WriteAt(binary.BigEndian.AppendUint64(nil, now), generationAt); err != nil {
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

// touch shows that the holder of a lock is alive. Otherwise others assume that it is stopped and ignore the lock.
func touch(path string) {
	now := time.Now()
	_ = os.Chtimes(path, now, now)
}

// keepTouching touches a lock file at intervals until stop is called. Most locks are released before the first touch.
func keepTouching(path string, every time.Duration) (stop func()) {
	var mu sync.Mutex // held while touching, so that no touch follows stop
	over := false
	mu.Lock()
	defer mu.Unlock()
	var timer *time.Timer
	timer = time.AfterFunc(every, func() {
		mu.Lock()
		defer mu.Unlock()
		if !over {
			touch(path)
			timer.Reset(every)
		}
	})
	return func() {
		mu.Lock()
		defer mu.Unlock()
		over = true
		timer.Stop()
	}
}

// touchTime returns the modification time of a lock file, or 0 if it does not exist.
func touchTime(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.ModTime().UnixNano()
}

// activityWatch detects a lock holder that has stopped.
type activityWatch struct {
	limit     time.Duration // a holder with no touch for this long is stopped
	lastTouch int64
	changedAt time.Time
}

// isActive records the time of the last touch and reports whether it changed within the limit. It measures with its own
// clock, because another machine may set the file's times.
func (w *activityWatch) isActive(touched int64, now time.Time) bool {
	if touched != w.lastTouch {
		w.lastTouch, w.changedAt = touched, now
	}
	return now.Sub(w.changedAt) < w.limit
}

// ContextError returns why ctx ended: its cause, joined with [context.Canceled] if it was cancelled.
func ContextError(ctx context.Context) error {
	cause := context.Cause(ctx)
	if err := ctx.Err(); errors.Is(err, context.Canceled) && !errors.Is(cause, err) {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return cause
}

// WaitForActiveHolder pauses while the database's lock is in use. It returns false if limit has passed since begun.
func WaitForActiveHolder(ctx context.Context, begun time.Time, limit time.Duration) bool {
	if time.Since(begun) >= limit {
		return false
	}
	timer := time.NewTimer(activeHolderPause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
