package simulate

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/anivault/anivault/internal/tmdbfake"
	"github.com/anivault/anivault/ratelimit"
)

// config is a simulation of so many processes with the defaults.
func config(t *testing.T, script, limit string, processes int) Config {
	t.Helper()
	s, err := Preset(script)
	if err != nil {
		s, err = Parse(script)
	}
	if err != nil {
		t.Fatal(err)
	}
	limits, err := tmdbfake.ParseLimits(limit)
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		Script: s, Limits: limits, Latency: tmdbfake.Latency{Min: 20 * time.Millisecond, Max: 60 * time.Millisecond},
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
	for _, m := range r.Moves {
		names = append(names, m.To.String())
	}
	return strings.Join(names, ">")
}

func TestScriptsLeadThroughTheStates(t *testing.T) {
	for _, tc := range []struct {
		name, script, limit string
		processes           int
		path                string
		clean               bool // no request is wasted
	}{
		{"nothing is wrong", "steady", "sliding:50/1s", 1, "Normal", true},
		{"nothing is wrong for four", "steady", "sliding:50/1s", 4, "Normal", true},
		{"a short outage", "normal 5s, outage 3s, normal 30s", "sliding:50/1s", 1, "Normal>Sleep>HalfOpen>Sleep>HalfOpen>Normal", false},
		{"errors that are seldom", "error 5% 500 60s", "none", 1, "Normal", false},
		{"a page of another's", "poison", "none", 2, "Normal>Sleep>HalfOpen>Sleep>HalfOpen>Sleep>HalfOpen>Sleep", false},
		{"a Retry-After that is too long", "normal 5s, outage retry-after=400s 1s, normal 500s", "none", 1, "Normal>CacheOnly>Sleep>HalfOpen>Normal", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := run(t, config(t, tc.script, tc.limit, tc.processes))
			if got := path(r); !strings.HasPrefix(got, tc.path) || !strings.HasPrefix(tc.script, "poison") && got != tc.path {
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
		name, script, limit string
		latency             time.Duration
		slots               int
		want                float64
	}{
		{"a window", "normal 60s", "sliding:50/1s", time.Millisecond, 4, 60 * 50},
		{"slots", "normal 60s", "none", 100 * time.Millisecond, 4, 60 * 40},
		{"errors count by their chance", "error 40% 500 60s", "none", 100 * time.Millisecond, 4, 60 * 40 * 0.6},
		{"nothing in an outage", "normal 30s, outage 30s", "none", 100 * time.Millisecond, 4, 30 * 40},
		{"slower", "brownout 10x 10% 60s", "none", 100 * time.Millisecond, 4, 60 * 4 * 0.9},
		{"a limit that grows", "limit 10..30 60s", "none", 10 * time.Millisecond, 4, 60 * 20},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := config(t, tc.script, tc.limit, 1)
			got := Possible(c.Script, c.Limits, tmdbfake.Latency{Min: tc.latency}, tc.slots, time.Minute)
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
		func() error { return r.WriteText(&b) }, func() error { return r.WriteCSV(&b) }, func() error { return r.WriteSVG(&b) },
	} {
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// TestNothingIsSentAboveTheCeiling draws scripts, limits and tunings, and counts what can't be wrong in any of them.
func TestNothingIsSentAboveTheCeiling(t *testing.T) {
	phase := rapid.SampledFrom([]string{
		"normal 7s", "error 40% 500 5s", "error 100% 500 2s", "outage 503 8s", "outage 503 retry-after=3s 4s", "reset 4s", "silent 6s",
		"limit 5..50 10s", "limit 3 9s", "brownout 10x 10% 503 8s", "brownout 500x 5s",
	})
	rapid.Check(t, func(rt *rapid.T) {
		script, err := Parse(strings.Join(rapid.SliceOfN(phase, 1, 6).Draw(rt, "script"), ", "))
		if err != nil {
			rt.Fatal(err)
		}
		limits, err := tmdbfake.ParseLimits(rapid.SampledFrom([]string{
			"none", "sliding:50/1s", "sliding:20/1s,count_rejected=true", "token_bucket:30/1s,burst=10", "fixed:40/1s,retry_after=delta",
			"legacy", "sliding:5/1s,penalty=5/30s,retry_after=zero",
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
			tn.CeilingWindow = rapid.SampledFrom([]time.Duration{time.Second, 1050 * time.Millisecond, 2 * time.Second}).Draw(rt, "window")
			tunings = append(tunings, tn)
		}
		r, err := Run(context.Background(), Config{
			Script: script, Limits: limits, Latency: tmdbfake.Latency{Min: 5 * time.Millisecond, Max: 200 * time.Millisecond},
			Processes: tunings, Seed: rapid.Uint64().Draw(rt, "seed"),
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
		for _, m := range r.Moves {
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
	c.For = 2 * time.Minute
	r := run(t, c)
	fast, slow := r.Shares[0].Good, r.Shares[1].Good
	if fast <= 0 || slow <= 0 || fast+slow > 40*120 {
		t.Errorf("%d and %d good answers", fast, slow)
	}
}

func TestWhatCanNotBeSimulated(t *testing.T) {
	good := config(t, "steady", "sliding:50/1s", 1)
	for _, tc := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"nobody", func(c *Config) { c.Processes = nil }, "0 processes"},
		{"a crowd", func(c *Config) { c.Processes = make([]ratelimit.Tuning, 100) }, "100 processes"},
		{"a year", func(c *Config) { c.For = 9000 * time.Hour }, "no time"},
		{"tiny steps", func(c *Config) { c.Step = 1 }, "rows"},
		{"no latency", func(c *Config) { c.Latency = tmdbfake.Latency{} }, "latency"},
		{"a tuning", func(c *Config) { c.Processes[0].RateBase = 50 }, "rate_base"},
		{"limits", func(c *Config) { c.Script.Limits = "always" }, "always"},
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
