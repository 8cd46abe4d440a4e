package ratelimit

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// sinceBoot returns the time since the system started. Darwin's CLOCK_MONOTONIC goes on
// while the system sleeps (clock_gettime(3)).
func sinceBoot() (time.Duration, bool) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0, false
	}
	return time.Duration(ts.Nano()), true
}

// bootID names this start of the system; "" where it is unknown.
var bootID = sync.OnceValue(func() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
})
