package core

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestParseRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration, layout string) string { return now.Add(d).Format(layout) }
	const (
		rfc850  = "Monday, 02-Jan-06 15:04:05 GMT"
		asctime = time.ANSIC
	)
	tests := []struct {
		value string
		want  time.Duration // -1: as if absent
		odd   bool          // with a warning
		date  string
	}{
		{value: "2", want: 2 * time.Second},
		{value: "0", want: time.Second},
		{value: "1.5", want: 1500 * time.Millisecond},
		{value: "0.2", want: time.Second},
		{value: "0.001", want: time.Second},
		{value: "  7\t", want: 7 * time.Second},
		{value: "-5", want: time.Second},
		{value: "007", want: 7 * time.Second},
		{value: "300", want: 5 * time.Minute},
		{value: "86400", want: 24 * time.Hour},
		{value: "86401", want: 24 * time.Hour, odd: true},
		{value: "9999999999", want: 24 * time.Hour, odd: true},
		{value: strings.Repeat("9", 60), want: 24 * time.Hour, odd: true},
		{value: strings.Repeat("9", 65), want: -1, odd: true},
		{value: "", want: -1, odd: true},
		{value: "soon", want: -1, odd: true},
		{value: "+5", want: -1, odd: true},
		{value: "1e3", want: -1, odd: true},
		{value: "0x10", want: -1, odd: true},
		{value: "NaN", want: -1, odd: true},
		{value: "Inf", want: -1, odd: true},
		{value: "1,5", want: -1, odd: true},
		{value: "2, 3", want: -1, odd: true},
		{value: "2.", want: -1, odd: true},
		{value: "--2", want: -1, odd: true},
		{value: "5s", want: -1, odd: true},

		{value: at(30*time.Second, http.TimeFormat), want: 30 * time.Second},
		{value: at(30*time.Second, rfc850), want: 30 * time.Second},
		{value: at(30*time.Second, asctime), want: 30 * time.Second},
		{value: at(-time.Hour, http.TimeFormat), want: time.Second},
		{value: at(0, http.TimeFormat), want: time.Second},
		{value: at(48*time.Hour, http.TimeFormat), want: 24 * time.Hour, odd: true},
		{value: "Thu, 01 Jan 9999 00:00:00 GMT", want: 24 * time.Hour, odd: true},
		{value: "Thu, 32 Foo 2026 00:00:00 GMT", want: -1, odd: true},

		// A server whose clock was never set.
		{value: at(2*time.Second, http.TimeFormat), want: 2 * time.Second, date: "Thu, 01 Jan 1970 00:00:01 GMT"},

		// The server's clock is an hour ahead or behind: it is compared with itself.
		{value: at(time.Hour+30*time.Second, http.TimeFormat), date: at(time.Hour, http.TimeFormat), want: 30 * time.Second},
		{
			value: at(-time.Hour+30*time.Second, http.TimeFormat), date: at(-time.Hour, http.TimeFormat),
			want: 30 * time.Second,
		},
		{value: at(time.Hour-30*time.Second, http.TimeFormat), date: at(time.Hour, http.TimeFormat), want: time.Second},
		{value: at(30*time.Second, http.TimeFormat), date: "yesterday", want: 30 * time.Second},
		{value: "30", date: at(time.Hour, http.TimeFormat), want: 30 * time.Second},
	}
	for _, tt := range tests {
		h := http.Header{"Retry-After": {tt.value}}
		if tt.date != "" {
			h.Set("Date", tt.date)
		}
		got, err := ParseRetryAfter(h, now)
		if want := (Wait{tt.want, true}); tt.want >= 0 && got != want || tt.want < 0 && got != (Wait{}) {
			t.Errorf("%q (Date %q): %+v, want %s", tt.value, tt.date, got, tt.want)
		}
		if (err != nil) != tt.odd {
			t.Errorf("%q: warning %v", tt.value, err)
		}
	}
	if got, err := ParseRetryAfter(http.Header{}, now); got != (Wait{}) || err != nil {
		t.Errorf("absent: %v %v", got, err)
	}
	if got, err := ParseRetryAfter(http.Header{"Retry-After": {"2", "3"}}, now); got != (Wait{}) || err == nil {
		t.Errorf("doubled: %v %v", got, err)
	}
}

func FuzzParseRetryAfter(f *testing.F) {
	for _, s := range []string{"2", "1.5", "-1", "9999999999", "Fri, 31 Dec 1999 23:59:59 GMT", "2, 3", "\x00", ""} {
		f.Add(s, "Fri, 31 Dec 1999 23:59:50 GMT")
	}
	f.Fuzz(func(t *testing.T, value, date string) {
		w, err := ParseRetryAfter(http.Header{"Retry-After": {value}, "Date": {date}}, time.Unix(1_800_000_000, 0))
		if w.Present && (w.Duration < 0 || w.Duration > maxRetryAfter) {
			t.Errorf("%q: %s", value, w.Duration)
		}
		if !w.Present && (w.Duration != 0 || err == nil) {
			t.Errorf("%q: not given, %s, %v", value, w.Duration, err)
		}
	})
}

// uniform checks the mean and the standard deviation of draws from U(0, limit)
// within five of their own standard deviations.
func uniform(t *testing.T, name string, limit float64, draws []float64) {
	t.Helper()
	n := float64(len(draws))
	var sum, squares float64
	for _, d := range draws {
		if d < 0 || d > limit+1e-6 {
			t.Fatalf("%s: %v is not within 0..%v", name, d, limit)
		}
		sum += d
		squares += d * d
	}
	mean := sum / n
	deviation := math.Sqrt(squares/n - mean*mean)
	sigma := limit / math.Sqrt(12)
	if math.Abs(mean-limit/2) > 5*sigma/math.Sqrt(n) {
		t.Errorf("%s: mean %.4f, want %.4f", name, mean, limit/2)
	}
	// The variance of a uniform sample's deviation: (mu4 - sigma^4) / (4 n sigma^2), mu4 = 9/5 sigma^4.
	if math.Abs(deviation-sigma) > 5*sigma*math.Sqrt(0.8/(4*n)) {
		t.Errorf("%s: deviation %.4f, want %.4f", name, deviation, sigma)
	}
}

func TestFullJitter(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const draws = 10_000
	waits := make([][]float64, 8)
	for range draws {
		for n := range waits {
			waits[n] = append(waits[n], fullJitter(n+1, random.Float64()).Seconds())
		}
	}
	for n := range waits {
		uniform(t, fmt.Sprintf("wait %d", n+1), min(30, 1.5*math.Pow(2, float64(n))), waits[n])
	}
	if got := fullJitter(5000, 0.999); got < 29*time.Second || got > 30*time.Second {
		t.Errorf("a very long streak: %s", got)
	}
}
