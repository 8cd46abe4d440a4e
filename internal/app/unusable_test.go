package app

import (
	"testing"
	"time"

	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/ratelimit"
)

// Accounts of which none can take a request are unusable, whatever the reason of each is.
func TestAccountsThatCanTakeNoRequest(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		one, two string
		want     bool
	}{
		{"blocked", "spent", true},
		{"asleep", "asleep", true},
		{"asleep", "due", false}, // one may probe
		{"blocked", "fine", false},
		{"paused", "asleep", true},
		{"paused", "due", false},
	} {
		cfg, st := &config.Config{}, ratelimit.Status{At: now}
		for i, how := range []string{c.one, c.two} {
			a := ratelimit.Account{Name: []string{"one", "two"}[i], Keys: []ratelimit.Fingerprint{1}}
			cfg.Accounts = append(cfg.Accounts, config.Account{Account: a})
			view := st.ForAccount(a)
			view.Quota, view.HasMachine = ratelimit.Budget{Requests: 10, Period: time.Hour}, true
			switch how {
			case "blocked":
				view.State = ratelimit.CacheOnly
			case "asleep":
				view.State, view.Until = ratelimit.Sleep, now.Add(time.Minute)
			case "paused":
				view.State, view.Until = ratelimit.Normal, now.Add(time.Minute)
			case "due":
				view.State, view.Until = ratelimit.Sleep, now.Add(-time.Second)
			case "spent":
				view.QuotaUsed = 10
			}
			st.Accounts = append(st.Accounts, view)
		}
		if got := AllUnusable(cfg, st); got != c.want {
			t.Errorf("%s and %s: unusable %v", c.one, c.two, got)
		}
		v := ViewAccounts(cfg, st)[0] // and a pause is shown
		if paused := v.Reason == "pause" && v.Until != ""; paused != (c.one == "paused") {
			t.Errorf("%s: %+v", c.one, v)
		}
	}
}
