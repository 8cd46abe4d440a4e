package ratelimit

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Override is a setting that an operator has changed.
type Override struct {
	Key, Value string
	Until      time.Time // zero: always
}

// atStart is the setting that is read when a process starts; operators cannot change it later.
const atStart = "processes"

// override is a setting that an operator has changed for all processes. It is obeyed at their next
// request, over everything else, while it lasts.
type override struct {
	key, value string
	until      Stamp // 0: always
}

// overrides are those in force, sorted by key.
type overrides struct {
	list []override
	seq  uint64 // changes whenever they do, so that readers can cache
}

func (o override) over(now Stamp) bool { return o.until != 0 && o.until <= now }

// public returns overrides as people read them.
func (l *timeline) public(list []override) (out []Override) {
	for _, o := range list {
		out = append(out, Override{o.key, o.value, l.time(o.until)})
	}
	return out
}

// applied returns own with the overrides, and what had to give way because it crosses them.
func (l *overrides) applied(own Tuning) (Tuning, []error) {
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

// drop ends overrides.
func (l *overrides) drop(ends func(override) bool) {
	before := len(l.list)
	l.list = slices.DeleteFunc(l.list, ends)
	l.seq += uint64(before - len(l.list))
}

// set adds overrides, or replaces those of the same keys.
func (l *overrides) set(values []override) error {
	next := make(map[string]override)
	for _, o := range slices.Concat(l.list, values) {
		next[o.key] = o
	}
	if err := uncrossed(next); err != nil {
		return err
	}
	l.list = slices.SortedFunc(maps.Values(next), func(a, b override) int { return strings.Compare(a.key, b.key) })
	l.seq++
	return nil
}

// dropOverrides ends overrides that have run out.
func (s *Snapshot) dropOverrides(now Stamp) {
	ended := func(o override) bool { return o.over(now) }
	s.overrides.drop(ended)
	for i := range s.accounts {
		s.accounts[i].tuned = slices.DeleteFunc(s.accounts[i].tuned, ended)
	}
}

// InForce is the tuning in force for a process: its own, divided, with operators' overrides.
type InForce struct {
	Tuning
	Own       Tuning  // the process's own
	Problems  []error // values that had to give way
	Overrides []Override

	seq   uint64 // of the overrides
	parts int
}

// InForce returns the tuning in force for a process with this tuning of its own. It is before, which it was the last
// time, where that still holds.
func (s *Snapshot) InForce(at Instant, own Tuning, before *InForce) *InForce {
	s.dropOverrides(s.advance(at))
	parts := max(at.Parts, 1)
	if before != nil && before.Own == own && before.seq == s.overrides.seq && before.parts == parts {
		return before
	}
	t := &InForce{Own: own, Overrides: s.clock.public(s.overrides.list), seq: s.overrides.seq, parts: parts}
	t.Tuning, t.Problems = s.overrides.applied(own)
	t.Tuning = t.divided(parts)
	return t
}

// Override changes settings for all processes, for a time or, with 0, for good. It returns a *TuningError, and changes
// nothing, for a key that does not exist, a value that cannot be used, and values that cross each other.
func (s *Snapshot) Override(at Instant, values map[string]string, lasts time.Duration) error {
	now := s.advance(at)
	s.dropOverrides(now)
	var list []override
	for k, v := range values {
		list = append(list, override{k, v, now.after(lasts)})
	}
	if err := s.overrides.set(list); err != nil {
		return err
	}
	s.bucket.empty(now) // a larger bucket does not start full
	return nil
}

// EndOverrides ends the overrides of these keys, or all.
func (s *Snapshot) EndOverrides(at Instant, keys ...string) {
	now := s.advance(at)
	s.dropOverrides(now)
	s.overrides.drop(func(o override) bool { return len(keys) == 0 || slices.Contains(keys, o.key) })
}

// ForceCacheOnly blocks everything until Resume or, if period is not 0, for that long from now.
func (s *Snapshot) ForceCacheOnly(at Instant, period time.Duration) (Transition, bool) {
	now := s.advance(at)
	tr, moved := s.step(now, &defaults, move{on: onOperator, command: forceCacheOnly, period: period})
	s.machine.blockUntil = now.after(period)
	return tr, moved
}

// Resume ends CacheOnly.
func (s *Snapshot) Resume(at Instant) (Transition, bool) {
	return s.step(s.advance(at), &defaults, move{on: onOperator, command: resumeCommand})
}

// Reset makes the snapshot that of an unknown upstream. A pause is kept unless force is set, and so is what is on the
// wire: slots, bucket and the last second's permits.
func (s *Snapshot) Reset(at Instant, force bool) {
	now := s.advance(at)
	s.machine.reset(now, !force)
	s.budget, s.overrides.list = budgetUse{}, nil
	for i := range s.accounts {
		s.accounts[i].reset(now, !force)
	}
	s.overrides.seq++
	for i := range s.processes {
		s.processes[i].reserved = 0
	}
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
