package core

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// State is one of the five states of the limiter (docs/limiter.md, "States").
//
// The zero value is Throttle, so a state that was not set is careful but still lets requests through.
type State uint8

// The states, and what they let through.
const (
	Throttle  State = iota // half the rate, half the slots
	Normal                 // everything the tuning allows
	Sleep                  // nothing until a time
	HalfOpen               // one probe at a time
	CacheOnly              // nothing until an operator or a timer resumes
)

var stateNames = [...]string{
	Throttle: "Throttle", Normal: "Normal", Sleep: "Sleep", HalfOpen: "HalfOpen", CacheOnly: "CacheOnly",
}

// States lists the five states from the most open to the most restrictive.
func States() []State { return []State{Normal, Throttle, HalfOpen, Sleep, CacheOnly} }

func (s State) String() string { return enumName(s, stateNames[:], "State") }

func enumName[T ~uint8](v T, names []string, kind string) string {
	if int(v) < len(names) {
		return names[v]
	}
	return kind + "(" + strconv.Itoa(int(v)) + ")"
}

// Outcome classifies the end of one request by what it says about the upstream
// (docs/limiter.md, "What an answer counts as"). The zero value says nothing.
type Outcome uint8

// The outcomes. OK, Throttled, Server and Network are evidence and enter the window. Cancelled, Client, Misconfigured
// and Deferred only free the slot, but in HalfOpen Deferred is a good probe, and so is Client unless the status is 401
// or 403.
const (
	Cancelled     Outcome = iota // the caller gave up
	OK                           // 2xx, 304
	Throttled                    // 429
	Server                       // 5xx, 408, or an answer that fails the client's validation
	Network                      // DNS, connect, reset, timeout, truncated 2xx
	Client                       // 4xx that are the request's own fault, a 2xx with a larger body than the caller allows
	Misconfigured                // certificates, TLS to a plain port, foreign redirects
	Deferred                     // a working upstream that queues requests itself asks to retry later
)

var outcomeNames = [...]string{
	Cancelled: "cancelled", OK: "ok", Throttled: "throttled", Server: "server",
	Network: "network", Client: "client", Misconfigured: "config", Deferred: "deferred",
}

func (o Outcome) String() string { return enumName(o, outcomeNames[:], "Outcome") }

func (o Outcome) failed() bool { return o > OK && o <= Network }

// Retryable reports whether a request with this outcome is worth repeating.
func (o Outcome) Retryable() bool { return o.failed() || o == Deferred }

// Reason says why the limiter is in the state it is in, or why a request may not be sent.
type Reason uint8

// The reasons. They are stored by number, so a new one must go last. An older build reads a reason that it does not
// know as ReasonNone. Those of the first group, and any later one in rules, cause transitions.
const (
	ReasonNone Reason = iota
	ReasonErrorRatio
	ReasonConsecutive429
	ReasonConsecutiveFailures
	ReasonSuccessWindowOK
	ReasonSustainedErrors
	ReasonSleepElapsed
	ReasonProbeOK
	ReasonProbeFailed
	ReasonPolicy
	ReasonRetryAfterLong
	ReasonOperator
	ReasonResume
	ReasonAutoRecover
	ReasonRetryAfterElapsed

	ReasonFresh   // there was no stored state
	ReasonCorrupt // the stored state could not be read
	ReasonReset   // an operator reset the limiter
	ReasonPause   // a Retry-After, or the random pause after a 429 without one, delays all processes
	ReasonOffline // this process runs with --offline
	ReasonBackoff // one request waits before its next try

	ReasonSlot    // the request waits for a slot
	ReasonToken   // the request waits for a token of the bucket
	ReasonCeiling // the request waits for room under the ceiling
	ReasonTurn    // the request waits for its turn, behind earlier requests
	ReasonBudget  // the request waits for a new budget period
	ReasonAccount // the request waits for a slot of an account or of its keys

	ReasonCredentials // the upstream refused all keys
	ReasonNoAccount   // all accounts are disabled
)

var reasonNames = [...]string{
	ReasonNone: "-", ReasonErrorRatio: "error_ratio", ReasonConsecutive429: "consecutive_429",
	ReasonConsecutiveFailures: "consecutive_failures", ReasonSuccessWindowOK: "success_window_ok",
	ReasonSustainedErrors: "sustained_errors", ReasonSleepElapsed: "sleep_elapsed", ReasonProbeOK: "probe_ok",
	ReasonProbeFailed: "probe_failed", ReasonPolicy: "policy", ReasonRetryAfterLong: "retry_after_long",
	ReasonOperator: "operator", ReasonResume: "resume", ReasonAutoRecover: "auto_recover",
	ReasonRetryAfterElapsed: "retry_after_elapsed",
	ReasonFresh:             "fresh", ReasonCorrupt: "corrupt_state", ReasonReset: "reset", ReasonPause: "pause",
	ReasonOffline: "offline", ReasonBackoff: "backoff",
	ReasonSlot: "slot", ReasonToken: "token", ReasonCeiling: "ceiling", ReasonTurn: "turn", ReasonBudget: "budget",
	ReasonAccount:     "account",
	ReasonCredentials: "credentials", ReasonNoAccount: "no_account",
}

func (r Reason) String() string { return enumName(r, reasonNames[:], "Reason") }

// IsCommon reports whether requests wait for this reason in normal operation. Such a wait is not worth a message.
func (r Reason) IsCommon() bool { return r >= ReasonSlot && r <= ReasonAccount }

// Block describes the limiter's state and, if it blocks a request, why and until when.
type Block struct {
	State State
	Cause Reason    // why the state was entered, or what the request waits for
	Since time.Time // when the state was entered; zero: unknown
	Until time.Time // when a request may be tried again; zero: unknown, or never
}

// trigger is the kind of event that a rule reacts to.
type trigger uint8

const (
	onAnswer   trigger = iota // an answer in the current epoch
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
func Rules() []Rule { return slices.Clone(rules) }

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
