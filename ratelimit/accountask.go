package ratelimit

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// SetAccounts replaces the accounts that the process's requests go through, from now on; none: requests have a key
// already.
func (l *Limiter) SetAccounts(list []Account) error {
	if err := checkAccounts(list); err != nil {
		return err
	}
	list = slices.Clone(list)
	l.accounts.Store(&list)
	return nil
}

func (l *Limiter) ownAccounts() []Account {
	if list := l.accounts.Load(); list != nil {
		return *list
	}
	return nil
}

// checkAccounts refuses what the shared state has no room for.
func checkAccounts(list []Account) error {
	if len(list) > maxAccounts {
		return fmt.Errorf("use accounts: %d of them, at most %d", len(list), maxAccounts)
	}
	for i, a := range list {
		switch {
		case a.Name == "" || len(a.Name) > maxText:
			return fmt.Errorf("use accounts: name %q: 1 to %d bytes are allowed", clip(a.Name), maxText)
		case slices.ContainsFunc(list[:i], func(b Account) bool { return b.Name == a.Name }):
			return fmt.Errorf("use accounts: there are two named %q", a.Name)
		case len(a.Keys) == 0 || len(a.Keys) > maxKeys:
			return fmt.Errorf("use accounts: %q has %d keys, allowed are 1 to %d", a.Name, len(a.Keys), maxKeys)
		case a.Slots < 0 || a.KeySlots < 0 || !rate(a.Rate):
			return fmt.Errorf("use accounts: %q has a negative limit", a.Name)
		}
	}
	return nil
}

// Rationed reports whether requests may have to be reserved before they wait: there is a budget, or a quota of an
// account.
func (l *Limiter) Rationed() bool {
	return l.tuned.Load().Budget.On() || slices.ContainsFunc(l.ownAccounts(), func(a Account) bool { return a.Quota.On() })
}

type preferenceKey struct{}

type keeping struct {
	Preference
	wait time.Duration
}

// WithPreference returns a context whose requests go through an account and key as long as those can be used. Where
// their slots are full they wait for exactly them, at most wait long; then any will do.
func WithPreference(ctx context.Context, p Preference, wait time.Duration) context.Context {
	return context.WithValue(ctx, preferenceKey{}, keeping{p, wait})
}

// prefers reads the preference of a request.
func (c *call) prefers(ctx context.Context) {
	if k, ok := ctx.Value(preferenceKey{}).(keeping); ok {
		c.prefer, c.keep = &k.Preference, k.wait
	}
}

// preference is what the request still insists on.
func (c *call) preference() *Preference {
	if c.prefer != nil && !c.prefer.Test && c.kept >= c.keep {
		return nil
	}
	return c.prefer
}

type choiceKey struct{}

// ChoiceFrom returns through which account and key a try goes, as the Base of a [Transport] sees it. It isn't ok where
// the limiter has no accounts.
func ChoiceFrom(ctx context.Context) (Choice, bool) {
	c, ok := ctx.Value(choiceKey{}).(Choice)
	return c, ok
}
