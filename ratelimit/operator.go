package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
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

// ForceCacheOnly stops all requests of all processes until Resume or, if autoRecover is not 0, for that long from now.
// It returns the transition; there is none if an operator had done so before, but the end is the new one.
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
		fresh := machine{state: Normal, epoch: old.epoch + 1, since: now, reason: ReasonReset}
		fresh.permits, fresh.overrun = old.permits, old.permits
		if !force {
			fresh.pauseUntil = old.pauseUntil
		}
		s.machine = fresh
		s.budget, s.overrides = budgetUse{}, nil
		for i := range s.accounts {
			s.accounts[i].reset(now, !force)
		}
		s.overrideSeq++
		for i := range s.processes {
			s.processes[i].reserved = 0
		}
		return nil
	})
}

// atStart is the setting that is read when a process starts; operators cannot change it later.
const atStart = "processes"

// override is a setting that an operator has changed for all processes. It is obeyed at their next
// request, over everything else, while it lasts.
type override struct {
	key, value string
	until      Stamp // 0: always
}

// overridden returns own with the overrides, and what had to give way because it crosses them.
func (s *Snapshot) overridden(own Tuning) (Tuning, []error) {
	t := own
	var problems []error
	for _, o := range s.overrides {
		f, ok := FieldByKey(o.key)
		if !ok {
			problems = append(problems, fmt.Errorf("obey override: unknown setting %q", o.key))
			continue
		}
		if err := f.set(&t, o.value); err != nil {
			problems = append(problems, fmt.Errorf("obey override: %w", err))
		}
	}
	if len(s.overrides) > 0 {
		for _, e := range t.clamp() {
			problems = append(problems, fmt.Errorf("obey override, clamped: %w", e))
		}
	}
	return t, problems
}

// dropOverrides ends overrides that have run out.
func (s *Snapshot) dropOverrides(now Stamp) {
	before := len(s.overrides)
	s.overrides = slices.DeleteFunc(s.overrides, func(o override) bool { return o.until != 0 && o.until <= now })
	s.overrideSeq += uint64(before - len(s.overrides))
	s.dropAccountOverrides(now)
}

// override changes settings for all processes, for a time or, with 0, for good.
func (s *Snapshot) override(now Stamp, values []override, lasts time.Duration) error {
	s.dropOverrides(now)
	next := make(map[string]override)
	for _, o := range s.overrides {
		next[o.key] = o
	}
	for _, o := range values {
		if lasts > 0 {
			o.until = now.add(lasts)
		}
		next[o.key] = o
	}
	if err := uncrossed(next); err != nil {
		return err
	}
	s.overrides = slices.SortedFunc(maps.Values(next), func(a, b override) int { return strings.Compare(a.key, b.key) })
	s.overrideSeq++
	s.bucket.empty(now) // a larger bucket does not start full
	return nil
}

// uncrossed refuses overrides that cross each other. How they go with a
// process's own values is seen there.
func uncrossed(overrides map[string]override) error {
	t := Default()
	for _, o := range overrides {
		f, ok := FieldByKey(o.key)
		if !ok {
			return &TuningError{
				Keys: []string{clip(o.key)}, Values: []string{"?"},
				Reason: "there is no such setting", Remedy: "see Fields for all settings",
			}
		}
		if f.Key == atStart {
			return &TuningError{
				Keys: []string{f.Key}, Values: []string{o.value},
				Reason: "is read when a process starts", Remedy: "change it in the configuration and start the process again",
			}
		}
		if err := f.set(&t, o.value); err != nil {
			return err
		}
	}
	for _, c := range crossings {
		_, one := overrides[c.key]
		_, other := overrides[c.other]
		if one && other && !c.ok(&t) {
			return c.error(&t)
		}
	}
	return nil
}
