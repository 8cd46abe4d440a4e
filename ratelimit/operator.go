package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Operator changes the limiter of a store from outside. Every process obeys at its next request.
//
// Its methods return ErrNotShared, with the cause, when the store has lost contact with the other processes.
type Operator struct{ Store Store }

// ErrNotShared says that no other process sees what an operator has changed.
var ErrNotShared = errors.New("the limiter's shared state cannot be reached, so no process would obey")

// Sharing is an optional interface of a [Store] that goes on alone when it
// loses contact with the other processes.
type Sharing interface {
	// Apart returns why no other process sees what the last Update changed; nil if
	// all do.
	Apart() error
}

// order updates the store. A change that no other process sees is an error.
func (o Operator) order(ctx context.Context, change func(Instant, *Snapshot) error) error {
	if err := o.Store.Update(ctx, change); err != nil {
		return err
	}
	if s, ok := o.Store.(Sharing); ok {
		if why := s.Apart(); why != nil {
			return fmt.Errorf("%w: %w", ErrNotShared, why)
		}
	}
	return nil
}

// Tune overrides settings by key for all running processes, for a time or, with
// lasts 0, until ResetTuning. It returns a *TuningError, and changes nothing,
// for a key that does not exist, a value that cannot be used, and values that cross each other.
func (o Operator) Tune(ctx context.Context, values map[string]string, lasts time.Duration) error {
	var list []override
	for k, v := range values {
		list = append(list, override{key: k, value: v})
	}
	return o.order(ctx, func(at Instant, s *Snapshot) error {
		return s.override(s.advance(at), list, lasts)
	})
}

// ResetTuning ends the overrides of these keys, or all.
func (o Operator) ResetTuning(ctx context.Context, keys ...string) error {
	return o.order(ctx, func(at Instant, s *Snapshot) error {
		now := s.advance(at)
		for i := range s.overrides {
			if len(keys) == 0 || slices.Contains(keys, s.overrides[i].key) {
				s.overrides[i].until = now
			}
		}
		s.dropOverrides(now)
		return nil
	})
}

// ForceCacheOnly stops all requests of all processes until Resume or, if autoRecover is not 0, for that
// long from now. It returns the transition; there is none if an operator had done so before, but the end is the new one.
func (o Operator) ForceCacheOnly(ctx context.Context, autoRecover time.Duration) (Transition, bool, error) {
	return o.send(ctx, forceCacheOnly, max(autoRecover, 0))
}

// Resume ends CacheOnly: through Sleep, which lasts until the end of a pause, to probing. It reports false if there
// was nothing to resume.
func (o Operator) Resume(ctx context.Context) (Transition, bool, error) {
	return o.send(ctx, resumeCommand, 0)
}

func (o Operator) send(ctx context.Context, c command, period time.Duration) (tr Transition, moved bool, err error) {
	err = o.order(ctx, func(at Instant, s *Snapshot) error {
		now := s.advance(at)
		tr, moved = s.step(now, &defaults, move{on: onOperator, command: c, period: period})
		if c == forceCacheOnly {
			s.machine.blockUntil = now.after(period)
		}
		return nil
	})
	return tr, moved, err
}

// Reset makes the limiter that of an unknown upstream: state,
// evidence, cooldown, ramp, budget and overrides are gone. A pause is kept unless force
// is set. What is on the wire is kept: slots, bucket and the last second's permits.
func (o Operator) Reset(ctx context.Context, force bool) error {
	return o.order(ctx, func(at Instant, s *Snapshot) error {
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
