package shared

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/anivault/anivault/ratelimit/internal/core"
)

const maxLooks = 4

var (
	// errWhoLives: it has to be known who else lives, which only I/O can tell.
	errWhoLives = errors.New("who else lives is not known")
	// errSeveralMachines: machines that have no clock in common use one state.
	errSeveralMachines = errors.New("another machine uses the limiter's state as well")
)

type peers struct {
	known  bool
	others bool // somebody else lives
	users  bool // somebody who takes part in the state that was seen lives
}

type result struct {
	wrote    bool // there is something to keep
	refused  bool // that is a note which refuses the place to several machines
	lost     bool // what it was made of may have lacked something
	recalled bool // what was lost was brought back
}

// runShared does the updates of a batch on the shared state. It returns why that can't be reached.
func (s *Store) runShared(ctx context.Context, batch []*request) (trouble error) {
	if s.alone != nil {
		s.alone.look(ctx)
	}
	var lives peers
	for range maxLooks {
		var done result
		var began time.Time // when the lock was had
		start := time.Now()
		err := s.backend.Exchange(ctx, func(at core.Instant, old []byte) (next []byte, err error) {
			if began.IsZero() {
				began = time.Now()
			}
			next, done, err = s.exchange(at, old, batch, lives)
			return next, err
		})
		switch {
		case errors.Is(err, errWhoLives): // nothing is locked now
			users := s.snap.Users()
			lives = peers{known: true, others: s.Living() > 1, users: len(s.Dead(users)) < len(users)}
			continue
		case err != nil && done.wrote && !done.refused && s.coordinator == nil:
			s.goAlone(err, &s.snap) // the decisions hold: they were made with the lock held
			return nil
		case err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()):
			fail(batch, err)
			return nil
		case err != nil:
			return err
		case done.refused:
			return errSeveralMachines
		}
		now := time.Now()
		s.took = now.Sub(start)
		s.slow(start, now)
		if done.wrote {
			s.written(done, now)
			if now.Sub(began) >= s.opts.Patience && s.coordinator == nil { // a coordinator takes the turn away instead
				s.stalled = s.snap.Now()
			}
		}
		return nil
	}
	return errors.New("the limiter's state is replaced all the time")
}

func (s *Store) written(done result, now time.Time) {
	if q, ok := s.backend.(Quarantine); ok && done.lost {
		s.noteAside(q)
	}
	if s.coordinator != nil {
		if s.alone != nil && s.alone.told {
			s.notes.warn(&StoreWarning{Event: "coordinator_back", Path: s.opts.Place, Alone: time.Since(s.alone.began)})
		}
		if done.recalled {
			s.notes.warn(&StoreWarning{Event: "coordinator_state_lost", Path: s.opts.Place})
		}
	}
	s.known, s.spare, s.seenAt = s.spare, s.known, now
	s.wrote, s.seen, s.decoded = true, true, true
	s.alone, s.stalled, s.before = nil, 0, nil
}

// exchange does the updates of a batch on the bytes of the shared state, and returns what to keep; see [Backend].
func (s *Store) exchange(at core.Instant, old []byte, batch []*request, lives peers) ([]byte, result, error) {
	for _, r := range batch {
		r.err, r.panicked = nil, nil
	}
	for {
		done, err := s.load(at, old, lives)
		if err != nil {
			return nil, done, err
		}
		if !done.refused {
			next := s.upNext(at)
			changed, ok := s.apply(at, batch)
			switch {
			case !ok:
				continue
			case !changed:
				return nil, done, nil
			case old == nil && !at.Lost && !s.seen && !lives.known:
				return nil, done, errWhoLives
			}
			s.snap.Touch(at)
			s.wakeNext(at, next)
		}
		s.spare, _ = s.snap.AppendBinary(s.spare[:0])
		s.decoded, done.wrote, done.lost = false, true, at.Lost
		return s.spare, done, nil
	}
}

// apply calls the functions of a batch and reports whether there is something to keep. It isn't ok when a function
// has failed, and may have left something behind: then everything is done again without it.
func (s *Store) apply(at core.Instant, batch []*request) (changed, ok bool) {
	asked := s.decoded && s.alone == nil && s.stalled == 0 // nobody has touched snap
	s.decoded = false
	switch {
	case s.alone != nil:
		s.alone.Rejoin(&s.snap, at, s.owner, s.alone.parts)
	case s.coordinator != nil:
		if missed := s.coordinator.Missed(); !missed.IsZero() {
			asked = !core.PauseAfterOutage(&s.snap, at, time.Since(missed)) && asked
		}
	case s.stalled != 0:
		core.ReserveForOthers(&s.snap, at, s.stalled, s.owner)
	}
	for _, r := range batch {
		if r.failed() {
			continue
		}
		r.call(at, &s.snap)
		if r.failed() && len(batch) > 1 {
			return false, false
		}
		changed = changed || r.err == nil && r.panicked == nil
		asked = asked && errors.Is(r.err, core.ErrUnchanged)
	}
	s.decoded = asked
	return changed, true
}

func (s *Store) load(at core.Instant, old []byte, lives peers) (done result, err error) {
	if old == nil {
		done.recalled = s.first(at, lives)
		return done, nil
	}
	if at.Lost && s.before == nil && s.seen {
		s.before = new(core.Snapshot)
		if s.before.Decode(s.known) != nil {
			s.before = nil
		}
	}
	if !s.decoded || !bytes.Equal(old, s.known) {
		if err := s.decode(old); err != nil {
			return done, err
		}
	}
	if done.refused, err = s.refuses(at, lives); err != nil || done.refused {
		return done, err
	}
	if at.Lost {
		if s.before != nil {
			core.RestoreLost(&s.snap, s.before, at, s.owner)
			done.recalled = true
		}
		core.MarkUncertain(&s.snap, at)
		s.decoded = false
	}
	return done, nil
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

// first makes snap what replaces a missing or damaged state. A process that has seen the state before it was removed
// knows more than nothing: it recalls what it saw, with care.
func (s *Store) first(at core.Instant, lives peers) (recalled bool) {
	s.decoded = false
	if at.Lost {
		s.snap = core.NewCautiousSnapshot(at)
		return false
	}
	var last core.Snapshot
	if s.seen && last.Decode(s.known) == nil {
		s.snap = core.NewRestoredSnapshot(&last, at)
		return true
	}
	s.snap = core.NewSnapshot(at)
	if lives.others {
		core.MarkUncertain(&s.snap, at) // they have sent something; the state was removed behind their backs
	}
	return false
}

// refuses reports whether this machine may not use the state that snap was loaded from, and notes that in it. A state
// belongs to one machine: others count time since a boot of their own, so each change of hands would be a reboot, which
// voids the slots and evidence of the machine before. Whoever sees two of them notes it in the state, and both refuse
// it for a while.
func (s *Store) refuses(at core.Instant, lives peers) (bool, error) {
	if core.IsRefused(&s.snap, at) {
		return false, errSeveralMachines
	}
	if !core.IsForeign(&s.snap, at) {
		return false, nil
	}
	if !s.wrote { // else a boot that this process lives in was replaced, which is no reboot
		if !lives.known {
			return false, errWhoLives
		}
		if !lives.users && core.IsWrittenBy(&s.snap, at.Machine) {
			return false, nil
		}
	}
	core.Refuse(&s.snap, at)
	return true, nil
}
