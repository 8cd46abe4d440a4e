package ratelimit

import (
	"fmt"
	"sort"
	"strings"
	"time"
)

// This file decides how a knob is changed for running processes: an override lies in
// the snapshot and is obeyed at the next request, over everything else, while it lasts.

// override is a knob that an operator has changed for everybody.
type override struct {
	key, value string
	until      Stamp // 0: always
}

// overridden returns own with the overrides, and what had to give way because it crosses them.
func (s *Snapshot) overridden(own Tuning) (Tuning, []error) {
	t := own
	var odd []error
	for _, o := range s.overrides {
		f, ok := FieldByKey(o.key)
		if !ok {
			odd = append(odd, fmt.Errorf("obey override: unknown knob %q", o.key))
			continue
		}
		if err := f.Set(&t, o.value); err != nil {
			odd = append(odd, fmt.Errorf("obey override: %w", err))
		}
	}
	if len(s.overrides) > 0 {
		for _, e := range t.clamp() {
			odd = append(odd, fmt.Errorf("obey override, clamped: %w", e))
		}
	}
	return t, odd
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

// override sets knobs for everybody, for a time or, with 0, for good.
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
	s.bucket.empty(now) // a larger bucket does not come full
	return nil
}

// uncrossed refuses overrides that cross each other. How they go with a
// process's own values is seen there.
func uncrossed(overrides map[string]override) error {
	t := Default()
	for _, o := range overrides {
		f, ok := FieldByKey(o.key)
		if !ok {
			return unknownKnob(o.key)
		}
		if f.AtStart {
			return &TuningError{
				Keys: []string{f.Key}, Values: []string{o.value},
				Reason: "is read when a process starts", Remedy: "set " + f.Env + " and start it again",
			}
		}
		if err := f.Set(&t, o.value); err != nil {
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

func unknownKnob(key string) error {
	remedy := "see Fields for the knobs there are"
	if near := NearestKey(key); near != "" {
		remedy = "did you mean " + near + "?"
	}
	return &TuningError{Keys: []string{clip(key)}, Values: []string{"?"}, Reason: "there is no such knob", Remedy: remedy}
}

// NearestKey returns the knob whose key or variable is most like name, "" if none is like it.
func NearestKey(name string) string {
	name = strings.ToLower(strings.TrimPrefix(strings.ToUpper(name), "ANIVAULT_"))
	best, least := "", len(name)/3+2
	for _, f := range fields {
		if d := distance(name, f.Key); d < least {
			best, least = f.Key, d
		}
	}
	return best
}

// distance is the number of single letters to change between two names (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
