package ratelimit

import "math"

// This file decides what a row of the table is made of and how it is shown.

// trigger is what makes the machine look at a row.
type trigger uint8

const (
	onClock    trigger = iota // somebody asks, and time has passed
	onAnswer                  // an answer of the present epoch
	onOperator                // an operator's command
)

// confirmation is what a row needs to count.
type confirmation uint8

const (
	atOnce     confirmation = iota // the streak or the moment is its own confirmation
	hysteresis                     // the same again by a newer permit
	lasting                        // the time it takes is the confirmation
)

var confirmationNames = [...]string{atOnce: "at once", hysteresis: "hysteresis", lasting: "its own duration"}

type rule struct {
	from     []State // nil: any
	to       State
	on       trigger
	when     string
	confirm  confirmation
	reason   Reason
	holds    func(*facts) bool
	entering func(*facts)
}

// facts is everything a row may look at.
type facts struct {
	m         *machine
	t         *Tuning
	now       Stamp
	move      move
	counts    Counts // of the window, the present answer included
	sustained bool
}

var anyState []State

func in(states ...State) []State { return states }

// ticks says in which states time alone can change something.
var ticks = func() (is [len(stateNames)]bool) {
	for _, s := range States() {
		for i := range rules {
			is[s] = is[s] || rules[i].on == onClock && rules[i].appliesIn(s)
		}
	}
	return is
}()

func (r *rule) appliesIn(s State) bool {
	if r.from == nil {
		return true
	}
	for _, from := range r.from {
		if from == s {
			return true
		}
	}
	return false
}

// regime is what a state lets through.
type regime struct {
	share float64 // of rate and slots; 0: nothing passes
	floor float64 // the rate is at least this, if it was before
	most  float64 // the rate is at most this; 0: no bound
	burst float64 // exactly this burst; 0: the tuning's
	slots int     // exactly this many slots over all processes; 0: a share
}

func (r *regime) pace(normal, capacity float64) pace {
	if r.share == 0 {
		return pace{}
	}
	rate := normal
	if r.share < 1 {
		rate = min(normal, max(r.floor, math.Floor(normal*r.share)))
	}
	if r.most > 0 {
		rate = min(rate, r.most)
	}
	if r.burst > 0 {
		capacity = r.burst
	}
	return newPace(rate, capacity)
}

func (r *regime) part(slots int) int {
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

// pace returns the pace in the present state of somebody with this tuning.
func (m *machine) pace(t *Tuning, now Stamp) pace {
	return regimes[m.state].pace(m.rampRate(t.RateBase, t, now), t.bucketCap())
}

// Rule is one row of the transition table, for people.
type Rule struct {
	From         []State // nil: any state
	To           State
	Condition    string // in the names of the knobs
	Confirmation string // "at once", "hysteresis", "its own duration"
	Reason       Reason
}

// Rules returns the transition table in the order in which its rows are tried:
// the first that holds is an event's only transition.
func Rules() []Rule {
	list := make([]Rule, len(rules))
	for i, r := range rules {
		list[i] = Rule{append([]State(nil), r.from...), r.to, r.when, confirmationNames[r.confirm], r.reason}
	}
	return list
}
