package ui

// Durations and sizes as people read them.

import (
	"fmt"
	"math"
	"time"
)

// Duration writes d with its two largest units, cut and not rounded up:
// "850ms", "12s", "3m20s", "2h05m", "3d04h". Below a millisecond it is "0s";
// a negative one has a minus.
func Duration(d time.Duration) string {
	if d < 0 {
		if d == math.MinInt64 {
			d++
		}
		if s := Duration(-d); s != "0s" {
			return "-" + s
		}
		return "0s"
	}
	const day = 24 * time.Hour
	switch {
	case d < time.Millisecond:
		return "0s"
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < day:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd%02dh", d/day, d%day/time.Hour)
}

// Bytes writes n in units of 1024: "0 B", "1023 B", "1.5 KiB", "512 MiB".
func Bytes(n int64) string {
	if n < 0 {
		if n == math.MinInt64 {
			n++
		}
		return "-" + Bytes(-n)
	}
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	value := float64(n)
	for _, unit := range []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"} {
		value /= 1024
		switch {
		case value < 9.95:
			return fmt.Sprintf("%.1f %s", value, unit)
		case value < 1023.5 || unit == "EiB":
			return fmt.Sprintf("%.0f %s", value, unit)
		}
	}
	return "" // not reached: EiB takes every int64
}
