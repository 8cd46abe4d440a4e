package core

import "time"

// This file is the table of the limiter: every transition, what happens on entering a state, and what each state lets
// through. The machine, the documents, the graph and the tests all read it.

const (
	sustainedRatio = 0.60            // an error ratio this high for sustainedFor leads from Throttle to Sleep
	sustainedFor   = 5 * time.Minute // how long the error ratio must stay at sustainedRatio
	recentAnswers  = 50              // how many of the newest answers decide whether Throttle may end
)

// rules are tried in order, from the most restrictive target state to the least. Only the first rule that holds is
// applied to an event. A rule without a trigger is checked when an answer arrives; a rule without a confirmation
// applies immediately.
var rules = []Rule{
	{
		From: anyState, To: CacheOnly, trigger: onOperator, Reason: ReasonOperator, Condition: "an operator says so",
		holds: func(f ruleInput) bool {
			return f.command == forceCacheOnly && (f.m.state != CacheOnly || f.m.reason != ReasonOperator)
		},
		enter: ruleInput.blockForPeriod,
	}, {
		From: anyState, To: CacheOnly, Reason: ReasonRetryAfterLong,
		Condition: "Retry-After > sleep_max of a 429, or of a 503 that pauses everybody",
		holds:     func(f ruleInput) bool { return f.pause > f.t.SleepMax && f.m.state != CacheOnly },
		enter:     ruleInput.blockForPause,
	}, {
		From: oneOf(HalfOpen), To: CacheOnly, Reason: ReasonPolicy,
		Condition: "the first probe of a round from Sleep fails, and such rounds at the longest cooldown add up to " +
			"cacheonly_after * sleep_max",
		holds: func(f ruleInput) bool {
			most := time.Duration(f.t.CacheOnlyAfter) * f.t.SleepMax
			return f.roundFailed() && f.m.timeAtMaxCooldown+f.lastCooldownAtMax() >= most
		},
		enter: ruleInput.blockForAutoRecover,
	}, {
		From: oneOf(Normal), To: Sleep, Reason: ReasonConsecutiveFailures,
		Condition: "n_failures 5xx or network errors in a row, unless it is a relapse",
		holds:     func(f ruleInput) bool { return f.m.failures >= f.t.NFailures && !f.isRelapse() },
		enter:     ruleInput.sleep,
	}, {
		From: oneOf(Throttle), To: Sleep, Reason: ReasonConsecutiveFailures,
		Condition: "5xx or network errors in a row: 3 * n_failures, or n_failures + slots if that is more",
		holds:     func(f ruleInput) bool { return f.m.failures >= f.t.NFailures+max(2*f.t.NFailures, f.slots) },
		enter:     ruleInput.sleep,
	}, {
		From: oneOf(Throttle), To: Sleep, Reason: ReasonConsecutive429, Condition: "n_cacheonly 429s in a row",
		holds: func(f ruleInput) bool { return f.m.streak429 >= f.t.NCacheOnly },
		enter: ruleInput.sleep,
	}, {
		From: oneOf(Throttle), To: Sleep, Reason: ReasonSustainedErrors, Confirmation: sustained,
		Condition: "error ratio >= 0.60 for 5 min",
		holds:     func(f ruleInput) bool { return f.ratioSustained },
		enter:     ruleInput.sleep,
	}, {
		From: oneOf(HalfOpen), To: Sleep, Reason: ReasonProbeFailed,
		Condition: "the first probe of a round from Sleep fails: 429, 5xx or network error",
		holds:     ruleInput.roundFailed,
		enter:     ruleInput.sleepLonger,
	}, {
		From: oneOf(HalfOpen), To: Sleep, Reason: ReasonProbeFailed, Condition: "a later probe of a round from Sleep fails",
		holds: func(f ruleInput) bool { return f.failed() && f.m.previousState != Throttle },
		enter: ruleInput.sleep,
	}, {
		From: oneOf(CacheOnly), To: Sleep, trigger: onOperator, Reason: ReasonResume, Condition: "an operator resumes",
		holds: func(f ruleInput) bool { return f.command == resumeCommand },
		enter: ruleInput.resume,
	}, {
		From: oneOf(CacheOnly), To: Sleep, trigger: onClock, Reason: ReasonAutoRecover,
		Condition: "the auto-recover period has passed",
		holds:     func(f ruleInput) bool { return f.m.blockEnded(f.now) && f.m.reason != ReasonRetryAfterLong },
		enter:     ruleInput.startProbing,
	}, {
		From: oneOf(CacheOnly), To: Sleep, trigger: onClock, Reason: ReasonRetryAfterElapsed,
		Condition: "the long Retry-After has passed",
		holds:     func(f ruleInput) bool { return f.m.blockEnded(f.now) && f.m.reason == ReasonRetryAfterLong },
		enter:     ruleInput.startProbing,
	}, {
		From: oneOf(Normal), To: Throttle, Reason: ReasonErrorRatio, Confirmation: hysteresis,
		Condition: "error ratio >= p_throttle",
		holds:     func(f ruleInput) bool { return f.counts.Total() >= f.t.MinSamples && f.counts.Ratio() >= f.t.PThrottle },
	}, {
		From: oneOf(Normal), To: Throttle, Reason: ReasonConsecutive429, Condition: "n_throttle 429s in a row",
		holds: func(f ruleInput) bool { return f.m.streak429 >= f.t.NThrottle },
	}, {
		From: oneOf(Normal), To: Throttle, Reason: ReasonConsecutiveFailures,
		Condition: "n_failures 5xx or network errors in a row in a relapse: after HalfOpen, before min_samples good answers",
		holds:     func(f ruleInput) bool { return f.m.failures >= f.t.NFailures && f.isRelapse() },
	}, {
		From: oneOf(HalfOpen), To: Throttle, Reason: ReasonProbeFailed, Condition: "a probe of a round from Throttle fails",
		holds: func(f ruleInput) bool { return f.failed() && f.m.previousState == Throttle },
	}, {
		From: oneOf(Throttle), To: HalfOpen, Reason: ReasonSuccessWindowOK, Confirmation: hysteresis,
		Condition: "s_recover successes since entering, and error ratio of the newest 50 < p_recover",
		holds:     func(f ruleInput) bool { return f.m.successes >= f.t.SRecover && f.recentRatioOK() },
	}, {
		From: oneOf(Sleep), To: HalfOpen, trigger: onClock, Reason: ReasonSleepElapsed, Condition: "now >= sleep_until",
		holds: func(f ruleInput) bool { return f.now >= f.m.sleepUntil },
	}, {
		From: oneOf(HalfOpen), To: Normal, Reason: ReasonProbeOK, Condition: "probe_success good probes",
		holds: func(f ruleInput) bool { return f.m.successes >= f.t.ProbeSuccess },
		enter: ruleInput.forget429s,
	},
}

// allowances says what each state lets through, and whether entering it empties the bucket. share applies to the rate
// and the slots; minRate and maxRate bound the rate.
var allowances = [...]allowance{
	Normal:    {share: 1},
	Throttle:  {share: 0.5, minRate: 5, emptiesBucket: true},
	HalfOpen:  {share: 1, maxRate: 3, burst: 1, slots: 1},
	Sleep:     {},
	CacheOnly: {},
}

// The functions that rules call on entering a state. Every transition also starts a new epoch with an empty window.

func (f ruleInput) sleep() {
	jittered := time.Duration(float64(f.m.clampedCooldown(f.t)) * (1 + sleepJitter*f.draw))
	f.m.sleepUntil = max(f.now.add(jittered), f.m.pauseUntil)
}

func (f ruleInput) sleepLonger() {
	f.m.timeAtMaxCooldown += f.lastCooldownAtMax()
	f.m.cooldown = min(time.Duration(float64(f.m.clampedCooldown(f.t))*f.t.CooldownFactor), f.t.SleepMax)
	f.sleep()
}

func (f ruleInput) blockForPause()  { f.m.blockUntil = f.m.pauseUntil }
func (f ruleInput) blockForPeriod() { f.m.blockUntil = f.now.deadlineAfter(f.period) }
func (f ruleInput) blockForAutoRecover() {
	f.m.timeAtMaxCooldown += f.lastCooldownAtMax()
	f.m.blockUntil = f.now.deadlineAfter(f.t.AutoRecover)
}

func (f ruleInput) startProbing() { f.m.sleepUntil, f.m.failingSince = max(f.now, f.m.pauseUntil), 0 }
func (f ruleInput) resume()       { f.m.cooldown, f.m.timeAtMaxCooldown = 0, 0; f.startProbing() }
func (f ruleInput) forget429s()   { f.m.seen429 = false }

// The parts of the rules' conditions.

func (f ruleInput) failed() bool { return f.event.Outcome.failed() }

// roundFailed reports whether a probe failed in a round without a success: the upstream is still down.
func (f ruleInput) roundFailed() bool {
	return f.failed() && f.m.previousState != Throttle && f.m.successes == 0
}

// isRelapse reports whether Normal was entered from HalfOpen only a few good answers ago. An upstream that gives a good
// answer now and then is not down.
func (f ruleInput) isRelapse() bool {
	return f.m.previousState == HalfOpen && f.m.successes < f.t.MinSamples
}

// lastCooldownAtMax returns the cooldown before the failed round if it had the greatest length, otherwise 0.
func (f ruleInput) lastCooldownAtMax() time.Duration {
	if d := f.m.clampedCooldown(f.t); d >= f.m.maxCooldown(f.t) {
		return d
	}
	return 0
}

// recentRatioOK reports whether few of the newest answers are errors. Older answers do not count, because the errors of
// Throttle's first seconds must not delay its end. It needs min_samples answers, or fewer if all are good: a process
// that seldom sends requests must recover too.
func (f ruleInput) recentRatioOK() bool {
	n := f.m.window.countNewest(f.now, f.t, recentAnswers)
	enough := n.Total() >= f.t.MinSamples || n.Errors() == 0
	return enough && n.Ratio() < f.t.PRecover
}
