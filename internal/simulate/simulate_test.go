package simulate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/anivault/anivault/internal/upstream"
	"github.com/anivault/anivault/ratelimit"
)

// faults reads faults in the short form of JSON that tests use.
func faults(t testing.TB, list string) upstream.Scenario {
	t.Helper()
	s, err := upstream.ReadScenario(strings.NewReader(`{"faults": [` + list + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// config is a simulation with the default tuning. The scenario is a preset or a list of faults.
func config(t *testing.T, scenario, limit string, processes int) Config {
	t.Helper()
	s, err := upstream.Preset(scenario)
	if err != nil {
		s = faults(t, scenario)
	}
	limits, err := upstream.ParseLimits(limit)
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		Scenario: s, Limits: limits, Latency: upstream.Latency{Min: 20 * time.Millisecond, Max: 60 * time.Millisecond},
		Processes: slices.Repeat([]ratelimit.Tuning{ratelimit.Default()}, processes), Seed: 1,
	}
}

func run(t *testing.T, c Config) *Result {
	t.Helper()
	r, err := Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// path names the states in the order in which they were entered.
func path(r *Result) string {
	names := []string{"Normal"}
	for _, m := range r.Transitions {
		names = append(names, m.To.String())
	}
	return strings.Join(names, ">")
}

func TestScenariosLeadThroughTheStates(t *testing.T) {
	for _, tc := range []struct {
		name, scenario, limit string
		processes             int
		path                  string
		clean                 bool // no request is wasted
	}{
		{"nothing is wrong", "steady", "sliding:50/1s", 1, "Normal", true},
		{"nothing is wrong for four", "steady", "sliding:50/1s", 4, "Normal", true},
		{
			"a short outage", `{"from": 5, "to": 8, "do": {"kind": "status", "status": 503}}`, "sliding:50/1s", 1,
			"Normal>Sleep>HalfOpen>Sleep>HalfOpen>Normal", false,
		},
		{"rare errors", `{"to": 60, "p": 0.05, "do": {"kind": "status", "status": 500}}`, "none", 1, "Normal", false},
		{"a foreign page", "poison", "none", 2, "Normal>Sleep>HalfOpen>Sleep>HalfOpen>Sleep>HalfOpen>Sleep", false},
		{
			"a Retry-After that is too long",
			`{"from": 5, "to": 6, "do": {"kind": "status", "status": 503, "retry_after": "400"}},
				{"from": 500, "to": 501, "do": {"kind": "delay", "delay": "1ms"}}`, "none", 1,
			"Normal>CacheOnly>Sleep>HalfOpen>Normal", false,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := run(t, config(t, tc.scenario, tc.limit, tc.processes))
			if got := path(r); !strings.HasPrefix(got, tc.path) || tc.scenario != "poison" && got != tc.path {
				t.Errorf("went %s, want %s", got, tc.path)
			}
			if clean := r.Totals.Wasted == 0; clean != tc.clean {
				t.Errorf("%d requests wasted", r.Totals.Wasted)
			}
		})
	}
}

func TestHowMuchAnUpstreamAllows(t *testing.T) {
	for _, tc := range []struct {
		name, faults, limit string
		latency             time.Duration
		slots               int
		want                float64
	}{
		{"a window", "", "sliding:50/1s", time.Millisecond, 4, 60 * 50},
		{"slots", "", "none", 100 * time.Millisecond, 4, 60 * 40},
		{"a penalty is for others", "", "sliding:50/1s,count_rejected=true,penalty=1/1h", time.Millisecond, 4, 60 * 50},
		{
			"errors count by their chance", `{"p": 0.4, "do": {"kind": "status", "status": 500}}`, "none",
			100 * time.Millisecond, 4, 60 * 40 * 0.6,
		},
		{
			"nothing in an outage", `{"from": 30, "do": {"kind": "status", "status": 503}}`, "none", 100 * time.Millisecond, 4,
			30 * 40,
		},
		{
			"slower", `{"do": {"kind": "slow", "factor": 10}}, {"p": 0.1, "do": {"kind": "status", "status": 503}}`,
			"none", 100 * time.Millisecond, 4, 60 * 4 * 0.9,
		},
		{"later", `{"do": {"kind": "delay", "delay": "900ms"}}`, "none", 100 * time.Millisecond, 4, 60 * 4},
		{
			"a limit that grows", `{"to": 60, "do": {"kind": "limit", "rate": 10, "rate_to": 30}}`, "none",
			10 * time.Millisecond, 4, 60 * 20,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := config(t, tc.faults, tc.limit, 1)
			got := Possible(c.Scenario, c.Limits, upstream.Latency{Min: tc.latency}, tc.slots, time.Minute)
			if got < 0.97*tc.want || got > 1.03*tc.want {
				t.Errorf("%.0f are possible, want about %.0f", got, tc.want)
			}
		})
	}
}

func TestTheSameSeedGivesTheSameRun(t *testing.T) {
	r, again := run(t, config(t, "gauntlet", "sliding:50/1s", 3)), run(t, config(t, "gauntlet", "sliding:50/1s", 3))
	if diff := cmp.Diff(written(t, r), written(t, again)); diff != "" {
		t.Error(diff)
	}
	other := config(t, "gauntlet", "sliding:50/1s", 3)
	other.Seed = 2
	if cmp.Equal(r.Steps, run(t, other).Steps) {
		t.Error("another seed gives the same run")
	}
}

// written is a result in all its forms.
func written(t *testing.T, r *Result) string {
	t.Helper()
	var b strings.Builder
	for _, write := range []func() error{
		func() error { return r.WriteText(&b) }, func() error { return r.WriteCSV(&b) },
		func() error { return r.WriteSVG(&b) },
	} {
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// TestNothingIsSentAboveTheCeiling draws scenarios, limits and tunings, and checks what holds in all of them.
func TestNothingIsSentAboveTheCeiling(t *testing.T) {
	trouble := rapid.SampledFrom([]string{
		`"p": 0.4, "do": {"kind": "status", "status": 500}`, `"do": {"kind": "status", "status": 503}`,
		`"do": {"kind": "status", "status": 503, "retry_after": "3"}`, `"do": {"kind": "reset"}`, `"do": {"kind": "silent"}`,
		`"do": {"kind": "limit", "rate": 5, "rate_to": 50}`, `"do": {"kind": "limit", "rate": 3}`,
		`"do": {"kind": "slow", "factor": 500}`,
		`"match": {"nth": "2-40", "every": 3}, "do": {"kind": "delay", "delay": "2s"}`,
	})
	rapid.Check(t, func(rt *rapid.T) {
		var list []string
		for range rapid.IntRange(1, 6).Draw(rt, "faults") {
			from := rapid.IntRange(0, 30).Draw(rt, "from")
			to := from + rapid.IntRange(1, 10).Draw(rt, "length")
			list = append(list, fmt.Sprintf(`{"from": %d, "to": %d, %s}`, from, to, trouble.Draw(rt, "trouble")))
		}
		limits, err := upstream.ParseLimits(rapid.SampledFrom([]string{
			"none", "sliding:50/1s", "sliding:20/1s,count_rejected=true", "token_bucket:30/1s,burst=10",
			"fixed:40/1s,retry_after=delta", "legacy", "sliding:5/1s,penalty=5/30s,retry_after=zero",
		}).Draw(rt, "limit"))
		if err != nil {
			rt.Fatal(err)
		}
		var tunings []ratelimit.Tuning
		for range rapid.IntRange(1, 5).Draw(rt, "processes") {
			tn := ratelimit.Default()
			tn.Ceiling = rapid.IntRange(5, 60).Draw(rt, "ceiling")
			tn.RateBase = min(float64(tn.Ceiling), rapid.Float64Range(1, 60).Draw(rt, "rate"))
			tn.BucketCap = float64(rapid.IntRange(1, 60).Draw(rt, "burst"))
			tn.Concurrency = rapid.IntRange(1, 8).Draw(rt, "concurrency")
			tn.CeilingWindow = rapid.SampledFrom([]time.Duration{time.Second, 1050 * time.Millisecond, 2 * time.Second}).Draw(rt,
				"window")
			tunings = append(tunings, tn)
		}
		r, err := Run(context.Background(), Config{
			Scenario: faults(t, strings.Join(list, ", ")), Limits: limits,
			Latency: upstream.Latency{Min: 5 * time.Millisecond, Max: 200 * time.Millisecond}, Processes: tunings,
			Seed: rapid.Uint64().Draw(rt, "seed"),
		})
		if err != nil {
			rt.Fatal(err)
		}
		total := r.Totals
		if total.Peak > total.Ceiling {
			rt.Errorf("%d permits in a ceiling_window, %d are allowed", total.Peak, total.Ceiling)
		}
		underway := 0
		for _, tn := range tunings {
			underway += tn.Concurrency
		}
		if open := total.Sent - total.Good - total.Throttled - total.Errors; open < 0 || open > underway {
			rt.Errorf("%d of %d requests are unanswered", open, total.Sent)
		}
		for _, m := range r.Transitions {
			if m.From == m.To {
				rt.Errorf("%s leads to itself", m.From)
			}
		}
		if total.Fairness < 1/float64(len(tunings))-1e-9 || total.Fairness > 1+1e-9 {
			rt.Errorf("fairness is %g", total.Fairness)
		}
	})
}

func TestProcessesWithTheirOwnTuning(t *testing.T) {
	c := config(t, "steady", "none", 2)
	c.Processes[1].RateBase = 7
	c.Length = 2 * time.Minute
	r := run(t, c)
	fast, slow := r.Processes[0].Good, r.Processes[1].Good
	if fast <= 0 || slow <= 0 || fast+slow > 40*120 {
		t.Errorf("%d and %d good answers", fast, slow)
	}
}

func TestFaultsThatCannotBeSimulated(t *testing.T) {
	good := config(t, "steady", "sliding:50/1s", 1)
	for _, tc := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"nobody", func(c *Config) { c.Processes = nil }, "0 processes"},
		{"a crowd", func(c *Config) { c.Processes = make([]ratelimit.Tuning, 100) }, "100 processes"},
		{"a year", func(c *Config) { c.Length = 9000 * time.Hour }, "outside 1ns"},
		{"tiny steps", func(c *Config) { c.Step = 1 }, "rows"},
		{"no latency", func(c *Config) { c.Latency = upstream.Latency{} }, "latency"},
		{"a tuning", func(c *Config) { c.Processes[0].RateBase = 50 }, "rate_base"},
		{"limits", func(c *Config) { c.Scenario.Limits = "always" }, "always"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := good
			c.Processes = slices.Clone(good.Processes)
			tc.change(&c)
			if _, err := Run(context.Background(), c); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one about %q", err, tc.want)
			}
		})
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, good); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestScenariosThatCanNotBeSimulated(t *testing.T) {
	for list, want := range map[string]string{
		`{"do": {"kind": "drip"}}`:                               "drip can't be simulated",
		`{"do": {"kind": "conn_silent"}}`:                        "conn_silent can't be simulated",
		`{"do": {"kind": "status", "status": 401}}`:              "ends a run",
		`{"match": {"path": "/3/*"}, "do": {"kind": "reset"}}`:   "for some requests only",
		`{"match": {"ip": "::1"}, "do": {"kind": "silent"}}`:     "for some requests only",
		`{"do": {"kind": "reset"}}, {"do": {"kind": "no_date"}}`: "fault 2",
	} {
		t.Run(list, func(t *testing.T) {
			c := config(t, list, "none", 1)
			if _, err := Run(context.Background(), c); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want one about %q", err, want)
			}
		})
	}
}

func TestPresetsThatCanBeSimulated(t *testing.T) {
	want := []string{
		"burst5xx", "flap", "gauntlet", "long-wait", "maintenance-20m", "outage-60s", "poison", "slow-start",
		"steady", "storm",
	}
	if diff := cmp.Diff(want, Presets()); diff != "" {
		t.Error(diff)
	}
}

func TestTheUpstreamSaysWhenToComeBack(t *testing.T) {
	for mode, want := range map[string]string{
		"": "-", "absent": "-", "delta": "3s", "date": "3s", "zero": "1s", "float": "1.5s", "negative": "1s",
		"date-past": "1s",
		"day":       "24h", "huge": "24h", "text": "-", "7": "7s",
	} {
		t.Run(mode, func(t *testing.T) {
			s, err := newServer(&Config{
				Limits:  upstream.Limits{Model: "sliding", Rate: 1, Per: 3 * time.Second, RetryAfter: mode},
				Latency: upstream.Latency{Min: 1},
			})
			if err != nil {
				t.Fatal(err)
			}
			if a := s.answer(0); a.status != http.StatusOK {
				t.Fatalf("the first request: %+v", a)
			}
			a := s.answer(500 * time.Millisecond)
			if a.status != http.StatusTooManyRequests {
				t.Fatalf("the second request: %+v", a)
			}
			wait, _ := ratelimit.ParseRetryAfter(a.header, startTime.Add(500*time.Millisecond))
			got := "-"
			if wait.Present {
				got = strings.TrimSuffix(strings.TrimSuffix(wait.Duration.String(), "0m0s"), "0s")
			}
			if got != want {
				t.Errorf("it says %s, want %s", got, want)
			}
		})
	}
}
