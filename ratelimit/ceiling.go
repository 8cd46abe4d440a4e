package ratelimit

import "time"

// maxGrants is the largest number of grants that are remembered, and so the largest Tuning.Ceiling.
const maxGrants = 400

// ceiling is the limit on the permits of any rolling window, whatever the bucket holds. A bucket of 35 that refills at
// 35 a second lets 70 requests through in its first second; the upstream does not.
type ceiling struct {
	grants []Stamp // the newest grants, oldest first
	// unknownSince is the moment up to which grants may be missing, 0 if none are. Nothing is granted until those have
	// left the window.
	unknownSince Stamp
	// doubted is when room was last made for what processes may have granted alone, see Snapshot.doubt.
	doubted Stamp
}

// wait returns how long it takes until fewer than limit grants lie within the window.
func (c *ceiling) wait(now Stamp, limit int, window time.Duration) time.Duration {
	var wait time.Duration
	if c.unknownSince != 0 {
		wait = max(c.unknownSince.add(window).sub(now), 0)
	}
	if n := len(c.grants); n >= limit {
		wait = max(wait, c.grants[n-limit].add(window).sub(now))
	}
	return wait
}

// add remembers a grant, and forgets the grants that have left the window.
func (c *ceiling) add(now Stamp, window time.Duration) {
	drop := max(len(c.grants)+1-maxGrants, 0)
	for drop < len(c.grants) && now.sub(c.grants[drop]) >= window {
		drop++
	}
	if drop > 0 {
		c.grants = c.grants[:copy(c.grants, c.grants[drop:])]
	}
	c.grants = append(c.grants, now)
	if c.unknownSince != 0 && now.sub(c.unknownSince) >= window {
		c.unknownSince = 0
	}
}

// within counts the grants of the window that ends now.
func (c *ceiling) within(now Stamp, window time.Duration) int {
	n := 0
	for i := len(c.grants) - 1; i >= 0 && now.sub(c.grants[i]) < window; i-- {
		n++
	}
	return n
}
