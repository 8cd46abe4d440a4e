package upstream

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestReadScenario(t *testing.T) {
	s, err := ReadScenario(strings.NewReader(`{
		"name": "bad day", "limits": "sliding:5/1s", "renumber_after": 90,
		"faults": [{"match": {"path": "/3/tv/*", "query": {"language": "ko*"}, "nth": "1-3,7",
		"every": 2, "ip": "10.0.0.1", "share": 0.5},
			"from": "5s", "to": "1m", "p": 0.25, "do": {"kind": "status", "status": 503, "code": 46,
		"retry_after": "delta", "wait": 12}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := Scenario{
		Name: "bad day", Limits: "sliding:5/1s", RenumberAfter: Duration(90 * time.Second),
		Faults: []Fault{{
			Match: Match{
				Path: "/3/tv/*", Query: map[string]string{"language": "ko*"}, Nth: Numbers{{1, 3}, {7, 7}}, Every: 2,
				IP: "10.0.0.1", Share: 0.5,
			},
			From: Duration(5 * time.Second), To: Duration(time.Minute), Probability: 0.25,
			Do: Action{Kind: "status", Status: 503, Code: 46, RetryAfter: "delta", Wait: Duration(12 * time.Second)},
		}},
	}
	if d := cmp.Diff(want, s); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestReadScenarioRefuses(t *testing.T) {
	for text, part := range map[string]string{
		`{"faulst": []}`:             `unknown field "faulst"`,
		`{} {}`:                      "something follows",
		`[]`:                         "cannot unmarshal array",
		`{"limits": "sliding:0/1s"}`: "outside 1..",
		`{"renumber_after": "-1s"}`:  "below 0",
		`{"renumber_after": "soon"}`: "not a duration",
		`{"renumber_after": -7}`:     "outside 0..1e9 s",
		`{"faults": [{"do": {}}]}`:   `kind "" is unknown`,
		`{"faults": [{"p": 2, "do": {"kind": "reset"}}]}`:                                 "outside 0..1",
		`{"faults": [{"from": "5s", "to": "5s", "do": {"kind": "reset"}}]}`:               "not a span of time",
		`{"faults": [{"match": {"nth": 0}, "do": {"kind": "reset"}}]}`:                    "numbers start at 1",
		`{"faults": [{"match": {"nth": "5-2"}, "do": {"kind": "reset"}}]}`:                "ends after it begins",
		`{"faults": [{"match": {"nth": "x"}, "do": {"kind": "reset"}}]}`:                  "write 3",
		`{"faults": [{"match": {"path": "/3/tv/*"}, "do": {"kind": "conn_reset"}}]}`:      "no path",
		`{"faults": [{"match": {"share": -1}, "do": {"kind": "reset"}}]}`:                 "share",
		`{"faults": [{"do": {"kind": "status"}}]}`:                                        "status 0 is outside",
		`{"faults": [{"do": {"kind": "status", "status": 503, "body": "pdf"}}]}`:          "body",
		`{"faults": [{"do": {"kind": "status", "status": 503, "code": 99}}]}`:             "not one of TMDB's",
		`{"faults": [{"do": {"kind": "status", "status": 429, "retry_after": "later"}}]}`: "retry_after",
		`{"faults": [{"do": {"kind": "redirect"}}]}`:                                      "needs a location",
		`{"faults": [{"do": {"kind": "delay"}}]}`:                                         "needs a delay",
		`{"faults": [{"do": {"kind": "limit"}}]}`:                                         "needs a rate",
		`{"faults": [{"do": {"kind": "limit", "rate": 5, "rate_to": 9}}]}`:                "needs an end",
		`{"faults": [{"to": 1, "do": {"kind": "limit", "rate": 5, "rate_to": -9}}]}`:      "rate_to",
		`{"faults": [{"p": 0.5, "do": {"kind": "limit", "rate": 5}}]}`:                    "for all requests",
		`{"faults": [{"match": {"nth": 3}, "do": {"kind": "slow", "factor": 5}}]}`:        "for all requests",
		`{"faults": [{"do": {"kind": "slow", "factor": 1e9}}]}`:                           "needs a factor",
		`{"faults": [{"do": {"kind": "drip", "bytes": -1}}]}`:                             "not below 0",
		`{"faults": [{"do": {"kind": "huge", "bytes": 99999999999}}]}`:                    "more than 1 GiB",
		`{"name": "` + strings.Repeat("x", 1<<20) + `"}`:                                  "larger than 1 MiB",
	} {
		t.Run(part, func(t *testing.T) {
			if _, err := ReadScenario(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%.90s: error %v, want one with %q", text, err, part)
			}
		})
	}
}

func FuzzReadScenario(f *testing.F) {
	var list []json.RawMessage
	if err := json.Unmarshal(presetsText, &list); err != nil {
		f.Fatal(err)
	}
	for _, s := range list {
		f.Add(string(s))
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ReadScenario(strings.NewReader(text))
		if err != nil {
			return
		}
		if err := s.Validate(); err != nil {
			t.Fatalf("%s is read, and not valid: %v", text, err)
		}
	})
}

func TestEveryPresetIsValid(t *testing.T) {
	want := []string{
		"burst5xx", "drip", "flap", "gauntlet", "gzip-bug", "key-suspended", "long-wait", "maintenance-20m", "outage-60s",
		"poison", "singapore", "slow-start", "steady", "storm",
	}
	if d := cmp.Diff(want, Presets()); d != "" {
		t.Errorf("presets (-want +got):\n%s", d)
	}
	for _, name := range Presets() {
		s, err := Preset(name)
		if err != nil || s.Name != name || s.Validate() != nil {
			t.Errorf("%s: %v, %v", name, err, s.Validate())
		}
	}
	if _, err := Preset("sunshine"); err == nil || !strings.Contains(err.Error(), "outage-60s") {
		t.Errorf("an unknown preset gives %v, want the names", err)
	}
}

func TestWild(t *testing.T) {
	for _, row := range []struct {
		pattern, text string
		want          bool
	}{
		{"/3/tv/*", "/3/tv/1/season/2", true},
		{"/3/tv/*", "/3/tv", false},
		{"*/season/*", "/3/tv/1/season/2", true},
		{"/3/*/1/*/2", "/3/tv/1/season/2", true},
		{"/3/tv/1", "/3/tv/1", true},
		{"/3/tv/1", "/3/tv/12", false},
		{"*", "", true},
		{"a*a", "a", false},
		{"a*b*c", "axbxc", true},
		{"a*b*c", "axcxb", false},
	} {
		t.Run(row.pattern+" "+row.text, func(t *testing.T) {
			if got := matchesWildcard(row.pattern, row.text); got != row.want {
				t.Errorf("matchesWildcard(%q, %q) = %v", row.pattern, row.text, got)
			}
		})
	}
}

func TestActiveFaultsHaveALabel(t *testing.T) {
	s, err := Preset("gauntlet")
	if err != nil {
		t.Fatal(err)
	}
	s = s.Join(Scenario{Faults: []Fault{{From: seconds(100), Do: Action{Kind: "status", Status: 200, Body: "html"}}}})
	got := map[string]string{}
	for _, at := range []string{"0s", "15s", "19.9s", "20s", "30s", "38s", "45s", "62s", "2m"} {
		d, err := time.ParseDuration(at)
		if err != nil {
			t.Fatal(err)
		}
		got[at] = s.LabelAt(d)
	}
	want := map[string]string{
		"0s": "normal", "15s": "40% status 500", "19.9s": "40% status 500", "20s": "normal", "30s": "status 503",
		"38s": "reset",
		"45s": "limit 5..50", "62s": "slow 10x + 10% status 503", "2m": "foreign page",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestJoinAddsFaultsAndReplacesTheRest(t *testing.T) {
	reset, silent := Fault{Do: Action{Kind: "reset"}}, Fault{Do: Action{Kind: "silent"}}
	a := Scenario{Name: "a", Limits: "fixed:1/1s", Faults: []Fault{reset}}
	got := a.Join(Scenario{Name: "b", Limits: "none", RenumberAfter: seconds(5), Faults: []Fault{silent}})
	want := Scenario{Name: "a+b", Limits: "none", RenumberAfter: seconds(5), Faults: []Fault{reset, silent}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func seconds(n int) Duration { return Duration(time.Duration(n) * time.Second) }
