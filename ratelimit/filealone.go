package ratelimit

// How a process goes on when the shared state cannot be reached: by itself, with a part of
// everything, on a copy of what it saw last; and how it finds back.

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// StoreWarning is what a [FileStore] tells about trouble with its files.
type StoreWarning struct {
	// Event is the kind: "lock_degraded" (another process holds the lock and does not
	// run), "state_corrupt" (the state was damaged and has been replaced), "state_newer" (a newer
	// version owns the state) or "state_unavailable" (the folder cannot be used).
	Event string
	// Path is the file or folder concerned; for state_corrupt where the damaged file is now.
	Path string
	// Parts is in how many parts the limits are divided from now on, 0 if they are not.
	Parts int
	// Err is the cause.
	Err error
}

// Error implements error.
func (w *StoreWarning) Error() string {
	switch w.Event {
	case "lock_degraded":
		return fmt.Sprintf("limiter lock in %s is held by a process that does not run; going on alone with 1/%d of the limits", w.Path, w.Parts)
	case "state_corrupt":
		return fmt.Sprintf("limiter state was damaged, starting carefully; kept as %s: %v", w.Path, w.Err)
	case "state_newer":
		return fmt.Sprintf("limiter state in %s is of a newer version; going on in memory with 1/%d of the limits; update anivault", w.Path, w.Parts)
	}
	return fmt.Sprintf("limiter state in %s cannot be shared; going on in memory with 1/%d of the limits: %v", w.Path, w.Parts, w.Err)
}

// Unwrap returns the cause.
func (w *StoreWarning) Unwrap() error { return w.Err }

// warnAgainAfter is how long warnings of one kind are not repeated.
const warnAgainAfter = time.Minute

// goAlone leaves the shared state because of cause, with what was last seen of it (nil if
// nothing). Called again while alone, it only notes the new cause.
func (s *FileStore) goAlone(now Instant, cause error, last *Snapshot) {
	w := &StoreWarning{Path: s.dir, Err: cause}
	switch {
	case errors.Is(cause, errLockBusy):
		w.Event, w.Parts = "lock_degraded", s.living()
	case errors.Is(cause, errFrameNewer):
		w.Event, w.Parts = "state_newer", 2
	default:
		w.Event, w.Parts = "state_unavailable", s.processes
	}
	s.trouble, s.parts, s.retryAt = cause, w.Parts, now.Boot+lookEvery
	if s.alone == nil {
		s.alone = leave(last, now, s.owner)
	}
	s.warn(now, w)
}

// updateAlone does the update on the process's own snapshot.
func (s *FileStore) updateAlone(fn func(Instant, *Snapshot) error) error {
	now := s.now()
	now.Parts = s.parts
	return fn(now, &s.alone.snap)
}

// Apart implements [Sharing].
func (s *FileStore) Apart() error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if s.alone == nil {
		return nil
	}
	return s.trouble
}

// mayReturn tells whether it is worth trying the shared state again: when the lock that
// was waited for has come free, and else each second.
func (s *FileStore) mayReturn() bool {
	now := s.now().Boot
	due := now >= s.retryAt || now < s.retryAt-lookEvery
	if s.lock != nil && s.lock.stuck() {
		if due {
			s.parts, s.retryAt = s.living(), now+lookEvery
		}
		return false
	}
	return due || errors.Is(s.trouble, errLockBusy)
}

// living counts the processes that share the folder: at least this one and the one that
// holds the lock.
func (s *FileStore) living() int {
	n, _, err := livingIn(s.dir)
	if err != nil {
		n = s.processes
	}
	return max(n, 2)
}

// lastSeen returns the newest snapshot that is to be had without the lock, nil if there is
// none. A copy that is being written meanwhile fails its checksum, and the other one serves.
func (s *FileStore) lastSeen() *Snapshot {
	if f, err := openRegular(s.statePath(), os.O_RDONLY, 0); err == nil {
		defer f.Close()
		c := copies{file: f}
		if payload, _, err := c.load(); err == nil {
			var snap Snapshot
			if snap.Decode(payload) == nil {
				return &snap
			}
		}
	}
	if s.seen {
		return &s.snap
	}
	return nil
}

func (s *FileStore) warn(now Instant, w *StoreWarning) {
	if last, ok := s.warned[w.Event]; ok && now.Boot >= last && now.Boot-last < warnAgainAfter {
		return
	}
	s.warned[w.Event] = now.Boot
	s.warnings = append(s.warnings, w)
}

func (s *FileStore) takeWarnings() []error {
	w := s.warnings
	s.warnings = nil
	return w
}

// tell passes warnings on; the caller has no turn and no lock.
func (s *FileStore) tell(warnings []error) {
	if s.onWarning == nil {
		return
	}
	for _, w := range warnings {
		s.onWarning(w)
	}
}
