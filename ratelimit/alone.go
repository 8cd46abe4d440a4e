package ratelimit

import (
	"errors"
	"time"
)

// goAlone leaves the shared state because of cause, with what was last seen of it (nil if nothing). Called again while
// alone, it only notes the new cause.
func (s *SharedStore) goAlone(cause error, last *Snapshot) {
	now := s.opts.Now()
	w := &StoreWarning{Event: s.eventOf(cause), Path: s.opts.Place, Err: cause}
	same := s.alone != nil && s.eventOf(s.trouble) == w.Event
	s.trouble = cause
	if same && !s.due(now) {
		return
	}
	switch w.Event {
	case "coordinator_lost":
		w.Parts = s.machines(last)
	case "lock_degraded":
		w.Parts = max(s.living(), 2)
	case "state_newer":
		w.Parts = 2
		if s.coordinator != nil {
			w.Parts = s.machines(last)
		}
	case "state_shared":
		w.Parts = max(s.living(), s.opts.Processes)
	default:
		w.Parts = s.opts.Processes
	}
	if s.alone == nil {
		s.episodes++
		s.alone = &detached{Absence: NewAbsence(last, now, s.owner, s.episodes), parts: 1, began: time.Now()}
		s.alone.Coordinated = s.coordinator != nil
		if s.alone.Coordinated && last != nil {
			s.alone.Snapshot.Silent(now, s.lostFor())
		}
		if s.alone.Coordinated && s.opts.Fallback != nil {
			s.move(last)
		}
	}
	s.alone.parts, s.retryAt = w.Parts, now.Boot+retryEvery
	if !same || !s.alone.told {
		s.alone.told = s.notes.warn(w)
	}
}

// living counts the processes that share the state, this one included.
func (s *SharedStore) living() int {
	if n := s.Living(); n > 0 {
		return n
	}
	return s.opts.Processes
}

// mayReturn reports whether it is worth trying the shared state again. Whether a lock is free is seen at once.
func (s *SharedStore) mayReturn() bool {
	if s.coordinator != nil && !errors.Is(s.trouble, ErrNewer) {
		return s.coordinator.Back()
	}
	return errors.Is(s.trouble, ErrBusy) || s.due(s.opts.Now())
}

func (s *SharedStore) due(now Instant) bool {
	return now.Boot >= s.retryAt || now.Boot < s.retryAt-retryEvery
}

// lastSeen returns the newest snapshot that can be had without the backend's consent, nil if there is none.
func (s *SharedStore) lastSeen() *Snapshot {
	if s.alone != nil {
		return nil
	}
	if s.before != nil { // newer than what is there
		last := s.before.Clone()
		return &last
	}
	var last Snapshot
	if l, ok := s.backend.(Leaver); ok {
		if old := l.Leave(); old != nil && last.Decode(old) == nil {
			return &last
		}
	}
	if s.seen && last.Decode(s.known) == nil {
		return &last
	}
	return nil
}

// detached is a process that is cut off from the others.
type detached struct {
	*Absence
	parts int // in how many parts everything is divided
	began time.Time
	told  bool  // that it is alone
	store Store // where the snapshot really is, shared by the processes of the machine; nil: here
}

// lostFor returns for how long the coordinator has not answered. Nobody here knows what the others were given before.
func (s *SharedStore) lostFor() time.Duration {
	if lost := s.coordinator.Lost(); !lost.IsZero() {
		return time.Since(lost)
	}
	return 0
}
