package shared

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/anivault/anivault/ratelimit/internal/core"
)

const (
	// maxLooks bounds how often one update may have to find out who else lives.
	maxLooks = 4
)

var (
	// errWhoLives: change has to know who else lives, which only I/O can tell.
	errWhoLives = errors.New("who else lives is not known")
	// errSeveralMachines: machines that have no clock in common use one state.
	errSeveralMachines = errors.New("another machine uses the limiter's state as well")
)

// peers is who else lives.
type peers struct {
	known  bool
	others bool // somebody else lives
	users  bool // somebody who takes part in the state that was seen lives
}

// look finds out who else lives. Nothing is locked meanwhile.
func (s *Store) look() {
	users := s.snap.Users()
	s.peers = peers{known: true, others: s.Living() > 1, users: len(s.Dead(users)) < len(users)}
}

// exchange is what the store does to the bytes of the shared state, see [Backend].
func (s *Store) exchange(at core.Instant, old []byte) ([]byte, error) {
	s.decision = decision{began: s.decision.began}
	if s.decision.began.IsZero() {
		s.decision.began = time.Now()
	}
	for _, r := range s.batch {
		r.err, r.panicked = nil, nil
	}
	var next uint64
	for {
		if err := s.load(at, old); err != nil {
			return nil, err
		}
		if s.decision.refuses {
			break
		}
		next = s.nextBefore(at)
		changed, ok := s.apply(at)
		if !ok {
			continue
		}
		if !changed {
			return nil, nil
		}
		if old == nil && !at.Lost && !s.seen && !s.peers.known {
			return nil, errWhoLives
		}
		break
	}
	if !s.decision.refuses {
		s.snap.Touch(at)
		s.wakeNext(at, next)
	}
	s.next, _ = s.snap.AppendBinary(s.next[:0])
	s.decoded, s.decision.keep, s.decision.lost = false, true, at.Lost
	return s.next, nil
}

// apply calls the functions of the batch and reports whether there is something to keep. It isn't ok when a function
// has failed, and may have left something behind: then everything is done again without it.
func (s *Store) apply(at core.Instant) (changed, ok bool) {
	asked := s.decoded && s.alone == nil && s.stalled == 0 // nobody has touched snap
	s.decoded = false
	switch {
	case s.alone != nil:
		s.alone.Rejoin(&s.snap, at, s.owner, s.alone.parts)
	case s.coordinator != nil:
		if missed := s.coordinator.Missed(); !missed.IsZero() {
			asked = !core.Missed(&s.snap, at, time.Since(missed)) && asked
		}
	case s.stalled != 0:
		core.Doubt(&s.snap, at, s.stalled, s.owner)
	}
	for _, r := range s.batch {
		if r.failed() {
			continue
		}
		r.call(at, &s.snap)
		if r.failed() && len(s.batch) > 1 {
			return false, false
		}
		changed = changed || r.err == nil && r.panicked == nil
		asked = asked && errors.Is(r.err, core.ErrUnchanged)
	}
	s.decoded = asked
	return changed, true
}

// load makes snap what the shared bytes say, or what is to take their place.
func (s *Store) load(at core.Instant, old []byte) error {
	if old == nil {
		s.snap = s.first(at)
		return nil
	}
	if at.Lost && s.before == nil && s.seen {
		s.before = new(core.Snapshot)
		if s.before.Decode(s.known) != nil {
			s.before = nil
		}
	}
	if !s.decoded || !bytes.Equal(old, s.known) {
		if err := s.decode(old); err != nil {
			return err
		}
	}
	if err := s.admit(at); err != nil || s.decision.refuses {
		return err
	}
	if at.Lost {
		if s.before != nil {
			core.Recall(&s.snap, s.before, at, s.owner)
			s.decision.recalled = true
		}
		core.Uncertain(&s.snap, at)
		s.decoded = false
	}
	return nil
}

func (s *Store) decode(old []byte) error {
	s.decoded, s.seen = false, false
	var version *core.SnapshotVersionError
	switch err := s.snap.Decode(old); {
	case errors.As(err, &version) && version.Version > core.SnapshotVersion:
		return fmt.Errorf("%w: %w", ErrNewer, err)
	case err != nil:
		// Its checksum holds, so this is no accident of the disk; an older copy is no better.
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if !bytes.Equal(old, s.known) {
		s.known, s.seenAt = append(s.known[:0], old...), time.Now()
	}
	s.decoded, s.seen = true, true
	return nil
}

// first is what a missing or damaged state is replaced by. A process that has seen the state before it was removed
// knows more than nothing: what it saw is written back, with care.
func (s *Store) first(at core.Instant) core.Snapshot {
	s.decoded = false
	if at.Lost {
		return core.NewCautiousSnapshot(at)
	}
	var last core.Snapshot
	if s.seen && last.Decode(s.known) == nil {
		s.decision.recalled = true
		return core.NewRestoredSnapshot(&last, at)
	}
	fresh := core.NewSnapshot(at)
	if s.peers.others {
		core.Uncertain(&fresh, at) // they have sent something; the state was removed behind their backs
	}
	return fresh
}

// admit decides whether this machine may use the state that snap was loaded from. A state belongs to one machine:
// others count time since a boot of their own, so each change of hands would be a reboot, which voids the slots and
// evidence of the machine before. Whoever sees two of them notes it in the state, and both refuse it for a while.
func (s *Store) admit(at core.Instant) error {
	if core.IsRefused(&s.snap, at) {
		return errSeveralMachines
	}
	if !core.IsForeign(&s.snap, at) {
		return nil
	}
	if !s.wrote { // else a boot that this process lives in was replaced, which is no reboot
		if !s.peers.known {
			return errWhoLives
		}
		if !s.peers.users && core.IsOf(&s.snap, at.Machine) {
			return nil
		}
	}
	core.Refuse(&s.snap, at)
	s.decision.refuses = true
	return nil
}
