package core

import "time"

// The table: every transition of the limiter, what happens on entering a state, and what each state lets
// through. The machine, the documents, the graph and the tests all read it.

const (
	sustainedRatio = 0.60            // the error ratio that Throttle does not cure
	sustainedFor   = 5 * time.Minute // if it lasts this long
	recentAnswers  = 50              // the newest answers, on which recovery is judged
)

// rules are tried from the most restrictive target to the least. The first row that holds is the event's only
// transition. A row is looked at when an answer arrives, and is confirmed at once, unless it says otherwise.
var rules = []Rule{
	{
		From: anyState, To: CacheOnly, trigger: onOperator, Reason: ReasonOperator, Condition: "an operator says so",
		holds: func(f facts) bool { return f.command == forceCacheOnly && !f.m.blockedAtLeastBy(ReasonOperator) },
		enter: facts.blockForPeriod,
	}, {
		From: anyState, To: CacheOnly, Reason: ReasonRetryAfterLong,
		Condition: "Retry-After > sleep_max of a 429, or of a 503 that pauses everybody",
		holds:     func(f facts) bool { return f.pause > f.t.SleepMax && f.m.state != CacheOnly },
		enter:     facts.blockForPause,
	}, {
		From: in(HalfOpen), To: CacheOnly, Reason: ReasonPolicy,
		Condition: "the first probe of a round from Sleep fails, and such rounds at the longest cooldown add up to " +
			"cacheonly_after * sleep_max",
		holds: func(f facts) bool { return f.roundFailed() && f.m.exhausted+f.lastRound() >= f.t.cacheOnlyThreshold() },
		enter: facts.blockForAutoRecover,
	}, {
		From: in(Normal), To: Sleep, Reason: ReasonConsecutiveFailures,
		Condition: "n_failures 5xx or network errors in a row, unless it is a relapse",
		holds:     func(f facts) bool { return f.m.failures >= f.t.NFailures && !f.isRelapse() },
		enter:     facts.sleep,
	}, {
		From: in(Throttle), To: Sleep, Reason: ReasonConsecutiveFailures,
		Condition: "5xx or network errors in a row: 3 * n_failures, or n_failures + slots where that is more",
		holds:     func(f facts) bool { return f.m.failures >= f.t.NFailures+max(2*f.t.NFailures, f.slots) },
		enter:     facts.sleep,
	}, {
		From: in(Throttle), To: Sleep, Reason: ReasonConsecutive429, Condition: "n_cacheonly 429s in a row",
		holds: func(f facts) bool { return f.m.streak429 >= f.t.NCacheOnly },
		enter: facts.sleep,
	}, {
		From: in(Throttle), To: Sleep, Reason: ReasonSustainedErrors, Confirmation: lasting,
		Condition: "error ratio >= 0.60 for 5 min",
		holds:     func(f facts) bool { return f.ratioSustained },
		enter:     facts.sleep,
	}, {
		From: in(HalfOpen), To: Sleep, Reason: ReasonProbeFailed,
		Condition: "the first probe of a round from Sleep fails: 429, 5xx or network error",
		holds:     facts.roundFailed,
		enter:     facts.sleepLonger,
	}, {
		From: in(HalfOpen), To: Sleep, Reason: ReasonProbeFailed, Condition: "a later probe of a round from Sleep fails",
		holds: func(f facts) bool { return f.failed() && f.m.from != Throttle },
		enter: facts.sleep,
	}, {
		From: in(CacheOnly), To: Sleep, trigger: onOperator, Reason: ReasonResume, Condition: "an operator resumes",
		holds: func(f facts) bool { return f.command == resumeCommand },
		enter: facts.resume,
	}, {
		From: in(CacheOnly), To: Sleep, trigger: onClock, Reason: ReasonAutoRecover,
		Condition: "the auto-recover period has passed",
		holds:     func(f facts) bool { return f.m.blockEnded(f.now) && f.m.reason != ReasonRetryAfterLong },
		enter:     facts.wake,
	}, {
		From: in(CacheOnly), To: Sleep, trigger: onClock, Reason: ReasonRetryAfterElapsed,
		Condition: "the long Retry-After has passed",
		holds:     func(f facts) bool { return f.m.blockEnded(f.now) && f.m.reason == ReasonRetryAfterLong },
		enter:     facts.wake,
	}, {
		From: in(Normal), To: Throttle, Reason: ReasonErrorRatio, Confirmation: hysteresis,
		Condition: "error ratio >= p_throttle",
		holds:     func(f facts) bool { return f.counts.Total() >= f.t.MinSamples && f.counts.Ratio() >= f.t.PThrottle },
	}, {
		From: in(Normal), To: Throttle, Reason: ReasonConsecutive429, Condition: "n_throttle 429s in a row",
		holds: func(f facts) bool { return f.m.streak429 >= f.t.NThrottle },
	}, {
		From: in(Normal), To: Throttle, Reason: ReasonConsecutiveFailures,
		Condition: "n_failures 5xx or network errors in a row in a relapse: after HalfOpen, before min_samples good answers",
		holds:     func(f facts) bool { return f.m.failures >= f.t.NFailures && f.isRelapse() },
	}, {
		From: in(HalfOpen), To: Throttle, Reason: ReasonProbeFailed, Condition: "a probe of a round from Throttle fails",
		holds: func(f facts) bool { return f.failed() && f.m.from == Throttle },
	}, {
		From: in(Throttle), To: HalfOpen, Reason: ReasonSuccessWindowOK, Confirmation: hysteresis,
		Condition: "s_recover successes since entering, and error ratio of the newest 50 < p_recover",
		holds:     func(f facts) bool { return f.m.successes >= f.t.SRecover && f.recentRatioOK() },
	}, {
		From: in(Sleep), To: HalfOpen, trigger: onClock, Reason: ReasonSleepElapsed, Condition: "now >= sleep_until",
		holds: func(f facts) bool { return f.now >= f.m.sleepUntil },
	}, {
		From: in(HalfOpen), To: Normal, Reason: ReasonProbeOK, Condition: "probe_success good probes",
		holds: func(f facts) bool { return f.m.successes >= f.t.ProbeSuccess },
		enter: facts.recover,
	},
}

// allowances is what each state lets through, and what entering it does to the bucket. share is of rate and slots; the
// rate is at least floor, if it was before, and at most most.
var allowances = [...]allowance{
	Normal:    {share: 1},
	Throttle:  {share: 0.5, minRate: 5, emptiesBucket: true},
	HalfOpen:  {share: 1, maxRate: 3, burst: 1, slots: 1},
	Sleep:     {},
	CacheOnly: {},
}

// What happens on entering. Every transition also starts a new epoch with an empty window.

func (f facts) sleep() {
	jittered := time.Duration(float64(f.m.clampedCooldown(f.t)) * (1 + sleepJitter*f.draw))
	f.m.sleepUntil = max(f.now.add(jittered), f.m.pauseUntil)
}

func (f facts) sleepLonger() {
	f.m.exhausted += f.lastRound()
	f.m.cooldown = min(time.Duration(float64(f.m.clampedCooldown(f.t))*f.t.CooldownFactor), f.t.SleepMax)
	f.sleep()
}

func (f facts) blockForPause()  { f.m.blockUntil = f.m.pauseUntil }
func (f facts) blockForPeriod() { f.m.blockUntil = f.now.deadlineAfter(f.period) }
func (f facts) blockForAutoRecover() {
	f.m.exhausted += f.lastRound()
	f.m.blockUntil = f.now.deadlineAfter(f.t.AutoRecover)
}
func (f facts) wake()    { f.m.sleepUntil, f.m.failingSince = max(f.now, f.m.pauseUntil), 0 }
func (f facts) resume()  { f.m.cooldown, f.m.exhausted = 0, 0; f.wake() }
func (f facts) recover() { f.m.seen429 = false }

// What the conditions are made of.

func (f facts) failed() bool { return f.event.Outcome.failed() }

// roundFailed reports that the upstream is down: it has answered none of a round of probes well.
func (f facts) roundFailed() bool { return f.failed() && f.m.from != Throttle && f.m.successes == 0 }

// isRelapse reports that the trouble before has hardly ended: who answers on and off is not down.
func (f facts) isRelapse() bool { return f.m.from == HalfOpen && f.m.successes < f.t.MinSamples }

// lastRound is the length of the round that has just failed if it was one at the longest cooldown, else 0.
func (f facts) lastRound() time.Duration {
	if d := f.m.clampedCooldown(f.t); d >= f.m.maxCooldown(f.t) {
		return d
	}
	return 0
}

// recentRatioOK judges the newest answers: the errors of Throttle's first seconds must not outvote what works now.
// s_recover of them are enough, or fewer if all are good, because a process that asks rarely must recover too.
func (f facts) recentRatioOK() bool {
	n := f.m.window.countNewest(f.now, f.t, recentAnswers)
	enough := n.Total() >= f.t.SRecover || n.Errors() == 0
	return enough && n.Ratio() < f.t.PRecover
}
