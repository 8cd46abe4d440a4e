package cache

// Locks between processes. A lock that is not free is waited for in the
// kernel, by a goroutine that is left behind when the wait takes too long: a
// wait in the kernel can't be called off, but asking again and again instead
// starves under load (measured with eight processes: waits above 250 ms). As
// long as one is left behind the lock counts as stuck, and nobody else in this
// process waits for it: a stopped process must not cost 250 ms a question.

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

var (
	// ErrLocked says that another process holds the cache's lock for longer
	// than the store waits.
	ErrLocked = errors.New("cache is locked by another process")
	// errNoLocks: the file system has none.
	errNoLocks = errors.New("file system has no locks")
)

// tryLock takes the lock file at path without waiting. Its two switches: to
// create the file, and to be alone.
type tryLock func(path string, create, exclusive bool) (release func(), ok bool, err error)

func tryFlock(path string, create, exclusive bool) (release func(), ok bool, err error) {
	f := lockFile(path, create)
	if exclusive {
		ok, err = f.TryLock()
	} else {
		ok, err = f.TryRLock()
	}
	switch {
	case err != nil && isNoLocks(err):
		return nil, false, errors.Join(errNoLocks, err)
	case err != nil || !ok:
		return nil, false, err
	}
	return func() { _ = f.Close() }, true, nil
}

// waitFlock takes the lock however long it takes.
func waitFlock(path string, exclusive bool) (release func(), err error) {
	f := lockFile(path, true)
	if exclusive {
		err = f.Lock()
	} else {
		err = f.RLock()
	}
	if err != nil {
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}

func lockFile(path string, create bool) *flock.Flock {
	flag := os.O_RDONLY
	if create {
		flag |= os.O_CREATE
	}
	return flock.New(path, flock.SetFlag(flag), flock.SetPermissions(0o600))
}

func isNoLocks(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.ENOLCK)
}

// isReadOnly: the place can be read but not written.
func isReadOnly(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// gate is one lock file that sessions go through, one of this process at a
// time.
type gate struct {
	path string
	try  tryLock
	turn chan struct{} // holds a token when it is nobody's turn
	left chan struct{} // holds a token unless a waiter was left behind
}

func newGate(path string, try tryLock) *gate {
	g := &gate{path: path, try: try, turn: make(chan struct{}, 1), left: make(chan struct{}, 1)}
	g.turn <- struct{}{}
	g.left <- struct{}{}
	return g
}

// acquire takes the lock within wait, or says ErrLocked.
func (g *gate) acquire(ctx context.Context, exclusive bool, wait time.Duration) (release func(), err error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-g.turn:
	default:
		select {
		case <-g.turn:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-timer.C:
			return nil, ErrLocked
		}
	}
	unlock, err := g.take(ctx, exclusive, wait, timer)
	if err != nil {
		g.turn <- struct{}{}
		return nil, err
	}
	return func() {
		unlock()
		g.turn <- struct{}{}
	}, nil
}

// take is acquire once it is our turn.
func (g *gate) take(ctx context.Context, exclusive bool, wait time.Duration, timer *time.Timer) (func(), error) {
	release, ok, err := g.try(g.path, true, exclusive)
	if ok || err != nil {
		return release, err
	}
	if wait <= 0 {
		return nil, ErrLocked
	}
	select {
	case <-g.left:
	default:
		return nil, ErrLocked
	}
	got := make(chan func())
	failed := make(chan error, 1)
	gone := make(chan struct{})
	go func() {
		defer func() { g.left <- struct{}{} }()
		release, err := waitFlock(g.path, exclusive)
		if err != nil {
			failed <- err
			return
		}
		select {
		case got <- release:
		case <-gone:
			release()
		}
	}()
	select {
	case release := <-got:
		return release, nil
	case err := <-failed:
		return nil, err
	case <-ctx.Done():
		close(gone)
		return nil, context.Cause(ctx)
	case <-timer.C:
		close(gone)
		return nil, ErrLocked
	}
}
