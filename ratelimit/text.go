package ratelimit

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// parseFloat reads a plain decimal number: no exponent, no hexadecimal, no NaN.
func parseFloat(text string) (float64, error) {
	digits := strings.TrimPrefix(text, "-")
	if digits == "" || len(digits) > 30 || strings.Trim(digits, "0123456789.") != "" {
		return 0, errors.New("not a number")
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, errors.New("not a number")
	}
	return v, nil
}

// parseDuration reads a Go duration, or a bare number of units.
func parseDuration(text string, unit time.Duration) (time.Duration, error) {
	v, err := parseFloat(text)
	if err != nil {
		d, err := time.ParseDuration(text)
		if err != nil || len(text) > 40 {
			return 0, errors.New("not a time")
		}
		return d, nil
	}
	ns := math.Round(v * float64(unit))
	if math.Abs(ns) > math.MaxInt64/2 {
		return 0, errors.New("too long a time")
	}
	return time.Duration(ns), nil
}

func formatFloat(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func formatSeconds(v float64) string { return formatDuration(time.Duration(v * float64(time.Second))) }

// formatDuration is time.Duration's String without zero units at the end: "24h", not "24h0m0s".
func formatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
