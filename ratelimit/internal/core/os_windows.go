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

// sinceBoot returns the time since the system started, suspended time included: the interrupt time in steps of
// 100 ns, before Windows 10 the tick count in milliseconds.
func sinceBoot() (time.Duration, bool) {
	if queryInterruptTime.Find() != nil {
		return windows.DurationSinceBoot(), true
	}
	var t uint64
	_, _, _ = queryInterruptTime.Call(uintptr(unsafe.Pointer(&t))) // returns nothing
	return time.Duration(t) * 100, true
}

type timeOfDay struct {
	BootTime      int64
	CurrentTime   int64
	TimeZoneBias  int64
	TimeZoneID    uint32
	_             uint32
	BootTimeBias  uint64
	SleepTimeBias uint64
}

// bootID names this start of the system: its boot time before any later correction of the clock.
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
