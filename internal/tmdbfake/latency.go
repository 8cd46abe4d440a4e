// This file decides how long an answer takes that nothing is wrong with.

package tmdbfake

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Latency is the time from a request to its answer: between Min and Max,
// chosen by the seed; Max 0 is Min.
type Latency struct{ Min, Max time.Duration }

// ParseLatency reads "75ms" or "17ms-154ms"; "" is none.
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

// Validate reports a latency that cannot be.
func (l Latency) Validate() error {
	if l.Min < 0 || l.Max != 0 && l.Max < l.Min || l.Min > time.Hour || l.Max > time.Hour {
		return fmt.Errorf("latency %s-%s is no range within 0..1h", l.Min, l.Max)
	}
	return nil
}

// of gives the latency of the n-th request.
func (l Latency) of(seed uint64, n int) time.Duration {
	if l.Max <= l.Min {
		return l.Min
	}
	return l.Min + time.Duration(chance(seed, "latency", n)*float64(l.Max-l.Min))
}

// pause waits, or less when ctx ends; it reports whether it waited to the end.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
