package simulate

import (
	"time"

	"github.com/anivault/anivault/internal/tmdbfake"
)

// This file decides what the best client of all could have had: the measure of every other.

// Possible returns how many good answers somebody could have who knows the script, never asks in vain, and has so
// many slots. What fails by chance counts by its probability; a latency is the middle of its range.
func Possible(s Script, limits tmdbfake.Limits, latency tmdbfake.Latency, slots int, length time.Duration) float64 {
	limits.CountRejected, limits.PenaltyAfter = false, 0 // who is never refused meets neither
	if s.Limits != "" {
		if own, err := tmdbfake.ParseLimits(s.Limits); err == nil {
			own.CountRejected, own.PenaltyAfter = false, 0
			limits, s.Limits = own, ""
		}
	}
	u, err := NewUpstream(s, limits, latency, 0)
	if err != nil || slots < 1 || u.mean() <= 0 {
		return 0
	}
	var c clock
	good := 0.0
	for range slots {
		var next func()
		next = func() {
			if end := u.hopeless(c.now, length); end > c.now {
				c.plan(end-c.now, next)
				return
			}
			if ok, wait := u.allow(c.now); !ok {
				c.plan(max(wait, 100*time.Microsecond), next)
				return
			}
			chance, took := u.expect(c.now)
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

// hopeless returns until when every request fails, or now.
func (u *Upstream) hopeless(now, length time.Duration) time.Duration {
	until := now
	for i := range u.script.Faults {
		f := &u.script.Faults[i]
		if f.lasts(now) && f.chance() == 1 && len(f.Nth) == 0 && f.Every <= 1 {
			end := f.To
			if end == 0 {
				end = length
			}
			until = max(until, end)
		}
	}
	return until
}

// expect counts a request and returns how likely it is to succeed, and how long it takes.
func (u *Upstream) expect(now time.Duration) (chance float64, took time.Duration) {
	chance, took = 1, u.mean()
	for i := range u.script.Faults {
		f := &u.script.Faults[i]
		if !f.lasts(now) {
			continue
		}
		took = f.slow(took)
		if u.due(i) {
			chance *= 1 - f.chance()
		}
	}
	return chance, took
}
