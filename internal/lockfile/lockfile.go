// Package lockfile is what processes need to share files: a [Lock] that they take in turn, an [Alive] file by which
// others see whether a process still runs, and [Open], which opens regular files only.
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

// ErrBusy reports that another process held the lock for longer than the caller's patience.
var ErrBusy = errors.New("lock is held by another process")

// Kind is who may hold a lock at the same time.
type Kind uint8

// The kinds of lock.
const (
	Exclusive Kind = iota // one holder
	Shared                // any number of holders, all of them shared
)

const (
	// spins is how often a lock that is held is tried again before the kernel's queue is joined. A short critical
	// section lasts some 10 µs, as long as the hand-over between goroutines.
	spins = 4
	// asleepFor is how much later than asked a timer fires where the process did not run.
	asleepFor = 100 * time.Millisecond
	// maxReopen bounds how often one call may find that its file was replaced: with Options.Remove, once for each who
	// had the lock before it.
	maxReopen = 1000
)

// Options tunes a [Lock].
type Options struct {
	Mode fs.FileMode // permissions of a file that is created; 0 means 0600
	// Remove closes and removes the file with every Unlock: for locks of which there are many, each held once. Without it
	// the file stays open, which saves three system calls each time and costs a descriptor.
	Remove bool
	// LastUse returns when a holder last did something, such as the time of the file that the lock guards; nil: nobody
	// knows. Patience begins anew when that changes: a lock that goes from hand to hand is held by nobody who is stopped.
	LastUse func() time.Time
}

// Lock is a lock between processes, and between the goroutines of this one. It is safe for concurrent use; its
// holder may be any goroutine. The file is made by the first call of Lock and stays, without Options.Remove.
//
// Waiting is done in the kernel's queue, which is fair and wakes at once; polling starves under load. Such a wait
// can't be cancelled, so a goroutine does it. When its caller gives up, the goroutine stays behind until the lock
// comes free and lets it go at once. A Lock has at most one such goroutine.
type Lock struct {
	path string
	opts Options

	turn chan struct{} // holds a token while it is nobody's turn in this process
	held atomic.Bool   // the goroutine whose turn it is has the lock

	// These belong to the goroutine whose turn it is.
	file   *File
	closed bool

	mu   sync.Mutex
	wait *wait // in the kernel now; nil: none
}

type wait struct {
	kind Kind
	file *File
	done chan struct{} // closed when it has ended
	err  error         // why it has ended without the lock; valid after done

	// Guarded by Lock.mu.
	wanted  bool // a caller waits for it
	expired bool // a caller's patience has ended
}

// New returns the lock on the file at path. It touches nothing yet.
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

// Lock takes the lock. It waits for other processes for at most patience (0: not at all), and for a goroutine of this
// process that holds the lock until ctx ends: that one is at work.
//
// Once patience has ended, later calls return at once until the lock has come free: a stopped process costs patience
// only once.
//
// Errors: [ErrBusy], ctx's, [fs.ErrClosed] after Close, [*NotRegularError], and what the system says.
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

// Unlock gives the lock back. The caller must hold it.
func (l *Lock) Unlock() {
	if l.opts.Remove && renamesLocked {
		os.Remove(l.path) // while it is locked; who waits for it looks at its place again
	}
	if l.opts.Remove || unlockFile(l.file.File) != nil {
		l.closeFile() // a closed file holds no lock
	}
	if l.opts.Remove && !renamesLocked {
		os.Remove(l.path) // it fails where somebody has opened it meanwhile, who then removes it
	}
	l.held.Store(false)
	l.turn <- struct{}{}
}

// Close closes the file. It waits until the lock is given back; later calls of Lock return [fs.ErrClosed]. A goroutine
// that waits in the kernel ends as soon as the lock comes free.
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

// renewed: patience begins anew if the lock was used meanwhile, or if this process itself did not run, which says
// nothing about the holder.
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
		l.closeFile() // somebody has removed or replaced it
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

// waitInKernel waits for the lock in the kernel, or takes over the wait of a caller that was cancelled.
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

// join returns nil when an earlier caller's patience has ended. mine: the wait is of this kind, so its lock will be the
// caller's; a wait of the other kind only has to end first.
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

// finish waits in the kernel, and gives the lock back if nobody wants it any more.
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

// openLock: a file that can't be written can still be locked.
func openLock(path string, flag int, mode fs.FileMode) (*File, error) {
	f, err := OpenNoFollow(path, os.O_RDWR|flag, mode)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, errReadOnlyVolume) {
		if f, rerr := OpenNoFollow(path, os.O_RDONLY, 0); rerr == nil {
			return f, nil
		}
	}
	return f, err
}
