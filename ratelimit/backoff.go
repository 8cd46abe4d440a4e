package ratelimit

import (
	"math"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// This file decides how long to wait where the upstream does not say: full
// jitter, U(0, min(30 s, 1.5 s * 2^(n-1))) before the n-th repetition.

const (
	backoffBase = 1500 * time.Millisecond
	backoffCap  = 30 * time.Second
	minPause    = time.Second // a pause is never shorter
	sleepJitter = 0.1         // share of a Sleep that is added by chance
)

// fullJitter returns the n-th wait for a draw in [0,1).
func fullJitter(n int, draw float64) time.Duration {
	limit := min(float64(backoffBase)*math.Pow(2, float64(n-1)), float64(backoffCap))
	return time.Duration(draw * limit)
}

// newBackOff returns the same waits as a sequence for the retries of one
// request: backoff draws from its interval plus or minus all of it.
func newBackOff() *backoff.ExponentialBackOff {
	return backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(backoffBase/2),
		backoff.WithMultiplier(2),
		backoff.WithRandomizationFactor(1),
		backoff.WithMaxInterval(backoffCap/2),
		backoff.WithMaxElapsedTime(0),
	)
}
