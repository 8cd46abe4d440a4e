package upstream

import (
	"encoding/json"
	"fmt"
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
