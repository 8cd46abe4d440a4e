package ratelimit

import "time"

// Stamp is a moment of shared time in nanoseconds, about those since 1970. The zero Stamp means "never".
type Stamp int64

func (s Stamp) add(d time.Duration) Stamp { return s + Stamp(d) }

func (s Stamp) sub(o Stamp) time.Duration { return time.Duration(s - o) }

// clockSlack is by how much the time since boot may run ahead of the wall clock from one update to the next. By more
// it is another count of it, such as that of another container.
const clockSlack = 2 * time.Second

// timeline carries shared time from one update to the next.
//
// Wall clocks are set and jump; the time since boot does not, but starts again with every boot. So shared time is the
// wall clock at the first use, from then on advances with the time since boot, and over a reboot with the wall clock.
// It never runs backwards. All times in a snapshot are shared times: setting the clock neither frees a flood of
// tokens nor blocks anybody for hours.
type timeline struct {
	now     Stamp
	wall    int64 // unix nanoseconds
	boot    time.Duration
	bootID  string
	machine string
	refused int64 // unix nanoseconds until which no machine uses this state, because several did
}

// advance moves shared time to the instant. It reports whether the machine was started again in between.
func (l *timeline) advance(at Instant) (rebooted bool) {
	wall := at.Wall.UnixNano()
	elapsed, byWall := at.Boot-l.boot, time.Duration(max(wall-l.wall, 0))
	boot := at.Boot
	switch {
	case l.now == 0:
		l.now = Stamp(max(wall, 1))
	case at.BootID != l.bootID, elapsed < 0 && at.BootID == "":
		l.now, rebooted = l.now.add(byWall), true
	case elapsed < -clockSlack, elapsed > byWall+clockSlack:
		l.now = l.now.add(byWall) // another count, or a leap that the wall clock doesn't confirm
	case elapsed < 0:
		boot = l.boot // another count that lags a little: time stands still until it has caught up
	default:
		l.now = l.now.add(elapsed)
	}
	l.wall, l.boot, l.bootID, l.machine = wall, boot, at.BootID, at.Machine
	return rebooted
}

// foreign reports whether at is of another boot than the last update, or of another machine where boots have no names.
func (l *timeline) foreign(at Instant) bool {
	return l.now != 0 && (at.BootID != l.bootID || at.BootID == "" && at.Machine != l.machine)
}

// time converts a shared time into the wall clock of the last update.
func (l *timeline) time(s Stamp) time.Time {
	if s == 0 {
		return time.Time{}
	}
	return time.Unix(0, l.wall+int64(s-l.now))
}
