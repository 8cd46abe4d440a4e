package core

import (
	"encoding/hex"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sinceBoot returns the time since boot. Darwin's CLOCK_MONOTONIC includes time asleep (clock_gettime(3)).
func sinceBoot() (time.Duration, bool) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0, false
	}
	return time.Duration(ts.Nano()), true
}

var bootID = sync.OnceValue(func() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
})

func rawMachineID() string {
	var id [16]byte
	wait := unix.Timespec{Sec: 1}
	_, _, errno := unix.Syscall(unix.SYS_GETHOSTUUID, uintptr(unsafe.Pointer(&id)), uintptr(unsafe.Pointer(&wait)), 0)
	if errno != 0 {
		return ""
	}
	return hex.EncodeToString(id[:])
}
