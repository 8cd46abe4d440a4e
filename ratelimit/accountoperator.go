package ratelimit

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// accountFields are the limits of an account that operators can change.
var accountFields = []AccountField{
	{
		"account_concurrency", "requests under way with all keys of the account", "a whole number from 0 (no limit) to 256",
		wholeTo(256, func(l *limits) *int { return &l.slots }),
	},
	{
		"concurrency", "requests under way with each key", "a whole number from 0 (no limit) to 256",
		wholeTo(256, func(l *limits) *int { return &l.keySlots }),
	},
	{"rate", "requests a second, at most rate_base", "a number from 0.1 to 1000, or off (0)", setRate},
	{"quota", "answered requests in a period", "off, or a number of requests and a period, as in 5000/24h", setQuota},
}

// AccountField is a limit of an account, for configurations, help and operators.
type AccountField struct {
	Key, Doc, Allowed string
	set               func(*limits, string) bool
}

// AccountFields returns the limits of an account.
func AccountFields() []AccountField { return slices.Clone(accountFields) }

// enabledKey is the override that enables or disables an account.
const enabledKey = "enabled"

func setAccountField(l *limits, key, value string) error {
	if key == enabledKey {
		on := value == "true"
		l.enabled = &on
		return nil
	}
	i := slices.IndexFunc(accountFields, func(f AccountField) bool { return f.Key == key })
	if i < 0 {
		var keys []string
		for _, f := range accountFields {
			keys = append(keys, f.Key)
		}
		return &TuningError{
			Keys: []string{clip(key)}, Values: []string{clip(value)}, Reason: "there is no such limit of an account",
			Remedy: "there are " + strings.Join(keys, ", "),
		}
	}
	if f := accountFields[i]; !f.set(l, strings.TrimSpace(value)) {
		return &TuningError{
			Keys: []string{key}, Values: []string{strconv.Quote(clip(value))}, Reason: "cannot be used",
			Remedy: "allowed is " + f.Allowed,
		}
	}
	return nil
}

// Set reads a limit into an account. It returns a *TuningError for what can't be used.
func (f AccountField) Set(a *Account, value string) error {
	l := limits{accountLimits: accountLimits{a.Slots, a.KeySlots, a.Rate, a.Quota}}
	if err := setAccountField(&l, f.Key, value); err != nil {
		return err
	}
	a.Slots, a.KeySlots, a.Rate, a.Quota = l.slots, l.keySlots, l.rate, l.quota
	return nil
}

func wholeTo(most int, field func(*limits) *int) func(*limits, string) bool {
	return func(l *limits, value string) bool {
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 || n > most {
			return false
		}
		*field(l) = n
		return true
	}
}

func setRate(l *limits, value string) bool {
	if value == "off" || value == "0" {
		l.rate = 0
		return true
	}
	v, err := parseFloat(value)
	if err != nil || v < 0.1 || v > 1000 {
		return false
	}
	l.rate = v
	return true
}

func setQuota(l *limits, value string) bool {
	b, err := parseBudget(value, 1e9)
	if err == nil {
		l.quota = b
	}
	return err == nil
}

// TuneAccount overrides limits of an account by their keys, for a time or, with lasts 0, for good. It returns a
// *TuningError, and changes nothing, for a key that does not exist or a value that cannot be used.
func (s *Snapshot) TuneAccount(at Instant, name string, values map[string]string, lasts time.Duration) error {
	for k, v := range values {
		if k == enabledKey {
			k = "" // see EnableAccount
		}
		if err := setAccountField(new(limits), k, v); err != nil {
			return err
		}
	}
	now := s.advance(at)
	a := s.known(now, name)
	for k, v := range values {
		a.override(now, k, v, lasts)
	}
	return nil
}

// EnableAccount enables or disables an account, for a time or, with lasts 0, until the opposite. Keys of an enabled one
// that are out are tried again.
func (s *Snapshot) EnableAccount(at Instant, name string, on bool, lasts time.Duration) {
	now := s.advance(at)
	a := s.known(now, name)
	a.override(now, enabledKey, strconv.FormatBool(on), lasts)
	if on {
		a.retryKeys(now)
	}
}

// ResetAccount ends the overrides of these limits of an account, or all.
func (s *Snapshot) ResetAccount(at Instant, name string, keys ...string) {
	s.advance(at)
	if a := s.accountBy(name); a != nil {
		a.tuned = slices.DeleteFunc(a.tuned, func(o override) bool {
			return len(keys) == 0 && o.key != enabledKey || slices.Contains(keys, o.key)
		})
	}
}

func (a *account) override(now Stamp, key, value string, lasts time.Duration) {
	o := override{key, strings.TrimSpace(value), now.after(lasts)}
	a.tuned = slices.DeleteFunc(a.tuned, func(b override) bool { return b.key == key })
	a.tuned = append(a.tuned, o)
	slices.SortFunc(a.tuned, func(x, y override) int { return strings.Compare(x.key, y.key) })
}
