//go:build dragonfly || freebsd || openbsd

package core

import (
	"time"

	"golang.org/x/sys/unix"
)

func sinceBoot() (time.Duration, bool) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0, false
	}
	return time.Duration(ts.Nano()), true
}

// bootID returns "", because these systems have no boot id. A time since boot that runs backwards means a reboot.
func bootID() string { return "" }

func rawMachineID() string {
	for _, name := range []string{"kern.hostuuid", "hw.uuid"} {
		if id, err := unix.Sysctl(name); err == nil && id != "" {
			return id
		}
	}
	return ""
}
