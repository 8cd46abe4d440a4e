package core

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// Limits is the content of an answer's rate-limit fields. The zero Limits stands for an answer without them.
type Limits struct {
	Quota  int           // requests allowed in Window; 0: not given
	Window time.Duration // the period of Quota
	Spent  time.Duration // time until the quota renews, if it is used up; 0: requests are left, or not given
}

const (
	maxLimitsLen = 1 << 10   // bytes; a longer field is ignored
	maxQuota     = 1_000_000 // a larger quota is ignored, because our own limit is lower
	// minUnixTime is the least Reset value that counts as a Unix time. A smaller one is a number of seconds.
	minUnixTime = 1_000_000_000
)

// ParseLimits reads the rate-limit fields of an answer that arrived at now: RateLimit-Policy and RateLimit as
// structured fields (draft-ietf-httpapi-ratelimit-headers-10, section 3 and 4), RateLimit with limit, remaining and
// reset (drafts 03 to 07), and X-RateLimit-Limit, -Remaining and -Reset, with or without "X-". Of several limits the
// strictest counts. Malformed, duplicate and negative values count as absent, and so do values above the bounds.
func ParseLimits(h http.Header, now time.Time) Limits {
	var l Limits
	windows := map[string]int{}
	for _, p := range parseItems(h, "RateLimit-Policy") {
		l.addQuota(p["q"], p["w"])
		windows[p.itemName()] = p["w"]
	}
	for _, p := range parseItems(h, "RateLimit") {
		remaining, said := p["r"]
		reset := p["t"]
		if !said {
			remaining, said = p["remaining"]
			reset = p["reset"]
		}
		if said && remaining == 0 {
			l.addWait(cmp.Or(reset, windows[p.itemName()]))
		}
	}
	for _, prefix := range []string{"X-RateLimit-", "RateLimit-"} {
		remaining, said := singleNumber(h, prefix+"Remaining")
		reset, known := singleNumber(h, prefix+"Reset")
		if reset >= minUnixTime {
			reset = int(time.Unix(int64(reset), 0).Sub(sentAt(h, now)) / time.Second)
		}
		if said && known && remaining == 0 {
			l.addWait(reset)
		}
	}
	return l
}

func (l *Limits) addQuota(quota, seconds int) {
	window := time.Duration(seconds) * time.Second
	if quota < 1 || quota > maxQuota || window <= 0 || window > maxRetryAfter {
		return
	}
	if l.Quota == 0 || float64(quota)/window.Seconds() < float64(l.Quota)/l.Window.Seconds() {
		l.Quota, l.Window = quota, window
	}
}

func (l *Limits) addWait(seconds int) {
	if wait := time.Duration(seconds) * time.Second; wait > 0 && wait <= maxRetryAfter {
		l.Spent = max(l.Spent, wait)
	}
}

// allowedIn returns how many requests the quota allows in a window, in proportion to the window's length, rounded up.
func (l *Limits) allowedIn(window time.Duration) int {
	return min(max(1, int(math.Ceil(float64(l.Quota)*window.Seconds()/l.Window.Seconds()-1e-9))), maxGrants)
}

// params are the parameters of one item of a list, by key. The item's name is also a key, in quotes.
type params map[string]int

func (p params) itemName() string {
	for key := range p {
		if strings.HasPrefix(key, `"`) {
			return key
		}
	}
	return ""
}

// parseItems returns the items of a field such as "name";q=100;w=60. The parts of limit=100, remaining=50, reset=5 form
// one item.
func parseItems(h http.Header, field string) (items []params) {
	text := strings.Join(h.Values(field), ",")
	if text == "" || len(text) > maxLimitsLen {
		return nil
	}
	whole := params{}
	for item := range strings.SplitSeq(text, ",") {
		first, rest, _ := strings.Cut(item, ";")
		if first = strings.TrimSpace(first); strings.Contains(first, "=") {
			whole.set(first)
			continue
		}
		p := params{first: 0}
		if !strings.HasPrefix(first, `"`) {
			p = params{`"` + first + `"`: 0} // older drafts write the name without quotes
		}
		for param := range strings.SplitSeq(rest, ";") {
			p.set(param)
		}
		items = append(items, p)
	}
	if len(whole) > 0 {
		items = append(items, whole)
	}
	return items
}

// set stores the parameter key=number. A duplicate or malformed parameter becomes -1.
func (p params) set(text string) {
	key, value, _ := strings.Cut(text, "=")
	key = strings.ToLower(strings.TrimSpace(key))
	n, ok := wholeNumber(value)
	if _, twice := p[key]; twice || !ok || key == "" {
		n = -1
	}
	p[key] = n
}

func singleNumber(h http.Header, field string) (int, bool) {
	values := h.Values(field)
	if len(values) != 1 {
		return 0, false
	}
	return wholeNumber(values[0])
}

func wholeNumber(text string) (int, bool) {
	text = strings.TrimSpace(text)
	if !isDigits(text) || len(text) > 12 {
		return -1, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}

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

// RetryDelay returns how long a request waits before its n-th retry, for a random draw in [0,1): full jitter, or
// its own Retry-After if that is longer. After a 429 it is 0, because the pause delays all requests.
func RetryDelay(n int, lastAnswer *Event, draw float64) time.Duration {
	if lastAnswer.Outcome == Throttled {
		return 0
	}
	d := fullJitter(n, draw)
	if wait, given := lastAnswer.wait(); given {
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
