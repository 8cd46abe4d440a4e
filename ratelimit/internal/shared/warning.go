package shared

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

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
		return "limiter state in %s is slow: one update of a hundred takes %s or longer",
			[]any{w.Path, w.P99.Round(time.Millisecond)}
	case "coordinator_lost":
		return "coordinator lost: %s; this machine continues alone with 1/%d of the limits", []any{w.Err, w.Parts}
	case "coordinator_back":
		return "coordinator at %s is back after %s; the limits are shared again",
			[]any{w.Path, w.Alone.Round(time.Second)}
	case "coordinator_state_lost":
		return "coordinator at %s had lost the limiter's state; this process restored what it knew", []any{w.Path}
	case "coordinator_slow":
		return "coordinator at %s is slow: one update of a hundred takes %s or longer",
			[]any{w.Path, w.P99.Round(time.Millisecond)}
	case "state_corrupt":
		return "limiter state was damaged, starting carefully; kept as %s: %s", []any{w.Path, w.Err}
	case "state_newer":
		return "limiter state in %s is of a newer version; going on in memory with 1/%d of the limits",
			[]any{w.Path, w.Parts}
	case "state_shared":
		return "another machine also uses the limiter state in %s; each continues in memory with 1/%d of the " +
			"limits", []any{w.Path, w.Parts}
	}
	return "limiter state in %s cannot be shared; going on in memory with 1/%d of the limits: %s",
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

func (n *warningLog) take() []error {
	list := n.pending
	n.pending = nil
	return list
}

func (s *Store) sendWarnings(warnings []error) {
	if s.opts.OnWarning == nil {
		return
	}
	for _, w := range warnings {
		s.opts.OnWarning(w)
	}
}

func (s *Store) warnCorrupt(q Quarantine) {
	if place, cause := q.DamagedCopy(); place != s.warnings.lastCorrupt {
		s.warnings.lastCorrupt = place
		s.warnings.warn(&StoreWarning{Event: "state_corrupt", Path: place, Err: cause})
	}
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
