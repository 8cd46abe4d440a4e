package cache

// Claims: "I am asking this key". Two processes never ask the same question: whoever wants to ask first takes an
// advisory lock on a file named after the key's hash, and holds it over the request. The system frees it when its
// process dies, and wakes the next one at once, who looks once more before it asks. Whoever gives a claim back removes
// its file.
//
// The holder touches the file once a second, so that others can distinguish a stopped process from one that waits for
// its turn in a limiter.

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"time"

	"github.com/anivault/anivault/internal/lockfile"
)

const (
	touchEvery = time.Second
	// forever is how long a lock is waited for whose wait ends otherwise.
	forever = 1 << 62
)

// claim is the right to ask.
type claim struct {
	release func()
	waited  time.Duration // for others that held it; 0 when it was free
}

// errStopped ends the wait for a claim whose holder gives no sign of life.
var errStopped = errors.New("holder of the claim does not move")

// claim waits until nobody else is asking for the key. Its error is ctx's cause. Where claims can't be kept it claims
// nothing, and the caller asks all the same. waits is called where it has to wait.
func (s *Store) claim(ctx context.Context, key string, waits func()) (claim, error) {
	none := claim{release: func() {}}
	if s.mode() != modeShared {
		return none, nil
	}
	held := s.claimLock(key)
	lock := held.lock
	err := lock.Lock(ctx, lockfile.Exclusive, 0)
	var waited time.Duration
	if errors.Is(err, lockfile.ErrBusy) {
		waits()
		waited, err = s.awaitClaim(ctx, lock)
	}
	if err == nil {
		if waited > 0 {
			touch(lock.Path()) // others may be waiting still
		}
		stop := pulse(lock.Path(), touchEvery)
		return claim{waited: waited, release: func() {
			stop()
			lock.Unlock()
			s.leaveClaim(held, true)
		}}, nil
	}
	s.leaveClaim(held, false)
	switch {
	case errors.Is(err, errStopped):
		s.warned.say(Warning{Kind: WarnLocked, Path: lock.Path(), Err: err})
		none.waited = waited
		return none, nil
	case ctx.Err() != nil:
		return none, ended(ctx)
	case isUnlockable(err):
		s.goPrivate(err)
	case isReadOnly(err):
		s.goReadOnly(err)
	default:
		s.warned.say(Warning{Kind: WarnWrite, Path: lock.Path(), Err: err})
	}
	return none, nil
}

// claimLock is the lock of one key's claim, for all of this store who ask for it.
type claimLock struct {
	lock  *lockfile.Lock
	users int
}

func (s *Store) claimLock(key string) *claimLock {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(key))
	path := filepath.Join(s.lockDir(), fmt.Sprintf("claim-%016x", sum.Sum64()))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.claims[path] == nil {
		s.claims[path] = &claimLock{lock: lockfile.New(path, lockfile.Options{Remove: true})}
	}
	s.claims[path].users++
	return s.claims[path]
}

// leaveClaim forgets a lock that nobody uses. One whose wait was given up stays until it was free once: the wait in the
// kernel goes on, and who asks again must join it instead of leaving another one behind.
func (s *Store) leaveClaim(c *claimLock, free bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.users--; c.users == 0 && free {
		delete(s.claims, c.lock.Path())
	}
}

// dropDeadClaims removes the files of claims whose process died with them, a day later.
func (s *Store) dropDeadClaims() {
	for _, name := range listFolder(s.lockDir()) {
		path := filepath.Join(s.lockDir(), name)
		if info, err := os.Lstat(path); err != nil || time.Since(info.ModTime()) < day {
			continue
		}
		if dead, err := lockfile.TakeOver(path); err == nil {
			dead.Close()
		}
	}
}

// awaitClaim waits for a claim that somebody holds, and returns for how long it has. It gives up with errStopped when
// the holder gives no sign of life for ClaimTimeout.
func (s *Store) awaitClaim(ctx context.Context, lock *lockfile.Lock) (time.Duration, error) {
	s.awaiting.Add(1)
	defer s.awaiting.Add(-1)
	begun := time.Now()
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		if watchClaim(inner, lock.Path(), s.opts.ClaimTimeout) {
			cancel(errStopped)
		}
	}()
	err := lock.Lock(inner, lockfile.Exclusive, forever)
	if err != nil && errors.Is(context.Cause(inner), errStopped) {
		err = errStopped
	}
	cancel(nil)
	<-watched
	return max(time.Since(begun), 1), err
}

// watchClaim reports whether a claim's holder stood still for so long, or returns false when ctx ends.
func watchClaim(ctx context.Context, path string, limit time.Duration) bool {
	life := pulseWatch{limit: limit, moved: time.Now()} // another goroutine may be about to make the file
	tick := time.NewTicker(limit / 5)
	defer tick.Stop()
	for life.moves(touched(path), time.Now()) {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
	return true
}

// Awaiting is how many questions of this process wait now for another process's answer.
func (s *Store) Awaiting() int { return int(s.awaiting.Load()) }
