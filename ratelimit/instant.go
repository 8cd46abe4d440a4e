package ratelimit

import (
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"time"
)

// Instant is one moment as a [Store] sees it, and what the store knows of the snapshot at that moment.
type Instant struct {
	// Wall is the wall clock, for what people read and for the time that a machine was switched off.
	Wall time.Time
	// Boot is the time since boot, suspension included. Elapsed time is measured with it.
	Boot time.Duration
	// BootID names the boot that Boot counts from; "" where it is unknown.
	BootID string
	// Machine names the machine for as long as it lives; "" where it is unknown.
	Machine string
	// Parts is in how many parts the upstream has to be divided because the snapshot is not shared with all its
	// users: rate, burst, ceiling and slots are divided by it. 0 and 1 mean that the snapshot is the whole truth.
	Parts int
	// Lost reports that something that was written before may be missing from the snapshot.
	Lost bool
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
	id := systemID()
	if id == "" {
		return ""
	}
	sum := sha256.Sum256([]byte("limiter state of " + id))
	return hex.EncodeToString(sum[:8])
})
