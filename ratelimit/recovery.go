package ratelimit

import "time"

// This file states how long recovery may take at worst.

// RecoveryBound returns the longest time after which the limiter is in Normal again, from the
// moment on which the upstream answers everything well and somebody keeps asking:
//
//	blocked                                           what is left of Sleep, pause or CacheOnly
//	+ 1 s                                             the longest nap before somebody sees its end
//	+ hold                                            lost permits of the old epoch keep their slots
//	+ burst / rate + ceiling_window                   the bucket is in debt, the ceiling is full
//	+ window                                          old errors leave the window
//	+ (s_recover + hysteresis) * (1/throttled + latency)
//	+ request_timeout + 1 s                           a lost probe keeps its slot
//	+ probe_success * (1/probing + latency)
//
// blocked is the time to the end of the present block (Status.Until, Status.PauseUntil), hold
// the longest Ask.Hold in use (for Transport request_timeout + 1 s), latency the
// time of one good answer; throttled and probing are the rates of Throttle and
// HalfOpen. Only a CacheOnly without an end has no bound.
func (t Tuning) RecoveryBound(blocked, hold, latency time.Duration) time.Duration {
	lowest := t.RateBase * t.RampStart
	throttled, probing := regimes[Throttle].pace(lowest, t.bucketCap()), regimes[HalfOpen].pace(lowest, 1)
	debt := max(time.Second, probing.interval())
	return blocked + maxNap + hold + debt + t.CeilingWindow + t.Window +
		time.Duration(t.SRecover+t.Hysteresis)*(throttled.interval()+latency) +
		t.RequestTimeout + probeGrace + time.Duration(t.ProbeSuccess)*(probing.interval()+latency)
}
