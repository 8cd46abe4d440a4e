package upstream

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// presets are the named scenarios. Those of trouble are outages that users of TMDB have reported.
var presets = map[string]Scenario{
	"steady":     {},
	"gauntlet":   {Faults: gauntlet},
	"slow-start": faults(Fault{From: seconds(10), To: seconds(30), Do: Action{Kind: "limit", Rate: 5, RateTo: 50}}),
	"long-wait": faults(Fault{
		From: seconds(10), To: seconds(30),
		Do: Action{Kind: "status", Status: 503, RetryAfter: "30"},
	}),

	"outage-60s":      faults(Fault{To: seconds(60), Do: Action{Kind: "status", Status: 503, Code: 9}}),
	"maintenance-20m": faults(Fault{To: seconds(20 * 60), Do: Action{Kind: "status", Status: 503, Code: 46}}),
	"flap":            {Faults: flap()},
	"burst5xx": faults(Fault{
		Match: Match{Nth: Numbers{{1, 200}}}, P: 0.3, Do: Action{Kind: "status", Status: 502, Body: "html"},
	}),
	"gzip-bug": faults(Fault{Match: Match{Share: 0.37}, Do: Action{Kind: "gzip_headerless"}}),
	// one of two addresses is dead
	"singapore":     faults(Fault{Match: Match{Every: 2}, Do: Action{Kind: "conn_silent"}}),
	"key-suspended": faults(Fault{Do: Action{Kind: "status", Status: 401, Code: 10}}),
	"drip":          faults(Fault{Do: Action{Kind: "drip", Bytes: 8, Every: Duration(200 * time.Millisecond)}}),
	"storm":         {Limits: "sliding:5/1s,penalty=5/30s,retry_after=delta"},
	"poison":        faults(Fault{To: seconds(10 * 60), Do: Action{Kind: "status", Status: 200, Body: "captive"}}),
}

func faults(fs ...Fault) Scenario { return Scenario{Faults: fs} }

// gauntlet is some of everything, with quiet times in between.
var gauntlet = []Fault{
	{From: seconds(15), To: seconds(20), P: 0.4, Do: Action{Kind: "status", Status: 500}},
	{From: seconds(30), To: seconds(38), Do: Action{Kind: "status", Status: 503}},
	{From: seconds(38), To: seconds(42), Do: Action{Kind: "reset"}},
	{From: seconds(42), To: seconds(52), Do: Action{Kind: "limit", Rate: 5, RateTo: 50}},
	{From: seconds(62), To: seconds(70), Do: Action{Kind: "slow", Factor: 10}},
	{From: seconds(62), To: seconds(70), P: 0.1, Do: Action{Kind: "status", Status: 503}},
}

// flap is five seconds up and five seconds down, twenty times.
func flap() []Fault {
	faults := make([]Fault, 20)
	for i := range faults {
		from := seconds(10*i + 5)
		faults[i] = Fault{From: from, To: from + seconds(5), Do: Action{Kind: "reset"}}
	}
	return faults
}

func seconds(n int) Duration { return Duration(time.Duration(n) * time.Second) }

// Presets returns the names of the scenarios that have one, sorted.
func Presets() []string { return slices.Sorted(maps.Keys(presets)) }

// Preset returns a named scenario.
func Preset(name string) (Scenario, error) {
	s, ok := presets[name]
	if !ok {
		return Scenario{}, fmt.Errorf("preset %q is unknown: use one of %v", name, Presets())
	}
	s.Name, s.Faults = name, slices.Clone(s.Faults)
	return s, nil
}
