package simulate

import (
	"fmt"
	"net/http"
	"time"

	"github.com/anivault/anivault/internal/tmdbfake"
)

// This file decides which of the stand-in's faults the limiter can tell from one another without an HTTP client.

// FromScenario makes a script of a scenario of the stand-in. Faults of the content, of connections before a request,
// and of some paths only are refused: in virtual time there are neither.
func FromScenario(scenario tmdbfake.Scenario) (Script, error) {
	if err := scenario.Validate(); err != nil {
		return Script{}, err
	}
	s := Script{Name: scenario.Name, Limits: scenario.Limits}
	for i, rule := range scenario.Faults {
		f, err := fromRule(rule)
		if err != nil {
			return Script{}, fmt.Errorf("scenario: fault %d: %w", i+1, err)
		}
		s.Faults = append(s.Faults, f)
	}
	return s, nil
}

func fromRule(rule tmdbfake.Fault) (Fault, error) {
	m, do := rule.Match, rule.Do
	if m.Path != "" || m.Query != nil || m.IP != "" || m.Share != 0 {
		return Fault{}, fmt.Errorf("%s for some requests only can't be simulated", do.Kind)
	}
	f := Fault{
		Label: do.Kind, From: time.Duration(rule.From), To: time.Duration(rule.To), Chance: rule.P, Nth: m.Nth, Every: m.Every,
		RetryAfter: do.RetryAfter, Wait: time.Duration(do.Wait),
	}
	switch do.Kind {
	case "status":
		if do.Status == http.StatusUnauthorized || do.Status == http.StatusForbidden {
			return Fault{}, fmt.Errorf("status %d ends a run at once; there is nothing to simulate", do.Status)
		}
		f.Fail, f.Status = Status, do.Status
		f.Label = fmt.Sprintf("status %d", do.Status)
		if do.Status < 300 && (do.Body == "html" || do.Body == "captive") {
			f.Fail, f.Label = Poisoned, "page of another's"
		}
	case "reset", "close":
		f.Fail = Reset
	case "silent":
		f.Fail = Silent
	case "delay":
		f.Delay = time.Duration(do.Delay)
	default:
		return Fault{}, fmt.Errorf("%s can't be simulated: use status, reset, close, silent or delay", do.Kind)
	}
	if f.Chance > 0 && f.Chance < 1 {
		f.Label = fmt.Sprintf("%g%% %s", 100*f.Chance, f.Label)
	}
	return f, nil
}
