package cache

// Locks between processes. A lock that is not free is waited for in the
// kernel, by a goroutine that is left behind when the wait takes too long: a
// wait in the kernel can't be called off, but asking again and again instead
// starves under load (measured with eight processes: waits above 250 ms). As
// long as one is left behind the lock counts as stuck, and nobody else in this
// process waits for it: a stopped process must not cost 250 ms a question.
//
// A holder that is only slow is something else than one that was stopped: whoever
// holds the exclusive lock for long gives signs of life (pulse), and for our own
// process's sessions there is no need to guess.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

var (
	// ErrLocked says that another process holds the cache's lock for longer
	// than the store waits.
	ErrLocked = errors.New("cache is locked by another process")
	// errAtWork is ErrLocked where the holder is known to move.
	errAtWork = fmt.Errorf("%w that is at work", ErrLocked)
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
	held atomic.Bool   // whoever has the turn has the lock too

	// sign is something that changes while the lock's holder lives, nil where
	// there is nothing. Who has the turn keeps what was seen of it, and when it
	// was seen to change.
	sign  func() int64
	seen  int64
	moved time.Time
	still time.Duration // without a change for so long the holder does not move
}

func newGate(path string, try tryLock) *gate {
	g := &gate{path: path, try: try, turn: make(chan struct{}, 1), left: make(chan struct{}, 1)}
	g.turn <- struct{}{}
	g.left <- struct{}{}
	return g
}

// acquire takes the lock within wait, or says ErrLocked; errAtWork where the
// holder has moved lately. A session of this process that has the lock is waited
// for however long it takes: it is at work, and to do without it would be to ask
// what it is just writing down.
func (g *gate) acquire(ctx context.Context, exclusive bool, wait time.Duration) (release func(), err error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for turn := false; !turn; {
		select {
		case <-g.turn:
			turn = true
			continue
		default:
		}
		select {
		case <-g.turn:
			turn = true
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-timer.C:
			if wait <= 0 || !g.held.Load() {
				return nil, ErrLocked
			}
			timer.Reset(wait)
		}
	}
	timer.Reset(wait)
	unlock, err := g.take(ctx, exclusive, wait, timer)
	if err != nil {
		g.turn <- struct{}{}
		return nil, err
	}
	g.held.Store(true)
	return func() {
		g.held.Store(false)
		unlock()
		g.turn <- struct{}{}
	}, nil
}

// look notes whether the holder has moved, and gives the error that says so.
func (g *gate) look() error {
	if g.sign == nil {
		return ErrLocked
	}
	now := time.Now()
	if sign := g.sign(); sign != g.seen {
		g.seen, g.moved = sign, now
	}
	if now.Sub(g.moved) < g.still {
		return errAtWork
	}
	return ErrLocked
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
		if g.sign != nil {
			g.seen = g.sign()
		}
	default:
		return nil, g.look()
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
		return nil, g.look()
	}
}

// pulseEvery is how often the holder of the exclusive lock gives a sign of life.
const pulseEvery = 50 * time.Millisecond

// pulse gives signs of life on a lock file until stop is called: its time of
// change is set again and again. Most sessions are over before the first.
func pulse(path string) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(pulseEvery)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case now := <-tick.C:
				_ = os.Chtimes(path, now, now) // without it others take us for stopped, and do without the lock
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// lifeOf is the sign that pulse gives; 0 where there is no file.
func lifeOf(path string) func() int64 {
	return func() int64 {
		info, err := os.Stat(path)
		if err != nil {
			return 0
		}
		return info.ModTime().UnixNano()
	}
}
