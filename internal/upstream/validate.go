package upstream

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// bodies are the forms of the body of the fault "status".
var bodies = []string{"json", "nosuccess", "html", "captive", "empty"}

// Limits of what a fault may ask for.
const (
	maxBytes  = 1 << 30
	maxRate   = 10_000
	maxFactor = 10_000
)

// checks are the rules for faults, in the order in which they are reported.
var checks = []struct {
	broken func(*Fault) bool
	report func(*Fault) error
}{
	{
		func(f *Fault) bool { return f.P < 0 || f.P > 1 },
		func(f *Fault) error { return fmt.Errorf("p %g is outside 0..1", f.P) },
	},
	{
		func(f *Fault) bool { return f.Match.Share < 0 || f.Match.Share > 1 },
		func(f *Fault) error { return fmt.Errorf("share %g is outside 0..1", f.Match.Share) },
	},
	{
		func(f *Fault) bool { return f.Match.Every < 0 },
		func(f *Fault) error { return fmt.Errorf("every %d is below 0", f.Match.Every) },
	},
	{
		func(f *Fault) bool { return f.From < 0 || f.To < 0 || f.To != 0 && f.To <= f.From },
		func(f *Fault) error {
			return fmt.Errorf("from %s to %s is not a span of time", time.Duration(f.From), time.Duration(f.To))
		},
	},
	{
		func(f *Fault) bool {
			return kinds[f.Do.Kind] == OnConnect && (f.Match.Path != "" || f.Match.Query != nil || f.Match.Share != 0)
		},
		func(f *Fault) error {
			return fmt.Errorf("%s strikes a connection, which has no path and no query yet", f.Do.Kind)
		},
	},
	{
		func(f *Fault) bool {
			m := f.Match
			return kinds[f.Do.Kind] == AtLimit && (!m.all() || f.P != 0)
		},
		func(f *Fault) error { return fmt.Errorf("%s is for all requests: leave match and p out", f.Do.Kind) },
	},
	{
		func(f *Fault) bool { return f.Do.Kind == "status" && (f.Do.Status < 200 || f.Do.Status > 599) },
		func(f *Fault) error { return fmt.Errorf("status %d is outside 200..599", f.Do.Status) },
	},
	{
		func(f *Fault) bool { return f.Do.Body != "" && !slices.Contains(bodies, f.Do.Body) },
		func(f *Fault) error { return fmt.Errorf("body %q is unknown: use one of %v", f.Do.Body, bodies) },
	},
	{
		func(f *Fault) bool { return f.Do.Kind == "redirect" && f.Do.Location == "" },
		func(*Fault) error { return errors.New("redirect needs a location") },
	},
	{
		func(f *Fault) bool { return f.Do.Kind == "delay" && f.Do.Delay <= 0 },
		func(*Fault) error { return errors.New("delay needs a delay") },
	},
	{
		func(f *Fault) bool { return f.Do.Kind == "limit" && !(f.Do.Rate > 0 && f.Do.Rate <= maxRate) },
		func(f *Fault) error {
			return fmt.Errorf("limit needs a rate above 0, up to %d: %g", maxRate, f.Do.Rate)
		},
	},
	{
		func(f *Fault) bool { return f.Do.RateTo < 0 || f.Do.RateTo > maxRate || f.Do.RateTo != 0 && f.To == 0 },
		func(*Fault) error { return fmt.Errorf("rate_to is from 0 to %d, and needs an end in to", maxRate) },
	},
	{
		func(f *Fault) bool { return f.Do.Kind == "slow" && !(f.Do.Factor > 0 && f.Do.Factor <= maxFactor) },
		func(f *Fault) error {
			return fmt.Errorf("slow needs a factor above 0, up to %d: %g", maxFactor, f.Do.Factor)
		},
	},
	{
		func(f *Fault) bool { return f.Do.Delay < 0 || f.Do.Every < 0 || f.Do.Wait < 0 || f.Do.Bytes < 0 },
		func(*Fault) error { return errors.New("delay, every, wait and bytes are not below 0") },
	},
	{
		func(f *Fault) bool { return f.Do.Bytes > maxBytes },
		func(f *Fault) error { return fmt.Errorf("bytes %d is more than 1 GiB", f.Do.Bytes) },
	},
	{
		func(f *Fault) bool { return f.Do.Code != 0 && codeStatus[f.Do.Code] == 0 },
		func(f *Fault) error { return fmt.Errorf("code %d is not one of TMDB's", f.Do.Code) },
	},
	{
		func(f *Fault) bool { return validRetryAfter(f.Do.RetryAfter) != nil },
		func(f *Fault) error { return validRetryAfter(f.Do.RetryAfter) },
	},
}

// Validate reports the first value that is out of range.
func (s Scenario) Validate() error {
	if s.Limits != "" {
		if _, err := ParseLimits(s.Limits); err != nil {
			return fmt.Errorf("scenario: %w", err)
		}
	}
	if s.RenumberAfter < 0 {
		return errors.New("scenario: renumber_after is below 0")
	}
	for i := range s.Faults {
		if err := s.Faults[i].validate(); err != nil {
			return fmt.Errorf("scenario: fault %d: %w", i+1, err)
		}
	}
	return nil
}

func (f *Fault) validate() error {
	if _, ok := kinds[f.Do.Kind]; !ok {
		return fmt.Errorf("kind %q is unknown: use one of %v", f.Do.Kind, Kinds())
	}
	for _, c := range checks {
		if c.broken(f) {
			return c.report(f)
		}
	}
	return nil
}
