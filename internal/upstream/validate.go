package upstream

import (
	"cmp"
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
	return cmp.Or(f.validateMatch(), f.validateKind(), f.Do.validate())
}

// validateMatch reports a fault of which requests are struck, and when.
func (f *Fault) validateMatch() error {
	m, stage := &f.Match, kinds[f.Do.Kind]
	switch {
	case f.P < 0 || f.P > 1:
		return fmt.Errorf("p %g is outside 0..1", f.P)
	case m.Share < 0 || m.Share > 1:
		return fmt.Errorf("share %g is outside 0..1", m.Share)
	case m.Every < 0:
		return fmt.Errorf("every %d is below 0", m.Every)
	case f.From < 0 || f.To < 0 || f.To != 0 && f.To <= f.From:
		return fmt.Errorf("from %s to %s is not a span of time", time.Duration(f.From), time.Duration(f.To))
	case stage == OnConnect && (m.Path != "" || m.Query != nil || m.Share != 0):
		return fmt.Errorf("%s strikes a connection, which has no path and no query yet", f.Do.Kind)
	case stage == AtLimit && (!m.all() || f.P != 0):
		return fmt.Errorf("%s is for all requests: leave match and p out", f.Do.Kind)
	}
	return nil
}

// validateKind reports a value that the kind needs otherwise.
func (f *Fault) validateKind() error {
	switch a := &f.Do; {
	case a.Kind == "status" && (a.Status < 200 || a.Status > 599):
		return fmt.Errorf("status %d is outside 200..599", a.Status)
	case a.Body != "" && !slices.Contains(bodies, a.Body):
		return fmt.Errorf("body %q is unknown: use one of %v", a.Body, bodies)
	case a.Kind == "redirect" && a.Location == "":
		return errors.New("redirect needs a location")
	case a.Kind == "delay" && a.Delay <= 0:
		return errors.New("delay needs a delay")
	case a.Kind == "limit" && !(a.Rate > 0 && a.Rate <= maxRate):
		return fmt.Errorf("limit needs a rate above 0, up to %d: %g", maxRate, a.Rate)
	case a.RateTo < 0 || a.RateTo > maxRate || a.RateTo != 0 && f.To == 0:
		return fmt.Errorf("rate_to is from 0 to %d, and needs an end in to", maxRate)
	case a.Kind == "slow" && !(a.Factor > 0 && a.Factor <= maxFactor):
		return fmt.Errorf("slow needs a factor above 0, up to %d: %g", maxFactor, a.Factor)
	}
	return nil
}

// validate reports a value that no kind has.
func (a *Action) validate() error {
	switch {
	case a.Delay < 0 || a.Every < 0 || a.Wait < 0 || a.Bytes < 0:
		return errors.New("delay, every, wait and bytes are not below 0")
	case a.Bytes > maxBytes:
		return fmt.Errorf("bytes %d is more than 1 GiB", a.Bytes)
	case a.Code != 0 && codeStatus[a.Code] == 0:
		return fmt.Errorf("code %d is not one of TMDB's", a.Code)
	}
	return validRetryAfter(a.RetryAfter)
}
