package core

import (
	"net/http"
	"time"
)

// machine is the state machine with all its evidence. It is a plain value;
// step is the only thing that changes its state.
type machine struct {
	state  State
	epoch  uint64 // changes with every transition
	since  Stamp  // when the state was entered
	reason Reason // why

	permits uint64 // number of the newest permit

	sleepUntil Stamp
	pauseUntil Stamp
	blockUntil Stamp         // end of CacheOnly; 0: none
	cooldown   time.Duration // 0: sleep_min
	exhausted  time.Duration // sum of the failed rounds at the longest cooldown

	window      window
	streak429   int
	overrun     uint64        // newest permit when the last 429 was counted
	overrunWait time.Duration // the wait drawn for that overrun
	failures    int           // streak of 5xx and network errors
	failing     Stamp         // since when nothing was answered well; 0: the last answer was good
	lost        uint64        // the connection lost last, 0 for none
	lostPermit  uint64        // newest permit when that was counted
	successes   int           // since the state was entered

	armed       int    // times in a row the state's statistical row has held
	armedPermit uint64 // newest permit when it last did
	sustained   Stamp  // since when every judged ratio was too high

	ramp              float64 // rate that the ramp began with; 0: no ramp
	rampAt            Stamp   // when it began
	lastTokenShortage Stamp   // when a request last found the bucket empty in Normal
	outage            outage  // since Normal was left
}

// outage is what the ramp after it depends on.
type outage struct {
	limit   bool    // at least half of the errors were 429s when Normal was left
	seen429 bool    // a 429 since then
	rate    float64 // the rate that the upstream coped with before it
}

// Event is what one request has shown. Permit.Done takes it.
type Event struct {
	Outcome Outcome
	Status  int // HTTP status, 0 if there was no answer

	// RetryAfter is the answer's Retry-After, see ParseRetryAfter. It is looked
	// at for Throttled and Deferred, and for Server with status 503.
	RetryAfter Wait

	// Connection names the connection that broke under the request, 0 for none. Network
	// failures of one connection that broke under several requests are one failure.
	Connection uint64

	// Key is what the answer says about the key that asked.
	Key KeyVerdict

	// Latency is how long the try took, for hooks only.
	Latency time.Duration
	// Attempt counts the tries of one request from 1, for hooks only.
	Attempt int
}

// Obeyed reports whether a Retry-After of the answer has to be obeyed.
func (e *Event) Obeyed() bool {
	return e.Outcome == Throttled || e.Outcome == Deferred || e.Outcome == Server &&
		e.Status == http.StatusServiceUnavailable
}

func (e *Event) wait() (time.Duration, bool) {
	if e.RetryAfter.Given && e.Obeyed() {
		return e.RetryAfter.For, true
	}
	return 0, false
}

// alive reports whether the answer proves that the upstream lives, though it is a refusal of this one request.
func (e *Event) alive() bool {
	return e.Outcome == Deferred || e.Outcome == Client && e.Status != 401 && e.Status != 403
}

// begin makes the machine that of an unknown upstream.
func (m *machine) begin(now Stamp, why Reason) {
	if m.reason == ReasonNone {
		m.state, m.reason = Normal, why
	}
	// Never the numbers of an earlier life, whose permits may still be out.
	m.epoch = uint64(millis(now))
	m.permits = m.epoch
	m.since = now
}

// reset makes the machine that of an unknown upstream, with numbers above those of before. A pause may be kept.
func (m *machine) reset(now Stamp, pause bool) {
	old := *m
	*m = machine{
		state: Normal, epoch: old.epoch + 1, since: now, reason: ReasonReset, permits: old.permits, overrun: old.permits,
	}
	if pause {
		m.pauseUntil = old.pauseUntil
	}
}

// move is something that may change the machine's state.
type move struct {
	on      trigger
	event   Event  // the answer
	permit  uint64 // its permit
	command command
	period  time.Duration // the operator's auto-recover period; 0: no end
	draw    float64       // in [0,1)
	rate    float64       // the largest rate in Normal of all processes
}

// command is an operator's wish.
type command uint8

const (
	noCommand command = iota
	forceCacheOnly
	resumeCommand
)

func (m *machine) step(t *Tuning, now Stamp, v move) (Transition, bool) {
	if m.state == Normal && now.sub(m.since) >= t.CooldownReset {
		m.cooldown = 0
	}
	if v.on == onClock && !ticks[m.state] || v.on == onAnswer && !m.remember(t, now, &v) {
		return Transition{}, false
	}
	f := facts{move: v, m: m, t: t, now: now}
	if v.on == onAnswer {
		f.counts = m.window.counts(now, t)
		f.sustained = m.sustain(t, now, f.counts)
	}
	for i := range rules {
		r := &rules[i]
		if r.on == v.on && r.appliesIn(m.state) && m.confirmed(r, &f) {
			return m.enter(r, &f), true
		}
	}
	return Transition{}, false
}

// remember adds an answer to window and streaks. It reports whether the answer is evidence.
func (m *machine) remember(t *Tuning, now Stamp, v *move) bool {
	e := &v.event
	switch e.Outcome {
	case OK:
		m.successes++
		m.streak429, m.failures, m.failing = 0, 0, 0
	case Throttled:
		m.failures = 0
		m.outage.seen429 = m.outage.seen429 || m.state != Normal
		if v.permit > m.overrun {
			m.streak429++
			m.overrun = m.permits
		}
	case Server:
		m.failures++
		m.streak429 = 0
	case Network:
		if e.Connection != 0 && e.Connection == m.lost && v.permit <= m.lostPermit {
			return false // lost together with the one that was counted
		}
		m.lost, m.lostPermit = e.Connection, m.permits
		m.failures++
	case Client, Deferred:
		if m.state != HalfOpen || !e.alive() {
			return false
		}
		m.successes++
		m.failing = 0
		return true
	case Cancelled, Misconfigured:
		return false
	}
	if e.Outcome.failed() && m.failing == 0 {
		m.failing = now
	}
	m.window.add(now, e.Outcome, t)
	return true
}

// pause delays every process after an answer that asks for it, of whatever
// epoch. It has to be called before step, which counts the overrun.
func (m *machine) pause(now Stamp, e *Event, permit uint64, current bool, draw float64) {
	wait, given := e.wait()
	switch {
	case given:
	case e.Outcome == Throttled:
		if permit > m.overrun || m.overrunWait == 0 {
			streak := max(m.streak429, 1)
			if current {
				streak = m.streak429 + 1
			}
			m.overrunWait = max(minPause, fullJitter(streak, draw))
		}
		wait = m.overrunWait
	default:
		return
	}
	m.pauseUntil = max(m.pauseUntil, now.add(wait))
}

// sustain reports whether the ratio has been too high at every judged answer for sustainedFor.
func (m *machine) sustain(t *Tuning, now Stamp, n Counts) bool {
	switch {
	case n.Total() < t.MinSamples:
		return false
	case n.Ratio() < sustainedRatio:
		m.sustained = 0
		return false
	case m.sustained == 0:
		m.sustained = now
		return false
	}
	return now.sub(m.sustained) >= sustainedFor
}

// confirmed reports whether a row holds and is confirmed: a statistical
// one has to be seen several times in a row, each time by a newer permit.
func (m *machine) confirmed(r *Rule, f *facts) bool {
	holds := r.holds(*f)
	if r.Confirmation != hysteresis {
		return holds
	}
	switch {
	case !holds:
		m.armed = 0
		return false
	case m.armed == 0 || f.permit > m.armedPermit:
		m.armed++
		m.armedPermit = m.permits
	}
	return m.armed >= f.t.Hysteresis
}

func (m *machine) enter(r *Rule, f *facts) Transition {
	tr := Transition{From: m.state, To: r.To, Reason: r.Reason}
	if m.state == Normal {
		m.leaveNormal(f)
	}
	m.state, m.reason, m.since = r.To, r.Reason, f.now
	m.epoch++
	m.window.records = m.window.records[:0]
	m.successes, m.armed, m.armedPermit, m.sustained = 0, 0, 0, 0
	if r.enter != nil {
		r.enter(*f)
	}
	return tr
}

// longest returns the longest cooldown: an outage without 429s says nothing about the limit, and a probe
// every 30 s costs the upstream nothing.
func (m *machine) longest(t *Tuning) time.Duration {
	if m.outage.seen429 {
		return t.SleepMax
	}
	return max(min(t.SleepMaxOutage, t.SleepMax), t.SleepMin)
}

func (m *machine) cooled(t *Tuning) time.Duration {
	return min(max(m.cooldown, t.SleepMin), m.longest(t))
}

// after returns the moment d from s, 0 for no d: a block without an end.
func (s Stamp) after(d time.Duration) Stamp {
	if d <= 0 {
		return 0
	}
	return s.add(d)
}

func (m *machine) blockedBy(r Reason) bool {
	return m.state == CacheOnly && m.reason.rank() >= r.rank()
}

func (m *machine) blockOver(now Stamp) bool { return m.blockUntil != 0 && now >= m.blockUntil }

// volunteer lets a process that recovers automatically give CacheOnly an end for all, but not against an operator.
func (m *machine) volunteer(t *Tuning, now Stamp) {
	if t.AutoRecover == 0 || m.state != CacheOnly || m.reason != ReasonPolicy {
		return
	}
	if end := now.add(t.AutoRecover); m.blockUntil == 0 || end < m.blockUntil {
		m.blockUntil = end
	}
}

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
	if m.lastTokenShortage != 0 && f.now.sub(m.lastTokenShortage) < answeredFor { // all that was allowed was asked for
		if good, over := m.window.good(f.now.add(-answeredFor)); over >= time.Second {
			rate = min(rate, good)
		}
	}
	m.outage = outage{limit: n.Throttled > 0 && 2*n.Throttled >= n.Errors(), rate: rate}
}

// startRamp begins a ramp when trouble with 429s is over.
func (m *machine) startRamp(f *facts) {
	if m.outage.limit || m.outage.seen429 {
		m.ramp, m.rampAt = max(m.outage.rate*f.t.RampStart, rampFloor(f.rate)), f.now
	}
	m.outage = outage{}
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
	t = t.WithDefaults()
	rate := t.RateBase
	if ramp > 0 {
		rate = min(rate, ramp)
	}
	throttled, probing := regimes[Throttle].pace(rate, t.bucketCap()), regimes[HalfOpen].pace(rate, 1)
	debt := max(time.Second, probing.interval())
	return blocked + MaxNap + hold + debt + t.CeilingWindow + t.Window +
		time.Duration(t.SRecover+t.Hysteresis)*(throttled.interval()+latency) +
		min(hold, ProbeHold) + time.Duration(t.ProbeSuccess)*(probing.interval()+latency)
}

// RampBound returns how long Normal takes at most to reach RateBase: the steps from the ramp's floor.
func (t Tuning) RampBound() time.Duration {
	t = t.WithDefaults()
	var d time.Duration
	for rate := rampFloor(t.RateBase); rate < t.RateBase; rate *= t.RampFactor {
		d += t.RampInterval
	}
	return d
}
