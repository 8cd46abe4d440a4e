package ratelimit

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
var rules = []rule{
	{
		from: anyState, to: CacheOnly, on: onOperator, reason: ReasonOperator, when: "an operator says so",
		holds: func(f *facts) bool { return f.command == forceCacheOnly && !f.m.blockedBy(ReasonOperator) },
		enter: (*facts).blockForPeriod,
	}, {
		from: anyState, to: CacheOnly, reason: ReasonRetryAfterLong, when: "Retry-After > sleep_max",
		holds: func(f *facts) bool { return f.retryAfter() > f.t.SleepMax && f.m.state != CacheOnly },
		enter: (*facts).blockForPause,
	}, {
		from: in(HalfOpen), to: CacheOnly, reason: ReasonPolicy,
		when:  "a probe fails, and the failed rounds at the longest cooldown add up to cacheonly_after * sleep_max",
		holds: func(f *facts) bool { return f.failed() && f.m.exhausted+f.lastRound() >= f.t.exhaustion() },
		enter: (*facts).blockForAutoRecover,
	}, {
		from: in(Normal, Throttle), to: Sleep, reason: ReasonConsecutiveFailures,
		when:  "n_failures 5xx or network errors in a row",
		holds: func(f *facts) bool { return f.m.failures >= f.t.NFailures },
		enter: (*facts).sleep,
	}, {
		from: in(Throttle), to: Sleep, reason: ReasonConsecutive429, when: "n_cacheonly 429s in a row",
		holds: func(f *facts) bool { return f.m.streak429 >= f.t.NCacheOnly },
		enter: (*facts).sleep,
	}, {
		from: in(Throttle), to: Sleep, reason: ReasonSustainedErrors, confirm: lasting,
		when:  "error ratio >= 0.60 for 5 min",
		holds: func(f *facts) bool { return f.sustained },
		enter: (*facts).sleep,
	}, {
		from: in(HalfOpen), to: Sleep, reason: ReasonProbeFailed, when: "a probe fails: 429, 5xx or network error",
		holds: (*facts).failed,
		enter: (*facts).sleepLonger,
	}, {
		from: in(CacheOnly), to: Sleep, on: onOperator, reason: ReasonResume, when: "an operator resumes",
		holds: func(f *facts) bool { return f.command == resumeCommand },
		enter: (*facts).resume,
	}, {
		from: in(CacheOnly), to: Sleep, on: onClock, reason: ReasonAutoRecover,
		when:  "the auto-recover period has passed",
		holds: func(f *facts) bool { return f.m.blockOver(f.now) && f.m.reason != ReasonRetryAfterLong },
		enter: (*facts).wake,
	}, {
		from: in(CacheOnly), to: Sleep, on: onClock, reason: ReasonRetryAfterElapsed,
		when:  "the long Retry-After has passed",
		holds: func(f *facts) bool { return f.m.blockOver(f.now) && f.m.reason == ReasonRetryAfterLong },
		enter: (*facts).wake,
	}, {
		from: in(Normal), to: Throttle, reason: ReasonErrorRatio, confirm: hysteresis,
		when:  "error ratio >= p_throttle",
		holds: func(f *facts) bool { return f.counts.Total() >= f.t.MinSamples && f.counts.Ratio() >= f.t.PThrottle },
	}, {
		from: in(Normal), to: Throttle, reason: ReasonConsecutive429, when: "n_throttle 429s in a row",
		holds: func(f *facts) bool { return f.m.streak429 >= f.t.NThrottle },
	}, {
		from: in(Throttle), to: HalfOpen, reason: ReasonSuccessWindowOK, confirm: hysteresis,
		when:  "s_recover successes since entering, and error ratio of the newest 50 < p_recover",
		holds: func(f *facts) bool { return f.m.successes >= f.t.SRecover && f.recentlyWell() },
	}, {
		from: in(Sleep), to: HalfOpen, on: onClock, reason: ReasonSleepElapsed, when: "now >= sleep_until",
		holds: func(f *facts) bool { return f.now >= f.m.sleepUntil },
	}, {
		from: in(HalfOpen), to: Normal, reason: ReasonProbeOK, when: "probe_success good probes",
		holds: func(f *facts) bool { return f.m.successes >= f.t.ProbeSuccess },
		enter: (*facts).recover,
	},
}

// regimes is what each state lets through, and what entering it does to the bucket. share is of rate and slots; the
// rate is at least floor, if it was before, and at most most.
var regimes = [...]regime{
	Normal:    {share: 1},
	Throttle:  {share: 0.5, floor: 5, entering: emptyBucket},
	HalfOpen:  {share: 1, most: 3, burst: 1, slots: 1},
	Sleep:     {},
	CacheOnly: {},
}

// What happens on entering. Every transition also starts a new epoch with an empty window.

func (f *facts) sleep() {
	jittered := time.Duration(float64(f.m.cooled(f.t)) * (1 + sleepJitter*f.draw))
	f.m.sleepUntil = max(f.now.add(jittered), f.m.pauseUntil)
}

func (f *facts) sleepLonger() {
	f.m.exhausted += f.lastRound()
	f.m.cooldown = min(time.Duration(float64(f.m.cooled(f.t))*f.t.CooldownFactor), f.t.SleepMax)
	f.sleep()
}

func (f *facts) blockForPause()  { f.m.blockUntil = f.m.pauseUntil }
func (f *facts) blockForPeriod() { f.m.blockUntil = f.now.after(f.period) }
func (f *facts) blockForAutoRecover() {
	f.m.exhausted += f.lastRound()
	f.m.blockUntil = f.now.after(f.t.AutoRecover)
}
func (f *facts) wake()    { f.m.sleepUntil, f.m.failing = max(f.now, f.m.pauseUntil), 0 }
func (f *facts) resume()  { f.m.cooldown, f.m.exhausted = 0, 0; f.wake() }
func (f *facts) recover() { f.m.exhausted = 0; f.m.startRamp(f) }

// What the conditions are made of.

func (f *facts) failed() bool { return f.event.Outcome.failed() }

// lastRound is the length of the round that has just failed if it was one at the longest cooldown, else 0.
func (f *facts) lastRound() time.Duration {
	if d := f.m.cooled(f.t); d >= f.m.longest(f.t) {
		return d
	}
	return 0
}

// recentlyWell judges the newest answers: the errors of Throttle's first seconds must not outvote what works now.
// s_recover of them are enough, or fewer if all are good, because a process that asks rarely must recover too.
func (f *facts) recentlyWell() bool {
	n := f.m.window.newest(f.now, f.t, recentAnswers)
	enough := n.Total() >= f.t.SRecover || n.Errors() == 0
	return enough && n.Ratio() < f.t.PRecover
}
