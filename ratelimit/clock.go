package ratelimit

import "time"

// This file decides what time it is for processes that share a snapshot.
//
// Wall clocks are set, jump and run backwards; the time since boot does not,
// but starts again with every boot. Shared time is the wall clock at the first
// use and from then on advances with the time since boot, and over a reboot
// with the wall clock. It never runs backwards. All times in a snapshot are
// shared times, so that setting the clock neither frees a flood of tokens nor
// blocks anybody for hours.

// Instant is one moment as a [Store] sees it.
type Instant struct {
	// Wall is the wall clock, for what people read and for the time a machine was switched off.
	Wall time.Time
	// Boot is the time since boot, suspension included. It is what elapsed
	// time is measured with.
	Boot time.Duration
	// BootID names the boot that Boot counts from. With another one, Boot
	// cannot be compared and everything that was under way has died.
	BootID string
	// Parts is in how many parts the upstream has to be divided because the
	// snapshot is not shared with all its users: rate, burst, ceiling and slots are
	// divided by it. 0 and 1 mean that the snapshot is the whole truth.
	Parts int
}

// Stamp is a moment of shared time in nanoseconds, about those since 1970.
// The zero Stamp means "never".
type Stamp int64

func (s Stamp) add(d time.Duration) Stamp { return s + Stamp(d) }

func (s Stamp) sub(o Stamp) time.Duration { return time.Duration(s - o) }

// timeline carries shared time from one update to the next.
type timeline struct {
	now    Stamp
	wall   int64 // unix nanoseconds
	boot   time.Duration
	bootID string
}

// advance moves shared time to the instant. It reports whether the machine
// was started again in between.
func (c *timeline) advance(at Instant) (rebooted bool) {
	wall := at.Wall.UnixNano()
	switch {
	case c.now == 0:
		c.now = Stamp(max(wall, 1))
	case at.BootID == c.bootID && at.Boot >= c.boot:
		c.now += Stamp(at.Boot - c.boot)
	default:
		c.now += Stamp(max(wall-c.wall, 0))
		rebooted = true
	}
	c.wall, c.boot, c.bootID = wall, at.Boot, at.BootID
	return rebooted
}

// time converts a shared time into the wall clock of the last update.
func (c *timeline) time(s Stamp) time.Time {
	if s == 0 {
		return time.Time{}
	}
	return time.Unix(0, c.wall+int64(s-c.now))
}
