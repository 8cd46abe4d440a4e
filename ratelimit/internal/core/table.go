package core

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

type trigger uint8

const (
	onAnswer   trigger = iota // an answer of the present epoch
	onClock                   // a request asks, and time has passed
	onOperator                // an operator's command
)

// Confirmation is what a row needs to count.
type Confirmation uint8

const (
	atOnce     Confirmation = iota // the streak or the moment is its own confirmation
	hysteresis                     // the same condition again, seen by a newer permit
	lasting                        // the time it takes is the confirmation
)

var confirmationNames = [...]string{atOnce: "at once", hysteresis: "hysteresis", lasting: "its own duration"}

// String returns "at once", "hysteresis" or "its own duration".
func (c Confirmation) String() string { return enumName(c, confirmationNames[:], "Confirmation") }

// Rule is one row of the transition table.
type Rule struct {
	From         []State // nil: any state
	To           State
	Reason       Reason
	Condition    string // for people, in the names of the settings
	Confirmation Confirmation

	trigger trigger
	holds   func(facts) bool
	enter   func(facts) // nil: nothing else happens
}

// Transition is one change of state.
type Transition struct {
	From, To State
	Reason   Reason
	Account  string // whose transition it is; "": the address's
	At       time.Time
	Until    time.Time // end of the block the new state is, zero if it is none or has no end
	Epoch    uint64    // the number of the period that begins
	Gauges   Gauges    // after it
}

// facts is everything a row may look at. Only a row's enter changes the machine. It is handed on as a value: where it
// is behind a pointer, each answer allocates one.
type facts struct {
	stepInput
	m              *machine
	t              *Tuning
	now            Stamp
	counts         Counts // of the window, the present answer included
	ratioSustained bool   // the ratio has been too high for sustainedFor
}

var anyState []State

func in(states ...State) []State { return states }

func (r *Rule) appliesIn(s State) bool { return r.From == nil || slices.Contains(r.From, s) }

// canLeave reports whether the row can lead out of a state: answers of the present epoch exist only where requests
// pass.
func (r *Rule) canLeave(from State) bool {
	return r.appliesIn(from) && (r.trigger != onAnswer || allowances[from].share > 0)
}

type allowance struct {
	share         float64 // of rate and slots; 0: nothing passes
	minRate       float64 // the rate is at least this, if it was before
	maxRate       float64 // the rate is at most this; 0: no bound
	burst         float64 // exactly this burst; 0: the tuning's
	slots         int     // exactly this many slots over all processes; 0: a share
	emptiesBucket bool    // entering it empties the bucket: near the ceiling a full burst would go into the trouble
}

func (r *allowance) pace(normal, capacity float64) pace {
	if r.share == 0 {
		return pace{}
	}
	rate := normal
	if r.share < 1 {
		rate = min(normal, max(r.minRate, math.Floor(normal*r.share)))
	}
	if r.maxRate > 0 {
		rate = min(rate, r.maxRate)
	}
	if r.burst > 0 {
		capacity = r.burst
	}
	return newPace(rate, capacity)
}

func (r *allowance) slotsOf(slots int) int {
	switch {
	case r.share == 0:
		return 0
	case r.slots > 0:
		return r.slots
	case r.share == 1:
		return slots
	default:
		return max(1, int(math.Floor(float64(slots)*r.share)))
	}
}

// Rules returns the transition table in the order in which its rows are tried:
// the first that holds is an event's only transition.
func Rules() []Rule {
	list := slices.Clone(rules)
	for i := range list {
		list[i].From = slices.Clone(list[i].From)
	}
	return list
}

// Graph returns the transition table as a Mermaid state diagram. Rows from any
// state are drawn from the states that they can lead out of.
func Graph() string {
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n    [*] --> Normal\n")
	for _, from := range States() {
		for _, to := range States() {
			var reasons []string
			for i := range rules {
				r := &rules[i]
				if from != to && r.To == to && r.canLeave(from) {
					reasons = append(reasons, r.Reason.String())
				}
			}
			if len(reasons) > 0 {
				fmt.Fprintf(&b, "    %s --> %s: %s\n", from, to, strings.Join(reasons, ", "))
			}
		}
	}
	return b.String()
}
