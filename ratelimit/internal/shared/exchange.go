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
	// errNeedLiveness asks for the I/O that finds out which other processes are alive.
	errNeedLiveness    = errors.New("who else lives is not known")
	errSeveralMachines = errors.New("another machine uses the limiter's state as well")
)

type peers struct {
	isComplete  bool
	othersAlive bool // another process is alive
	usersAlive  bool // a process listed in the state is alive
}

type result struct {
	wrote         bool // there are bytes to write
	markedForeign bool // those bytes only mark the state as used by several machines
	mayLackWrites bool // the state that was read may lack newer writes
	restored      bool // the missing writes were restored from this process's memory
}

// runShared runs a batch on the shared state. It returns an error if the shared state can't be used.
func (s *Store) runShared(ctx context.Context, batch []*request) (trouble error) {
	if s.alone != nil && s.alone.fallback != nil {
		if at, there, err := core.ReadSnapshot(ctx, s.alone.fallback); err == nil {
			s.alone.Refresh(at, there)
		}
	}
	var others peers
	for range maxAttempts {
		var done result
		var began time.Time // when the lock was acquired
		start := time.Now()
		err := s.backend.Exchange(ctx, func(at core.Instant, old []byte) (next []byte, err error) {
			if began.IsZero() {
				began = time.Now()
			}
			next, done, err = s.exchange(at, old, batch, others)
			return next, err
		})
		switch {
		case errors.Is(err, errNeedLiveness): // nothing is locked now
			users := s.snap.Users()
			others = peers{isComplete: true, othersAlive: s.Living() > 1, usersAlive: len(s.Dead(users)) < len(users)}
			continue
		case err != nil && done.wrote && !done.markedForeign && s.coordinator == nil && s.alone == nil:
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
				s.stalledSince = s.snap.Now()
			}
		}
		return nil
	}
	return errors.New("the limiter's state is replaced all the time")
}

func (s *Store) afterWrite(done result, now time.Time) {
	if q, ok := s.backend.(Quarantine); ok && done.mayLackWrites {
		if place, cause := q.DamagedCopy(); place != s.warnings.lastCorrupt {
			s.warnings.lastCorrupt = place
			s.warnings.warn(&StoreWarning{Event: "state_corrupt", Path: place, Err: cause})
		}
	}
	if s.coordinator != nil {
		if s.alone != nil && s.alone.warned {
			s.warnings.warn(&StoreWarning{Event: "coordinator_back", Path: s.opts.Place, Alone: time.Since(s.alone.startedAt)})
		}
		if done.restored {
			s.warnings.warn(&StoreWarning{Event: "coordinator_state_lost", Path: s.opts.Place})
		}
	}
	s.knownBytes, s.spareBytes, s.seenAt = s.spareBytes, s.knownBytes, now
	s.hasWritten, s.hasSeen, s.decoded = true, true, true
	s.alone, s.stalledSince, s.beforeLoss = nil, 0, nil
}

// exchange runs a batch on the bytes of the shared state and returns the bytes to write; see [Backend].
func (s *Store) exchange(at core.Instant, old []byte, batch []*request, others peers) ([]byte, result, error) {
	for _, r := range batch {
		r.err, r.panicked = nil, nil
	}
	for {
		done, err := s.load(at, old, others)
		if err != nil {
			return nil, done, err
		}
		if !done.markedForeign {
			next := s.nextTicket(at)
			changed, ok := s.applyBatch(at, batch)
			switch {
			case !ok:
				continue
			case !changed && !done.restored:
				return nil, done, nil
			case old == nil && !at.Lost && !s.hasSeen && !others.isComplete:
				return nil, done, errNeedLiveness
			}
			s.snap.AdvanceClock(at)
			s.announceNext(at, next)
		}
		s.spareBytes, _ = s.snap.AppendBinary(s.spareBytes[:0])
		s.decoded, done.wrote, done.mayLackWrites = false, true, at.Lost
		return s.spareBytes, done, nil
	}
}

// applyBatch calls the functions of a batch and reports whether the snapshot changed. ok is false if a function failed
// and may have changed something: the caller then repeats the batch without it.
func (s *Store) applyBatch(at core.Instant, batch []*request) (changed, ok bool) {
	asked := s.decoded && s.alone == nil && s.stalledSince == 0
	s.decoded = false
	switch {
	case s.alone != nil:
		s.alone.Rejoin(&s.snap, at, s.owner, s.alone.parts)
	case s.coordinator != nil:
		if missed := s.coordinator.FirstMissed(); !missed.IsZero() {
			asked = !core.PauseAfterOutage(&s.snap, at, time.Since(missed)) && asked
		}
	case s.stalledSince != 0:
		core.ReserveForOthers(&s.snap, at, s.stalledSince, s.owner)
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

func (s *Store) load(at core.Instant, old []byte, others peers) (done result, err error) {
	if old == nil {
		done.restored = s.replaceMissing(at, others)
		return done, nil
	}
	if at.Lost && s.beforeLoss == nil && s.hasSeen {
		s.beforeLoss = new(core.Snapshot)
		if s.beforeLoss.Decode(s.knownBytes) != nil {
			s.beforeLoss = nil
		}
	}
	if !s.decoded || !bytes.Equal(old, s.knownBytes) {
		if err := s.decode(old); err != nil {
			return done, err
		}
	}
	if done.markedForeign, err = s.refuseForeign(at, others); err != nil || done.markedForeign {
		return done, err
	}
	if at.Lost {
		if s.beforeLoss != nil {
			core.RestoreLost(&s.snap, s.beforeLoss, at, s.owner)
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
func (s *Store) replaceMissing(at core.Instant, others peers) (restored bool) {
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
	if others.othersAlive {
		core.MarkUncertain(&s.snap, at) // other processes may have sent requests before the state was removed
	}
	return false
}

// refuseForeign reports whether another machine uses the state, and if so marks the state. A state belongs to one
// machine: machines count time since their own boot, so each change of the writer would look like a reboot and void the
// slots and evidence of the other machine. Once a machine has seen both, both refuse the state for a while.
func (s *Store) refuseForeign(at core.Instant, others peers) (bool, error) {
	if core.IsRefused(&s.snap, at) {
		return false, errSeveralMachines
	}
	if !core.IsForeign(&s.snap, at) {
		return false, nil
	}
	if !s.hasWritten { // otherwise the boot id changed while this process ran, which is no reboot
		if !others.isComplete {
			return false, errNeedLiveness
		}
		if !others.usersAlive && core.IsWrittenBy(&s.snap, at.Machine) {
			return false, nil
		}
	}
	core.Refuse(&s.snap, at)
	return true, nil
}
