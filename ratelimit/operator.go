package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// This file decides what operators can do to a limiter from outside: plain
// functions on its store, obeyed by every process at its next request.

// ErrNotShared is what an operator's function returns, with the cause, when
// its store has lost contact with the other processes: none of them will obey.
var ErrNotShared = errors.New("the limiter's shared state cannot be reached, so no process would obey")

// Sharing is an optional interface of a [Store] that goes on alone when it
// loses contact with the other processes.
type Sharing interface {
	// Apart returns why nobody else sees what the last Update changed; nil if
	// everybody does.
	Apart() error
}

// order updates a store for an operator, to whom a change that nobody else sees
// is none.
func order(ctx context.Context, st Store, change func(Instant, *Snapshot) error) error {
	if err := st.Update(ctx, change); err != nil {
		return err
	}
	if s, ok := st.(Sharing); ok {
		if why := s.Apart(); why != nil {
			return fmt.Errorf("%w: %w", ErrNotShared, why)
		}
	}
	return nil
}

// Tune overrides knobs by key for all running processes, for a time or, with
// lasts 0, until ResetTuning. It returns a *TuningError, and changes nothing,
// for a key that does not exist, a value that cannot be used, and values that cross each other.
func Tune(ctx context.Context, st Store, values map[string]string, lasts time.Duration) error {
	var list []override
	for k, v := range values {
		list = append(list, override{key: k, value: v})
	}
	return order(ctx, st, func(at Instant, s *Snapshot) error {
		return s.override(s.advance(at), list, lasts)
	})
}

// ResetTuning ends the overrides of these keys, or all.
func ResetTuning(ctx context.Context, st Store, keys ...string) error {
	return order(ctx, st, func(at Instant, s *Snapshot) error {
		now := s.advance(at)
		for i := range s.overrides {
			if len(keys) == 0 || contains(keys, s.overrides[i].key) {
				s.overrides[i].until = now
			}
		}
		s.dropOverrides(now)
		return nil
	})
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

// ForceCacheOnly stops all requests of all processes until Resume or, if
// autoRecover is not 0, for so long. It reports the transition; there is none if
// an operator had said so before, but the time is then the new one.
func ForceCacheOnly(ctx context.Context, st Store, autoRecover time.Duration) (Transition, bool, error) {
	return forceCacheOnly.send(ctx, st, max(autoRecover, 0))
}

// Resume ends CacheOnly: through Sleep, which lasts as long as a Retry-After
// still does, to probing. It reports false if there was nothing to resume.
func Resume(ctx context.Context, st Store) (Transition, bool, error) {
	return resumeCommand.send(ctx, st, 0)
}

func (c command) send(ctx context.Context, st Store, period time.Duration) (tr Transition, moved bool, err error) {
	err = order(ctx, st, func(at Instant, s *Snapshot) error {
		now := s.advance(at)
		tr, moved = s.step(now, &defaults, move{on: onOperator, command: c, period: period})
		if c == forceCacheOnly {
			s.machine.blockUntil = now.after(period)
		}
		return nil
	})
	return tr, moved, err
}

// Reset makes the limiter that of an upstream nothing is known about: state,
// evidence, cooldown, ramp, budget and overrides are gone. A pause is kept unless force
// is set. What is on the wire stays known: slots, bucket and the last second's permits.
func Reset(ctx context.Context, st Store, force bool) error {
	return order(ctx, st, func(at Instant, s *Snapshot) error {
		now := s.advance(at)
		old := &s.machine
		fresh := machine{state: Normal, epoch: old.epoch + 1, permits: old.permits, overrun: old.permits, since: now, reason: ReasonReset}
		if !force {
			fresh.pauseUntil = old.pauseUntil
		}
		s.machine = fresh
		s.budget, s.overrides = budgetUse{}, nil
		s.overrideSeq++
		for i := range s.processes {
			s.processes[i].reserved = 0
		}
		return nil
	})
}
