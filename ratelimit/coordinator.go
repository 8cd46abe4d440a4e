package ratelimit

import (
	"context"
	"errors"
	"time"
)

// look takes a copy of the machine's state, to bring it along.
func (a *detached) look(ctx context.Context) {
	if a.store == nil {
		return
	}
	if at, there, err := look(ctx, a.store); err == nil {
		a.Look(at, there)
	}
}

// machines returns in how many parts everything is divided without the coordinator: one for each machine last seen.
func (s *SharedStore) machines(last *Snapshot) int {
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

// move goes on in the machine's own state, with what was last seen of the shared one, nil if nothing ever was.
func (s *SharedStore) move(last *Snapshot) {
	a := s.alone
	a.store = s.opts.Fallback
	elsewhere := func(process string) bool { return s.coordinator.Machines([]string{process}) > 1 }
	_ = a.store.Update(context.Background(), func(at Instant, there *Snapshot) error {
		a.MoveTo(there, at, last, time.Since(s.seenAt), s.lostFor(), elsewhere)
		return nil
	})
}

// errRefused ends an update of the machine's state whose function has panicked.
var errRefused = errors.New("function has panicked")

// runThere does the updates of the batch on the machine's own state, and notes what this process has to bring along.
func (s *SharedStore) runThere(ctx context.Context) {
	for _, r := range s.batch {
		var did Deeds
		err := s.alone.store.Update(ctx, func(at Instant, there *Snapshot) error {
			at.Parts = max(at.Parts, 1) * s.alone.parts
			r.err, r.panicked = nil, nil
			if did = there.Watch(func() { r.call(at, there) }); r.panicked != nil {
				return errRefused
			}
			return r.err
		})
		if r.panicked == nil {
			r.err = err
		}
		if err == nil {
			s.alone.Add(did)
		}
	}
}

// wakeNext tells the coordinator whose turn comes with what is about to be kept. before is the ticket that was next already.
func (s *SharedStore) wakeNext(at Instant, before uint64) {
	if s.coordinator == nil {
		return
	}
	ticket, process, in := s.snap.UpNext(at)
	if ticket == before {
		process = ""
	}
	s.coordinator.WakeNext(process, in)
}

// nextBefore returns the ticket that is next at an instant, before anything is done.
func (s *SharedStore) nextBefore(at Instant) uint64 {
	if s.coordinator == nil {
		return 0
	}
	ticket, _, _ := s.snap.UpNext(at)
	return ticket
}

// noteCoordinator warns of what has just ended with a successful exchange.
func (s *SharedStore) noteCoordinator() {
	if s.coordinator == nil {
		return
	}
	if s.alone != nil && s.alone.told {
		s.notes.warn(&StoreWarning{Event: "coordinator_back", Path: s.opts.Place, Alone: time.Since(s.alone.began)})
	}
	if s.recalled {
		s.notes.warn(&StoreWarning{Event: "coordinator_state_lost", Path: s.opts.Place})
	}
}
