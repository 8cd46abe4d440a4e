package ratelimit

import (
	"fmt"
	"sort"
	"time"
)

// atStart is the setting that is read when a process starts; operators cannot change it later.
const atStart = "processes"

// override is a setting that an operator has changed for all processes. It is obeyed at their next
// request, over everything else, while it lasts.
type override struct {
	key, value string
	until      Stamp // 0: always
}

// overridden returns own with the overrides, and what had to give way because it crosses them.
func (s *Snapshot) overridden(own Tuning) (Tuning, []error) {
	t := own
	var problems []error
	for _, o := range s.overrides {
		f := fieldByKey(o.key)
		if f == nil {
			problems = append(problems, fmt.Errorf("obey override: unknown setting %q", o.key))
			continue
		}
		if err := f.set(&t, o.value); err != nil {
			problems = append(problems, fmt.Errorf("obey override: %w", err))
		}
	}
	if len(s.overrides) > 0 {
		for _, e := range t.clamp() {
			problems = append(problems, fmt.Errorf("obey override, clamped: %w", e))
		}
	}
	return t, problems
}

// dropOverrides ends overrides that have run out.
func (s *Snapshot) dropOverrides(now Stamp) {
	for i := len(s.overrides) - 1; i >= 0; i-- {
		if u := s.overrides[i].until; u != 0 && u <= now {
			s.overrides = append(s.overrides[:i], s.overrides[i+1:]...)
			s.overrideSeq++
		}
	}
}

// override changes settings for all processes, for a time or, with 0, for good.
func (s *Snapshot) override(now Stamp, values []override, lasts time.Duration) error {
	s.dropOverrides(now)
	next := make(map[string]override)
	for _, o := range s.overrides {
		next[o.key] = o
	}
	for _, o := range values {
		if lasts > 0 {
			o.until = now.add(lasts)
		}
		next[o.key] = o
	}
	if err := uncrossed(next); err != nil {
		return err
	}
	s.overrides = s.overrides[:0]
	for _, o := range next {
		s.overrides = append(s.overrides, o)
	}
	sort.Slice(s.overrides, func(i, j int) bool { return s.overrides[i].key < s.overrides[j].key })
	s.overrideSeq++
	s.bucket.empty(now) // a larger bucket does not start full
	return nil
}

// uncrossed refuses overrides that cross each other. How they go with a
// process's own values is seen there.
func uncrossed(overrides map[string]override) error {
	t := Default()
	for _, o := range overrides {
		f := fieldByKey(o.key)
		if f == nil {
			return &TuningError{
				Keys: []string{clip(o.key)}, Values: []string{"?"},
				Reason: "there is no such setting", Remedy: "see Fields for all settings",
			}
		}
		if f.key == atStart {
			return &TuningError{
				Keys: []string{f.key}, Values: []string{o.value},
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
