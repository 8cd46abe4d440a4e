package core

import (
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"time"
)

// Instant is one moment as a [Store] sees it, and what the store knows of the snapshot at that moment.
type Instant struct {
	Wall    time.Time     // for what people read and for the time that a machine was switched off
	Boot    time.Duration // time since boot, suspension included; elapsed time is measured with it
	BootID  string        // names the boot that Boot counts from; "" where it is unknown
	Machine string        // names the machine for as long as it lives; "" where it is unknown
	// Parts is in how many parts the upstream has to be divided because the snapshot is not shared with all its
	// users: rate, burst, ceiling and slots are divided by it. 0 and 1 mean that the snapshot is the whole truth.
	Parts int
	Lost  bool // something that was written before may be missing from the snapshot
}

// SystemInstant returns the present moment of this system. The time since boot and the names are the same for all
// its processes, so one of them can compare what another has written. It is what [OpenFileStore] uses.
func SystemInstant() Instant {
	now := Instant{Wall: time.Now(), BootID: bootID(), Machine: machineID()}
	boot, ok := sinceBoot()
	if !ok {
		// The wall clock is the only clock that all processes share here.
		boot, now.BootID = time.Duration(now.Wall.UnixNano()), "wall"
	}
	now.Boot = boot
	return now
}

// machineID is the system's own id, hashed: the id itself is nobody's business (machine-id(5)).
var machineID = sync.OnceValue(func() string {
	id := rawMachineID()
	if id == "" {
		return ""
	}
	sum := sha256.Sum256([]byte("limiter state of " + id))
	return hex.EncodeToString(sum[:8])
})

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
	now          Stamp
	wall         int64 // unix nanoseconds
	boot         time.Duration
	bootID       string
	machine      string
	refusedUntil int64 // unix nanoseconds until which no machine uses this state, because several did
}

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

// writtenElsewhere reports whether at is of another boot than the last update, or of another machine where boots have
// no names.
func (l *timeline) writtenElsewhere(at Instant) bool {
	return l.now != 0 && (at.BootID != l.bootID || at.BootID == "" && at.Machine != l.machine)
}

func (l *timeline) time(s Stamp) time.Time {
	if s == 0 {
		return time.Time{}
	}
	return time.Unix(0, l.wall+int64(s-l.now))
}
