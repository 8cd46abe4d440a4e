package core

import (
	_ "embed" // the table of settings
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

//go:embed fields.txt
var fieldsText string

// fields has all settings, and defaults has their default values. Ranges of durations are in seconds. If a setting may
// be 0 but has another default, Tuning stores an explicit 0 as a negative value, because a zero field means the
// default.
var (
	fields   []Field
	defaults Tuning
)

func init() { // because Field.Set reads defaults
	for row := range strings.Lines(fieldsText) {
		if strings.HasPrefix(row, "#") {
			continue
		}
		columns := strings.Fields(row)
		f := Field{Key: columns[0], Doc: strings.Join(columns[4:], " ")}
		f.kind = kind(slices.Index(kindNames[:], columns[1]))
		least, most, _ := strings.Cut(columns[2], "..")
		var err1, err2, err3 error
		f.min, err1 = f.parse(least)
		f.max, err2 = f.parse(most)
		if columns[3] != "-" {
			err3 = f.set(&defaults, columns[3])
		}
		if err := errors.Join(err1, err2, err3); err != nil {
			panic(err) // a mistake in fields.txt
		}
		fields = append(fields, f)
	}
}

// Field is one setting of a [Tuning], for configurations, help and operators.
type Field struct {
	Key      string // as in the configuration: "rate_base"
	kind     kind
	min, max float64
	Doc      string // one line of help
}

// fieldIndexes maps the lower-case names of Tuning's fields to their indexes: rate_base is "ratebase".
var fieldIndexes = func() map[string]int {
	t, m := reflect.TypeFor[Tuning](), map[string]int{}
	for i := range t.NumField() {
		m[strings.ToLower(t.Field(i).Name)] = i
	}
	return m
}()

func (f Field) pointer(t *Tuning) any {
	place := fieldIndexes[strings.ReplaceAll(f.Key, "_", "")]
	return reflect.ValueOf(t).Elem().Field(place).Addr().Interface()
}

// kind is the type of a setting's value, and so the syntax of its text.
type kind uint8

// The kinds, with examples of the text.
const (
	number  kind = iota // 35, 0.2
	integer             // 35, 35.0
	seconds             // 90s, 2m, or bare seconds
	minutes             // off, 15m, or bare minutes
	quota               // off, or 5000/24h
	choice              // address or account
)

var kindNames = [...]string{"number", "integer", "seconds", "minutes", "quota", "choice"}

// Fields returns all settings in the order of the documentation.
func Fields() []Field { return slices.Clone(fields) }

// FieldByKey returns the setting with that key.
func FieldByKey(key string) (Field, bool) {
	if f := find(fields, func(f *Field) bool { return f.Key == key }); f != nil {
		return *f, true
	}
	return Field{}, false
}

// Default returns the setting's default as text that Set accepts.
func (f Field) Default() string { return f.text(&defaults) }

// Get returns the setting's value as text that Set accepts.
func (f Field) Get(t Tuning) string { return f.text(&t) }

// Set reads text into the setting: numbers as "35" or "35.0", times as Go durations or bare seconds (auto_recover: bare
// minutes), budgets as "5000/24h", "off" where a setting can be off. It returns a *TuningError for anything else and
// for values out of range, and leaves t unchanged. It does not compare the value with other settings; Validate does.
func (f Field) Set(t *Tuning, text string) error { return f.set(t, strings.TrimSpace(text)) }

func (f Field) set(t *Tuning, text string) error {
	var v float64
	b, err := t.Budget, error(nil)
	switch f.kind {
	case quota:
		b, err = parseBudget(text, f.max)
	case choice:
		i := slices.Index(limitedByNames[:], text)
		if v = float64(i); i < 0 {
			err = errors.New("neither address nor account")
		}
	default:
		v, err = f.parse(text)
	}
	switch {
	case err != nil:
		return f.tuningError(strconv.Quote(truncate(text)), err.Error())
	case f.kind == quota:
		t.Budget = b
		return nil
	case !f.inRange(v):
		return f.tuningError(truncate(text), "out of range")
	}
	if v == 0 && f.value(&defaults) != 0 {
		v = -1 // an explicit zero: a zero field would mean the default
	}
	switch p := f.pointer(t).(type) {
	case *float64:
		*p = v
	case *int:
		*p = int(v)
	case *time.Duration:
		*p = time.Duration(math.Round(v * float64(time.Second)))
	case *LimitedBy:
		*p = LimitedBy(v)
	}
	return nil
}

func (f Field) parse(text string) (float64, error) {
	switch {
	case f.kind == minutes && text == "off":
		return 0, nil
	case f.kind == minutes:
		d, err := parseDuration(text, time.Minute)
		return d.Seconds(), err
	case f.kind == seconds:
		d, err := parseDuration(text, time.Second)
		return d.Seconds(), err
	}
	v, err := parseFloat(text)
	if err == nil && f.kind == integer && v != math.Trunc(v) {
		err = errors.New("not a whole number")
	}
	return v, err
}

// value returns the setting in the unit of its range, with an explicit zero as 0.
func (f Field) value(t *Tuning) float64 {
	var v float64
	switch p := f.pointer(t).(type) {
	case *float64:
		v = *p
	case *int:
		v = float64(*p)
	case *time.Duration:
		v = p.Seconds()
	case *LimitedBy:
		v = float64(*p)
	}
	if f.min == 0 {
		v = max(v, 0)
	}
	return v
}

func (f Field) text(t *Tuning) string {
	switch f.kind {
	case number, integer:
		if f.Key == "bucket_cap" {
			return formatFloat(t.bucketCap())
		}
		return formatFloat(f.value(t))
	case minutes:
		if t.AutoRecover == 0 {
			return "off"
		}
	case quota:
		return t.Budget.String()
	case choice:
		return t.LimitedBy.String()
	case seconds:
	}
	return FormatDuration(time.Duration(math.Round(f.value(t) * float64(time.Second))))
}

// check returns an error for a value out of range. It accepts zero where zero is the default.
func (f Field) check(t *Tuning) error {
	ok := f.value(t) == 0 && f.value(&defaults) == 0 || f.inRange(f.value(t))
	if f.kind == quota {
		ok = t.Budget == Budget{} || t.Budget.valid(f.max)
	}
	if ok {
		return nil
	}
	return f.tuningError(f.text(t), "out of range")
}

func (f Field) tuningError(value, reason string) *TuningError {
	return newTuningError(f.Key, value, reason, "allowed is "+f.Range())
}

func (f Field) inRange(v float64) bool { return v >= f.min && v <= f.max } // false for NaN

// Range describes the allowed values as text for people.
func (f Field) Range() string {
	format, args := f.Bounds()
	return fmt.Sprintf(format, args...)
}

// Bounds returns the format and the arguments of Range's text. A caller can translate the format.
func (f Field) Bounds() (format string, args []any) {
	switch f.kind {
	case integer:
		return "a whole number from %s to %s", []any{formatFloat(f.min), formatFloat(f.max)}
	case seconds:
		return "a time from %s to %s, as in 90s, 2m or bare seconds", []any{formatSeconds(f.min), formatSeconds(f.max)}
	case minutes:
		return "off, or a time up to %s, as in 15m or bare minutes", []any{formatSeconds(f.max)}
	case choice:
		return "address or account", nil
	case quota:
		return "off, or a number of requests in a period of at least 1s, as in 5000/24h", nil
	default:
		return "a number from %s to %s", []any{formatFloat(f.min), formatFloat(f.max)}
	}
}

const longestPeriod = 366 * 24 * time.Hour

func (b Budget) valid(maxRequests float64) bool {
	return b.Requests >= 1 && float64(b.Requests) <= maxRequests && b.Period > 0 && b.Period <= longestPeriod
}

func parseBudget(text string, maxRequests float64) (Budget, error) {
	if text == "off" {
		return Budget{}, nil
	}
	count, period, ok := strings.Cut(text, "/")
	if !ok {
		return Budget{}, errors.New("no period after a slash")
	}
	n, err := parseFloat(strings.TrimSpace(count))
	if err != nil {
		return Budget{}, err
	}
	d, err := parseDuration(strings.TrimSpace(period), time.Second)
	if err != nil {
		return Budget{}, err
	}
	b := Budget{int(min(n, maxRequests+1)), d}
	if n != math.Trunc(n) || !b.valid(maxRequests) || d < time.Second {
		return Budget{}, errors.New("not a positive number of requests in a period from 1s to 8784h")
	}
	return b, nil
}

func truncate(s string) string {
	if len(s) > 40 {
		return s[:40] + "..."
	}
	return s
}

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

func formatSeconds(v float64) string { return FormatDuration(time.Duration(v * float64(time.Second))) }

// FormatDuration formats d as String does, but without zero units at the end: "24h", not "24h0m0s".
func FormatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
