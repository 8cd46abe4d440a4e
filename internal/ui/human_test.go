package ui

import (
	"math"
	"testing"
	"time"
)

func TestDurations(t *testing.T) {
	for _, tt := range []struct {
		d                           time.Duration
		duration, countdown, period string
	}{
		{0, "0.0 s", "0 s", "0s"},
		{999 * time.Microsecond, "0.0 s", "1 s", "999µs"},
		{850 * time.Millisecond, "0.8 s", "1 s", "850ms"},
		{9990 * time.Millisecond, "9.9 s", "10 s", "9.99s"},
		{10 * time.Second, "10 s", "10 s", "10s"},
		{59*time.Second + 999*time.Millisecond, "59 s", "1m00s", "59.999s"},
		{time.Minute, "1m00s", "1m00s", "1m"},
		{3*time.Minute + 20*time.Second, "3m20s", "3m20s", "3m20s"},
		{time.Hour, "1h00m", "1h00m", "1h"},
		{2*time.Hour + 5*time.Minute, "2h05m", "2h05m", "2h5m"},
		{76 * time.Hour, "3d04h", "3d04h", "76h"},
		{-90 * time.Second, "0.0 s", "0 s", "-1m30s"},
	} {
		t.Run(tt.period, func(t *testing.T) {
			if got := Duration(tt.d).String(); got != tt.duration {
				t.Errorf("Duration is %q, want %q", got, tt.duration)
			}
			if got := Countdown(tt.d).String(); got != tt.countdown {
				t.Errorf("Countdown is %q, want %q", got, tt.countdown)
			}
			if got := Period(tt.d); got != tt.period {
				t.Errorf("Period is %q, want %q", got, tt.period)
			}
		})
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 999: "999 B", 1000: "1.0 kB", 1536: "1.5 kB", 512e6: "512.0 MB", 5e9: "5.0 GB", 2e12: "2.0 TB",
		math.MaxInt64: "9223372.0 TB",
	} {
		t.Run(want, func(t *testing.T) {
			if got := Size(n); got != want {
				t.Errorf("%d is %q, want %q", n, got, want)
			}
		})
	}
}

func TestClockHasTheDateOfAnotherDay(t *testing.T) {
	now := time.Now()
	if got, want := Clock(now), now.Format(time.TimeOnly); got != want {
		t.Errorf("today is %q, want %q", got, want)
	}
	other := now.AddDate(0, 0, -3)
	if got, want := Clock(other), other.Format(time.DateTime); got != want {
		t.Errorf("another day is %q, want %q", got, want)
	}
}

func TestStamp(t *testing.T) {
	at := time.Date(2026, 11, 21, 21, 0, 0, 5e6, time.FixedZone("", 3600))
	if Timestamp(at) != "2026-11-21T20:00:00Z" || Timestamp(time.Time{}) != "" {
		t.Errorf("%q, %q", Timestamp(at), Timestamp(time.Time{}))
	}
}
