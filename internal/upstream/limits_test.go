package upstream

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// play sends requests to a model: "5" is five at once, "+2s" lets time pass,
// "@b" changes the client. It returns . for a request that passed, x for one that
// did not, and a space where time passed.
func play(m Limiter, script string) string {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ip := "a"
	var out strings.Builder
	for _, word := range strings.Fields(script) {
		switch word[0] {
		case '+':
			d, err := time.ParseDuration(word[1:])
			if err != nil {
				panic(err)
			}
			now = now.Add(d)
			out.WriteByte(' ')
		case '@':
			ip = word[1:]
		default:
			n := 0
			_, _ = fmt.Sscan(word, &n)
			for range n {
				if ok, _ := m.Allow(now, ip); ok {
					out.WriteByte('.')
				} else {
					out.WriteByte('x')
				}
			}
		}
	}
	return out.String()
}

func TestModels(t *testing.T) {
	for _, row := range []struct{ limit, script, want string }{
		{"none", "9 +1s 9", "......... ........."},
		{"token_bucket:2/1s", "3 +500ms 2 +10s 3", "..x .x ..x"},
		{"token_bucket:2/1s,burst=4", "5 +1s 3", "....x ..x"},
		{"token_bucket:2/1s,count_rejected=true", "3 +500ms 1 +500ms 1 +2s 1", "..x x x ."},
		{"sliding:2/1s", "1 +900ms 2 +100ms 1 +899ms 1 +1ms 1", ". .x . x ."},
		{"sliding:2/1s,count_rejected=true", "3 +999ms 1 +999ms 1 +1s 2", "..x x . .."},
		{"fixed:2/1s", "3 +999ms 1 +1ms 3", "..x x ..x"},
		{"fixed:2/1s,count_rejected=true", "9 +1s 2", "..xxxxxxx .."},
		{"legacy:3/10s", "1 +9s 3 +1s 3", ". ..x ..."},
		{"sliding:1/1s", "2 @b 2 @a 1", ".x.xx"},
		{"sliding:1/1s,penalty=3/30s", "3 +1s 2 +29s 1 +1s 1", ".xx .x x ."},
		{"sliding:1/1s,penalty=2/30s", "2 +11s 2 +1s 1 +30s 1", ".x .x . ."},
	} {
		t.Run(row.limit, func(t *testing.T) {
			l, err := ParseLimits(row.limit)
			if err != nil {
				t.Fatal(err)
			}
			if got := play(l.NewLimiter(), row.script); got != row.want {
				t.Errorf("%s\n got %q\nwant %q", row.script, got, row.want)
			}
		})
	}
}

// TestWindowsNeverLetMoreThanTheirLimitPass holds for any traffic.
func TestWindowsNeverLetMoreThanTheirLimitPass(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 9).Draw(t, "limit")
		l := Limits{Model: "sliding", Rate: limit, Per: time.Second, CountRejected: rapid.Bool().Draw(t, "count")}
		m := l.NewLimiter()
		now := time.Unix(1e9, 0)
		var passed []time.Time
		for _, gap := range rapid.SliceOfN(rapid.IntRange(0, 700), 1, 80).Draw(t, "gaps") {
			now = now.Add(time.Duration(gap) * time.Millisecond)
			ok, wait := m.Allow(now, "a")
			if ok != (wait == 0) {
				t.Fatalf("passed %v with a wait of %s", ok, wait)
			}
			if ok {
				passed = append(passed, now)
			} else if again, _ := l.NewLimiter().Allow(now.Add(wait), "a"); !again {
				t.Fatal("a fresh model refuses")
			}
		}
		for i := range passed {
			if j := i + limit; j < len(passed) && passed[j].Sub(passed[i]) < time.Second {
				t.Fatalf("%d passed within %s", limit+1, passed[j].Sub(passed[i]))
			}
		}
	})
}

func TestWaitingForTheRetryAfterIsEnough(t *testing.T) {
	for _, limit := range []string{
		"token_bucket:5/1s", "sliding:5/1s", "fixed:5/1s", "legacy:5/10s",
		"sliding:5/1s,penalty=2/7s",
	} {
		l, err := ParseLimits(limit)
		if err != nil {
			t.Fatal(err)
		}
		m := l.NewLimiter()
		now := time.Unix(1e9, 123456789)
		for n := range 200 {
			ok, wait := m.Allow(now, "a")
			if !ok {
				now = now.Add(wait)
				if ok, _ := m.Allow(now, "a"); !ok {
					t.Fatalf("%s: request %d was told to wait %s and refused after that", limit, n, wait)
				}
			}
		}
	}
}

// TestAClientsBurstAndRateMustFitTheWindow is why a client's capacity and rate
// together must stay below a window's limit.
func TestAClientsBurstAndRateMustFitTheWindow(t *testing.T) {
	for _, row := range []struct {
		limit       string
		capacity    int
		wantLimited bool
	}{
		{"sliding:50/1s", 35, true},
		{"fixed:50/1s", 35, true},
		{"sliding:40/1s", 35, true},
		{"sliding:50/1s", 15, false},
		{"fixed:50/1s", 15, false},
		{"token_bucket:50/1s", 15, false},
		{"sliding:40/1s", 5, false},
		{"fixed:40/1s", 5, false},
		{"token_bucket:40/1s", 5, false},
	} {
		t.Run(fmt.Sprint(row.limit, " against ", row.capacity), func(t *testing.T) {
			l, err := ParseLimits(row.limit)
			if err != nil {
				t.Fatal(err)
			}
			m := l.NewLimiter()
			start := time.Unix(1e9, 3e8)
			limited := 0
			for n := range 735 { // a client's bucket of rate 35, full at the start
				at := start
				if n >= row.capacity {
					at = start.Add(time.Duration(n-row.capacity+1) * time.Second / 35)
				}
				if ok, _ := m.Allow(at, "a"); !ok {
					limited++
				}
			}
			if (limited > 0) != row.wantLimited {
				t.Errorf("%s against capacity %d: %d refused", row.limit, row.capacity, limited)
			}
		})
	}
}

func TestParseLimits(t *testing.T) {
	full := Limits{
		Model: "token_bucket", Rate: 40, Per: 2 * time.Second, Burst: 7, CountRejected: true, PenaltyAfter: 5,
		PenaltyFor: 30 * time.Second, MaxConns: 20, RetryAfter: "delta", Body: "html",
	}
	for text, want := range map[string]Limits{
		"":              {Model: "none"},
		"none,conns=20": {Model: "none", MaxConns: 20},
		"sliding":       {Model: "sliding", Rate: 50, Per: time.Second},
		"legacy:30":     {Model: "legacy", Rate: 30, Per: 10 * time.Second},
		"fixed:40/1m":   {Model: "fixed", Rate: 40, Per: time.Minute},
		"token_bucket:40/2s,burst=7,count_rejected=true,penalty=5/30s,conns=20,retry_after=delta,body=html": full,
	} {
		t.Run(text, func(t *testing.T) {
			got, err := ParseLimits(text)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
	for text, part := range map[string]string{
		"slidin":                    "token_bucket, sliding",
		"none:5/1s":                 "none has no rate",
		"sliding:x/1s":              "not a whole number",
		"sliding:5/soon":            "not a duration",
		"sliding:0/1s":              "outside 1..",
		"sliding:5/1us":             "outside 1ms..24h",
		"sliding:5/1s,brust=3":      `option "brust" is unknown`,
		"sliding:5/1s,penalty=3":    "penalty lasts",
		"sliding,retry_after=later": "retry_after",
		"sliding,body=pdf":          "body",
		"sliding,conns=-1":          "outside 0..",
		":5/1s":                     "unknown",
	} {
		t.Run(text, func(t *testing.T) {
			if _, err := ParseLimits(text); err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("error %v, want one with %q", err, part)
			}
		})
	}
}

func FuzzParseLimits(f *testing.F) {
	for _, s := range []string{
		"", "none", "sliding:40/1s", "token_bucket:50/1s,burst=3,penalty=5/30s",
		"legacy,retry_after=7,body=empty", "fixed:1/1h,count_rejected=t", ",burst=1", "none,penalty=0/5s",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		l, err := ParseLimits(s)
		if err != nil {
			return
		}
		again, err := ParseLimits(l.String())
		if err != nil {
			t.Fatalf("%q prints as %q, which is refused: %v", s, l, err)
		}
		if d := cmp.Diff(l, again); d != "" {
			t.Fatalf("%q printed and read again (-before +after):\n%s", s, d)
		}
		l.NewLimiter().Allow(time.Unix(0, 0), "a")
	})
}

func TestRefusalsSayWhenToComeBack(t *testing.T) {
	now := time.Date(2026, 11, 6, 8, 49, 37, 0, time.UTC)
	for mode, want := range map[string][]string{
		"":             nil,
		"absent":       nil,
		"delta":        {"3"},
		"zero":         {"0"},
		"date":         {"Fri, 06 Nov 2026 08:49:40 GMT"},
		"date-rfc850":  {"Friday, 06-Nov-26 08:49:40 GMT"},
		"date-asctime": {"Fri Nov  6 08:49:40 2026"},
		"date-past":    {"Fri, 06 Nov 2026 07:49:37 GMT"},
		"date-zone":    {"Fri, 06 Nov 2026 08:49:40 +0000"},
		"float":        {"1.5"},
		"negative":     {"-3"},
		"text":         {"soon"},
		"list":         {"120, 240"},
		"two":          {"2", "7"},
		"empty":        {""},
		"day":          {"86400"},
		"huge":         {"99999999999"},
		"17":           {"17"},
	} {
		t.Run(mode, func(t *testing.T) {
			h := http.Header{}
			SetRetryAfter(h, mode, now, 3*time.Second, 0)
			if d := cmp.Diff(want, h["Retry-After"]); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
	for _, mode := range RetryAfterModes() {
		if strings.HasPrefix(mode, "date") && mode != "date-zone" {
			h := http.Header{}
			SetRetryAfter(h, mode, now, time.Minute, 0)
			if _, err := http.ParseTime(h.Get("Retry-After")); err != nil {
				t.Errorf("%s: %v", mode, err)
			}
		}
	}
}
