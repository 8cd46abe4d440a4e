package core

import (
	"strconv"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

var queryInterruptTime = windows.NewLazySystemDLL("kernelbase.dll").NewProc("QueryInterruptTimePrecise")

// sinceBoot returns the time since boot, time asleep included, to 100 ns (to milliseconds before Windows 10).
func sinceBoot() (time.Duration, bool) {
	if queryInterruptTime.Find() != nil {
		return windows.DurationSinceBoot(), true
	}
	var t uint64
	_, _, _ = queryInterruptTime.Call(uintptr(unsafe.Pointer(&t))) // returns nothing
	return time.Duration(t) * 100, true
}

// timeOfDay is SYSTEM_TIMEOFDAY_INFORMATION. Its times are in units of 100 ns.
type timeOfDay struct {
	BootTime      int64
	CurrentTime   int64
	TimeZoneBias  int64
	TimeZoneID    uint32
	_             uint32
	BootTimeBias  uint64
	SleepTimeBias uint64
}

// bootID returns the boot time as it was before any later correction of the clock, which identifies the boot.
var bootID = sync.OnceValue(func() string {
	var t timeOfDay
	err := windows.NtQuerySystemInformation(windows.SystemTimeOfDayInformation,
		unsafe.Pointer(&t), uint32(unsafe.Sizeof(t)), nil)
	if err != nil {
		return ""
	}
	return strconv.FormatInt(t.BootTime-int64(t.BootTimeBias), 36)
})

func rawMachineID() string {
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, `SOFTWARE\Microsoft\Cryptography`,
		registry.QUERY_VALUE|registry.WOW64_64KEY)
	if err != nil {
		return ""
	}
	defer key.Close()
	id, _, err := key.GetStringValue("MachineGuid")
	if err != nil {
		return ""
	}
	return id
}
