package simulate

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/tmdbfake"
)

func TestParse(t *testing.T) {
	const s = time.Second
	for _, tc := range []struct {
		text string
		want []Fault
	}{
		{"normal 15s", []Fault{{Label: "normal", To: 15 * s}}},
		{"normal 1s, error 40% 500 5s", []Fault{{Label: "normal", To: s}, {Label: "error 40% 500", From: s, To: 6 * s, Fail: Status, Status: 500, Chance: 0.4}}},
		{"error 0% 5s", []Fault{{Label: "error 0%", To: 5 * s, Status: 500}}},
		{"# a comment\noutage 1m # another\nreset 4s\n", []Fault{
			{Label: "outage", To: 60 * s, Fail: Status, Status: 503}, {Label: "reset", From: 60 * s, To: 64 * s, Fail: Reset},
		}},
		{"silent 2s", []Fault{{Label: "silent", To: 2 * s, Fail: Silent}}},
		{"limit 5..50 10s, limit 7 1s", []Fault{
			{Label: "limit 5..50", To: 10 * s, LimitFrom: 5, LimitTo: 50}, {Label: "limit 7", From: 10 * s, To: 11 * s, LimitFrom: 7, LimitTo: 7},
		}},
		{"brownout 10x latency 10% 503 8s", []Fault{{Label: "brownout 10x latency 10% 503", To: 8 * s, Fail: Status, Status: 503, Chance: 0.1, Slower: 10}}},
		{"brownout 2.5x 8s", []Fault{{Label: "brownout 2.5x", To: 8 * s, Slower: 2.5}}},
		{"outage 502 retry-after=30s 8s", []Fault{{Label: "outage 502 retry-after=30s", To: 8 * s, Fail: Status, Status: 502, RetryAfter: "30"}}},
		{"outage retry-after=huge 8s", []Fault{{Label: "outage retry-after=huge", To: 8 * s, Fail: Status, Status: 503, RetryAfter: "huge"}}},
		{`{"faults": [{"do": {"kind": "reset"}, "from": 1, "to": 2}]}`, []Fault{{Label: "reset", From: s, To: 2 * s, Fail: Reset}}},
	} {
		got, err := Parse(tc.text)
		if err != nil {
			t.Errorf("%q: %v", tc.text, err)
			continue
		}
		if diff := cmp.Diff(tc.want, got.Faults); diff != "" {
			t.Errorf("%q: %s", tc.text, diff)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "empty",
		"# only a comment":                      "empty",
		"normally 5s":                           "unknown",
		"normal":                                "how long",
		"normal 5":                              "duration",
		"normal -5s":                            "duration",
		"normal 503 5s":                         "does not go with normal",
		"error 500 5s":                          "needs a share",
		"error 140% 5s":                         "no number from 0 to 100",
		"error 40% 50% 5s":                      "again",
		"outage 200 5s":                         "no detail",
		"limit 5s":                              "needs a limit",
		"limit 0 5s":                            "no number",
		"limit NaN..5 5s":                       "no number",
		"brownout 10% 5s":                       "needs a factor",
		"outage retry-after=soonish 5s":         "none of",
		"normal 23h, normal 2h":                 "longer",
		"normal 9999999h":                       "duration",
		"normal 20000h":                         "longer",
		strings.Repeat("normal 1ms,", 1001):     "more than 1000",
		strings.Repeat(" ", maxScript+1):        "longer",
		`{"faults": [{"do": {"kind": "a"}}]}`:   "unknown",
		`{"faults": [{"do": {"kind":"drip"}}]}`: "can't be simulated",
		`{"faults": [{"do": {"kind":"status","status":401}}]}`:               "ends a run",
		`{"faults": [{"match": {"path": "/3/*"}, "do": {"kind": "reset"}}]}`: "some requests only",
		`{`: "scenario",
	} {
		if s, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v %v, want an error with %q", text, s, err, want)
		}
	}
}

func TestPresets(t *testing.T) {
	names := Presets()
	for _, name := range names {
		s, err := Preset(name)
		if err != nil || s.Name != name || len(s.Faults) == 0 && s.Limits == "" {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
	for _, want := range []string{"gauntlet", "outage-60s", "flap", "storm"} {
		if !strings.Contains(strings.Join(names, " "), want) {
			t.Errorf("%s is missing in %v", want, names)
		}
	}
	for _, name := range []string{"gzip-bug", "key-suspended", "nobody's"} {
		if _, err := Preset(name); err == nil {
			t.Errorf("%s can be simulated", name)
		}
	}
}

func TestTheUpstreamSaysWhenToComeBack(t *testing.T) {
	for mode, want := range map[string]string{
		"": "-", "absent": "-", "delta": "3s", "date": "3s", "zero": "1s", "float": "1.5s", "negative": "1s", "date-past": "1s",
		"day": "24h", "huge": "24h", "text": "-", "7": "7s",
	} {
		u, err := NewUpstream(Script{}, tmdbfake.Limits{Model: "sliding", Rate: 1, Per: 3 * time.Second, RetryAfter: mode}, tmdbfake.Latency{Min: 1}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if a := u.Answer(0); !a.Good() {
			t.Fatalf("%s: %+v", mode, a)
		}
		a := u.Answer(500 * time.Millisecond)
		if !a.Refused || a.Status != http.StatusTooManyRequests {
			t.Fatalf("%s: %+v", mode, a)
		}
		if got := waitOf(&a); got != want {
			t.Errorf("mode %q says %s, want %s", mode, got, want)
		}
	}
}

func TestNthAndEvery(t *testing.T) {
	s, err := Parse(`{"faults": [{"match": {"nth": "2-5", "every": 2}, "do": {"kind": "status", "status": 500}}]}`)
	if err != nil {
		t.Fatal(err)
	}
	u, err := NewUpstream(s, tmdbfake.Limits{}, tmdbfake.Latency{Min: 1}, 1)
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for i := range 8 {
		a := u.Answer(time.Duration(i))
		got = append(got, a.Status)
	}
	if diff := cmp.Diff([]int{200, 500, 200, 500, 200, 200, 200, 200}, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range Presets() {
		f.Add(own[name])
	}
	f.Add("error 40% 500 5s # x\nlimit 5..50 1h2m3.5s, brownout 1e1x latency 0.1% 5s")
	f.Add(`{"faults": [{"do": {"kind": "reset"}, "p": 0.5}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		if s.Length() > maxLength && !strings.HasPrefix(strings.TrimSpace(text), "{") {
			t.Errorf("it is %s long", s.Length())
		}
		u, err := NewUpstream(s, tmdbfake.Limits{}, tmdbfake.Latency{Min: time.Millisecond}, 1)
		if err != nil {
			return
		}
		for at := time.Duration(0); at < 3*time.Second; at += 100 * time.Millisecond {
			if a := u.Answer(at); a.Latency < 0 {
				t.Errorf("an answer at %s takes %s", at, a.Latency)
			}
		}
		for _, p := range s.phases(time.Minute) {
			if p.to <= p.from {
				t.Errorf("phase %+v", p)
			}
		}
	})
}
