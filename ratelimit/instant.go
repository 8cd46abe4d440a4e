package ratelimit

import "time"

// SystemInstant returns the present moment of this system: the wall clock, the time since
// boot with suspended time included, and the name of this boot. The time since boot
// and the name are the same for all processes of the system, so that what one of them
// wrote down another can compare. It is what a [FileStore] uses.
func SystemInstant() Instant {
	now := Instant{Wall: time.Now(), BootID: bootID()}
	boot, ok := sinceBoot()
	if !ok {
		// The wall clock is the only clock all processes share here.
		boot, now.BootID = time.Duration(now.Wall.UnixNano()), "wall"
	}
	now.Boot = boot
	return now
}
