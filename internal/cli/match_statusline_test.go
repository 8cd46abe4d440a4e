package cli

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/ui"
	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/machine"
)

func TestTheStatusLineSaysHowARunStands(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	in := func(d time.Duration) time.Time { return now.Add(d) }
	middle := app.Progress{
		Files: 120, Series: 14, Walked: true, State: "Normal", Rate: 35, Hits: 30, Misses: 10, Elapsed: 10 * time.Second,
	}
	with := func(change func(*app.Progress)) app.Progress {
		p := middle
		change(&p)
		return p
	}
	waits := func(w app.Wait) app.Progress { return with(func(p *app.Progress) { p.Wait = w }) }
	for _, tt := range []struct {
		name   string
		at     app.Progress
		counts report.Summary
		room   int
		want   string
	}{
		{"the beginning", app.Progress{}, report.Summary{}, 79, "looking for files"},
		{
			"folders are being read",
			app.Progress{Files: 40, Series: 3, State: "Normal", Rate: 35},
			report.Summary{Files: 2},
			79, "2/40+ files · 3 series · 35/s",
		},
		{
			"the middle", middle,
			report.Summary{Files: 40},
			79,
			"40/120 files · 14 series · 35/s · cache 75 % · 10 s · about 20 s left",
		},
		{
			"too early for an estimate", with(func(p *app.Progress) { p.Elapsed = 4 * time.Second }),
			report.Summary{Files: 40},
			79, "40/120 files · 14 series · 35/s · cache 75 % · 4 s",
		},
		{
			"too few for an estimate", middle,
			report.Summary{Files: 19},
			79,
			"19/120 files · 14 series · 35/s · cache 75 % · 10 s",
		},
		{
			"a long run", with(func(p *app.Progress) { p.Elapsed = time.Hour }),
			report.Summary{Files: 60},
			99,
			"60/120 files · 14 series · 35/s · cache 75 % · 1h00m · about 1h00m left",
		},
		{
			"some are pending", middle,
			report.Summary{Files: 19, Pending: 3},
			79,
			"19/120 files · 3 pending · 14 series · 35/s · cache 75 % · 10 s",
		},
		{
			"offline", with(func(p *app.Progress) { p.State, p.Rate, p.Elapsed = "offline", 0, 0 }),
			report.Summary{Files: 1},
			79, "1/120 files · 14 series · offline · cache 75 %",
		},
		{
			"a pause", waits(app.Wait{
				Block:  ratelimit.Block{Cause: ratelimit.ReasonPause, Until: in(41200 * time.Millisecond)},
				Status: 429,
			}),
			report.Summary{Files: 40},
			120,
			"TMDB asks us to wait 42 s (429) · 40/120 files · 14 series · 35/s · cache 75 % · 10 s",
		},
		{
			"a pause that another process received", waits(app.Wait{Block: ratelimit.Block{
				Cause: ratelimit.ReasonPause,
				Until: in(200 * time.Second),
			}}),
			report.Summary{Files: 40},
			60,
			"TMDB asks us to wait 3m20s · 40/120 files · 35/s",
		},
		{"a pause that is over", waits(app.Wait{
			Block:  ratelimit.Block{Cause: ratelimit.ReasonPause, Until: now},
			Status: 429,
		}), report.Summary{Files: 40}, 30, "40/120 files · 35/s"},
		{
			"an outage", waits(app.Wait{Block: ratelimit.Block{
				State: ratelimit.Sleep,
				Cause: ratelimit.ReasonConsecutiveFailures, Until: in(2 * time.Second),
			}}),
			report.Summary{Files: 40},
			65,
			"TMDB is failing, next try in 2 s · 40/120 files · 35/s",
		},
		{
			"many 429s", waits(app.Wait{Block: ratelimit.Block{
				State: ratelimit.Sleep, Cause: ratelimit.ReasonConsecutive429,
				Until: in(2 * time.Second),
			}}),
			report.Summary{},
			45,
			"TMDB keeps refusing (429), next try in 2 s",
		},
		{"a probe failed", waits(app.Wait{Block: ratelimit.Block{
			State: ratelimit.Sleep, Cause: ratelimit.ReasonProbeFailed,
			Until: in(time.Minute),
		}}), report.Summary{}, 45, "TMDB is still failing, next try in 1m00s"},
		{
			"CacheOnly for good", waits(app.Wait{Block: ratelimit.Block{State: ratelimit.CacheOnly}}),
			report.Summary{},
			40,
			"only the cache answers · 0/120 files",
		},
		{"CacheOnly for a while", waits(app.Wait{Block: ratelimit.Block{
			State: ratelimit.CacheOnly,
			Until: in(15 * time.Minute),
		}}), report.Summary{}, 50, "only the cache answers, next try in 15m00s"},
		{
			"another's answer", with(func(p *app.Progress) { p.AwaitsOtherProcess = true }),
			report.Summary{},
			80,
			"waiting for another anivault's answer · 0/120 files · 35/s · cache 75 %",
		},
		{
			"another's answer in an outage", with(func(p *app.Progress) {
				p.AwaitsOtherProcess, p.Wait = true, app.Wait{Block: ratelimit.Block{
					State: ratelimit.Sleep, Cause: ratelimit.ReasonProbeFailed,
					Until: in(9 * time.Second),
				}}
			}), report.Summary{}, 60, "TMDB is still failing, next try in 9 s · 0/120 files · 35/s",
		},
		{
			"a retry", waits(app.Wait{Block: ratelimit.Block{Cause: ratelimit.ReasonBackoff, Until: in(time.Second)}}),
			report.Summary{},
			45, "retrying in 1 s · 0/120 files · 35/s",
		},
		{"no room for the words", waits(app.Wait{Block: ratelimit.Block{
			Cause: ratelimit.ReasonPause,
			Until: in(41 * time.Second),
		}, Status: 429}), report.Summary{Files: 40}, 20, "wait 41 s"},
		{"no room at all", middle, report.Summary{Files: 40}, 5, "40/1…"},
		{"no cell", middle, report.Summary{Files: 40}, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := statusLine(tt.at, tt.counts, now, tt.room); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

// TestANarrowerLineSaysLessButNothingElse drops parts one by one: what is left is always whole, in its order, and
// what matters most is the last to go.
func TestANarrowerLineSaysLessButNothingElse(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	at := app.Progress{
		Files: 120, Series: 14, Walked: true, State: "Throttle", Rate: 8.75, Hits: 30, Misses: 10, Elapsed: 10 * time.Second,
		Wait: app.Wait{Block: ratelimit.Block{Cause: ratelimit.ReasonPause, Until: now.Add(42 * time.Second)}, Status: 429},
	}
	for _, tt := range []struct {
		room int
		want string
	}{
		{
			109,
			"TMDB asks us to wait 42 s (429) · 40/120 files · 2 pending · 14 series · slowed to 8.75/s · cache 75 % · 10 s",
		},
		{105, "TMDB asks us to wait 42 s (429) · 40/120 files · 2 pending · 14 series · slowed to 8.75/s · cache 75 %"},
		{97, "TMDB asks us to wait 42 s (429) · 40/120 files · 2 pending · slowed to 8.75/s · cache 75 %"},
		{79, "TMDB asks us to wait 42 s (429) · 40/120 files · 2 pending · slowed to 8.75/s"},
		{70, "TMDB asks us to wait 42 s (429) · 40/120 files · slowed to 8.75/s"},
		{50, "TMDB asks us to wait 42 s (429) · 40/120 files"},
		{40, "TMDB asks us to wait 42 s (429)"},
		{30, "wait 42 s"},
	} {
		if got := statusLine(at, report.Summary{Files: 40, Pending: 2}, now, tt.room); got != tt.want {
			t.Errorf("%d cells\ngot  %q\nwant %q", tt.room, got, tt.want)
		}
	}
	lang.Use(lang.Korean)
	defer lang.Use(lang.English)
	got := statusLine(at, report.Summary{Files: 40, Pending: 2}, now, 200)
	if words := regexp.MustCompile(`[a-z]{2,}`).FindAllString(got, -1); words != nil {
		t.Errorf("English in Korean: %q in %q", words, got)
	}
}

func TestTheStatusLineFits(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		at := app.Progress{
			Files: rapid.Int64Range(0, 1_000_000).Draw(t, "files"), Series: rapid.Int64Range(0, 9999).Draw(t, "series"),
			Walked: rapid.Bool().Draw(t, "walked"), State: rapid.SampledFrom([]string{"Normal", "CacheOnly", "offline"}).Draw(t,
				"state"),
			Rate: rapid.Float64Range(0, 100).Draw(t, "rate"), Hits: rapid.Int64Range(0, 99).Draw(t,
				"hits"), Misses: rapid.Int64Range(0, 99).Draw(t, "misses"),
			Elapsed: time.Duration(rapid.Int64Range(0, int64(100*time.Hour)).Draw(t, "elapsed")),
			Wait: app.Wait{
				Block: ratelimit.Block{
					State: rapid.SampledFrom(machine.States()).Draw(t, "blocked in"),
					Cause: ratelimit.Reason(rapid.IntRange(0, int(ratelimit.ReasonBudget)).Draw(t, "cause")),
					Until: now.Add(time.Duration(rapid.Int64Range(int64(-time.Minute), int64(time.Hour)).Draw(t, "until"))),
				},
				Status: rapid.SampledFrom([]int{0, 429, 503}).Draw(t, "status"),
			},
		}
		counts := report.Summary{
			Files:   rapid.IntRange(0, 1_000_000).Draw(t, "done"),
			Pending: rapid.IntRange(0, 99).Draw(t, "pending"),
		}
		room := rapid.IntRange(0, 200).Draw(t, "room")
		line := statusLine(at, counts, now, room)
		if ui.Width(line) > room || ui.Escaped(line) != line {
			t.Fatalf("%d cells for %q", room, line)
		}
		if wider := statusLine(at, counts, now, room+1); ui.Width(wider) < ui.Width(line) {
			t.Fatalf("more room, less text: %q, then %q", line, wider)
		}
	})
}

func TestPeriods(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "until it is reset", time.Hour: "for 1h", 30 * time.Minute: "for 30m",
		90 * time.Second: "for 1m30s", 90 * time.Minute: "for 1h30m",
		time.Hour + time.Second: "for 1h0m1s", 10 * time.Hour: "for 10h", 10 * time.Second: "for 10s",
	} {
		if got := durationText(d); got.String() != want {
			t.Errorf("%s is shown as %q, want %q", d, got, want)
		}
	}
}

func TestRowsWrapBesideTheirLabels(t *testing.T) {
	var b strings.Builder
	two := rows{{"state", "one two three four five six"}, {"애니", "x"}}
	if err := two.write(&b, 24); err != nil {
		t.Fatal(err)
	}
	if want := "state  one two three four\n       five six\n애니   x\n"; b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
	b.Reset()
	one := rows{{"a", lang.Text(strings.Repeat("word ", 40) + "end")}}
	if err := one.write(&b, 0); err != nil || strings.Count(b.String(), "\n") != 1 {
		t.Errorf("no terminal, and yet wrapped: %v\n%s", err, b.String())
	}
}
