package shared

import (
	"context"
	"errors"
	"time"

	"github.com/anivault/anivault/ratelimit/internal/core"
)

type detached struct {
	*core.Isolation
	why     error         // the last cause
	retryAt time.Duration // when it is worth trying again, since boot
	parts   int           // in how many parts everything is divided
	began   time.Time
	told    bool       // that it is alone
	store   core.Store // where the snapshot really is, shared by the processes of the machine; nil: here
}

// goAlone leaves the shared state because of why, with what was last seen of it (nil if nothing). Called again while
// alone, it only notes the new cause.
func (s *Store) goAlone(why error, last *core.Snapshot) {
	now := s.opts.Now()
	w := &StoreWarning{Event: s.eventOf(why), Path: s.opts.Place, Err: why}
	same := s.alone != nil && s.eventOf(s.alone.why) == w.Event
	if same && !s.alone.due(now) {
		s.alone.why = why
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
		s.detach(last, now)
	}
	a := s.alone
	a.why, a.parts, a.retryAt = why, w.Parts, now.Boot+RetryEvery
	if !same || !a.told {
		a.told = s.notes.warn(w)
	}
}

func (s *Store) detach(last *core.Snapshot, now core.Instant) {
	s.episodes++
	a := &detached{Isolation: core.NewIsolation(last, now, s.owner, s.episodes), parts: 1, began: time.Now()}
	s.alone = a
	if s.coordinator == nil {
		return
	}
	a.Coordinated = true
	if last != nil {
		a.Snapshot.Silent(now, s.lostFor())
	}
	if s.opts.Fallback == nil {
		return
	}
	a.store = s.opts.Fallback
	elsewhere := func(process string) bool { return s.coordinator.Machines([]string{process}) > 1 }
	_ = a.store.Update(context.Background(), func(at core.Instant, there *core.Snapshot) error {
		a.MoveTo(there, at, last, time.Since(s.seenAt), s.lostFor(), elsewhere)
		return nil
	})
}

func (s *Store) living() int {
	if n := s.Living(); n > 0 {
		return n
	}
	return s.opts.Processes
}

// mayReturn reports whether it is worth trying the shared state again. Whether a lock is free is seen at once.
func (s *Store) mayReturn() bool {
	if s.coordinator != nil && !errors.Is(s.alone.why, ErrNewer) {
		return s.coordinator.Back()
	}
	return errors.Is(s.alone.why, ErrBusy) || s.alone.due(s.opts.Now())
}

func (a *detached) due(now core.Instant) bool {
	return now.Boot >= a.retryAt || now.Boot < a.retryAt-RetryEvery
}

// lastSeen returns the newest snapshot that can be had without the backend's consent, nil if there is none.
func (s *Store) lastSeen() *core.Snapshot {
	if s.alone != nil {
		return nil
	}
	if s.before != nil { // newer than what is there
		last := s.before.Clone()
		return &last
	}
	var last core.Snapshot
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

// lostFor returns for how long the coordinator has not answered. Nobody here knows what the others were given before.
func (s *Store) lostFor() time.Duration {
	if lost := s.coordinator.Lost(); !lost.IsZero() {
		return time.Since(lost)
	}
	return 0
}

func (a *detached) look(ctx context.Context) {
	if a.store == nil {
		return
	}
	if at, there, err := core.ReadSnapshot(ctx, a.store); err == nil {
		a.Refresh(at, there)
	}
}

// machines returns in how many parts everything is divided without the coordinator: one for each machine last seen.
func (s *Store) machines(last *core.Snapshot) int {
	switch {
	case s.alone != nil:
		return s.alone.parts
	case last == nil:
		return s.opts.Processes
	case s.opts.Fallback == nil:
		return max(len(last.Users()), 2)
	}
	return max(s.coordinator.Machines(last.Users()), 2)
}

var errRefused = errors.New("function has panicked")

// runThere does the updates of a batch on the machine's own state, and notes what this process has to bring along.
func (a *detached) runThere(ctx context.Context, batch []*request) {
	for _, r := range batch {
		var did core.Changes
		err := a.store.Update(ctx, func(at core.Instant, there *core.Snapshot) error {
			at.Parts = max(at.Parts, 1) * a.parts
			r.err, r.panicked = nil, nil
			if did = core.TrackChanges(there, func() { r.call(at, there) }); r.panicked != nil {
				return errRefused
			}
			return r.err
		})
		if r.panicked == nil {
			r.err = err
		}
		if err == nil {
			a.Add(did)
		}
	}
}

// upNext returns the ticket that is next at an instant, where a coordinator wants to know whose turn it is.
func (s *Store) upNext(at core.Instant) uint64 {
	if s.coordinator == nil {
		return 0
	}
	ticket, _, _ := core.NextToWake(&s.snap, at)
	return ticket
}

// wakeNext tells the coordinator whose turn comes with what is about to be kept. before is the ticket that was next
// already.
func (s *Store) wakeNext(at core.Instant, before uint64) {
	if s.coordinator == nil {
		return
	}
	ticket, process, in := core.NextToWake(&s.snap, at)
	if ticket == before {
		process = ""
	}
	s.coordinator.WakeNext(process, in)
}
