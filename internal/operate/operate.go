// Package operate changes a running limiter, for the terminal and the admin page: settings and limits, for a time or
// for good, the state, and which accounts are used. Every process obeys at its next request.
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

// Target is the limiter that all processes share, or one account of it.
type Target struct {
	ratelimit.Operator
	Config  *config.Config // the caller's
	Account string         // of the configuration; "": the limiter
}

// Order is a change.
type Order struct {
	Set      map[string]string // values by key
	Reset    []string          // keys whose changes end
	ResetAll bool
	Lasts    time.Duration // how long Set holds; 0: until a reset
}

// Changed is a changed value.
type Changed struct {
	Key  string `json:"key" doc:"the setting"`
	From string `json:"from" doc:"its value before"`
	To   string `json:"to" doc:"its value now"`
}

// UnknownAccountError names an account that the configuration does not have.
type UnknownAccountError struct{ Name string }

// Error implements error.
func (e *UnknownAccountError) Error() string {
	return fmt.Sprintf("there is no account %q", ui.Escaped(e.Name))
}

// Period reads how long a change lasts: a time, or always, which is 0. It reports false for anything else.
func Period(text string) (time.Duration, bool) {
	if text == "always" {
		return 0, true
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d > 0
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

// Tune obeys an order and returns the values that it names, sorted by key. It changes nothing and returns a
// *ratelimit.TuningError for a key or a value that can't be used, or that contradicts the values in force here: a
// process whose own values they contradict would clamp them and warn.
func (t Target) Tune(ctx context.Context, o Order) ([]Changed, error) {
	named := slices.AppendSeq(slices.Clone(o.Reset), maps.Keys(o.Set))
	slices.Sort(named)
	known := t.Keys()
	for _, key := range named {
		if !slices.Contains(known, key) {
			what, remedy := "is not a limiter setting", "anivault config show lists them"
			if t.Account != "" {
				what, remedy = "is not a limit of an account", "there are "+strings.Join(known, ", ")
			}
			return nil, &ratelimit.TuningError{
				Keys: []string{key}, Values: []string{o.Set[key]}, Reason: what, Remedy: remedy,
			}
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
	changed := []Changed{}
	for _, key := range named {
		changed = append(changed, Changed{key, t.value(before, key), t.value(after, key)})
	}
	return changed, err
}

func (t Target) set(ctx context.Context, inForce ratelimit.Tuning, o Order) error {
	if t.Account != "" {
		return t.TuneAccount(ctx, t.Account, o.Set, o.Lasts)
	}
	for key, value := range o.Set {
		f, _ := ratelimit.FieldByKey(key)
		if err := f.Set(&inForce, value); err != nil {
			return err
		}
	}
	if err := cmp.Or(inForce.Validate(), t.Config.CheckSlots(inForce)); err != nil {
		return err
	}
	return t.Operator.Tune(ctx, o.Set, o.Lasts)
}

// Enable lets an account be used, or no longer, for a time or, with 0, for good. Where the configuration says the same
// nothing is kept, so the configuration can change it again.
func (t Target) Enable(ctx context.Context, on bool, lasts time.Duration) (Changed, error) {
	before, err := t.status(ctx)
	if err != nil {
		return Changed{}, err
	}
	changed := Changed{"enabled", strconv.FormatBool(t.view(before).Enabled), strconv.FormatBool(on)}
	err = t.EnableAccount(ctx, t.Account, on, lasts)
	if err == nil && t.Configured(on) {
		err = t.ResetAccount(ctx, t.Account, "enabled")
	}
	return changed, err
}

// Configured reports whether the configuration itself enables the account, or disables it.
func (t Target) Configured(on bool) bool {
	return slices.ContainsFunc(t.Config.Pool(), func(a config.Account) bool {
		return a.Name == t.Account && a.Disabled != on
	})
}

// CacheOnly stops all requests of all processes, for a time or, with 0, until somebody resumes.
func (t Target) CacheOnly(ctx context.Context, lasts time.Duration) (Changed, error) {
	return t.steer(ctx, func() error {
		_, _, err := t.ForceCacheOnly(ctx, lasts)
		return err
	})
}

// Resume ends CacheOnly. In any other state it changes nothing.
func (t Target) Resume(ctx context.Context) (Changed, error) {
	return t.steer(ctx, func() error {
		_, _, err := t.Operator.Resume(ctx)
		return err
	})
}

func (t Target) steer(ctx context.Context, do func() error) (Changed, error) {
	before, err := t.status(ctx)
	if err == nil {
		err = do()
	}
	if err != nil {
		return Changed{}, err
	}
	after, err := t.status(ctx)
	return Changed{"state", before.State.String(), after.State.String()}, err
}

// status looks at the limiter. Its error is an *UnknownAccountError where the configuration does not have the account.
func (t Target) status(ctx context.Context) (ratelimit.Status, error) {
	known := func(a config.Account) bool { return a.Name == t.Account }
	if t.Account != "" && !slices.ContainsFunc(t.Config.Pool(), known) {
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
		return Limit(t.view(st), key)
	}
	f, _ := ratelimit.FieldByKey(key)
	return f.Get(st.Tuning)
}

// Limit returns a limit of an account as text, by its key.
func Limit(a app.AccountView, key string) string {
	switch key {
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
