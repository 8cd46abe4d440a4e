package shared

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/anivault/anivault/ratelimit/internal/core"
)

const maxAttempts = 4

var (
	// errNeedLiveness means that the update needs to know which other processes are alive, which takes I/O.
	errNeedLiveness = errors.New("who else lives is not known")
	// errSeveralMachines means that machines without a common clock use one state.
	errSeveralMachines = errors.New("another machine uses the limiter's state as well")
)

type peers struct {
	known       bool
	othersAlive bool // another process is alive
	usersAlive  bool // a process listed in the state is alive
}

type result struct {
	wrote         bool // there are bytes to write
	markedForeign bool // they only mark the state as used by several machines
	lost          bool // the state they continue may lack something
	restored      bool // lost state was restored
}

// runShared runs a batch on the shared state. It returns an error if that can't be used.
func (s *Store) runShared(ctx context.Context, batch []*request) (trouble error) {
	if s.alone != nil {
		s.alone.refreshFallback(ctx)
	}
	var lives peers
	for range maxAttempts {
		var done result
		var began time.Time // when the lock was acquired
		start := time.Now()
		err := s.backend.Exchange(ctx, func(at core.Instant, old []byte) (next []byte, err error) {
			if began.IsZero() {
				began = time.Now()
			}
			next, done, err = s.exchange(at, old, batch, lives)
			return next, err
		})
		switch {
		case errors.Is(err, errNeedLiveness): // nothing is locked now
			users := s.snap.Users()
			lives = peers{known: true, othersAlive: s.Living() > 1, usersAlive: len(s.Dead(users)) < len(users)}
			continue
		case err != nil && done.wrote && !done.markedForeign && s.coordinator == nil:
			s.goAlone(err, &s.snap) // the decisions hold: they were made with the lock held
			return nil
		case err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()):
			fail(batch, err)
			return nil
		case err != nil:
			return err
		case done.markedForeign:
			return errSeveralMachines
		}
		now := time.Now()
		s.lastDuration = now.Sub(start)
		s.recordDuration(start, now)
		if done.wrote {
			s.afterWrite(done, now)
			if now.Sub(began) >= s.opts.Patience && s.coordinator == nil { // a coordinator revokes the turn instead
				s.stalled = s.snap.Now()
			}
		}
		return nil
	}
	return errors.New("the limiter's state is replaced all the time")
}

func (s *Store) afterWrite(done result, now time.Time) {
	if q, ok := s.backend.(Quarantine); ok && done.lost {
		s.warnCorrupt(q)
	}
	if s.coordinator != nil {
		if s.alone != nil && s.alone.warned {
			s.warnings.warn(&StoreWarning{Event: "coordinator_back", Path: s.opts.Place, Alone: time.Since(s.alone.began)})
		}
		if done.restored {
			s.warnings.warn(&StoreWarning{Event: "coordinator_state_lost", Path: s.opts.Place})
		}
	}
	s.knownBytes, s.spareBytes, s.seenAt = s.spareBytes, s.knownBytes, now
	s.wrote, s.hasSeen, s.decoded = true, true, true
	s.alone, s.stalled, s.before = nil, 0, nil
}

// exchange runs a batch on the bytes of the shared state, and returns what to write; see [Backend].
func (s *Store) exchange(at core.Instant, old []byte, batch []*request, lives peers) ([]byte, result, error) {
	for _, r := range batch {
		r.err, r.panicked = nil, nil
	}
	for {
		done, err := s.load(at, old, lives)
		if err != nil {
			return nil, done, err
		}
		if !done.markedForeign {
			next := s.nextTicket(at)
			changed, ok := s.applyBatch(at, batch)
			switch {
			case !ok:
				continue
			case !changed:
				return nil, done, nil
			case old == nil && !at.Lost && !s.hasSeen && !lives.known:
				return nil, done, errNeedLiveness
			}
			s.snap.AdvanceClock(at)
			s.announceNext(at, next)
		}
		s.spareBytes, _ = s.snap.AppendBinary(s.spareBytes[:0])
		s.decoded, done.wrote, done.lost = false, true, at.Lost
		return s.spareBytes, done, nil
	}
}

// applyBatch calls the functions of a batch and reports whether the snapshot changed. ok is false if a function failed
// and may have changed something: the caller then repeats the batch without it.
func (s *Store) applyBatch(at core.Instant, batch []*request) (changed, ok bool) {
	asked := s.decoded && s.alone == nil && s.stalled == 0 // snap is unchanged
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
		done.restored = s.replaceMissing(at, lives)
		return done, nil
	}
	if at.Lost && s.before == nil && s.hasSeen {
		s.before = new(core.Snapshot)
		if s.before.Decode(s.knownBytes) != nil {
			s.before = nil
		}
	}
	if !s.decoded || !bytes.Equal(old, s.knownBytes) {
		if err := s.decode(old); err != nil {
			return done, err
		}
	}
	if done.markedForeign, err = s.refuseForeign(at, lives); err != nil || done.markedForeign {
		return done, err
	}
	if at.Lost {
		if s.before != nil {
			core.RestoreLost(&s.snap, s.before, at, s.owner)
			done.restored = true
		}
		core.MarkUncertain(&s.snap, at)
		s.decoded = false
	}
	return done, nil
}

func (s *Store) decode(old []byte) error {
	s.decoded, s.hasSeen = false, false
	var version *core.SnapshotVersionError
	switch err := s.snap.Decode(old); {
	case errors.As(err, &version) && version.Version > core.SnapshotVersion:
		return fmt.Errorf("%w: %w", ErrNewer, err)
	case err != nil:
		// The checksum is right, so the disk is not at fault, and an older copy is no better.
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if !bytes.Equal(old, s.knownBytes) {
		s.knownBytes, s.seenAt = append(s.knownBytes[:0], old...), time.Now()
	}
	s.decoded, s.hasSeen = true, true
	return nil
}

// replaceMissing creates the snapshot that replaces a missing or damaged state. A process that saw the state before it
// was removed restores what it saw, cautiously.
func (s *Store) replaceMissing(at core.Instant, lives peers) (recalled bool) {
	s.decoded = false
	if at.Lost {
		s.snap = core.NewCautiousSnapshot(at)
		return false
	}
	var last core.Snapshot
	if s.hasSeen && last.Decode(s.knownBytes) == nil {
		s.snap = core.NewRestoredSnapshot(&last, at)
		return true
	}
	s.snap = core.NewSnapshot(at)
	if lives.othersAlive {
		core.MarkUncertain(&s.snap, at) // they may have sent requests before the state was removed
	}
	return false
}

// refuseForeign reports whether another machine uses the state, and marks that in it. A state belongs to one machine:
// others count time since their own boot, so each change of hands would look like a reboot, which voids the slots and
// evidence of the machine before. Once a machine has seen both, both refuse the state for a while.
func (s *Store) refuseForeign(at core.Instant, lives peers) (bool, error) {
	if core.IsRefused(&s.snap, at) {
		return false, errSeveralMachines
	}
	if !core.IsForeign(&s.snap, at) {
		return false, nil
	}
	if !s.wrote { // otherwise the boot id changed while this process ran, which is no reboot
		if !lives.known {
			return false, errNeedLiveness
		}
		if !lives.usersAlive && core.IsWrittenBy(&s.snap, at.Machine) {
			return false, nil
		}
	}
	core.Refuse(&s.snap, at)
	return true, nil
}
