package ratelimit

import (
	"time"

	"github.com/anivault/anivault/ratelimit/internal/core"
)

// Hooks are called after all locks are released, by the goroutine that caused
// what they report. They may be called concurrently. Nil hooks are skipped.
type Hooks struct {
	OnTransition func(Transition) // the state has changed
	OnAnswer     func(Answer)     // a request has ended
	OnWait       func(WaitInfo)   // a request begins or ends to wait for something long
	OnWarning    func(error)      // something unusual that was dealt with
	OnTuned      func(Tuned)      // a setting follows an operator from now on, or no longer does
	OnOrphans    func(Orphans)    // reservations are free again whose owners asked for nothing for long
}

// Tuned is a setting that has changed because an operator has, or because the time of an operator's change is over.
type Tuned struct {
	Key      string
	From, To string    // the values in force, as [Field.Get] writes them
	Ended    bool      // the process's own value holds again
	Until    time.Time // when the change ends by itself; zero: when an operator ends it
}

// Answer is the end of one request that had a permit.
type Answer struct {
	Event
	Choice                  // through which account it went
	Late   bool             // not evidence: the state has changed since the request left
	Keys   []core.KeyChange // keys that are in or out since it came
	Pause  time.Duration    // how long all processes wait from now; 0: no pause
	Gauges Gauges           // after it
}

// WaitInfo is the beginning or the end of a wait.
type WaitInfo struct {
	Block
	Attempt int           // of the request, from 1
	Ended   bool          // false at the beginning
	Waited  time.Duration // at the end: how long it took
	Gauges  Gauges
}
