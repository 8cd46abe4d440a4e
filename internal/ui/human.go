package ui

import (
	"fmt"
	"strings"
	"time"
)

// Duration returns d as people read it: "0.4 s", "12 s", "3m20s", "2h05m", "3d04h". It is cut, not rounded up.
func Duration(d time.Duration) string {
	const day = 24 * time.Hour
	switch d = max(d, 0); {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Truncate(100*time.Millisecond).Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < day:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd%02dh", d/day, d%day/time.Hour)
}

// Countdown returns the time left in whole seconds, rounded up: "42 s", "3m20s".
func Countdown(d time.Duration) string {
	d = (d + time.Second - 1).Truncate(time.Second)
	if d < 10*time.Second {
		return fmt.Sprintf("%d s", max(d, 0)/time.Second)
	}
	return Duration(d)
}

// Period returns d exactly, in the form that settings are written in and without units that are zero: "1h", "1m30s".
func Period(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Clock returns the local time of day, with its date where that is not today.
func Clock(t time.Time) string {
	t = t.Local()
	if t.Format(time.DateOnly) == time.Now().Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}

// Stamp returns t as programs read it, RFC 3339 in UTC; "" for the zero time.
func Stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// Size returns n bytes in powers of 1000, like the settings: "999 B", "1.5 kB".
func Size(n int64) string {
	const step = 1000
	if n < step {
		return fmt.Sprintf("%d B", n)
	}
	value, unit := float64(n)/step, 0
	for value >= step && unit < 3 {
		value /= step
		unit++
	}
	return fmt.Sprintf("%.1f %s", value, []string{"kB", "MB", "GB", "TB"}[unit])
}

// Offset returns a time since the beginning of something, to a tenth of a second, from ten minutes on to a second:
// "5s", "12.3s", "1m30s".
func Offset(d time.Duration) string {
	unit := 100 * time.Millisecond
	if d >= 10*time.Minute {
		unit = time.Second
	}
	return Period(d.Round(unit))
}
