package ratelimit

import "time"

// The ramp: after trouble with 429s Normal begins below rate_base and rises step by step. An outage says
// nothing about the limit; a ramp that was under way goes on where it was.

// answeredFor is the time before trouble in which the rate that was answered well is measured.
const answeredFor = 10 * time.Second

// rampFloor is the lowest rate of a ramp towards a rate: an upstream that refuses a part of everything, whatever
// the rate, must not drive it towards nothing.
func rampFloor(rate float64) float64 { return min(rate, max(5, rate/8)) }

// leaveNormal notes what Normal was like when trouble begins.
func (m *machine) leaveNormal(f *facts) {
	n := f.counts
	rate := m.rampRate(f.rate, f.t, f.now)
	if m.hungry != 0 && f.now.sub(m.hungry) < answeredFor { // all that was allowed was asked for
		if good, over := m.window.good(f.now.add(-answeredFor)); over >= time.Second {
			rate = min(rate, good)
		}
	}
	m.trouble = trouble{limit: n.Throttled > 0 && 2*n.Throttled >= n.Errors(), rate: rate}
}

// startRamp begins a ramp when trouble with 429s is over.
func (m *machine) startRamp(f *facts) {
	if m.trouble.limit || m.trouble.seen429 {
		m.ramp, m.rampAt = max(m.trouble.rate*f.t.RampStart, rampFloor(f.rate)), f.now
	}
	m.trouble = trouble{}
}

// rampRate returns the rate of Normal: what is wished for, or what the ramp has reached.
func (m *machine) rampRate(wish float64, t *Tuning, now Stamp) float64 {
	if m.ramp == 0 {
		return wish
	}
	rate := m.ramp
	for steps := now.sub(m.rampAt) / t.RampInterval; steps > 0 && rate < wish; steps-- {
		rate *= t.RampFactor
	}
	return min(wish, rate)
}

// pace returns the pace in the present state of a process with this tuning.
func (m *machine) pace(t *Tuning, now Stamp) pace {
	return regimes[m.state].pace(m.rampRate(t.RateBase, t, now), t.bucketCap())
}

// RecoveryBound returns the longest time after which the limiter is in Normal again, from the
// moment at which the upstream begins to answer everything well and somebody keeps asking:
//
//	blocked                                           what is left of Sleep, pause or CacheOnly
//	+ 1 s                                             the longest nap before somebody sees its end
//	+ hold                                            lost permits of the old epoch keep their slots
//	+ burst / rate + ceiling_window                   the bucket is in debt, the ceiling is full
//	+ window                                          old errors leave the window
//	+ (s_recover + hysteresis) * (1/throttled + latency)
//	+ min(hold, 10 min)                               a lost probe keeps its slot
//	+ probe_success * (1/probing + latency)
//
// ramp is the rate in force in Normal (Status.RampRate; 0: no ramp), blocked the time to the end of the present
// block (Status.Until, Status.PauseUntil), hold the longest Ask.Hold in use (for Transport request_timeout + 1 s),
// latency the time of one good answer; throttled and probing are the rates of Throttle and HalfOpen. Only a
// CacheOnly without an end has no bound.
func (t Tuning) RecoveryBound(ramp float64, blocked, hold, latency time.Duration) time.Duration {
	t = t.withDefaults()
	rate := t.RateBase
	if ramp > 0 {
		rate = min(rate, ramp)
	}
	throttled, probing := regimes[Throttle].pace(rate, t.bucketCap()), regimes[HalfOpen].pace(rate, 1)
	debt := max(time.Second, probing.interval())
	return blocked + maxNap + hold + debt + t.CeilingWindow + t.Window +
		time.Duration(t.SRecover+t.Hysteresis)*(throttled.interval()+latency) +
		min(hold, probeHold) + time.Duration(t.ProbeSuccess)*(probing.interval()+latency)
}

// RampBound returns how long Normal takes at most to reach RateBase: the steps from the ramp's floor.
func (t Tuning) RampBound() time.Duration {
	t = t.withDefaults()
	var d time.Duration
	for rate := rampFloor(t.RateBase); rate < t.RateBase; rate *= t.RampFactor {
		d += t.RampInterval
	}
	return d
}
