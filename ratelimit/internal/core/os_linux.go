package core

import (
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

func sinceBoot() (time.Duration, bool) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return 0, false
	}
	return time.Duration(ts.Nano()), true
}

var bootID = sync.OnceValue(func() string { return firstLine("/proc/sys/kernel/random/boot_id") })

func rawMachineID() string {
	if id := firstLine("/etc/machine-id"); id != "" {
		return id
	}
	return firstLine("/var/lib/dbus/machine-id")
}

func firstLine(path string) string {
	b, _ := os.ReadFile(path)
	line, _, _ := strings.Cut(string(b), "\n")
	return strings.TrimSpace(line)
}
