package ratelimit

import (
	"context"
	"slices"
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
	others := slices.DeleteFunc(s.Users(), func(id string) bool { return id == l.process })
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

// look returns a copy of the snapshot in a store, and the present moment. It writes nothing.
func look(ctx context.Context, store Store) (at Instant, s Snapshot, err error) {
	err = store.Update(ctx, func(now Instant, shared *Snapshot) error {
		at, s = now, shared.Clone()
		return ErrUnchanged
	})
	return at, s, err
}

// Status returns the limiter as it is now, as this process sees it.
func (l *Limiter) Status(ctx context.Context) (Status, error) {
	at, s, err := look(ctx, l.store)
	if err != nil {
		return Status{Offline: l.offline}, err
	}
	t := l.tune(at, &s)
	l.adopt(t)
	st := s.Status(at, t.Tuning, l.owner, l.ownAccounts()...)
	st.Offline = l.offline
	return st, nil
}

// ReadStatus returns the status of a store as a process with this tuning and these accounts would see it. The caller
// takes no part in the limiter.
func ReadStatus(ctx context.Context, store Store, t Tuning, accounts ...Account) (Status, error) {
	at, s, err := look(ctx, store)
	if err != nil {
		return Status{}, err
	}
	return s.Status(at, s.InForce(at, t, nil).Tuning, "", accounts...), nil
}
