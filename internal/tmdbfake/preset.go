// This file decides the named scenarios: outages as users have reported them.

package tmdbfake

import (
	"fmt"
	"slices"
	"time"
)

// presets makes each named scenario anew.
var presets = map[string]func() Scenario{
	"outage-60s": func() Scenario {
		return faults(Fault{To: Duration(time.Minute), Do: Action{Kind: "status", Status: 503, Code: 9}})
	},
	"maintenance-20m": func() Scenario {
		return faults(Fault{To: Duration(20 * time.Minute), Do: Action{Kind: "status", Status: 503, Code: 46}})
	},
	"flap": func() Scenario { // five seconds up, five down, twenty times
		var s Scenario
		for i := range 20 {
			from := Duration(time.Duration(10*i+5) * time.Second)
			s.Faults = append(s.Faults, Fault{From: from, To: from + Duration(5*time.Second), Do: Action{Kind: "reset"}})
		}
		return s
	},
	"burst5xx": func() Scenario { // three in ten of the first 200 requests
		return faults(Fault{Match: Match{Nth: Numbers{{1, 200}}}, P: 0.3, Do: Action{Kind: "status", Status: 502, Body: "html"}})
	},
	"gzip-bug": func() Scenario { // 37 % of paths, always the same ones
		return faults(Fault{Match: Match{Share: 0.37}, Do: Action{Kind: "gzip_headerless"}})
	},
	"singapore": func() Scenario { // one of two addresses is dead: so is every other new connection
		return faults(Fault{Match: Match{Every: 2}, Do: Action{Kind: "conn_silent"}})
	},
	"key-suspended": func() Scenario {
		return faults(Fault{Do: Action{Kind: "status", Status: 401, Code: 10}})
	},
	"drip": func() Scenario {
		return faults(Fault{Do: Action{Kind: "drip", Bytes: 8, Every: Duration(200 * time.Millisecond)}})
	},
	"storm": func() Scenario { // few requests pass, and who goes on asking is shut out
		return Scenario{Limits: "sliding:5/1s,penalty=5/30s,retry_after=delta"}
	},
	"poison": func() Scenario {
		return faults(Fault{To: Duration(10 * time.Minute), Do: Action{Kind: "status", Status: 200, Body: "captive"}})
	},
}

func faults(fs ...Fault) Scenario { return Scenario{Faults: fs} }

// Presets lists the named scenarios.
func Presets() []string {
	out := make([]string, 0, len(presets))
	for name := range presets {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// Preset gives a named scenario.
func Preset(name string) (Scenario, error) {
	makeIt, ok := presets[name]
	if !ok {
		return Scenario{}, fmt.Errorf("preset %q is unknown: use one of %v", name, Presets())
	}
	s := makeIt()
	s.Name = name
	return s, nil
}

// Join adds the faults of another scenario to s; its limits and renumbering
// win where it has them.
func (s Scenario) Join(other Scenario) Scenario {
	s.Faults = append(slices.Clone(s.Faults), other.Faults...)
	if other.Limits != "" {
		s.Limits = other.Limits
	}
	if other.RenumberAfter != 0 {
		s.RenumberAfter = other.RenumberAfter
	}
	if s.Name != "" && other.Name != "" {
		s.Name += "+" + other.Name
	} else {
		s.Name += other.Name
	}
	return s
}
