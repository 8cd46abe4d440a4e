package core

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// trigger is the kind of event that a rule reacts to.
type trigger uint8

const (
	onAnswer   trigger = iota // an answer in the present epoch
	onClock                   // the passing of time; checked at each request
	onOperator                // an operator's command
)

// Confirmation is how a rule's condition is confirmed.
type Confirmation uint8

const (
	immediate  Confirmation = iota // the rule applies as soon as its condition holds
	hysteresis                     // the condition must hold several times in a row, each time at a newer permit
	sustained                      // the condition says itself how long it must hold
)

var confirmationNames = [...]string{immediate: "at once", hysteresis: "hysteresis", sustained: "its own duration"}

func (c Confirmation) String() string { return enumName(c, confirmationNames[:], "Confirmation") }

// Rule is one row of the transition table.
type Rule struct {
	From         []State // nil: any state
	To           State
	Reason       Reason
	Condition    string // the condition as text, with the names of the settings
	Confirmation Confirmation

	trigger trigger
	holds   func(ruleInput) bool
	enter   func(ruleInput) // sets times and counters of the machine in the new state; may be nil
}

// Transition is a change of state.
type Transition struct {
	From, To State
	Reason   Reason
	Account  string // the account whose machine changed; "" for the address's machine
	At       time.Time
	Until    time.Time // when the new state stops blocking requests; zero: it does not block, or has no end
	Epoch    uint64    // the new epoch
	Gauges   Gauges    // the figures after the transition
}

// ruleInput is the input of a rule's functions. Only enter may change the machine. It is passed by value, because a
// pointer would cost an allocation for each answer.
type ruleInput struct {
	stepInput
	m              *machine
	t              *Tuning
	now            Stamp
	counts         Counts // of the window, including the present answer
	ratioSustained bool   // whether the error ratio has been too high for sustainedFor
}

var anyState []State

func oneOf(states ...State) []State { return states }

func (r *Rule) appliesIn(s State) bool { return r.From == nil || slices.Contains(r.From, s) }

// canLeave reports whether a rule can end a state. A rule for answers cannot end a state that lets no requests pass.
func (r *Rule) canLeave(from State) bool {
	return r.appliesIn(from) && (r.trigger != onAnswer || allowances[from].share > 0)
}

// allowance is how much of the tuning's rate and slots a state lets through.
type allowance struct {
	share         float64 // the share of rate and slots; 0: no requests
	minRate       float64 // a lower bound for the reduced rate, unless the full rate is lower
	maxRate       float64 // an upper bound for the rate; 0: none
	burst         float64 // a fixed burst; 0: the tuning's burst
	slots         int     // a fixed number of slots for all processes together; 0: a share of the tuning's slots
	emptiesBucket bool    // whether entering the state empties the bucket, because a burst would make the trouble worse
}

// pace returns the pace in the state, for a rate and a bucket capacity in Normal.
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

// Rules returns the transition table. An event causes at most one transition: that of the first rule that holds.
func Rules() []Rule {
	list := slices.Clone(rules)
	for i := range list {
		list[i].From = slices.Clone(list[i].From)
	}
	return list
}

// Graph returns the table as a Mermaid state diagram. A rule for any state is drawn for each state that it can end.
func Graph() string {
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n    [*] --> Normal\n")
	for _, from := range States() {
		for _, to := range States() {
			var reasons []string
			for i := range rules {
				r := &rules[i]
				reason := r.Reason.String() // two rules may have the same
				if from != to && r.To == to && r.canLeave(from) && !slices.Contains(reasons, reason) {
					reasons = append(reasons, reason)
				}
			}
			if len(reasons) > 0 {
				fmt.Fprintf(&b, "    %s --> %s: %s\n", from, to, strings.Join(reasons, ", "))
			}
		}
	}
	return b.String()
}
