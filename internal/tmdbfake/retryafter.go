// This file decides in which of the many ways a refusal says when to come back.

package tmdbfake

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// retryModes maps a mode to the header values it sends for a wait from now on.
// skew is the difference between the answer's Date and the client's clock.
var retryModes = map[string]func(now time.Time, wait, skew time.Duration) []string{
	"":       func(time.Time, time.Duration, time.Duration) []string { return nil },
	"absent": func(time.Time, time.Duration, time.Duration) []string { return nil },
	"delta":  func(_ time.Time, wait, _ time.Duration) []string { return []string{strconv.Itoa(seconds(wait))} },
	"zero":   literal("0"),
	"date": func(now time.Time, wait, skew time.Duration) []string {
		return []string{now.Add(wait + skew).UTC().Format(http.TimeFormat)}
	},
	"date-rfc850": func(now time.Time, wait, skew time.Duration) []string {
		return []string{strings.Replace(now.Add(wait+skew).UTC().Format(time.RFC850), "UTC", "GMT", 1)}
	},
	"date-asctime": func(now time.Time, wait, skew time.Duration) []string {
		return []string{now.Add(wait + skew).UTC().Format(time.ANSIC)}
	},
	"date-past": func(now time.Time, _, skew time.Duration) []string {
		return []string{now.Add(skew - time.Hour).UTC().Format(http.TimeFormat)}
	},
	"date-zone": func(now time.Time, wait, skew time.Duration) []string {
		return []string{now.Add(wait + skew).UTC().Format(time.RFC1123Z)}
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
	return func(time.Time, time.Duration, time.Duration) []string { return slices.Clone(values) }
}

// seconds rounds up, as a server that means it does.
func seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

// RetryAfterModes lists the ways in which a refusal can say when to come back,
// by name. "date" with the fault "date_skew" gives a date beside a skewed Date.
func RetryAfterModes() []string {
	var out []string
	for m := range retryModes {
		if m != "" {
			out = append(out, m)
		}
	}
	slices.Sort(out)
	return out
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

// setRetryAfter writes the header in a mode; a number is sent as it is.
func setRetryAfter(h http.Header, mode string, now time.Time, wait, skew time.Duration) {
	values := []string{mode}
	if make, ok := retryModes[mode]; ok {
		values = make(now, wait, skew)
	}
	for _, v := range values {
		h.Add("Retry-After", v)
	}
}
