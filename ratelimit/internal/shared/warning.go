package shared

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// StoreWarning is what a [Store] tells about trouble with its state.
type StoreWarning struct {
	// Event is the kind: "lock_degraded" (another process holds the lock and does not run), "lock_slow" (updates take
	// long), "state_corrupt" (the state was damaged and has been replaced), "state_newer" (a newer version owns the
	// state), "state_shared" (another machine uses it as well) or "state_unavailable" (it can't be used). With a
	// [Coordinator] they are "coordinator_lost" (it can't be used), "coordinator_back" (it can again),
	// "coordinator_state_lost" (what was kept there was gone, or older than what was known, and has been brought back)
	// and "coordinator_slow".
	Event string
	Path  string        // the folder, file or address concerned; for state_corrupt where the damaged file is now
	Parts int           // in how many parts the limits are divided from now on, 0 if they are not
	Alone time.Duration // for coordinator_back: how long this process was on its own
	P99   time.Duration // for lock_slow and coordinator_slow: how long the slowest update of a hundred takes at least
	Err   error         // the cause
}

// Error implements error.
func (w *StoreWarning) Error() string {
	format, args := w.Message()
	return fmt.Sprintf(format, args...)
}

// Message returns what Error says as a format of package fmt and its arguments, so that a program can translate it.
func (w *StoreWarning) Message() (format string, args []any) {
	switch w.Event {
	case "lock_degraded":
		return "limiter lock in %s is held by a process that does not run; " +
			"going on alone with 1/%d of the limits", []any{w.Path, w.Parts}
	case "lock_slow":
		return "limiter state in %s is slow: one update of a hundred takes %s or longer",
			[]any{w.Path, w.P99.Round(time.Millisecond)}
	case "coordinator_lost":
		return "coordinator lost: %s; this machine goes on alone with 1/%d of the limits", []any{w.Err, w.Parts}
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
		return "limiter state in %s is used by another machine as well; " +
			"each goes on in memory with 1/%d of the limits", []any{w.Path, w.Parts}
	}
	return "limiter state in %s cannot be shared; going on in memory with 1/%d of the limits: %s",
		[]any{w.Path, w.Parts, w.Err}
}

// Unwrap returns the cause.
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
	// slowCoordinator is what an update on another machine may take.
	slowCoordinator = 50 * time.Millisecond
)

type notes struct {
	list   []error
	warned map[string]time.Time
	aside  string // the last damaged state that was told

	updates int             // since when
	since   time.Time       //
	slow    []time.Duration // those of them that were slow
	isSlow  bool            // and this was told
}

// warn keeps a warning to be told, unless one of its kind was told of late. It reports whether it will be told.
func (n *notes) warn(w *StoreWarning) bool {
	if last, ok := n.warned[w.Event]; ok && time.Since(last) < warnAgainAfter {
		return false
	}
	if n.warned == nil {
		n.warned = map[string]time.Time{}
	}
	n.warned[w.Event] = time.Now()
	n.list = append(n.list, w)
	return true
}

func (n *notes) take() []error {
	list := n.list
	n.list = nil
	return list
}

func (s *Store) tell(warnings []error) {
	if s.opts.OnWarning == nil {
		return
	}
	for _, w := range warnings {
		s.opts.OnWarning(w)
	}
}

func (s *Store) noteAside(q Quarantine) {
	if place, cause := q.Aside(); place != s.notes.aside {
		s.notes.aside = place
		s.notes.warn(&StoreWarning{Event: "state_corrupt", Path: place, Err: cause})
	}
}

// slow notes how long an update took, and warns when the slowest of a hundred took more than the others' patience for
// a while.
func (s *Store) slow(start, end time.Time) {
	n, limit, event := &s.notes, s.opts.Patience, "lock_slow"
	if s.coordinator != nil {
		limit, event = slowCoordinator, "coordinator_slow"
	}
	if n.updates == 0 {
		n.since = start
	}
	n.updates++
	if took := end.Sub(start); took >= limit {
		n.slow = append(n.slow, took)
	}
	if end.Sub(n.since) < slowPeriod {
		return
	}
	fast := n.updates/100 >= len(n.slow) // of those that count
	if !fast && len(n.slow) > 1 && !n.isSlow {
		slices.Sort(n.slow)
		n.warn(&StoreWarning{Event: event, Path: s.opts.Place, P99: n.slow[len(n.slow)-1-n.updates/100]})
	}
	n.isSlow = !fast
	n.updates, n.slow = 0, n.slow[:0]
}
