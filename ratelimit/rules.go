package ratelimit

import "time"

// THE table: every transition of the limiter, and what each state lets through.
// Machine, documents, graph and tests all read it; change it here and nowhere else.

const (
	sustainedRatio = 0.60            // an error ratio that Throttle does not cure,
	sustainedFor   = 5 * time.Minute // if it lasts that long
	recentAnswers  = 50              // newest answers that recovery is judged on
)

// rules are tried from the most restrictive target to the least; the first row
// that holds is the event's only transition.
var rules = []rule{
	{anyState, CacheOnly, onOperator, "an operator says so", atOnce, ReasonOperator, (*facts).outranked, (*facts).enterOperator},
	{anyState, CacheOnly, onAnswer, "Retry-After > sleep_max", atOnce, ReasonRetryAfterLong, (*facts).longWait, (*facts).enterLongWait},
	{in(HalfOpen), CacheOnly, onAnswer, "a probe fails, the cacheonly_after-th one at sleep_max", atOnce, ReasonPolicy, (*facts).hopeless, (*facts).enterPolicy},

	{in(Normal, Throttle), Sleep, onAnswer, "n_failures 5xx or network errors in a row", atOnce, ReasonConsecutiveFailures, (*facts).failing, (*facts).enterSleep},
	{in(Throttle), Sleep, onAnswer, "n_cacheonly 429s in a row", atOnce, ReasonConsecutive429, (*facts).refused, (*facts).enterSleep},
	{in(Throttle), Sleep, onAnswer, "error ratio >= 0.60 for 5 min", lasting, ReasonSustainedErrors, (*facts).lasts, (*facts).enterSleep},
	{in(HalfOpen), Sleep, onAnswer, "a probe fails: 429, 5xx or network error", atOnce, ReasonProbeFailed, (*facts).failed, (*facts).enterLongerSleep},
	{in(CacheOnly), Sleep, onOperator, "an operator resumes", atOnce, ReasonResume, (*facts).resumed, (*facts).enterResumed},
	{in(CacheOnly), Sleep, onClock, "the auto-recover period has passed", atOnce, ReasonAutoRecover, (*facts).periodOver, (*facts).enterWoken},
	{in(CacheOnly), Sleep, onClock, "the long Retry-After has passed", atOnce, ReasonRetryAfterElapsed, (*facts).longWaitOver, (*facts).enterWoken},

	{in(Normal), Throttle, onAnswer, "error ratio >= p_throttle", hysteresis, ReasonErrorRatio, (*facts).troubled, nil},
	{in(Normal), Throttle, onAnswer, "n_throttle 429s in a row", atOnce, ReasonConsecutive429, (*facts).throttled, nil},

	{in(Throttle), HalfOpen, onAnswer, "s_recover successes since entering, and error ratio < p_recover", hysteresis, ReasonSuccessWindowOK, (*facts).recovering, nil},
	{in(Sleep), HalfOpen, onClock, "now >= sleep_until", atOnce, ReasonSleepElapsed, (*facts).slept, nil},

	{in(HalfOpen), Normal, onAnswer, "probe_success good probes", atOnce, ReasonProbeOK, (*facts).probed, (*facts).enterNormal},
}

// regimes is what each state lets through: a share of the rate (never below
// floor, never above most) and of the slots, or exactly so many slots.
var regimes = [...]regime{
	Normal:    {share: 1},
	Throttle:  {share: 0.5, floor: 5},
	HalfOpen:  {share: 1, most: 3, burst: 1, slots: 1},
	Sleep:     {},
	CacheOnly: {},
}

// The conditions.

func (f *facts) outranked() bool {
	return f.move.operator == forceCacheOnly && (f.m.state != CacheOnly || f.m.reason.rank() < ReasonOperator.rank())
}

func (f *facts) longWait() bool {
	wait, given := f.move.event.wait()
	return given && wait > f.t.SleepMax && f.m.state != CacheOnly
}

func (f *facts) hopeless() bool {
	return f.failed() && f.m.cooled(f.t) >= f.t.SleepMax && f.m.rounds+1 >= f.t.CacheOnlyAfter
}

func (f *facts) failed() bool    { return f.move.event.Outcome.failed() }
func (f *facts) failing() bool   { return f.m.failures >= f.t.NFailures }
func (f *facts) refused() bool   { return f.m.streak429 >= f.t.NCacheOnly }
func (f *facts) throttled() bool { return f.m.streak429 >= f.t.NThrottle }
func (f *facts) lasts() bool     { return f.sustained }
func (f *facts) resumed() bool   { return f.move.operator == resumeCommand }
func (f *facts) longWaitOver() bool {
	return f.m.reason == ReasonRetryAfterLong && f.now >= f.m.recoverAt()
}
func (f *facts) slept() bool  { return f.now >= f.m.sleepUntil }
func (f *facts) probed() bool { return f.m.successes >= f.t.ProbeSuccess }

func (f *facts) periodOver() bool {
	end := f.m.recoverAt()
	return f.m.reason != ReasonRetryAfterLong && end != 0 && f.now >= end
}

func (f *facts) troubled() bool {
	return f.counts.Total() >= f.t.MinSamples && f.counts.Ratio() >= f.t.PThrottle
}

// recovering judges the newest answers: what failed just after Throttle was entered must not outvote
// what works now. It judges s_recover of them, or fewer if all are good: who asks so rarely that the window never
// fills must recover too.
func (f *facts) recovering() bool {
	n := f.m.window.newest(f.now, f.t, recentAnswers)
	enough := n.Total() >= f.t.SRecover || n.Errors() == 0
	return f.m.successes >= f.t.SRecover && enough && n.Ratio() < f.t.PRecover
}

// What happens on entering.

func (f *facts) enterSleep() {
	jittered := time.Duration(float64(f.m.cooled(f.t)) * (1 + sleepJitter*f.move.draw))
	f.m.sleepUntil = max(f.now.add(jittered), f.m.pauseUntil)
}

func (f *facts) enterLongerSleep() {
	if f.m.cooled(f.t) >= f.t.SleepMax {
		f.m.rounds++
	}
	f.m.lengthen(f.t)
	f.enterSleep()
}

func (f *facts) enterPolicy()   { f.m.rounds++; f.m.autoRecover = f.t.AutoRecover }
func (f *facts) enterOperator() { f.m.autoRecover = f.move.period }
func (f *facts) enterLongWait() { f.m.blockUntil, f.m.autoRecover = f.m.pauseUntil, 0 }
func (f *facts) enterWoken()    { f.m.sleepUntil = max(f.now, f.m.pauseUntil) }
func (f *facts) enterResumed()  { f.m.cooldown, f.m.rounds = 0, 0; f.enterWoken() }
func (f *facts) enterNormal()   { f.m.recovered(f.t, f.now) }
