// Package lockfile lets processes share files. A [Lock] gives access to one process at a time, an [Alive] file shows
// whether a process is running, and [Open] opens only regular files.
//
// All locks are advisory and belong to an open file: flock(2) on Unix, LockFileEx on Windows. The system frees them
// when their process ends, however it ends. Where a system or file system has no locks, errors wrap
// [errors.ErrUnsupported].
package lockfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// ErrBusy means that another process held the lock for too long.
var ErrBusy = errors.New("lock is held by another process")

// Kind says who may hold a lock at the same time.
type Kind uint8

// The kinds of lock.
const (
	Exclusive Kind = iota // one holder
	Shared                // any number of shared holders
)

const (
	// spins is how often Lock tries before it waits in the kernel's queue. A short critical section takes about 10 µs, as
	// long as switching between goroutines.
	spins = 4
	// asleepFor is the delay of a timer that shows that this process was suspended.
	asleepFor = 100 * time.Millisecond
	// maxReopen limits how often one call reopens a file that was replaced. With Options.Remove that happens once for each
	// earlier holder.
	maxReopen = 1000
)

// Options tunes a [Lock].
type Options struct {
	Mode fs.FileMode // mode of a new file; 0 means 0600
	// Remove makes Unlock close and remove the file. It is for many locks that are each used once. Otherwise the file
	// stays open, which saves three system calls each time but takes a descriptor.
	Remove bool
	// LastUse returns when a holder last did something, such as the modification time of the guarded file; nil: unknown.
	// When it changes, patience starts again, because a holder is then working and not stopped.
	LastUse func() time.Time
}

// Lock is a lock between processes and between the goroutines of this process. It is safe for concurrent use, and any
// goroutine may unlock it. The first call of Lock creates the file, which stays unless Options.Remove is set.
//
// Lock waits in the kernel's queue, which is fair and wakes it immediately; polling would starve under load. Such a
// wait can't be canceled, so a goroutine does it. If its caller gives up, the goroutine unlocks the lock as soon as it
// gets it. A Lock has at most one such goroutine.
type Lock struct {
	path string
	opts Options

	turn chan struct{} // holds a token while no goroutine of this process has the turn
	held atomic.Bool   // the goroutine with the turn holds the lock

	// Only the goroutine with the turn uses these.
	file   *File
	closed bool

	mu   sync.Mutex
	wait *wait // the wait in the kernel; nil: none
}

type wait struct {
	kind Kind
	file *File
	done chan struct{} // closed at the end of the wait
	err  error         // why the wait failed; valid after done

	// Guarded by Lock.mu.
	wanted  bool // a caller still waits
	expired bool // a caller's patience has run out
}

// New returns the lock on the file at path. It does not create the file.
func New(path string, opts Options) *Lock {
	if opts.Mode == 0 {
		opts.Mode = 0o600
	}
	l := &Lock{path: path, opts: opts, turn: make(chan struct{}, 1)}
	l.turn <- struct{}{}
	return l
}

// Path returns the file's path.
func (l *Lock) Path() string { return l.path }

// Lock takes the lock. It waits at most patience for other processes (0: no waiting). If a goroutine of this process
// holds the lock, it waits until ctx ends, because that goroutine is working.
//
// After patience has run out once, later calls fail at once until the lock is free, so a stopped process costs patience
// only once.
//
// Errors: [ErrBusy], ctx's error, [fs.ErrClosed] after Close, [*NotRegularError], and system errors.
func (l *Lock) Lock(ctx context.Context, kind Kind, patience time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := l.takeTurn(ctx, patience); err != nil {
		return err
	}
	if err := l.take(ctx, kind, patience); err != nil {
		l.turn <- struct{}{}
		return err
	}
	l.held.Store(true)
	return nil
}

// Unlock unlocks the lock. The caller must hold it.
func (l *Lock) Unlock() {
	if l.opts.Remove && renamesLocked {
		os.Remove(l.path) // while locked; waiters then see that the file is gone
	}
	if l.opts.Remove || unlockFile(l.file.File) != nil {
		l.closeFile() // closing the file also unlocks it
	}
	if l.opts.Remove && !renamesLocked {
		os.Remove(l.path) // fails if another process has opened the file, which then removes it
	}
	l.held.Store(false)
	l.turn <- struct{}{}
}

// Close waits until the lock is unlocked, and closes the file. Later calls of Lock return [fs.ErrClosed]. A goroutine
// that waits in the kernel ends as soon as it gets the lock.
func (l *Lock) Close() {
	<-l.turn
	l.closed = true
	l.closeFile()
	l.turn <- struct{}{}
}

func (l *Lock) closeFile() {
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
}

func (l *Lock) takeTurn(ctx context.Context, patience time.Duration) error {
	select {
	case <-l.turn:
		return nil
	default:
	}
	ends := l.newPatience(patience)
	defer ends.timer.Stop()
	for {
		select {
		case <-l.turn:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-ends.timer.C:
			working := l.held.Load() || !l.waits()
			if patience <= 0 || !ends.renewed() && !working {
				return l.busy()
			}
			ends.timer.Reset(patience)
		}
	}
}

type patience struct {
	of      time.Duration
	lock    *Lock
	timer   *time.Timer
	due     time.Time // when the timer fires
	lastUse time.Time
}

func (l *Lock) newPatience(of time.Duration) *patience {
	return &patience{of: of, lock: l, timer: time.NewTimer(of), due: time.Now().Add(of), lastUse: l.lastUse()}
}

func (l *Lock) lastUse() time.Time {
	if l.opts.LastUse == nil {
		return time.Time{}
	}
	return l.opts.LastUse()
}

// renewed reports whether patience starts again: the lock was used meanwhile, or this process was suspended, so the
// wait says nothing about the holder.
func (p *patience) renewed() bool {
	before, late := p.lastUse, time.Since(p.due) > max(p.of/2, asleepFor)
	p.lastUse, p.due = p.lock.lastUse(), time.Now().Add(p.of)
	return late || !p.lastUse.Equal(before)
}

func (l *Lock) take(ctx context.Context, kind Kind, patience time.Duration) error {
	if l.closed {
		return fmt.Errorf("lock %s: %w", l.path, fs.ErrClosed)
	}
	for range maxReopen {
		if l.file == nil {
			f, err := openLock(l.path, os.O_CREATE, l.opts.Mode)
			if err != nil {
				return err
			}
			l.file = f
		}
		ok, err := l.try(kind)
		if err == nil && !ok {
			err = l.waitInKernel(ctx, kind, patience)
		}
		if err != nil {
			return err
		}
		if l.file.StaysInPlace() {
			return nil
		}
		l.closeFile() // another process has removed or replaced it
	}
	return fmt.Errorf("lock %s: file is replaced all the time", l.path)
}

func (l *Lock) try(kind Kind) (bool, error) {
	for i := range spins {
		if i > 0 {
			runtime.Gosched()
		}
		if ok, err := tryLockFile(l.file.File, kind); ok || err != nil {
			return ok, l.failed(err)
		}
	}
	return false, nil
}

// waitInKernel waits for the lock in the kernel, or joins the wait of a canceled caller.
func (l *Lock) waitInKernel(ctx context.Context, kind Kind, patience time.Duration) error {
	if patience <= 0 {
		return l.busy()
	}
	ends := l.newPatience(patience)
	defer ends.timer.Stop()
	for {
		w, mine := l.join(kind)
		if w == nil {
			return l.busy()
		}
		cause := l.await(ctx, w, ends)
		switch {
		case l.leave(w, mine, cause):
			return cause
		case mine:
			<-w.done
			if w.err != nil {
				w.file.Close()
				return l.failed(w.err)
			}
			l.closeFile()
			l.file = w.file
			return nil
		}
		if ok, err := l.try(kind); ok || err != nil {
			return err
		}
	}
}

func (l *Lock) await(ctx context.Context, w *wait, ends *patience) error {
	for {
		select {
		case <-w.done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-ends.timer.C:
			if !ends.renewed() {
				return l.busy()
			}
			ends.timer.Reset(ends.of)
		}
	}
}

// join starts or joins a wait in the kernel. It returns nil if an earlier caller's patience has run out. mine reports
// whether the wait is for this kind of lock; a wait for the other kind must end first.
func (l *Lock) join(kind Kind) (w *wait, mine bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.wait == nil:
		l.wait = &wait{kind: kind, file: l.file, done: make(chan struct{}), wanted: true}
		l.file = nil
		go l.finish(l.wait)
		return l.wait, true
	case l.wait.expired:
		return nil, false
	case l.wait.kind == kind:
		l.wait.wanted = true
		return l.wait, true
	}
	return l.wait, false
}

func (l *Lock) waits() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wait != nil
}

func (l *Lock) leave(w *wait, mine bool, cause error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if cause == nil || (mine && l.wait != w) {
		return false
	}
	if mine {
		w.wanted = false
	}
	w.expired = w.expired || errors.Is(cause, ErrBusy)
	return true
}

// finish waits in the kernel, and closes the file if no caller wants the lock any more.
func (l *Lock) finish(w *wait) {
	w.err = waitLockFile(w.file.File, w.kind)
	l.mu.Lock()
	l.wait = nil
	if !w.wanted {
		w.file.Close()
	}
	l.mu.Unlock()
	close(w.done)
}

func (l *Lock) busy() error { return fmt.Errorf("lock %s: %w", l.path, ErrBusy) }

func (l *Lock) failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("lock %s: %w", l.path, err)
}

// openLock opens a file to lock. A read-only file can be locked too.
func openLock(path string, flag int, mode fs.FileMode) (*File, error) {
	f, err := OpenNoFollow(path, os.O_RDWR|flag, mode)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, errReadOnlyVolume) {
		if f, rerr := OpenNoFollow(path, os.O_RDONLY, 0); rerr == nil {
			return f, nil
		}
	}
	return f, err
}
