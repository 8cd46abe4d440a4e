package ratelimit

// Waiting for the lock between processes: first a try that costs one system call, then a
// wait in the kernel's queue, which is fair and wakes at once. A wait in the kernel
// cannot be cancelled, so a goroutine does it and hands the lock over; a caller that has
// lost patience leaves the goroutine behind, and the next one takes up its wait. There is
// never more than one, and it ends when the holder lets go or dies.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"
)

// errLockBusy: the lock did not come within the caller's patience.
var errLockBusy = errors.New("the limiter's lock is held by another process")

// lockSpins is how often a contended lock is tried again before the kernel's queue is
// joined; a critical section lasts some 10 µs, the hand-over between goroutines as long.
const lockSpins = 4

// fileLock is an exclusive lock between processes on a file that stays open. Its methods
// must not be called by several goroutines at once (the store's own mutex sees to it),
// except stuck.
type fileLock struct {
	file *os.File

	mu     sync.Mutex
	inWait bool       // a goroutine waits in the kernel
	wanted bool       // someone waits for that goroutine
	closed bool       // the goroutine closes the file when it ends
	got    chan error // from the goroutine to the one who waits
}

func newFileLock(f *os.File) *fileLock {
	return &fileLock{file: f, got: make(chan error, 1)}
}

// lock takes the lock within patience. Errors: errLockBusy, the context's, or what the
// system says.
func (l *fileLock) lock(ctx context.Context, patience time.Duration) error {
	if !l.stuck() {
		for i := range lockSpins {
			if i > 0 {
				runtime.Gosched()
			}
			if ok, err := tryLockFile(l.file); err != nil {
				return fmt.Errorf("lock limiter state: %w", err)
			} else if ok {
				return nil
			}
		}
	}
	return l.wait(ctx, patience)
}

func (l *fileLock) wait(ctx context.Context, patience time.Duration) error {
	l.mu.Lock()
	if !l.inWait {
		l.inWait = true
		go l.waitInKernel()
	}
	l.wanted = true
	l.mu.Unlock()

	timer := time.NewTimer(patience)
	defer timer.Stop()
	var cause error
	select {
	case err := <-l.got:
		return err
	case <-timer.C:
		cause = errLockBusy
	case <-ctx.Done():
		cause = ctx.Err()
	}

	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.wanted { // it came in this very moment
		return <-l.got
	}
	l.wanted = false
	return cause
}

func (l *fileLock) waitInKernel() {
	err := lockFile(l.file)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inWait = false
	switch {
	case l.wanted:
		l.wanted = false
		if err != nil {
			err = fmt.Errorf("lock limiter state: %w", err)
		}
		l.got <- err
	case l.closed:
		l.file.Close() // which also unlocks
	case err == nil:
		_ = unlockFile(l.file) // nobody can be told; a lock that stays is seen as busy
	}
}

// unlock gives the lock back.
func (l *fileLock) unlock() error {
	if err := unlockFile(l.file); err != nil {
		return fmt.Errorf("unlock limiter state: %w", err)
	}
	return nil
}

// stuck tells whether a goroutine still waits in the kernel for a lock that an earlier
// caller gave up on.
func (l *fileLock) stuck() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inWait
}

// close closes the file, now or, when a goroutine still waits for its lock, as soon as
// that wait ends.
func (l *fileLock) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inWait {
		l.closed = true
		return
	}
	l.file.Close()
}
