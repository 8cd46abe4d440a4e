package app

import (
	"time"

	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/ratelimit"
)

// AccountView is an account as commands, pages and API show it. Keys appear by number only.
type AccountView struct {
	Name      string         `json:"name" doc:"its name"`
	Priority  int            `json:"priority" doc:"smaller numbers are used first"`
	Enabled   bool           `json:"enabled" doc:"whether it may be used"`
	Standing  string         `json:"standing" doc:"in, unproven, refused, suspended, disabled, or its own limiter's state"`
	Reason    string         `json:"reason,omitempty" doc:"why, where that is not told by the standing"`
	Since     string         `json:"since,omitempty" doc:"since when, RFC 3339; absent where it is not known"`
	Until     string         `json:"until,omitempty" doc:"when it ends by itself, RFC 3339"`
	Running   int            `json:"running" doc:"requests under way with all its keys"`
	Limit     int            `json:"limit" doc:"how many there may be; 0: no limit of its own"`
	KeyLimit  int            `json:"key_limit" doc:"how many with each key; 0: no limit"`
	Rate      float64        `json:"rate" doc:"requests a second; 0: no rate of its own"`
	Quota     *QuotaView     `json:"quota,omitempty" doc:"its quota; absent where it has none"`
	Keys      []KeyView      `json:"keys" doc:"its keys: number in the configuration, standing, since, running"`
	Overrides []OverrideView `json:"overrides" doc:"what operators have changed: key, value, until"`
}

// KeyView is a key of an account.
type KeyView struct {
	Number   int    `json:"number" doc:"its number in the configuration"`
	Standing string `json:"standing" doc:"in, unproven, refused or suspended"`
	Since    string `json:"since,omitempty" doc:"since when, RFC 3339"`
	Running  int    `json:"running" doc:"requests under way with it"`
}

// QuotaView is a number of requests in a period.
type QuotaView struct {
	Limit    int    `json:"limit" doc:"requests in a period"`
	Period   string `json:"period" doc:"length of the period, such as 24h"`
	Used     int    `json:"used" doc:"answered in this period"`
	Reserved int    `json:"reserved" doc:"set aside for what is under way"`
	Renews   string `json:"renews,omitempty" doc:"when the period ends, RFC 3339"`
}

// OverrideView is a setting that an operator has changed.
type OverrideView struct {
	Key   string `json:"key" doc:"the setting, or enabled"`
	Value string `json:"value" doc:"its value"`
	Until string `json:"until,omitempty" doc:"until when, RFC 3339; absent: until an operator ends it"`
}

// ViewAccounts returns the accounts of a configuration as all processes know them.
func ViewAccounts(cfg *config.Config, st ratelimit.Status) []AccountView {
	list := []AccountView{}
	for _, own := range cfg.Pool() {
		list = append(list, viewAccount(own.Priority, st.View(own.Account)))
	}
	return list
}

func viewAccount(priority int, v ratelimit.AccountView) AccountView {
	best := v.Standing()
	out := AccountView{
		Name: v.Name, Priority: priority, Enabled: v.Enabled, Standing: best.Standing.String(), Since: ui.Stamp(best.Since),
		Running: v.Running, Limit: v.Slots, KeyLimit: v.KeySlots, Rate: v.Rate,
		Quota: ViewQuota(v.Quota, v.QuotaUsed, v.QuotaReserved, v.QuotaRenews), Keys: []KeyView{},
		Overrides: ViewOverrides(v.Overrides),
	}
	for n, k := range v.Keys {
		out.Keys = append(out.Keys, KeyView{n + 1, k.Standing.String(), ui.Stamp(k.Since), k.Running})
	}
	switch {
	case !v.Enabled && v.Told:
		out.Standing, out.Since, out.Reason = "disabled", "", "by an operator"
	case !v.Enabled:
		out.Standing, out.Since, out.Reason = "disabled", "", "in the configuration"
	case v.Barred == ratelimit.ReasonNone && v.Limited && v.State != ratelimit.Normal:
		out.Standing, out.Reason = v.State.String(), v.Cause.String()
		out.Since, out.Until = ui.Stamp(v.Since), ui.Stamp(v.Until)
	}
	return out
}

// ViewQuota returns a budget as it is shown, nil for none.
func ViewQuota(b ratelimit.Budget, used, reserved int, renews time.Time) *QuotaView {
	if !b.On() {
		return nil
	}
	return &QuotaView{b.Requests, ui.Period(b.Period), used, reserved, ui.Stamp(renews)}
}

// ViewOverrides returns what operators have changed as it is shown.
func ViewOverrides(list []ratelimit.Override) []OverrideView {
	out := []OverrideView{}
	for _, o := range list {
		out = append(out, OverrideView{o.Key, o.Value, ui.Stamp(o.Until)})
	}
	return out
}
