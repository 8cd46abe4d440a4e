package ratelimit

import (
	"fmt"
	"slices"
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
