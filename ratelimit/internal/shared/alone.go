package shared

import (
	"context"
	"errors"
	"time"

	"github.com/anivault/anivault/ratelimit/internal/core"
)

type detached struct {
	*core.Isolation
	cause     error         // the latest cause
	retryAt   time.Duration // time since boot at which to try the shared state again
	parts     int           // the limits are divided into this many parts
	startedAt time.Time
	warned    bool
	fallback  core.Store // where the processes of this machine share the snapshot; nil: in memory
}

// goAlone leaves the shared state because of cause and continues from last, its newest known snapshot; nil if there is
// none. If already alone, it only records the new cause.
func (s *Store) goAlone(cause error, last *core.Snapshot) {
	now := s.opts.Now()
	w := &StoreWarning{Event: s.eventOf(cause), Path: s.opts.Place, Err: cause}
	same := s.alone != nil && s.eventOf(s.alone.cause) == w.Event
	if same && !s.alone.retryDue(now) {
		s.alone.cause = cause
		return
	}
	switch w.Event {
	case "coordinator_lost":
		w.Parts = s.machineCount(last)
	case "lock_degraded":
		w.Parts = max(s.living(), 2)
	case "state_newer":
		w.Parts = 2
		if s.coordinator != nil {
			w.Parts = s.machineCount(last)
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
	a.cause, a.parts, a.retryAt = cause, w.Parts, now.Boot+RetryEvery
	if !same || !a.warned {
		a.warned = s.warnings.warn(w)
	}
}

func (s *Store) detach(last *core.Snapshot, now core.Instant) {
	s.episodes++
	a := &detached{Isolation: core.NewIsolation(last, now, s.owner, s.episodes), parts: 1, startedAt: time.Now()}
	s.alone = a
	if s.coordinator == nil {
		return
	}
	a.Coordinated = true
	if last != nil {
		a.Snapshot.MarkUncertainSince(now, s.outageDuration())
	}
	if s.opts.Fallback == nil {
		return
	}
	a.fallback = s.opts.Fallback
	elsewhere := func(process string) bool { return s.coordinator.Machines([]string{process}) > 1 }
	_ = a.fallback.Update(context.Background(), func(at core.Instant, snap *core.Snapshot) error {
		a.MoveTo(snap, at, last, time.Since(s.seenAt), s.outageDuration(), elsewhere)
		return nil
	})
}

func (s *Store) living() int {
	if n := s.Living(); n > 0 {
		return n
	}
	return s.opts.Processes
}

// shouldRetryShared reports whether to try the shared state again. A busy lock costs nothing to try.
func (s *Store) shouldRetryShared() bool {
	if s.coordinator != nil && !errors.Is(s.alone.cause, ErrNewer) {
		return s.coordinator.MayReconnect()
	}
	return errors.Is(s.alone.cause, ErrBusy) || s.alone.retryDue(s.opts.Now())
}

func (a *detached) retryDue(now core.Instant) bool {
	return now.Boot >= a.retryAt || now.Boot < a.retryAt-RetryEvery
}

// lastSnapshot returns the newest snapshot known without an Exchange, nil if there is none.
func (s *Store) lastSnapshot() *core.Snapshot {
	if s.alone != nil {
		return nil
	}
	if s.beforeLoss != nil { // newer than the shared state
		last := s.beforeLoss.Clone()
		return &last
	}
	var last core.Snapshot
	if l, ok := s.backend.(Leaver); ok {
		if old := l.Leave(); old != nil && last.Decode(old) == nil {
			return &last
		}
	}
	if s.hasSeen && last.Decode(s.knownBytes) == nil {
		return &last
	}
	return nil
}

// outageDuration returns how long the coordinator has not answered. Its grants to others in that time are unknown.
func (s *Store) outageDuration() time.Duration {
	if lost := s.coordinator.LostAt(); !lost.IsZero() {
		return time.Since(lost)
	}
	return 0
}

func (a *detached) refreshFallback(ctx context.Context) {
	if a.fallback == nil {
		return
	}
	if at, there, err := core.ReadSnapshot(ctx, a.fallback); err == nil {
		a.Refresh(at, there)
	}
}

// machineCount returns the number of parts of the limits without the coordinator: one for each machine seen last.
func (s *Store) machineCount(last *core.Snapshot) int {
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

var errPanicked = errors.New("function has panicked")

// runOnFallback runs a batch on the machine's own state, and records the changes to merge into the shared state later.
func (a *detached) runOnFallback(ctx context.Context, batch []*request) {
	for _, r := range batch {
		var did core.Changes
		err := a.fallback.Update(ctx, func(at core.Instant, snap *core.Snapshot) error {
			at.Parts = max(at.Parts, 1) * a.parts
			r.err, r.panicked = nil, nil
			if did = core.TrackChanges(snap, func() { r.call(at, snap) }); r.panicked != nil {
				return errPanicked
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

// nextTicket returns the number of the ticket to be served next; 0 without a coordinator.
func (s *Store) nextTicket(at core.Instant) uint64 {
	if s.coordinator == nil {
		return 0
	}
	ticket, _, _ := core.NextToWake(&s.snap, at)
	return ticket
}

// announceNext tells the coordinator which process is next after this update, unless its ticket was next before.
func (s *Store) announceNext(at core.Instant, before uint64) {
	if s.coordinator == nil {
		return
	}
	ticket, process, in := core.NextToWake(&s.snap, at)
	if ticket == before {
		process = ""
	}
	s.coordinator.WakeNext(process, in)
}
