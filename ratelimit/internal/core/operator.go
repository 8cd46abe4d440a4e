package core

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Override is a setting that an operator has changed.
type Override struct {
	Key, Value string
	Until      time.Time // zero: no end
}

const processesKey = "processes"

// override is a setting that an operator has changed for all processes. It applies from their next request until it
// ends, in place of their configuration.
type override struct {
	key, value string
	until      Stamp // 0: no end
}

type overrides struct {
	list []override
	seq  uint64 // grows with each change of list, so that readers can cache what they computed from it
}

func (l *timeline) publicOverrides(list []override) (out []Override) {
	for _, o := range list {
		out = append(out, Override{o.key, o.value, l.wallTime(o.until)})
	}
	return out
}

// applyTo returns a process's tuning with the overrides. It skips or adapts invalid ones, and returns them as errors.
func (l *overrides) applyTo(own Tuning) (Tuning, []error) {
	t := own
	var problems []error
	for _, o := range l.list {
		f, ok := FieldByKey(o.key)
		if !ok {
			problems = append(problems, fmt.Errorf("obey override: unknown setting %q", o.key))
			continue
		}
		if err := f.set(&t, o.value); err != nil {
			problems = append(problems, fmt.Errorf("obey override: %w", err))
		}
	}
	if len(l.list) > 0 {
		for _, e := range t.clamp() {
			problems = append(problems, fmt.Errorf("obey override, clamped: %w", e))
		}
	}
	return t, problems
}

func (l *overrides) removeWhere(matches func(override) bool) {
	before := len(l.list)
	l.list = slices.DeleteFunc(l.list, matches)
	l.seq += uint64(before - len(l.list))
}

func (l *overrides) set(values []override) error {
	next := make(map[string]override)
	for _, o := range slices.Concat(l.list, values) {
		next[o.key] = o
	}
	if err := checkOverrides(next); err != nil {
		return err
	}
	l.list = slices.SortedFunc(maps.Values(next), func(a, b override) int { return strings.Compare(a.key, b.key) })
	l.seq++
	return nil
}

func (s *Snapshot) dropOverrides(now Stamp) {
	ended := func(o override) bool { return o.until != 0 && o.until <= now }
	s.overrides.removeWhere(ended)
	for i := range s.accounts.list {
		a := &s.accounts.list[i]
		a.overrides = slices.DeleteFunc(a.overrides, ended)
	}
}

// EffectiveTuning is the tuning that applies to a process: its own tuning with operators' overrides, divided by parts.
type EffectiveTuning struct {
	Tuning
	Own       Tuning  // the process's own tuning, without overrides
	Problems  []error // overrides that were skipped or changed, because they are invalid or contradict other settings
	Overrides []Override

	seq   uint64 // the version of the snapshot's overrides
	parts int
}

// EffectiveTuning returns the tuning that applies to a process: before, the last result, if nothing has changed.
func (s *Snapshot) EffectiveTuning(at Instant, own Tuning, before *EffectiveTuning) *EffectiveTuning {
	s.dropOverrides(s.advance(at))
	parts := max(at.Parts, 1)
	if before != nil && before.Own == own && before.seq == s.overrides.seq && before.parts == parts {
		return before
	}
	overrides := s.clock.publicOverrides(s.overrides.list)
	t := &EffectiveTuning{Own: own, Overrides: overrides, seq: s.overrides.seq, parts: parts}
	t.Tuning, t.Problems = s.overrides.applyTo(own)
	t.Tuning = t.dividedBy(parts)
	return t
}

// Override changes settings for all processes. The change ends after duration; 0 means no end. For an unknown key, a
// bad value or contradicting values it changes nothing and returns a *TuningError.
func (s *Snapshot) Override(at Instant, values map[string]string, duration time.Duration) error {
	now := s.advance(at)
	s.dropOverrides(now)
	var list []override
	for k, v := range values {
		list = append(list, override{k, v, now.deadlineAfter(duration)})
	}
	if err := s.overrides.set(list); err != nil {
		return err
	}
	s.address.bucket.empty(now) // a larger bucket does not start full
	return nil
}

// EndOverrides ends the overrides of these keys, or all overrides if there are no keys.
func (s *Snapshot) EndOverrides(at Instant, keys ...string) {
	now := s.advance(at)
	s.dropOverrides(now)
	s.overrides.removeWhere(func(o override) bool { return len(keys) == 0 || slices.Contains(keys, o.key) })
}

// ForceCacheOnly blocks all requests until Resume, or for period if that is not 0.
func (s *Snapshot) ForceCacheOnly(at Instant, period time.Duration) (Transition, bool) {
	v := view{s, s.advance(at), &defaults, Instant{}}
	tr, moved := v.step(stepInput{trigger: onOperator, command: forceCacheOnly, period: period})
	s.address.machine.blockUntil = v.now.deadlineAfter(period)
	return tr, moved
}

// Resume ends CacheOnly, of accounts too. It returns the address's transition, or else that of an account.
func (s *Snapshot) Resume(at Instant) (tr Transition, moved bool) {
	v, in := view{s, s.advance(at), &defaults, Instant{}}, stepInput{trigger: onOperator, command: resumeCommand}
	for i := range s.accounts.list {
		if own, ok := v.stepAccount(&s.accounts.list[i], in); ok {
			tr, moved = own, true
		}
	}
	if address, ok := v.step(in); ok {
		return address, true
	}
	return tr, moved
}

// Reset forgets everything about the upstream: state, evidence, overrides and reservations. It keeps what protects the
// upstream: slots, the bucket, recent permits and, unless force is set, the pause.
func (s *Snapshot) Reset(at Instant, force bool) {
	now := s.advance(at)
	s.address.reset(now, !force)
	for i := range s.accounts.list {
		a := &s.accounts.list[i]
		a.reset(now, !force)
		a.bucket, a.overrides = bucket{}, nil
		a.retryKeys(now)
	}
	s.overrides.list = nil
	s.overrides.seq++
	for i := range s.processes.list {
		s.processes.list[i].reserved = 0
	}
}

// checkOverrides returns an error for overrides that are invalid or contradict each other. [overrides.applyTo] resolves
// contradictions with a process's own values.
func checkOverrides(overrides map[string]override) error {
	t := Default()
	for _, o := range overrides {
		f, ok := FieldByKey(o.key)
		if !ok {
			return newTuningError(truncate(o.key), "?", "there is no such setting", "see Fields for all settings")
		}
		if f.Key == processesKey {
			return newTuningError(f.Key, o.value, "is read when a process starts",
				"change it in the configuration and start the process again")
		}
		if err := f.set(&t, o.value); err != nil {
			return err
		}
	}
	for _, c := range constraints {
		_, one := overrides[c.key]
		_, other := overrides[c.other]
		if one && other && !c.ok(&t) {
			return c.error(&t)
		}
	}
	return nil
}

var accountFields = []AccountField{
	{"account_concurrency", "requests under way with all keys of the account", "a whole number from 0 (no limit) to 256"},
	{"concurrency", "requests under way with each key", "a whole number from 0 (no limit) to 256"},
	{"rate", "requests a second, at most rate_base", "a number from 0.1 to 1000, or off (0)"},
	{"quota", "answered requests in a period", "off, or a number of requests in a period of at least 1s, as in 5000/24h"},
}

// AccountField is a limit of an account, for configurations, help and operators.
type AccountField struct{ Key, Doc, Allowed string }

// AccountFields describes the limits that an account can have: their keys, texts and ranges.
func AccountFields() []AccountField { return slices.Clone(accountFields) }

const enabledKey = "enabled"

func setAccountField(l *accountLimits, key, value string) error {
	i := slices.IndexFunc(accountFields, func(f AccountField) bool { return f.Key == key })
	if i < 0 {
		var keys []string
		for _, f := range accountFields {
			keys = append(keys, f.Key)
		}
		return newTuningError(truncate(key), truncate(value), "there is no such limit of an account",
			"there are "+strings.Join(keys, ", "))
	}
	if f := accountFields[i]; !l.set(key, strings.TrimSpace(value)) {
		return newTuningError(key, strconv.Quote(truncate(value)), "cannot be used", "allowed is "+f.Allowed)
	}
	return nil
}

// Set parses a limit into an account. It returns a *TuningError for a bad value.
func (f AccountField) Set(a *Account, value string) error {
	l := accountLimits{a.Slots, a.KeySlots, a.Rate, a.Quota}
	if err := setAccountField(&l, f.Key, value); err != nil {
		return err
	}
	a.Slots, a.KeySlots, a.Rate, a.Quota = l.slots, l.keySlots, l.rate, l.quota
	return nil
}

func (l *accountLimits) set(key, value string) (ok bool) {
	whole := func(field *int) bool {
		n, err := strconv.Atoi(value)
		if ok = err == nil && n >= 0 && n <= 256; ok {
			*field = n
		}
		return ok
	}
	switch key {
	case "account_concurrency":
		return whole(&l.slots)
	case "concurrency":
		return whole(&l.keySlots)
	case "rate":
		if value == "off" {
			value = "0"
		}
		v, err := parseFloat(value)
		if ok = err == nil && (v == 0 || v >= 0.1 && v <= 1000); ok {
			l.rate = v
		}
	case "quota":
		b, err := parseBudget(value, 1e9)
		if ok = err == nil; ok {
			l.quota = b
		}
	}
	return ok
}

// TuneAccount overrides limits of an account. The change ends after duration; 0 means no end. For an unknown key or a
// bad value it changes nothing and returns a *TuningError.
func (s *Snapshot) TuneAccount(at Instant, name string, values map[string]string, duration time.Duration) error {
	for k, v := range values {
		if err := setAccountField(new(accountLimits), k, v); err != nil {
			return err
		}
	}
	now := s.advance(at)
	a := s.accounts.getOrAdd(now, name)
	for k, v := range values {
		a.setOverride(now, k, v, duration)
	}
	return nil
}

// EnableAccount enables or disables an account. The change ends after duration; 0 means no end. Enabling also makes its
// refused keys unproven, so that requests try them again.
func (s *Snapshot) EnableAccount(at Instant, name string, enabled bool, duration time.Duration) {
	now := s.advance(at)
	a := s.accounts.getOrAdd(now, name)
	a.setOverride(now, enabledKey, strconv.FormatBool(enabled), duration)
	if enabled {
		a.retryKeys(now)
	}
}

// ResetAccount ends the overrides of these limits of an account, or all its overrides if there are no keys.
func (s *Snapshot) ResetAccount(at Instant, name string, keys ...string) {
	s.advance(at)
	if a := s.accounts.byName(name); a != nil {
		a.overrides = slices.DeleteFunc(a.overrides, func(o override) bool {
			return len(keys) == 0 || slices.Contains(keys, o.key)
		})
	}
}

func (a *account) setOverride(now Stamp, key, value string, duration time.Duration) {
	o := override{key, strings.TrimSpace(value), now.deadlineAfter(duration)}
	a.overrides = slices.DeleteFunc(a.overrides, func(b override) bool { return b.key == key })
	a.overrides = append(a.overrides, o)
	slices.SortFunc(a.overrides, func(x, y override) int { return strings.Compare(x.key, y.key) })
}
