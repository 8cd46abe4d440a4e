package core

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
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
		if reset == 0 {
			reset = windows[p.itemName()]
		}
		if said && remaining == 0 {
			l.addWait(reset)
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
