package upstream

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// retryModes maps a mode to the values of the Retry-After header that asks for a wait. skew is how far the answer's
// Date is off.
var retryModes = map[string]func(now time.Time, wait, skew time.Duration) []string{
	"":             literal(),
	"absent":       literal(),
	"delta":        func(_ time.Time, wait, _ time.Duration) []string { return []string{strconv.Itoa(Seconds(wait))} },
	"zero":         literal("0"),
	"date":         date(http.TimeFormat),
	"date-rfc850":  date("Monday, 02-Jan-06 15:04:05 GMT"),
	"date-asctime": date(time.ANSIC),
	"date-zone":    date(time.RFC1123Z),
	"date-past": func(now time.Time, _, skew time.Duration) []string {
		return []string{now.Add(skew - time.Hour).UTC().Format(http.TimeFormat)}
	},
	"float":    literal("1.5"),
	"negative": literal("-3"),
	"text":     literal("soon"),
	"list":     literal("120, 240"),
	"two":      literal("2", "7"),
	"empty":    literal(""),
	"day":      literal("86400"),
	"huge":     literal("99999999999"),
}

func literal(values ...string) func(time.Time, time.Duration, time.Duration) []string {
	return func(time.Time, time.Duration, time.Duration) []string { return values }
}

func date(layout string) func(time.Time, time.Duration, time.Duration) []string {
	return func(now time.Time, wait, skew time.Duration) []string {
		return []string{now.Add(wait + skew).UTC().Format(layout)}
	}
}

// Seconds returns whole seconds, rounded up.
func Seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

// RetryAfterModes returns the names of the ways to fill a Retry-After header. "date" together with the fault
// "date_skew" sends a date beside a wrong Date.
func RetryAfterModes() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(retryModes)), func(m string) bool { return m == "" })
}

// validRetryAfter accepts a mode or a number of seconds.
func validRetryAfter(s string) error {
	if _, ok := retryModes[s]; ok {
		return nil
	}
	if n, err := strconv.Atoi(s); err == nil && n >= 0 {
		return nil
	}
	return fmt.Errorf("retry_after %q is unknown: use a number of seconds or one of %v", s, RetryAfterModes())
}

// SetRetryAfter sets the header in a mode. A number is sent as it is.
func SetRetryAfter(h http.Header, mode string, now time.Time, wait, skew time.Duration) {
	values := []string{mode}
	if valuesOf, ok := retryModes[mode]; ok {
		values = valuesOf(now, wait, skew)
	}
	for _, v := range values {
		h.Add("Retry-After", v)
	}
}
