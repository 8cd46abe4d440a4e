package core

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v4"
)

const (
	maxRetryAfter    = 24 * time.Hour // a longer wait is shortened to this
	minRetryAfter    = time.Second    // a shorter wait, or a time in the past, is raised to this
	maxSkew          = 24 * time.Hour // a Date further from the local clock is ignored: that clock was never set
	maxRetryAfterLen = 64             // bytes; a longer field is ignored
)

// Wait is a parsed Retry-After. The zero Wait stands for an answer without one.
type Wait struct {
	Duration time.Duration
	Present  bool // the answer had a Retry-After
}

func (w Wait) String() string {
	if !w.Present {
		return "-"
	}
	return FormatDuration(w.Duration)
}

// ParseRetryAfter reads the Retry-After (RFC 9110, section 10.2.3) of an answer that arrived at now. Seconds may have
// a fraction. A date is compared with the answer's Date header, or with now if that header is missing, invalid or more
// than a day off. A value under 1 s, including zero, negative values and dates in the past, becomes 1 s; a value over
// 24 h becomes 24 h.
//
// A value that cannot be parsed, a list or a duplicate header counts as absent. The error is only a warning: the Wait
// is always valid.
func ParseRetryAfter(h http.Header, now time.Time) (Wait, error) {
	values := h.Values("Retry-After")
	if len(values) == 0 {
		return Wait{}, nil
	}
	if len(values) > 1 {
		return Wait{}, errors.New("read Retry-After: more than one header")
	}
	text := strings.Trim(values[0], " \t")
	if len(text) > maxRetryAfterLen {
		return Wait{}, errors.New("read Retry-After: too long")
	}
	if seconds, ok := parseSeconds(text); ok {
		return clampWait(seconds, text)
	}
	date, err := http.ParseTime(text)
	if err != nil {
		return Wait{}, fmt.Errorf("read Retry-After: %q is neither seconds nor a date", text)
	}
	return clampWait(date.Sub(sentAt(h, now)).Seconds(), text)
}

// sentAt returns the Date of an answer that arrived at now, or now if that header is missing, invalid or far off.
func sentAt(h http.Header, now time.Time) time.Time {
	if sent, err := http.ParseTime(h.Get("Date")); err == nil && sent.Sub(now).Abs() <= maxSkew {
		return sent
	}
	return now
}

func clampWait(seconds float64, text string) (Wait, error) {
	switch {
	case seconds < minRetryAfter.Seconds():
		return Wait{minRetryAfter, true}, nil
	case seconds > maxRetryAfter.Seconds():
		return Wait{maxRetryAfter, true}, fmt.Errorf("read Retry-After: %q is cut to %s", text, FormatDuration(maxRetryAfter))
	}
	return Wait{time.Duration(seconds * float64(time.Second)), true}, nil
}

func parseSeconds(text string) (float64, bool) {
	whole, fraction, dotted := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	if !isDigits(whole) || dotted && !isDigits(fraction) {
		return 0, false
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

const (
	backoffBase = 1500 * time.Millisecond
	backoffCap  = 30 * time.Second
	minPause    = time.Second // the shortest pause after the second and later 429s in a row
	sleepJitter = 0.1         // the largest random addition to a Sleep, as a share of its length
)

// RetryDelay returns how long a request waits before its n-th retry, for a random draw in [0,1): full jitter, or the
// Retry-After of its own 503 if that is longer. After a 429 it is 0, because the pause delays all requests.
func RetryDelay(n int, lastAnswer *Event, draw float64) time.Duration {
	if lastAnswer.Outcome == Throttled {
		return 0
	}
	d := fullJitter(n, draw)
	if wait, given := lastAnswer.wait(); given && lastAnswer.Outcome == Server {
		d = max(d, wait)
	}
	return d
}

// fullJitter returns the wait before the n-th retry for a random draw in [0,1): it is uniform between 0 and
// min(30 s, 1.5 s * 2^(n-1)).
func fullJitter(n int, draw float64) time.Duration {
	b := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(backoffBase), backoff.WithMultiplier(2), backoff.WithRandomizationFactor(0),
		backoff.WithMaxInterval(backoffCap), backoff.WithMaxElapsedTime(0),
	)
	var limit time.Duration
	for range max(n, 1) {
		if limit = b.NextBackOff(); limit >= backoffCap {
			break
		}
	}
	return time.Duration(draw * float64(limit))
}
