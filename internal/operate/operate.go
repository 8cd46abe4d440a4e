// Package operate changes the shared limiter, for commands and the admin page: settings, limits, the state, and which
// accounts are used. Every process applies a change at its next request.
package operate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/ratelimit"
)

// Target is what a change applies to: the limiter that all processes share, or one account of it.
type Target struct {
	ratelimit.Operator
	Config  *config.Config
	Account string // "" for the limiter itself
}

// Change is a change of settings.
type Change struct {
	Set      map[string]string // values by key
	Reset    []string          // keys that get their configured values again
	ResetAll bool
	Duration time.Duration // how long the values of Set apply; 0: until a reset
}

// ChangedValue is a value before and after a change.
type ChangedValue struct {
	Key  string `json:"key" doc:"the setting"`
	From string `json:"from" doc:"its value before"`
	To   string `json:"to" doc:"its value now"`
}

// UnknownAccountError means that the configuration does not have the account.
type UnknownAccountError struct{ Name string }

func (e *UnknownAccountError) Error() string {
	return fmt.Sprintf("there is no account %q", ui.Escaped(e.Name))
}

const maxChangeDuration = 100 * 365 * 24 * time.Hour

// ParseDuration parses how long a change lasts: a time, or always, which gives 0. It returns false for anything else.
func ParseDuration(text string) (time.Duration, bool) {
	if text == "always" {
		return 0, true
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d > 0 && d < maxChangeDuration // the end of a longer change may not fit into the stored time
}

// Keys returns the names of the settings that can be tuned, sorted.
func (t Target) Keys() (keys []string) {
	if t.Account != "" {
		for _, f := range ratelimit.AccountFields() {
			keys = append(keys, f.Key)
		}
	} else {
		for _, f := range ratelimit.Fields() {
			keys = append(keys, f.Key)
		}
	}
	slices.Sort(keys)
	return keys
}

// Tune makes a change and returns the values of its keys, sorted by key. For an invalid key or value, or one that
// conflicts with another setting of this process, it changes nothing and returns a *ratelimit.TuningError. In another
// process with conflicting settings, the limiter clamps the value and warns.
func (t Target) Tune(ctx context.Context, o Change) ([]ChangedValue, error) {
	named := slices.AppendSeq(slices.Clone(o.Reset), maps.Keys(o.Set))
	slices.Sort(named)
	known := t.Keys()
	for _, key := range named {
		if !slices.Contains(known, key) {
			what, remedy := "is not a limiter setting", "anivault config show lists them"
			if t.Account != "" {
				what, remedy = "is not a limit of an account", "there are "+strings.Join(known, ", ")
			}
			return nil, &ratelimit.TuningError{Keys: []string{key}, Values: []string{o.Set[key]}, Reason: what, Remedy: remedy}
		}
	}
	before, err := t.status(ctx)
	if err != nil {
		return nil, err
	}
	if len(o.Set) > 0 {
		if err := t.set(ctx, before.Tuning, o); err != nil {
			return nil, err
		}
	}
	if len(o.Reset) > 0 || o.ResetAll {
		if t.Account != "" {
			err = t.ResetAccount(ctx, t.Account, o.Reset...)
		} else {
			err = t.ResetTuning(ctx, o.Reset...)
		}
		if err != nil {
			return nil, err
		}
	}
	after, err := t.status(ctx)
	changed := []ChangedValue{}
	for _, key := range named {
		changed = append(changed, ChangedValue{key, t.value(before, key), t.value(after, key)})
	}
	return changed, err
}

func (t Target) set(ctx context.Context, tuning ratelimit.Tuning, o Change) error {
	if t.Account != "" {
		return t.TuneAccount(ctx, t.Account, o.Set, o.Duration)
	}
	for key, value := range o.Set {
		f, _ := ratelimit.FieldByKey(key)
		if err := f.Set(&tuning, value); err != nil {
			return err
		}
	}
	if err := cmp.Or(tuning.Validate(), t.Config.CheckConnectionLimit(tuning)); err != nil {
		return err
	}
	return t.Operator.Tune(ctx, o.Set, o.Duration)
}

// Enable enables or disables an account for a time; 0 is forever. If the configuration has the same value, it stores no
// change, because that would hide later changes of the configuration.
func (t Target) Enable(ctx context.Context, enabled bool, duration time.Duration) (ChangedValue, error) {
	before, err := t.status(ctx)
	if err != nil {
		return ChangedValue{}, err
	}
	changed := ChangedValue{"enabled", strconv.FormatBool(t.view(before).Enabled), strconv.FormatBool(enabled)}
	err = t.EnableAccount(ctx, t.Account, enabled, duration)
	if err == nil && t.MatchesConfig(enabled) {
		err = t.ResetAccount(ctx, t.Account, "enabled")
	}
	return changed, err
}

// MatchesConfig reports whether the configuration, too, enables or disables the account.
func (t Target) MatchesConfig(enabled bool) bool {
	return slices.ContainsFunc(t.Config.EffectiveAccounts(), func(a config.Account) bool {
		return a.Name == t.Account && a.Disabled != enabled
	})
}

// CacheOnly stops all requests of all processes for a time; 0 is until Resume.
func (t Target) CacheOnly(ctx context.Context, duration time.Duration) (ChangedValue, error) {
	return t.changeState(ctx, func() error {
		_, _, err := t.ForceCacheOnly(ctx, duration)
		return err
	})
}

// Resume ends CacheOnly. In any other state it changes nothing.
func (t Target) Resume(ctx context.Context) (ChangedValue, error) {
	return t.changeState(ctx, func() error {
		_, _, err := t.Operator.Resume(ctx)
		return err
	})
}

func (t Target) changeState(ctx context.Context, change func() error) (ChangedValue, error) {
	before, err := t.status(ctx)
	if err == nil {
		err = change()
	}
	if err != nil {
		return ChangedValue{}, err
	}
	after, err := t.status(ctx)
	return ChangedValue{"state", before.State.String(), after.State.String()}, err
}

// status returns the limiter's status, or an *UnknownAccountError if the configuration does not have the account.
func (t Target) status(ctx context.Context) (ratelimit.Status, error) {
	known := func(a config.Account) bool { return a.Name == t.Account }
	if t.Account != "" && !slices.ContainsFunc(t.Config.EffectiveAccounts(), known) {
		return ratelimit.Status{}, &UnknownAccountError{t.Account}
	}
	return ratelimit.Operator{Store: t.Store}.Status(ctx, t.Config.Tuning)
}

func (t Target) view(st ratelimit.Status) app.AccountView {
	all := app.ViewAccounts(t.Config, st)
	return all[slices.IndexFunc(all, func(a app.AccountView) bool { return a.Name == t.Account })]
}

func (t Target) value(st ratelimit.Status, key string) string {
	if t.Account != "" {
		return LimitText(t.view(st), key)
	}
	f, _ := ratelimit.FieldByKey(key)
	return f.Get(st.Tuning)
}

// LimitText returns the limit with this key, or whether the account is enabled, as text; "off" if there is no limit.
func LimitText(a app.AccountView, limitKey string) string {
	switch limitKey {
	case "enabled":
		return strconv.FormatBool(a.Enabled)
	case "account_concurrency":
		return strconv.Itoa(a.Limit)
	case "concurrency":
		return strconv.Itoa(a.KeyLimit)
	case "rate":
		if a.Rate > 0 {
			return fmt.Sprint(a.Rate)
		}
	case "quota":
		if a.Quota != nil {
			return fmt.Sprintf("%d/%s", a.Quota.Limit, a.Quota.Period)
		}
	}
	return "off"
}
