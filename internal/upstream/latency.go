package upstream

import (
	"fmt"
	"strings"
	"time"
)

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
