//go:build dragonfly || freebsd || netbsd || openbsd

package ratelimit

import (
	"time"

	"golang.org/x/sys/unix"
)

// sinceBoot returns the system's monotonic clock, which all its processes share.
func sinceBoot() (time.Duration, bool) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0, false
	}
	return time.Duration(ts.Nano()), true
}

// bootID is unknown here; a clock that went back tells of a restart.
func bootID() string { return "" }
