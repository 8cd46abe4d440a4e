package ratelimit

import (
	"context"
	"fmt"
	"time"

	"github.com/anivault/anivault/ratelimit/internal/core"
)

// Operator shows and changes the limiter of a store from outside. Every process follows at its next request.
//
// Methods that change something change nothing and return ErrNotShared, with the cause, if the store has lost contact
// with the other processes.
type Operator struct{ Store Store }

// Status returns the status of the limiter as a process with this tuning and these accounts would see it.
func (o Operator) Status(ctx context.Context, t Tuning, accounts ...Account) (Status, error) {
	at, s, err := core.ReadSnapshot(ctx, o.Store)
	if err != nil {
		return Status{}, err
	}
	return s.Status(at, s.EffectiveTuning(at, t, nil).Tuning, "", accounts...), nil
}

func (o Operator) update(ctx context.Context, change func(Instant, *Snapshot) error) error {
	err := o.Store.Update(ctx, func(at Instant, s *Snapshot) error {
		if at.Alone != nil {
			return core.ErrUnchanged
		}
		return change(at, s)
	})
	if err != nil {
		return err
	}
	if s, ok := o.Store.(core.Sharing); ok {
		if why := s.IsolationCause(); why != nil {
			return fmt.Errorf("%w: %w", ErrNotShared, why)
		}
	}
	return nil
}

// always returns an update that cannot fail.
func always(change func(Instant, *Snapshot)) func(Instant, *Snapshot) error {
	return func(at Instant, s *Snapshot) error {
		change(at, s)
		return nil
	}
}

// Tune overrides settings by key for all running processes, for a time or, with duration <= 0, until ResetTuning. It
// returns a *TuningError and changes nothing if a key does not exist, or a value is invalid by itself or together with
// others.
func (o Operator) Tune(ctx context.Context, values map[string]string, duration time.Duration) error {
	return o.update(ctx, func(at Instant, s *Snapshot) error { return s.Override(at, values, duration) })
}

// ResetTuning ends the overrides of these keys, or all overrides without keys.
func (o Operator) ResetTuning(ctx context.Context, keys ...string) error {
	return o.update(ctx, always(func(at Instant, s *Snapshot) { s.EndOverrides(at, keys...) }))
}

// ForceCacheOnly stops all requests of all processes until Resume or, if autoRecover is not 0, for that long from now.
// moved is false if an operator had already done so; the new end applies anyway.
func (o Operator) ForceCacheOnly(ctx context.Context, autoRecover time.Duration) (tr Transition, moved bool,
	err error,
) {
	err = o.update(ctx, always(func(at Instant, s *Snapshot) { tr, moved = s.ForceCacheOnly(at, max(autoRecover, 0)) }))
	return tr, moved, err
}

// Resume ends CacheOnly, of accounts too, and starts probing, after any pause. moved is false without a CacheOnly.
func (o Operator) Resume(ctx context.Context) (tr Transition, moved bool, err error) {
	err = o.update(ctx, always(func(at Instant, s *Snapshot) { tr, moved = s.Resume(at) }))
	return tr, moved, err
}

// Reset forgets everything about the upstream: state, evidence, cooldown, learned rate, budget and overrides. A pause
// is kept unless force is set. Slots, bucket and the last second's permits are always kept, because requests may be
// under way.
func (o Operator) Reset(ctx context.Context, force bool) error {
	return o.update(ctx, always(func(at Instant, s *Snapshot) { s.Reset(at, force) }))
}

// TuneAccount overrides limits of an account by key for all running processes, for a time or, with duration <= 0, until
// ResetAccount. It returns a *TuningError and changes nothing if a key does not exist or a value is invalid.
func (o Operator) TuneAccount(
	ctx context.Context, name string, values map[string]string, duration time.Duration,
) error {
	return o.update(ctx, func(at Instant, s *Snapshot) error { return s.TuneAccount(at, name, values, duration) })
}

// EnableAccount enables or disables an account whatever its processes have configured, for a time or, with
// duration <= 0, until the next call. Enabling tries the account's refused keys again.
func (o Operator) EnableAccount(ctx context.Context, name string, enabled bool, duration time.Duration) error {
	return o.update(ctx, always(func(at Instant, s *Snapshot) { s.EnableAccount(at, name, enabled, duration) }))
}

// ResetAccount ends the overrides of these limits of an account, or all of its overrides without keys.
func (o Operator) ResetAccount(ctx context.Context, name string, keys ...string) error {
	return o.update(ctx, always(func(at Instant, s *Snapshot) { s.ResetAccount(at, name, keys...) }))
}
