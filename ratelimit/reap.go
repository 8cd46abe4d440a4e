package ratelimit

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	reapStalled = 5 * time.Millisecond // between looks for dead processes while one may hold a slot
	reapWaiting = time.Second          // while waiting for anything else
	reapAlways  = 10 * time.Second     // in any case
)

// reap looks for dead processes and drops what they held, unless that was done within the last every. It
// waits at most patience for the store. It reports whether it has found any.
func (l *Limiter) reap(ctx context.Context, every, patience time.Duration) bool {
	if l.live == nil {
		return false
	}
	switch { // where each look is dear
	case l.nap == 0:
	case every == reapStalled:
		every = 2 * l.nap
	case every == reapWaiting: // whoever is at the head looks
		every = 20 * l.nap
	}
	now, last := int64(time.Since(l.start)), l.reaped.Load()
	if now-last < int64(every) || !l.reaped.CompareAndSwap(last, now) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, min(patience, maxNap))
	defer cancel()
	_, s, err := look(ctx, l.store)
	others := slices.DeleteFunc(s.users(), func(id string) bool { return id == l.process })
	if err != nil || len(others) == 0 {
		return false // the next ask meets the same error and reports it
	}
	dead := l.live.Dead(others)
	if len(dead) == 0 {
		return false
	}
	err = l.store.Update(ctx, func(at Instant, s *Snapshot) error {
		s.Bury(at, dead)
		return nil
	})
	return err == nil
}

// A limiter's owner is itself, not its store: of two limiters on one store each keeps its own tickets and
// reservations when the other is closed. The first limiter of a process has the process's id, the n-th "id#n".

var limiters sync.Map // process id -> *atomic.Uint64, how many limiters it has had

func newOwnerOf(process string) string {
	count, _ := limiters.LoadOrStore(process, new(atomic.Uint64))
	if n := count.(*atomic.Uint64).Add(1); n > 1 {
		return process + "#" + strconv.FormatUint(n, 10)
	}
	return process
}

// processOf returns the id of a limiter's process.
func processOf(owner string) string {
	id, _, _ := strings.Cut(owner, "#")
	return id
}
