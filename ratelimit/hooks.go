package ratelimit

import (
	"time"

	"github.com/anivault/anivault/ratelimit/internal/core"
)

// Hooks are called without locks by the goroutine that caused the event, also concurrently. Nil hooks are skipped.
type Hooks struct {
	OnTransition func(Transition) // the state has changed
	OnAnswer     func(Answer)     // a request has ended
	OnWait       func(WaitInfo)   // a request starts or stops waiting for something that may take long
	OnWarning    func(error)      // something went wrong and was handled
	OnTuned      func(Tuned)      // a setting's value changes because an operator's override begins or ends
	OnOrphans    func(Orphans)    // abandoned reservations were freed
}

// Tuned is a change of a setting that an operator made, or the end of such a change.
type Tuned struct {
	Key      string
	From, To string    // the values in force, as core.Field.Get writes them
	Ended    bool      // the override has ended; the process's own value applies again
	Until    time.Time // when the override ends by itself; zero: when an operator ends it
}

// Answer describes a finished request.
type Answer struct {
	Event
	Choice                  // the account and key it used
	Late   bool             // the state has changed since the request was sent, so the answer isn't evidence
	Keys   []core.KeyChange // keys that this answer made usable or unusable
	Pause  time.Duration    // how long all processes wait from now; 0: no pause
	Gauges Gauges           // after this answer
}

// WaitInfo describes a wait that begins or ends.
type WaitInfo struct {
	Block
	Attempt int           // of the request, from 1
	Ended   bool          // false at the beginning
	Waited  time.Duration // at the end: how long it took
	Gauges  Gauges
}
