package core

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// header makes a header of lines "Name: value".
func header(lines string) http.Header {
	h := http.Header{}
	for line := range strings.SplitSeq(lines, "\n") {
		if name, value, ok := strings.Cut(line, ":"); ok {
			h.Add(strings.TrimSpace(name), strings.TrimSpace(value))
		}
	}
	return h
}

func TestParseLimits(t *testing.T) {
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	for name, row := range map[string]struct {
		header string
		want   Limits
	}{
		"none": {"Content-Type: text/html", Limits{}},
		"draft 10": {
			"RateLimit-Policy: \"burst\";q=100;w=60\nRateLimit: \"burst\";r=8;t=1",
			Limits{100, time.Minute, 0},
		},
		"spent":                {"RateLimit: \"burst\";r=0;t=7", Limits{Spent: 7 * time.Second}},
		"with a partition key": {"RateLimit: \"burst\";r=0;t=7;pk=:Zm9v:", Limits{Spent: 7 * time.Second}},
		"spent, the window says until when": {
			"RateLimit-Policy: \"day\";q=10;w=20\nRateLimit: \"day\";r=0", Limits{10, 20 * time.Second, 20 * time.Second},
		},
		"the strictest of two": {
			"RateLimit-Policy: \"burst\";q=100;w=1, \"day\";q=1000;w=86400", Limits{1000, 24 * time.Hour, 0},
		},
		"two of two lines": {
			"RateLimit-Policy: \"a\";q=9;w=1\nRateLimit-Policy: \"b\";q=5;w=1",
			Limits{5, time.Second, 0},
		},
		"the longest wait":    {"RateLimit: \"a\";r=0;t=3, \"b\";r=0;t=9", Limits{Spent: 9 * time.Second}},
		"draft 07":            {"RateLimit: limit=100, remaining=0, reset=50", Limits{Spent: 50 * time.Second}},
		"draft 07, some left": {"RateLimit: limit=100, remaining=1, reset=50", Limits{}},
		"draft 03": {
			"RateLimit-Limit: 100\nRateLimit-Remaining: 0\nRateLimit-Reset: 50",
			Limits{Spent: 50 * time.Second},
		},
		"X-, seconds": {
			"X-RateLimit-Limit: 40\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 3",
			Limits{Spent: 3 * time.Second},
		},
		"X-, a moment": {
			"X-RateLimit-Remaining: 0\nX-RateLimit-Reset: 1795521630",
			Limits{Spent: 30 * time.Second},
		},
		"X-, by its own clock": {
			"X-RateLimit-Remaining: 0\nX-RateLimit-Reset: 1795521630\nDate: Tue, 24 Nov 2026 12:00:20 GMT",
			Limits{Spent: 10 * time.Second},
		},
		"X-, a moment that has passed": {"X-RateLimit-Remaining: 0\nX-RateLimit-Reset: 1700000000", Limits{}},
		"no reset":                     {"X-RateLimit-Remaining: 0", Limits{}},
		"doubled": {
			"X-RateLimit-Remaining: 0\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 3",
			Limits{},
		},
		"a number twice": {"RateLimit: \"a\";r=0;t=3;t=4", Limits{}},
		"negative":       {"RateLimit: \"a\";r=-1;t=3\nRateLimit-Policy: \"a\";q=-5;w=1", Limits{}},
		"absurd": {
			"RateLimit: \"a\";r=0;t=99999999\nRateLimit-Policy: \"a\";q=1;w=99999999",
			Limits{},
		},
		"overflow":   {"RateLimit: \"a\";r=0;t=99999999999999999999", Limits{}},
		"a fraction": {"RateLimit: \"a\";r=0.5;t=3", Limits{}},
		"no window":  {"RateLimit-Policy: \"a\";q=5", Limits{}},
		"too long":   {"RateLimit: \"a\";r=0;t=3;x=" + strings.Repeat("y", 2000), Limits{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ParseLimits(header(row.header), now); got != row.want {
				t.Errorf("%+v, want %+v", got, row.want)
			}
		})
	}
}

func FuzzParseLimits(f *testing.F) {
	f.Add("\"burst\";q=100;w=60", "\"burst\";r=0;t=1", "0", "5")
	f.Add("a;q=1;w=1, b", "limit=100, remaining=0, reset=50", "-1", "1795435230")
	f.Fuzz(func(t *testing.T, policy, limit, remaining, reset string) {
		l := ParseLimits(http.Header{
			"Ratelimit-Policy": {policy}, "Ratelimit": {limit},
			"X-Ratelimit-Remaining": {remaining}, "X-Ratelimit-Reset": {reset},
		}, time.Unix(1_795_435_200, 0))
		if l.Spent < 0 || l.Spent > maxRetryAfter || l.Quota < 0 || l.Quota > maxQuota || (l.Quota > 0) != (l.Window > 0) {
			t.Errorf("%+v", l)
		}
		if n := l.allowedIn(time.Second); l.Quota > 0 && (n < 1 || n > maxGrants) {
			t.Errorf("%d in a second of %+v", n, l)
		}
	})
}

func TestStatedLimitsOnlyEverMakeItSlower(t *testing.T) {
	w := newWorld(t)
	stated := Event{Outcome: OK, Status: 200, Limits: Limits{Quota: 10, Window: time.Second}}
	ask := func(n int, e Event) time.Duration {
		start := w.now.Boot
		for range n {
			w.record(w.acquire(), e)
		}
		return w.now.Boot - start
	}
	ask(1, stated)
	if took := ask(40, stated); took < 3*time.Second { // 11 in 1.05 s
		t.Errorf("40 requests took %s at 10/s", took)
	}
	st := w.s.Status(w.now, w.tuning, w.owner)
	if l := st.Stated; l.Requests != 10 || l.Period != time.Second || !l.Since.Equal(st.At) {
		t.Errorf("stated: %+v at %s", l, st.At)
	}
	w.sleep(2 * time.Second) // it is no more believed
	if l := w.s.Status(w.now, w.tuning, w.owner).Stated; l != (StatedLimit{}) {
		t.Errorf("still stated: %+v", l)
	}
	if took := ask(35, Event{Outcome: OK, Status: 200}); took > time.Second {
		t.Errorf("35 requests took %s", took)
	}
	w.sleep(2 * time.Second)
	ask(1, Event{Outcome: OK, Status: 200, Limits: Limits{Quota: 10_000, Window: time.Second}})
	if got := w.s.ceiling.grantsWithin(w.s.clock.now, w.tuning.CeilingWindow); got > w.tuning.Ceiling {
		t.Errorf("%d in a window", got)
	}
	ask(1, Event{Outcome: OK, Status: 200, Limits: Limits{Spent: 20 * time.Second}})
	if took := ask(1, Event{Outcome: OK, Status: 200}); took < 20*time.Second {
		t.Errorf("asked after %s, nothing was left for 20 s", took)
	}
	ask(1, Event{Outcome: OK, Status: 200, Limits: Limits{Spent: time.Hour}})
	if took := ask(1, Event{Outcome: OK, Status: 200}); took > w.tuning.SleepMax+time.Second || w.s.State() != Normal {
		t.Errorf("a good answer has stopped all for %s in %s", took, w.s.State())
	}
	ask(1, Event{Outcome: Throttled, Status: 429, Limits: Limits{Spent: time.Hour}})
	if w.s.State() != CacheOnly {
		t.Errorf("%s after a 429 that says an hour", w.s.State())
	}
}
