package simulate

import (
	"time"

	"github.com/anivault/anivault/internal/upstream"
)

// Possible returns the number of good answers that a client could have who knows the scenario, never asks in vain and
// has so many slots: the upper bound of every client. What fails by chance counts by its probability, a latency by the
// middle of its range.
func Possible(
	s upstream.Scenario, limits upstream.Limits, latency upstream.Latency, slots int, length time.Duration,
) float64 {
	limits, s.Limits = withoutPenalty(limits), withoutPenalty(limitsOf(s, limits)).String()
	b, err := upstream.New(limits, 0)
	if err != nil || b.Apply(s, epoch) != nil || latency.Mean() <= 0 {
		return 0
	}
	var c clock
	good := 0.0
	end := epoch.Add(length)
	for range slots {
		var next func()
		next = func() {
			now := epoch.Add(c.now)
			if up := b.DownUntil(now, end); up.After(now) {
				c.plan(up.Sub(now), next)
				return
			}
			if ok, wait := b.Allow(now, client.IP); !ok {
				c.plan(max(wait, 100*time.Microsecond), next)
				return
			}
			chance, took := b.Expect(now, client, latency.Mean())
			if c.now+took <= length {
				good += chance
			}
			c.plan(took, next)
		}
		c.plan(0, next)
	}
	for at, ok := c.next(); ok && at < length; at, ok = c.next() {
		c.step()
	}
	return good
}

// limitsOf returns the limits of a scenario, the given ones if it has none.
func limitsOf(s upstream.Scenario, otherwise upstream.Limits) upstream.Limits {
	if s.Limits == "" {
		return otherwise
	}
	own, err := upstream.ParseLimits(s.Limits)
	if err != nil {
		return otherwise
	}
	return own
}

// withoutPenalty drops what only a refused client meets.
func withoutPenalty(l upstream.Limits) upstream.Limits {
	l.CountRejected, l.PenaltyAfter, l.PenaltyFor = false, 0, 0
	return l
}
