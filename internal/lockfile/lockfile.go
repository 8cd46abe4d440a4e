// Package lockfile coordinates processes that share files. A [Lock] gives access to one process at a time. A
// [LivenessFile] shows whether a process is running. [Open] opens only regular files.
//
// All locks are advisory and belong to an open file: flock(2) on Unix, LockFileEx on Windows. The system releases them
// when their process ends, even if it crashes. If a system or file system has no locks, errors wrap
// [errors.ErrUnsupported].
package lockfile

import (
	"cmp"
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

// ErrBusy means that another process held the lock until the patience of the caller ran out.
var ErrBusy = errors.New("lock is held by another process")

// Kind says whether a lock can have several holders at the same time.
type Kind uint8

// The kinds of lock.
const (
	Exclusive Kind = iota // one holder
	Shared                // any number of shared holders
)

const (
	// maxSpins is how often Lock tries to get the lock before it waits in the kernel's queue. A short critical section
	// takes about 10 µs, no longer than switching to another goroutine.
	maxSpins = 4
	// suspendedDelay is the delay of a timer from which Lock concludes that this process was suspended.
	suspendedDelay = 100 * time.Millisecond
	// patienceSteps is the number of steps in which patience is counted. A step that ends late does not count, because
	// on a machine too busy to run this process in time the holder may not have run either.
	patienceSteps = 10
	// maxPatience limits, as a multiple of patience, how long late steps extend it.
	maxPatience = 10
	// maxReopens limits how often one call reopens a file that was replaced, as each holder does with RemoveOnUnlock.
	maxReopens = 1000
)

// Options configure a [Lock].
type Options struct {
	Mode fs.FileMode // mode of a new file; 0 means 0600
	// RemoveOnUnlock makes Unlock close and remove the file. It is meant for many locks that are each used only once. By
	// default the file stays open: that saves three system calls per use, but occupies a file descriptor.
	RemoveOnUnlock bool
	// LastUse returns when any holder was last active, such as the modification time of the guarded file. It may be nil.
	// Each time it changes, the patience of waiting callers starts again, because the holder is still working.
	LastUse func() time.Time
}

// Lock is a lock between processes, and between the goroutines of this process. It is safe for concurrent use, and any
// goroutine may unlock it. The first call of Lock creates the file, which remains unless Options.RemoveOnUnlock is set.
//
// Lock waits in the kernel's queue, which is fair and wakes it immediately; polling could wait forever under load. Such
// a wait can't be canceled, so a goroutine does it. If the caller gives up, the goroutine unlocks the lock as soon as
// it gets it. A Lock has at most one such goroutine.
type Lock struct {
	path string
	opts Options

	turn chan struct{} // holds a token, except while a goroutine of this process has the turn
	held atomic.Bool   // whether the goroutine with the turn holds the lock

	// Only the goroutine with the turn uses file and closed.
	file   *File
	closed bool

	mu   sync.Mutex
	wait *kernelWait // the current wait in the kernel; nil if there is none
}

// kernelWait is a wait for the lock in the kernel, done by a goroutine.
type kernelWait struct {
	kind Kind
	file *File
	done chan struct{} // closed when the wait ends
	err  error         // why the wait failed; set before done is closed

	// Lock.mu guards wanted and expired.
	wanted  bool // a caller is still waiting
	expired bool // the patience of a caller has run out
}

// New returns the lock on the file at path. It does not create the file.
func New(path string, opts Options) *Lock {
	opts.Mode = cmp.Or(opts.Mode, 0o600)
	if opts.LastUse == nil {
		opts.LastUse = func() time.Time { return time.Time{} }
	}
	l := &Lock{path: path, opts: opts, turn: make(chan struct{}, 1)}
	l.turn <- struct{}{}
	return l
}

// Path returns the file's path.
func (l *Lock) Path() string { return l.path }

// Lock takes the lock. It waits for other processes until patience has passed, and not at all if patience is 0. It
// waits for other goroutines of this process until ctx ends, because a goroutine that holds the lock is surely working.
//
// Once the patience of a caller has run out, later calls fail immediately until the lock is free. A stopped process
// thus costs patience only once.
//
// The error is [ErrBusy], that of ctx, [fs.ErrClosed] after Close, a [*NotRegularError], or a system error.
func (l *Lock) Lock(ctx context.Context, kind Kind, patience time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := l.takeTurn(ctx, patience); err != nil {
		return err
	}
	if err := l.acquire(ctx, kind, patience); err != nil {
		l.turn <- struct{}{}
		return err
	}
	l.held.Store(true)
	return nil
}

// Unlock unlocks the lock. The caller must hold it.
func (l *Lock) Unlock() {
	if l.opts.RemoveOnUnlock && canRenameLocked {
		os.Remove(l.path) // while it is locked; waiting processes then notice that the file is gone
	}
	if l.opts.RemoveOnUnlock || unlockFile(l.file.File) != nil {
		closeFile(&l.file) // closing the file also unlocks it
	}
	if l.opts.RemoveOnUnlock && !canRenameLocked {
		os.Remove(l.path) // fails while another process has the file open; that process will remove it
	}
	l.held.Store(false)
	l.turn <- struct{}{}
}

// Close waits until the lock is unlocked, and closes the file. Later calls of Lock return [fs.ErrClosed]. If a
// goroutine is waiting in the kernel, it ends as soon as it gets the lock.
func (l *Lock) Close() {
	<-l.turn
	l.closed = true
	closeFile(&l.file)
	l.turn <- struct{}{}
}

func (l *Lock) takeTurn(ctx context.Context, patience time.Duration) error {
	select {
	case <-l.turn:
		return nil
	default:
	}
	ends := l.newPatienceTimer(patience)
	defer ends.timer.Stop()
	for {
		select {
		case <-l.turn:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-ends.timer.C:
			working := l.held.Load() || !l.isWaiting()
			if patience <= 0 || ends.expired() && !working {
				return l.wrapError(ErrBusy)
			}
		}
	}
}

// patienceTimer counts the patience of a caller. Its timer fires at the end of each step.
type patienceTimer struct {
	patience, step time.Duration
	lock           *Lock
	timer          *time.Timer
	firesAt        time.Time     // when the timer fires
	startedAt      time.Time     // when the patience began
	countedSteps   time.Duration // total length of the completed steps that ended in time
	lastUse        time.Time
}

func (l *Lock) newPatienceTimer(patience time.Duration) *patienceTimer {
	p := &patienceTimer{
		patience: patience, step: patience / patienceSteps, lock: l, lastUse: l.opts.LastUse(), startedAt: time.Now(),
	}
	p.timer, p.firesAt = time.NewTimer(p.step), p.startedAt.Add(p.step)
	return p
}

// expired ends a step and reports whether the patience has run out; otherwise it begins the next step. Patience starts
// again if the lock was used meanwhile, or if this process was suspended and so can't judge the holder.
func (p *patienceTimer) expired() bool {
	now, use := time.Now(), p.lock.opts.LastUse()
	late := now.Sub(p.firesAt)
	switch {
	case !use.Equal(p.lastUse), late > suspendedDelay:
		p.lastUse, p.startedAt, p.countedSteps = use, now, 0
	case late <= max(p.step/2, 5*time.Millisecond):
		p.countedSteps += p.step
	}
	p.firesAt = now.Add(p.step)
	p.timer.Reset(p.step)
	return p.countedSteps >= p.patience || now.Sub(p.startedAt) >= maxPatience*p.patience
}

func (l *Lock) acquire(ctx context.Context, kind Kind, patience time.Duration) error {
	if l.closed {
		return fmt.Errorf("lock %s: %w", l.path, fs.ErrClosed)
	}
	for range maxReopens {
		if l.file == nil {
			f, err := openLockFile(l.path, os.O_CREATE, l.opts.Mode)
			if err != nil {
				return err
			}
			l.file = f
		}
		ok, err := l.tryLock(kind)
		if err == nil && !ok {
			err = l.waitInKernel(ctx, kind, patience)
		}
		if err != nil {
			return err
		}
		if l.file.IsAtPath() {
			return nil
		}
		closeFile(&l.file) // another process has removed or replaced the file
	}
	return fmt.Errorf("lock %s: file is replaced all the time", l.path)
}

func (l *Lock) tryLock(kind Kind) (bool, error) {
	for i := range maxSpins {
		if i > 0 {
			runtime.Gosched()
		}
		if ok, err := tryLockFile(l.file.File, kind); ok || err != nil {
			return ok, l.wrapError(err)
		}
	}
	return false, nil
}

// waitInKernel waits for the lock in the kernel, or joins the wait that an earlier caller has given up.
func (l *Lock) waitInKernel(ctx context.Context, kind Kind, patience time.Duration) error {
	if patience <= 0 {
		return l.wrapError(ErrBusy)
	}
	ends := l.newPatienceTimer(patience)
	defer ends.timer.Stop()
	for {
		w, mine := l.joinWait(kind)
		if w == nil {
			return l.wrapError(ErrBusy)
		}
		cause := l.awaitKernelWait(ctx, w, ends)
		switch {
		case l.leaveWait(w, mine, cause):
			return cause
		case mine:
			<-w.done
			if w.err != nil {
				w.file.Close()
				return l.wrapError(w.err)
			}
			closeFile(&l.file)
			l.file = w.file
			return nil
		}
		if ok, err := l.tryLock(kind); ok || err != nil {
			return err
		}
	}
}

func (l *Lock) awaitKernelWait(ctx context.Context, w *kernelWait, timer *patienceTimer) error {
	for {
		select {
		case <-w.done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.timer.C:
			if timer.expired() {
				return l.wrapError(ErrBusy)
			}
		}
	}
}

// joinWait starts or joins a wait in the kernel. It returns nil if the patience of an earlier caller has run out.
// sameKind is true if the wait is for the same kind of lock. A wait for the other kind must end first.
func (l *Lock) joinWait(kind Kind) (w *kernelWait, sameKind bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.wait == nil:
		l.wait = &kernelWait{kind: kind, file: l.file, done: make(chan struct{}), wanted: true}
		l.file = nil
		go l.finishWait(l.wait)
		return l.wait, true
	case l.wait.expired:
		return nil, false
	case l.wait.kind == kind:
		l.wait.wanted = true
		return l.wait, true
	}
	return l.wait, false
}

func (l *Lock) isWaiting() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wait != nil
}

// leaveWait stops waiting because of cause. It returns false if the wait has ended already.
func (l *Lock) leaveWait(w *kernelWait, sameKind bool, cause error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if cause == nil || (sameKind && l.wait != w) {
		return false
	}
	if sameKind {
		w.wanted = false
	}
	w.expired = w.expired || errors.Is(cause, ErrBusy)
	return true
}

// finishWait waits in the kernel. If no caller wants the lock any longer, it closes the file, which releases the lock.
func (l *Lock) finishWait(w *kernelWait) {
	w.err = waitLockFile(w.file.File, w.kind)
	l.mu.Lock()
	l.wait = nil
	if !w.wanted {
		w.file.Close()
	}
	l.mu.Unlock()
	close(w.done)
}

func (l *Lock) wrapError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("lock %s: %w", l.path, err)
}

// openLockFile opens a file in order to lock it. A read-only file can be locked too.
func openLockFile(path string, flag int, mode fs.FileMode) (*File, error) {
	f, err := OpenNoFollow(path, os.O_RDWR|flag, mode)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, errReadOnlyVolume) {
		if f, rerr := OpenNoFollow(path, os.O_RDONLY, 0); rerr == nil {
			return f, nil
		}
	}
	return f, err
}
