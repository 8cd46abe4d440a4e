package core

import (
	"math"
	"time"
)

// recoveryBound returns the longest time after which the limiter is in Normal again, from the
// moment at which the upstream begins to answer everything well and somebody keeps asking:
//
//	blocked                                           what is left of Sleep, pause or CacheOnly
//	+ 1 s                                             the longest nap before somebody sees its end
//	+ hold                                            lost permits of the old epoch keep their slots
//	+ burst / rate + ceiling_window                   the bucket is in debt, the ceiling is full
//	+ window                                          old errors leave the window
//	+ (s_recover + hysteresis) * (1/throttled + latency)
//	+ 2 * min(hold, 10 min)                           a lost probe keeps its slot, here and in a Throttle that falters
//	+ (1 + probe_success) * (1/probing + latency)
//
// learned is the rate that was learned (Status.Learned.Rate; 0: none), blocked the time to the end of the present
// block (Status.Until, Status.PauseUntil), hold the longest PermitRequest.Lease in use (for Transport
// request_timeout + 1 s),
// latency the time of one good answer; throttled and probing are the rates of Throttle and HalfOpen. Only a
// CacheOnly without an end has no bound.
func recoveryBound(t Tuning, learned float64, blocked, hold, latency time.Duration) time.Duration {
	t = t.WithDefaults()
	rate := t.RateBase
	if learned > 0 {
		rate = min(rate, learned)
	}
	throttled, probing := allowances[Throttle].pace(rate, t.bucketCap()), allowances[HalfOpen].pace(rate, 1)
	debt := max(time.Second, probing.interval())
	return blocked + MaxRetryWait + hold + debt + t.CeilingWindow + t.Window +
		time.Duration(t.SRecover+t.Hysteresis)*(throttled.interval()+latency) +
		2*min(hold, MaxProbeLease) + time.Duration(1+t.ProbeSuccess)*(probing.interval()+latency)
}

// learnedBound returns how long it takes at most until a learned rate is gone, from the moment at which the upstream
// has a higher limit, in Normal and while more is wanted:
//
//	ramp_after / floor + ceil(log2((rate_base - floor) * ceiling_window + 1)) * ceiling_window
func learnedBound(t Tuning) time.Duration {
	t = t.WithDefaults()
	window := t.CeilingWindow.Seconds()
	floor := learnedFloor(t.RateBase)
	raises := math.Ceil(math.Log2(max(t.RateBase-floor, 0)*window + 1))
	return time.Duration((float64(t.RampAfter)/floor + raises*window) * float64(time.Second))
}
