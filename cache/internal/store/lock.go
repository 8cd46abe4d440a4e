package store

// The lock of the database. A process that waits in vain must know whether the holder is slow or was stopped: a holder
// touches the lock file again and again, and those waiting watch its time.
//
// A byte of the file says that a session is running. If it is set while nobody is in a session, a process has died in
// one, perhaps of a damaged page: bbolt overflows the stack where a page refers to itself.

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
	// ErrLocked reports that another process holds the cache's lock for longer than the store waits.
	ErrLocked = errors.New("cache is locked by another process")
	// ErrAtWork is ErrLocked where the holder has touched the lock's file lately.
	ErrAtWork = fmt.Errorf("%w that is at work", ErrLocked)
)

const (
	// pulseEvery is how often the holder of the exclusive lock touches its file.
	pulseEvery = 50 * time.Millisecond
	// workPause is how long a slow holder of the database's lock is left to its work before somebody looks again.
	workPause = 10 * time.Millisecond
	// markAt is where the session's byte lies: on Windows the lock is on the first one. The generation has eight bytes.
	markAt       = 1
	generationAt = 8
)

// isReadOnly reports whether a place can be read but not written.
func isReadOnly(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// isUnlockable reports whether there are no locks to be had: on some network file systems, and where something else
// lies in the place of a lock file.
func isUnlockable(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.As(err, new(*lockfile.NotRegularError))
}

type dbLock struct {
	lock *lockfile.Lock
	mu   sync.Mutex
	life pulseWatch
	file *lockfile.File // for the session's byte
}

// acquire takes the lock within wait, or returns ErrLocked; ErrAtWork where the holder has moved lately. A session of
// this process that has the lock is waited for however long it takes: to do without it would be to ask for what it is
// just writing down.
func (l *dbLock) acquire(ctx context.Context, kind lockfile.Kind, wait time.Duration) (release func(), err error) {
	unlock := l.lock.Unlock
	err = l.lock.Lock(ctx, kind, 0)
	if errors.Is(err, lockfile.ErrBusy) && wait > 0 {
		_ = l.busy()
		if wait <= l.life.limit {
			err = l.lock.Lock(ctx, kind, wait)
		} else { // whose patience is not used up by those who have waited before
			unlock, err = lockfile.Acquire(ctx, l.lock.Path(), kind, wait)
		}
	}
	switch {
	case errors.Is(err, lockfile.ErrBusy):
		return nil, l.busy()
	case ctx.Err() != nil && err != nil:
		return nil, Ended(ctx)
	case err != nil:
		return nil, err
	case kind == lockfile.Shared:
		return unlock, nil
	}
	touch(l.lock.Path()) // also of many holders in a row, each of them quick
	stop := pulse(l.lock.Path(), pulseEvery)
	return func() {
		stop()
		unlock()
	}, nil
}

func (l *dbLock) busy() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.life.moves(touched(l.lock.Path()), time.Now()) {
		return ErrAtWork
	}
	return ErrLocked
}

// mark sets or clears the session's byte, and returns whether it was set. It fails where the file can't be written.
func (l *dbLock) mark(set bool) (was bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.open(); err != nil {
		return false, err
	}
	var b [1]byte
	_, _ = l.file.ReadAt(b[:], markAt) // what is not there is not set
	if was = b[0] != 0; was != set {
		b[0] ^= 1
		_, err = l.file.WriteAt(b[:], markAt)
	}
	return was, err
}

func (l *dbLock) open() (err error) {
	if l.file != nil && l.file.StaysInPlace() {
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

// generation returns the number of the last session that could write, 0 where it is not known.
func (l *dbLock) generation() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b [8]byte
	if l.open() != nil {
		return 0
	}
	_, _ = l.file.ReadAt(b[:], generationAt) // what is not there is 0
	return binary.BigEndian.Uint64(b[:])
}

// nextGeneration begins another one; now is 0 where that is not possible. The caller holds the exclusive lock.
func (l *dbLock) nextGeneration() (before, now uint64) {
	before = l.generation()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open() != nil {
		return before, 0
	}
	now = max(before+1, uint64(time.Now().UnixNano())) // another one, also where the file was made anew
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

// touch shows that a lock's holder lives. Without it others take it for stopped, and do without the lock.
func touch(path string) {
	now := time.Now()
	_ = os.Chtimes(path, now, now)
}

// pulse touches a lock file again and again until stop is called. Most locks are given back before the first time.
func pulse(path string, every time.Duration) (stop func()) {
	var mu sync.Mutex // held while touching: nothing is touched after stop
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

// touched is when a lock file was touched last, 0 where there is none.
func touched(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.ModTime().UnixNano()
}

// pulseWatch distinguishes a holder that moves from one that was stopped.
type pulseWatch struct {
	limit time.Duration // without a touch for so long it does not move
	seen  int64
	moved time.Time
}

// moves notes the time of the last touch, and reports whether it has changed within the limit. The watcher's own clock
// counts: a file's times may come from another machine.
func (w *pulseWatch) moves(touched int64, now time.Time) bool {
	if touched != w.seen {
		w.seen, w.moved = touched, now
	}
	return now.Sub(w.moved) < w.limit
}

// Ended returns why a context has ended: its cause, and for a cancelled one [context.Canceled] as well.
func Ended(ctx context.Context) error {
	cause := context.Cause(ctx)
	if err := ctx.Err(); errors.Is(err, context.Canceled) && !errors.Is(cause, err) {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return cause
}

// AwaitWork waits a moment for a holder of the database's lock that is at work. It returns false when that has gone on
// for as long as limit, since begun.
func AwaitWork(ctx context.Context, begun time.Time, limit time.Duration) bool {
	if time.Since(begun) >= limit {
		return false
	}
	timer := time.NewTimer(workPause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
