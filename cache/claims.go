package cache

// Claims: "I am asking this key". Two processes never ask the same question: whoever wants to ask first takes an
// advisory lock on one of its upstream's 256 files, by the key's hash, and holds it over the request. The system frees
// it when its process dies, and wakes the next one at once, who looks once more before it asks. Upstreams share no file:
// one may be a gateway that asks another with the same cache, and would wait there for its own client's claim.
//
// The holder touches the file once a second, so that others can distinguish a stopped process from one that waits for
// its turn in a limiter.

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"time"

	"github.com/anivault/anivault/internal/lockfile"
)

const (
	claimFiles = 256 // of one upstream
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
	lock := s.claimLock(key)
	err := lock.Lock(ctx, lockfile.Exclusive, 0)
	var waited time.Duration
	if errors.Is(err, lockfile.ErrBusy) {
		waits()
		waited, err = s.awaitClaim(ctx, lock)
	}
	switch {
	case err == nil:
		if waited > 0 {
			touch(lock.Path()) // others may be waiting still
		}
		stop := pulse(lock.Path(), touchEvery)
		return claim{waited: waited, release: func() {
			stop()
			lock.Unlock()
		}}, nil
	case errors.Is(err, errStopped):
		s.warned.say(Warning{Kind: WarnLocked, Path: lock.Path(), Err: err})
		none.waited = waited
		return none, nil
	case ctx.Err() != nil:
		return none, ended(ctx)
	}
	return none, s.workAround(err)
}

// claimLock returns the lock that a key's claim is.
func (s *Store) claimLock(key string) *lockfile.Lock {
	name := claimFile(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.claims[name] == nil { // Transient: so many open files would be too many
		s.claims[name] = lockfile.New(filepath.Join(s.lockDir(), name), lockfile.Options{Transient: true})
	}
	return s.claims[name]
}

// claimFile is the name of the file that a key's claim lies on.
func claimFile(key string) string {
	hash := func(s string) uint32 { return crc32.Checksum([]byte(s), castagnoli) }
	var host string
	if u, ok := keyURL(key); ok {
		host = u.Host
	}
	return fmt.Sprintf("claim-%08x-%02x", hash(host), hash(key)%claimFiles)
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

// changedSince reports whether there may be a newer record of an answer than the one that was seen.
func (s *Store) changedSince(key string, saw sight, waited bool) bool {
	if waited || saw.recent {
		return true
	}
	info, _ := os.Stat(s.dbPath())
	if !saw.blind && stateOf(info) != saw.state {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refreshPeers()
	return s.journalledStamp(slot(responses, key)) > saw.stamp
}
