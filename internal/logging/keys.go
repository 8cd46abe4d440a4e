// Package logging writes anivault's log: logfmt or JSON with keys in a fixed order, without secrets, to streams and to
// files that several processes share.
package logging

// This file is the table of log keys and of the components that have a shape of their own. docs/reference.md
// lists the keys in their order; scripts stand on them.

import (
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"time"
)

// Key is one key of a log line. Text says how its value reads in logfmt; JSON has numbers without units.
type Key struct {
	Name string
	Doc  string
	text func(slog.Value) string
	json func(slog.Value) any
}

// Ratelimiter is the component whose lines always have all of LimiterKeys.
const Ratelimiter = "ratelimiter"

// none stands in logfmt for a key that does not apply; JSON has null there.
const none = "-"

var headKeys = []Key{
	{"ts", "when, UTC, RFC 3339", nil, nil},
	{"lvl", "DEBUG, INFO, WARN or ERROR", nil, nil},
	{"comp", "the part of anivault that speaks", nil, nil},
}

// limiterKeys follow the head in every line of the limiter, in this order. Other components have only event.
var limiterKeys = []Key{
	{"state", "the limiter's state: Normal, Throttle, Sleep, HalfOpen, CacheOnly", plainText, plainJSON},
	{"event", "what happened; of comp=ratelimiter: 429, pause, state_transition; of comp=anivault: start, warning", plainText, plainJSON},
	{"sleep", "how long the limiter waits now; JSON: in seconds", plainText, secondsJSON},
	{"consec429", "429 answers in a row, one per overrun", plainText, plainJSON},
	{"err_rate_30s", "share of failed requests in the window, 0 to 1", ratioText, ratioJSON},
	{"rate", "requests per second allowed now; JSON: without the unit", rateText, rateJSON},
	{"sem", "requests allowed at the same time now", plainText, plainJSON},
	{"retry_after", "what the answer's Retry-After asked for; JSON: in seconds", plainText, secondsJSON},
}

// otherKeys follow where they apply.
var otherKeys = []Key{
	{"from", "with state_transition: the state that was left", nil, nil},
	{"to", "with state_transition: the state that was entered", nil, nil},
	{"reason", "with state_transition: why, a reason of limiter rules", nil, nil},
	{"error", "with warning: what was worked around", nil, nil},
	{"version", "with start: anivault's", nil, nil},
}

// OtherKeys returns the keys that only some lines have, behind all others.
func OtherKeys() []Key { return append([]Key(nil), otherKeys...) }

// HeadKeys returns the keys that begin every line, in order.
func HeadKeys() []Key { return append([]Key(nil), headKeys...) }

// LimiterKeys returns the keys that every limiter line has behind the head, in order.
func LimiterKeys() []Key { return append([]Key(nil), limiterKeys...) }

func plainText(v slog.Value) string { return text(v) }

func plainJSON(v slog.Value) any { return value(v) }

func secondsJSON(v slog.Value) any {
	if v.Kind() == slog.KindDuration {
		return v.Duration().Seconds()
	}
	return value(v)
}

func ratioText(v slog.Value) string {
	if f, ok := float(v); ok {
		return strconv.FormatFloat(f, 'f', 2, 64)
	}
	return text(v)
}

func ratioJSON(v slog.Value) any {
	if f, ok := float(v); ok {
		return math.Round(f*1e4) / 1e4
	}
	return value(v)
}

func rateText(v slog.Value) string {
	if f, ok := float(v); ok {
		return strconv.FormatFloat(math.Round(f*100)/100, 'f', -1, 64) + "rps"
	}
	return text(v)
}

func rateJSON(v slog.Value) any {
	if f, ok := float(v); ok {
		return math.Round(f*100) / 100
	}
	return value(v)
}

// float returns a number that can be written; NaN and infinities can't.
func float(v slog.Value) (float64, bool) {
	var f float64
	switch v.Kind() {
	case slog.KindFloat64:
		f = v.Float64()
	case slog.KindInt64:
		f = float64(v.Int64())
	case slog.KindUint64:
		f = float64(v.Uint64())
	default:
		return 0, false
	}
	return f, !math.IsNaN(f) && !math.IsInf(f, 0)
}

// text is a value as logfmt has it, before quoting. Durations are rounded to a readable size.
func text(v slog.Value) string {
	switch v.Kind() { //nolint:exhaustive // the other kinds print themselves
	case slog.KindDuration:
		return short(v.Duration()).String()
	case slog.KindTime:
		return stamp(v.Time())
	case slog.KindAny:
		if err, ok := v.Any().(error); ok {
			return err.Error()
		}
		return fmt.Sprint(v.Any())
	}
	return v.String()
}

// value is a value as JSON has it: numbers and booleans as such, everything else as text.
func value(v slog.Value) any {
	switch v.Kind() { //nolint:exhaustive // the other kinds are text
	case slog.KindBool, slog.KindInt64, slog.KindUint64:
		return v.Any()
	case slog.KindFloat64:
		if f, ok := float(v); ok {
			return f
		}
	}
	return text(v)
}

// short drops what nobody reads: microseconds of anything longer than 10 ms.
func short(d time.Duration) time.Duration {
	if d.Abs() >= 10*time.Millisecond {
		return d.Round(time.Millisecond)
	}
	return d.Round(time.Microsecond)
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }
