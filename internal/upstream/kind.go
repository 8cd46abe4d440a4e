package upstream

import (
	_ "embed" // for the kinds of faults
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/anivault/anivault/internal/wordlist"
)

// FaultPoint is the point in the handling of a request at which a fault takes effect.
type FaultPoint uint8

// The points, in the order in which a request passes them.
const (
	OnConnect    FaultPoint = iota // when a connection is accepted
	InHeaders                      // while the headers of any response are written, a 429 included
	AtLimit                        // while the rate limit is checked
	BeforeAnswer                   // before the request is handled
	InBody                         // while the response body is written
)

// kinds maps the name of each fault to its point.
var kinds = sync.OnceValue(func() map[string]FaultPoint {
	out := map[string]FaultPoint{}
	for at, section := range wordlist.Parse(kindsText) {
		for _, name := range section.Words {
			out[strings.ReplaceAll(name, " ", "_")] = FaultPoint(at)
		}
	}
	return out
})

//go:embed kinds.txt
var kindsText string

// Foreign reports whether the action answers with success and another server's page, such as a hotel's login page.
func (a Action) Foreign() bool {
	return a.Kind == "status" && a.Status < http.StatusMultipleChoices && (a.Body == "html" || a.Body == "captive")
}

// Fails reports whether an action of the point BeforeAnswer keeps the client from getting what it asked for.
func (a Action) Fails() bool {
	switch a.Kind {
	case "status":
		return a.Status >= http.StatusMultipleChoices || a.Foreign()
	case "not_modified", "redirect", "reset", "close", "silent":
		return true
	default:
		return false
	}
}

// retryValues maps a mode to fixed values of Retry-After. Other modes depend on the time: see SetRetryAfter.
var retryValues = map[string][]string{
	"absent": nil, "delta": nil, "zero": {"0"}, "date": nil, "date-rfc850": nil, "date-asctime": nil, "date-zone": nil,
	"date-past": nil, "float": {"1.5"}, "negative": {"-3"}, "text": {"soon"}, "list": {"120, 240"}, "two": {"2", "7"},
	"empty": {""}, "day": {"86400"}, "huge": {"99999999999"},
}

var retryDates = map[string]string{
	"date": http.TimeFormat, "date-past": http.TimeFormat, "date-rfc850": "Monday, 02-Jan-06 15:04:05 GMT",
	"date-asctime": time.ANSIC, "date-zone": time.RFC1123Z,
}

// Seconds returns d in whole seconds, rounded up.
func Seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

// RetryAfterModes returns the names of the ways to fill a Retry-After header. The mode "date" together with the fault
// "date_skew" sends a correct Retry-After next to a Date header with the same error.
func RetryAfterModes() []string { return slices.Sorted(maps.Keys(retryValues)) }

func validRetryAfter(s string) error {
	if _, ok := retryValues[s]; ok || s == "" {
		return nil
	}
	if n, err := strconv.Atoi(s); err == nil && n >= 0 {
		return nil
	}
	return fmt.Errorf("retry_after %q is unknown: use a number of seconds or one of %v", s, RetryAfterModes())
}

// SetRetryAfter adds the Retry-After headers of a mode. A mode that is a number is sent as it is. wait is how long the
// client should wait, skew how far the Date header is off.
func SetRetryAfter(h http.Header, mode string, now time.Time, wait, skew time.Duration) {
	values, ok := retryValues[mode]
	layout, isDate := retryDates[mode]
	switch {
	case mode == "delta":
		values = []string{strconv.Itoa(Seconds(wait))}
	case mode == "date-past":
		values = []string{now.Add(skew - time.Hour).UTC().Format(layout)}
	case isDate:
		values = []string{now.Add(wait + skew).UTC().Format(layout)}
	case !ok && mode != "":
		values = []string{mode}
	}
	for _, v := range values {
		h.Add("Retry-After", v)
	}
}

// Duration is a time.Duration that is read from JSON.
type Duration time.Duration

// UnmarshalJSON reads a string such as "90s", or a number of seconds.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		v, err := time.ParseDuration(s)
		if err != nil {
			return fmt.Errorf("%q is not a duration such as 90s", s)
		}
		*d = Duration(v)
		return nil
	}
	var f float64
	if err := json.Unmarshal(b, &f); err != nil {
		return fmt.Errorf("%s is not a duration: write \"90s\" or a number of seconds", b)
	}
	if f < 0 || f > 1e9 {
		return fmt.Errorf("%s s is outside 0..1e9 s", b)
	}
	*d = Duration(f * float64(time.Second))
	return nil
}

// Numbers is a set of positive numbers: 3, [1, 4] or "1-200,300" in JSON.
type Numbers []Span

// Span is an inclusive range of numbers.
type Span struct{ From, To int }

// Has reports whether n is in the set. The empty set holds every number.
func (ns Numbers) Has(n int) bool {
	return len(ns) == 0 || slices.ContainsFunc(ns, func(s Span) bool { return s.From <= n && n <= s.To })
}

// UnmarshalJSON reads a number, a list of numbers or a string with ranges.
func (ns *Numbers) UnmarshalJSON(b []byte) error {
	spans, err := readSpans(b)
	if err != nil {
		return err
	}
	for _, s := range spans {
		if s.From < 1 || s.To < s.From {
			return fmt.Errorf("nth %d-%d: numbers start at 1, and a range ends after it begins", s.From, s.To)
		}
	}
	*ns = spans
	return nil
}

func readSpans(b []byte) (Numbers, error) {
	var spans Numbers
	for part := range strings.SplitSeq(strings.Trim(string(b), `"[]`), ",") {
		from, to, isRange := strings.Cut(part, "-")
		first, err := strconv.Atoi(strings.TrimSpace(from))
		last := first
		if err == nil && isRange {
			last, err = strconv.Atoi(strings.TrimSpace(to))
		}
		if err != nil {
			return nil, fmt.Errorf("nth %s: write 3, [1,4] or \"1-200\"", b)
		}
		spans = append(spans, Span{first, last})
	}
	return spans, nil
}

// Latency is the range of times from a request to its response. Max 0 means that every response takes Min.
type Latency struct{ Min, Max time.Duration }

// ParseLatency reads "75ms" or "17ms-154ms"; "" is no latency.
func ParseLatency(s string) (Latency, error) {
	if s == "" {
		return Latency{}, nil
	}
	low, high, isRange := strings.Cut(s, "-")
	var l Latency
	var err error
	if l.Min, err = time.ParseDuration(low); err == nil && isRange {
		l.Max, err = time.ParseDuration(high)
	}
	if err != nil {
		return Latency{}, fmt.Errorf("latency %q: write 75ms or 17ms-154ms", s)
	}
	return l, l.Validate()
}

func (l Latency) String() string {
	if l.Max <= l.Min {
		return l.Min.String()
	}
	return l.Min.String() + "-" + l.Max.String()
}

// Validate returns an error if the range is not within 0..1h, or ends before it begins.
func (l Latency) Validate() error {
	if l.Min < 0 || l.Max != 0 && l.Max < l.Min || l.Min > time.Hour || l.Max > time.Hour {
		return fmt.Errorf("latency %s-%s is not a range within 0..1h", l.Min, l.Max)
	}
	return nil
}

// Mean returns the middle of the range.
func (l Latency) Mean() time.Duration { return l.Quantile(0.5) }

// Quantile returns the latency at a point of the range: 0 gives Min, 1 gives Max.
func (l Latency) Quantile(share float64) time.Duration {
	return l.Min + time.Duration(share*float64(max(l.Max-l.Min, 0)))
}

// Nth returns the latency of the n-th request, which is the same in every run with this seed.
func (l Latency) Nth(seed uint64, n int) time.Duration { return l.Quantile(Chance(seed, "latency", n)) }

// Hash mixes a seed and more values into 64 bits. The result depends on nothing else, so the order in which
// goroutines arrive changes nothing.
func Hash(seed uint64, values ...any) uint64 {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, seed)
	for _, a := range values {
		_, _ = fmt.Fprintf(h, "\x00%v", a)
	}
	x := h.Sum64()
	x ^= x >> 33 // FNV's high bits are poor for short inputs
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return x
}

// Chance returns a pseudo-random number in [0, 1) that depends only on its arguments.
func Chance(seed uint64, values ...any) float64 {
	return float64(Hash(seed, values...)>>11) / (1 << 53)
}
