package shared

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
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
	switch {
	case s.coordinator != nil:
		w.Parts = s.machineCount(last)
	case w.Event == "lock_degraded":
		w.Parts = max(s.living(), 2)
	case w.Event == "state_newer":
		w.Parts = 2
	case w.Event == "state_shared":
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
	s.moveToFallback(a.Isolation, last, s.outageDuration())
}

func (s *Store) moveToFallback(a *core.Isolation, last *core.Snapshot, silence time.Duration) {
	elsewhere := func(process string) bool { return s.coordinator.Machines([]string{process}) > 1 }
	_ = s.opts.Fallback.Update(context.Background(), func(at core.Instant, snap *core.Snapshot) error {
		a.MoveTo(snap, at, last, time.Since(s.seenAt), silence, elsewhere)
		return nil
	})
}

// leaveToMachine copies the shared state to the machine's own, for processes that start while the coordinator can't be
// reached. If another living process has used the machine's, it may be alone, and its own Close does this.
func (s *Store) leaveToMachine() {
	machine, ok := s.opts.Fallback.(core.Liveness)
	if ok && s.coordinator != nil && s.alone == nil && s.hasWritten && machine.Living() <= 1 {
		s.moveToFallback(new(core.Isolation), s.lastSnapshot(), 0)
	}
}

func (s *Store) living() int { return cmp.Or(max(s.Living(), 0), s.opts.Processes) }

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

// machineCount returns into how many parts to divide the limits while the coordinator can't be reached: one for each
// machine in the last known snapshot, at least two.
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
			at.Parts, at.Alone = max(at.Parts, 1)*a.parts, a.Isolation
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

// StoreWarning is a [Store]'s warning about its state.
type StoreWarning struct {
	// Event is the kind: "lock_degraded" (another process holds the lock and does not run), "lock_slow" (updates take
	// long), "state_corrupt" (the state was damaged and has been replaced), "state_newer" (a newer version owns the
	// state), "state_shared" (another machine uses the state as well) or "state_unavailable" (the state can't be used).
	// With a [Coordinator]: "coordinator_lost" (it can't be used), "coordinator_back" (it can be used again),
	// "coordinator_state_lost" (its state was missing or outdated and has been restored) and "coordinator_slow".
	Event string
	Path  string        // the folder, file or address concerned; for state_corrupt where the damaged file is now
	Parts int           // the number of parts that the limits are divided into from now on; 0: one
	Alone time.Duration // for coordinator_back: how long this process was on its own
	P99   time.Duration // for lock_slow and coordinator_slow: the 99th percentile of updates
	Err   error         // the cause
}

func (w *StoreWarning) Error() string {
	format, args := w.Message()
	return fmt.Sprintf(format, args...)
}

// Message returns the text of Error as a format of package fmt and its arguments, so that a program can translate it.
func (w *StoreWarning) Message() (format string, args []any) {
	switch w.Event {
	case "lock_degraded":
		return "limiter lock in %s is held by a stopped process; " +
			"this process continues alone with 1/%d of the limits", []any{w.Path, w.Parts}
	case "lock_slow":
		return "limiter state in %s is slow: one update in a hundred takes %s or longer",
			[]any{w.Path, w.P99.Round(time.Millisecond)}
	case "coordinator_lost":
		return "coordinator lost: %s; this machine continues alone with 1/%d of the limits", []any{w.Err, w.Parts}
	case "coordinator_back":
		return "coordinator at %s is back after %s; the limits are shared again", []any{w.Path, w.Alone.Round(time.Second)}
	case "coordinator_state_lost":
		return "coordinator at %s had lost the limiter's state; this process restored what it knew", []any{w.Path}
	case "coordinator_slow":
		return "coordinator at %s is slow: one update in a hundred takes %s or longer",
			[]any{w.Path, w.P99.Round(time.Millisecond)}
	case "state_corrupt":
		return "limiter state was damaged, starting carefully; kept as %s: %s", []any{w.Path, w.Err}
	case "state_newer":
		return "a newer version wrote the limiter state in %s; continuing in memory with 1/%d of the limits",
			[]any{w.Path, w.Parts}
	case "state_shared":
		return "another machine also uses the limiter state in %s; each continues in memory with 1/%d of the " +
			"limits", []any{w.Path, w.Parts}
	}
	return "limiter state in %s cannot be shared; continuing in memory with 1/%d of the limits: %s",
		[]any{w.Path, w.Parts, w.Err}
}

func (w *StoreWarning) Unwrap() error { return w.Err }

func (s *Store) eventOf(trouble error) string {
	switch {
	case s.coordinator != nil && !errors.Is(trouble, ErrNewer):
		return "coordinator_lost"
	case errors.Is(trouble, ErrBusy):
		return "lock_degraded"
	case errors.Is(trouble, ErrNewer):
		return "state_newer"
	case errors.Is(trouble, errSeveralMachines):
		return "state_shared"
	}
	return "state_unavailable"
}

const (
	warnAgainAfter = time.Minute
	slowPeriod     = 10 * time.Second
	// slowCoordinator is how long an update on a coordinator may take without a warning.
	slowCoordinator = 50 * time.Millisecond
)

type warningLog struct {
	pending     []error
	lastWarned  map[string]time.Time
	lastCorrupt string // the last damaged state in a warning

	updates       int
	countingSince time.Time       // of updates and slowUpdates
	slowUpdates   []time.Duration // their durations
	warnedSlow    bool
}

// warn queues a warning, unless there was one of its kind within warnAgainAfter. It reports whether it did. The loss
// of a coordinator and its return take turns, so neither hides the other's next one.
func (n *warningLog) warn(w *StoreWarning) bool {
	if last, ok := n.lastWarned[w.Event]; ok && time.Since(last) < warnAgainAfter {
		return false
	}
	if n.lastWarned == nil {
		n.lastWarned = map[string]time.Time{}
	}
	delete(n.lastWarned, map[string]string{
		"coordinator_lost": "coordinator_back", "coordinator_back": "coordinator_lost",
	}[w.Event])
	n.lastWarned[w.Event] = time.Now()
	n.pending = append(n.pending, w)
	return true
}

// recordDuration records how long an update took. It warns if over 1 % exceed Patience within slowPeriod.
func (s *Store) recordDuration(start, end time.Time) {
	n, limit, event := &s.warnings, s.opts.Patience, "lock_slow"
	if s.coordinator != nil {
		limit, event = slowCoordinator, "coordinator_slow"
	}
	if n.updates == 0 {
		n.countingSince = start
	}
	n.updates++
	if took := end.Sub(start); took >= limit {
		n.slowUpdates = append(n.slowUpdates, took)
	}
	if end.Sub(n.countingSince) < slowPeriod {
		return
	}
	fast := n.updates/100 >= len(n.slowUpdates) // at most one in a hundred was slow
	if !fast && len(n.slowUpdates) > 1 && !n.warnedSlow {
		slices.Sort(n.slowUpdates)
		n.warn(&StoreWarning{Event: event, Path: s.opts.Place, P99: n.slowUpdates[len(n.slowUpdates)-1-n.updates/100]})
	}
	n.warnedSlow = !fast
	n.updates, n.slowUpdates = 0, n.slowUpdates[:0]
}
