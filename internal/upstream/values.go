package upstream

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Duration is a time.Duration that JSON holds as "90s" or as a number of seconds.
type Duration time.Duration

// UnmarshalJSON reads a text such as "90s", or a number of seconds.
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

// MarshalJSON writes the text.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// Numbers is a set of positive numbers: 3, [1, 4] or "1-200,300" in JSON.
type Numbers []Span

// Span is an inclusive range of numbers.
type Span struct{ From, To int }

// Has reports whether n is in the set. The empty set holds every number.
func (ns Numbers) Has(n int) bool {
	return len(ns) == 0 || slices.ContainsFunc(ns, func(s Span) bool { return s.From <= n && n <= s.To })
}

// UnmarshalJSON reads a number, a list of numbers or a text with ranges.
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
	var one int
	if json.Unmarshal(b, &one) == nil {
		return Numbers{{one, one}}, nil
	}
	var spans Numbers
	var many []int
	if json.Unmarshal(b, &many) == nil {
		for _, n := range many {
			spans = append(spans, Span{n, n})
		}
		return spans, nil
	}
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return nil, fmt.Errorf("nth %s: write 3, [1,4] or \"1-200\"", b)
	}
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(part, "-")
		first, err := strconv.Atoi(strings.TrimSpace(from))
		last := first
		if err == nil && isRange {
			last, err = strconv.Atoi(strings.TrimSpace(to))
		}
		if err != nil {
			return nil, fmt.Errorf("nth %q: write 3, [1,4] or \"1-200\"", text)
		}
		spans = append(spans, Span{first, last})
	}
	return spans, nil
}

// MarshalJSON writes the text with ranges.
func (ns Numbers) MarshalJSON() ([]byte, error) {
	parts := make([]string, 0, len(ns))
	for _, s := range ns {
		parts = append(parts, fmt.Sprintf("%d-%d", s.From, s.To))
	}
	return json.Marshal(strings.Join(parts, ","))
}

// Latency is the time from a request to its answer: between Min and Max. Max 0 means Min.
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

// String returns the text that ParseLatency reads.
func (l Latency) String() string {
	if l.Max <= l.Min {
		return l.Min.String()
	}
	return l.Min.String() + "-" + l.Max.String()
}

// Validate reports a range outside 0..1h, or one that ends before it begins.
func (l Latency) Validate() error {
	if l.Min < 0 || l.Max != 0 && l.Max < l.Min || l.Min > time.Hour || l.Max > time.Hour {
		return fmt.Errorf("latency %s-%s is not a range within 0..1h", l.Min, l.Max)
	}
	return nil
}

// Mean returns the middle of the range.
func (l Latency) Mean() time.Duration { return l.At(0.5) }

// At returns the latency that lies at a share of the range, from 0 to 1.
func (l Latency) At(share float64) time.Duration {
	return l.Min + time.Duration(share*float64(max(l.Max-l.Min, 0)))
}

// Nth returns the latency of the n-th request.
func (l Latency) Nth(seed uint64, n int) time.Duration { return l.At(Chance(seed, "latency", n)) }

// Hash mixes a seed and what it is used for into 64 bits. The result depends on the arguments alone, so the order in
// which goroutines arrive changes nothing.
func Hash(seed uint64, about ...any) uint64 {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, seed)
	for _, a := range about {
		_, _ = fmt.Fprintf(h, "\x00%v", a)
	}
	x := h.Sum64()
	x ^= x >> 33 // FNV's high bits are poor for short inputs
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return x
}

// Chance returns a number in [0, 1) that depends on its arguments alone.
func Chance(seed uint64, about ...any) float64 {
	return float64(Hash(seed, about...)>>11) / (1 << 53)
}
