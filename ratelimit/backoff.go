package ratelimit

import (
	"time"

	"github.com/cenkalti/backoff/v4"
)

const (
	backoffBase = 1500 * time.Millisecond
	backoffCap  = 30 * time.Second
	minPause    = time.Second // a pause is never shorter
	sleepJitter = 0.1         // share of a Sleep that is added by chance
)

// fullJitter returns the wait before the n-th repetition where the upstream doesn't say how long, for a draw in
// [0,1): U(0, min(30 s, 1.5 s * 2^(n-1))).
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
