package core

import (
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"time"
)

// Instant is a moment as a [Store] sees it, with what the store knows about the snapshot at that moment.
type Instant struct {
	Wall    time.Time     // the wall clock: for display, and to measure how long a machine was off
	Boot    time.Duration // the time since boot, suspends included; it measures elapsed time
	BootID  string        // identifies the boot that Boot counts from; "" if unknown
	Machine string        // identifies the machine; "" if unknown
	// Parts divides the limits if some users of the upstream do not share this snapshot; 0 and 1 mean that all do.
	Parts int
	Lost  bool // whether earlier writes may be missing from the snapshot
}

// SystemInstant returns the present moment. All processes of the machine get the same time since boot and the same ids,
// so their instants are comparable. The file store uses it.
func SystemInstant() Instant {
	now := Instant{Wall: time.Now(), BootID: bootID(), Machine: machineID()}
	boot, ok := sinceBoot()
	if !ok {
		// Without a time since boot, only the wall clock is common to all processes.
		boot, now.BootID = time.Duration(now.Wall.UnixNano()), "wall"
	}
	now.Boot = boot
	return now
}

// machineID returns a hash of the system's id. The id itself must not be exposed (machine-id(5)).
var machineID = sync.OnceValue(func() string {
	id := rawMachineID()
	if id == "" {
		return ""
	}
	sum := sha256.Sum256([]byte("limiter state of " + id))
	return hex.EncodeToString(sum[:8])
})

// Stamp is a moment of shared time, in roughly Unix nanoseconds (see [timeline]). The zero Stamp means "never".
type Stamp int64

func (s Stamp) add(d time.Duration) Stamp { return s + Stamp(d) }

func (s Stamp) sub(o Stamp) time.Duration { return time.Duration(s - o) }

// clockTolerance is how far the time since boot may advance ahead of the wall clock between two updates. If it advances
// further, it is a different clock, such as that of another container.
const clockTolerance = 2 * time.Second

// timeline is the shared clock that all times in a snapshot refer to.
//
// A wall clock jumps when somebody sets it. The time since boot does not jump, but starts again with every boot. So
// shared time begins as the wall clock at the first use and then advances with the time since boot, or across a reboot
// with the wall clock. It never runs backwards. Setting the system's clock therefore neither releases a flood of tokens
// nor blocks requests for hours.
type timeline struct {
	now          Stamp         // shared time at the last update
	wall         int64         // the wall clock at the last update, in Unix nanoseconds
	boot         time.Duration // the time since boot at the last update
	bootID       string        // the boot of the last writer
	machine      string        // the machine of the last writer
	refusedUntil int64         // Unix nanoseconds until which no machine may use this state, because several did
}

// advance moves shared time on to an instant. It reports whether the last update was before a reboot.
func (l *timeline) advance(at Instant) (rebooted bool) {
	wall := at.Wall.UnixNano()
	elapsed, byWall := at.Boot-l.boot, time.Duration(max(wall-l.wall, 0))
	boot := at.Boot
	switch {
	case l.now == 0:
		l.now = Stamp(max(wall, 1))
	case at.BootID != l.bootID, elapsed < 0 && at.BootID == "":
		l.now, rebooted = l.now.add(byWall), true
	case elapsed < -clockTolerance, elapsed > byWall+clockTolerance:
		l.now = l.now.add(byWall) // a different clock, or a jump that the wall clock does not confirm
	case elapsed < 0:
		boot = l.boot // a different clock that lags a little: shared time stands still until this clock catches up
	default:
		l.now = l.now.add(elapsed)
	}
	l.wall, l.boot, l.bootID, l.machine = wall, boot, at.BootID, at.Machine
	return rebooted
}

// writtenElsewhere reports whether the last update was in another boot or, without boot ids, on another machine.
func (l *timeline) writtenElsewhere(at Instant) bool {
	return l.now != 0 && (at.BootID != l.bootID || at.BootID == "" && at.Machine != l.machine)
}

func (l *timeline) wallTime(s Stamp) time.Time {
	if s == 0 {
		return time.Time{}
	}
	return time.Unix(0, l.wall+int64(s-l.now))
}
