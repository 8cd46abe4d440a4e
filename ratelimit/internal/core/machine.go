package core

import (
	"math"
	"net/http"
	"time"
)

// machine is the state machine with all its evidence. It is a plain value;
// step is the only thing that changes its state.
type machine struct {
	state  State
	from   State  // the state before
	epoch  uint64 // changes with every transition
	since  Stamp  // when the state was entered
	reason Reason // why

	permits  uint64 // number of the newest permit
	firstTry Stamp  // when the newest permit of a request's first try was granted

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
	lastGood    uint64        // newest permit at the last good answer
	faltering   uint64        // newest permit when the streak in Throttle reached n_failures; 0: it is shorter
	lost        uint64        // the connection lost last, 0 for none
	lostPermit  uint64        // newest permit when that was counted
	successes   int           // since the state was entered

	armed       int    // times in a row the state's statistical row has held
	armedPermit uint64 // newest permit when it last did
	sustained   Stamp  // since when every judged ratio was too high

	easing            Stamp   // since when Throttle's rate has risen
	learned           learned // the upstream's limit, where it is below rate_base
	lastTokenShortage Stamp   // when a request last had to wait for a token or for room in Normal
	seen429           bool    // a 429 since Normal was left, or most errors before it were 429s
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
	// Attempt counts the tries of one request from 1. Only a first try is evidence, see Request.Again.
	Attempt int
	// First is the number of the permit of its first try; 0: unknown, or this is it.
	First uint64
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
		m.state, m.from, m.reason = Normal, Normal, why
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
		state: Normal, from: Normal, epoch: old.epoch + 1, since: now, reason: ReasonReset, permits: old.permits, overrun: old.permits,
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
	slots   int           // how many requests Throttle lets run at once
	pause   time.Duration // for which the answer asks everybody to wait
}

// command is an operator's wish.
type command uint8

const (
	noCommand command = iota
	forceCacheOnly
	resumeCommand
)

// step applies one move to the machine: at most one transition.
func (m *machine) step(t *Tuning, now Stamp, v move) (Transition, bool) {
	m.learned.expire(now)
	if v.on == onClock && !ticks[m.state] || v.on == onAnswer && !m.remember(t, now, &v) {
		return Transition{}, false
	}
	f := facts{move: v, m: m, t: t, now: now}
	if v.on == onAnswer {
		f.counts = m.window.counts(now, t)
		f.sustained = m.sustain(t, now, f.counts)
		if m.sustained != 0 {
			m.easing = now // so many errors may come from the rate
		}
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
	evidence := m.count(t, now, v)
	m.falter(t)
	return evidence
}

func (m *machine) count(t *Tuning, now Stamp, v *move) bool {
	e := &v.event
	if e.Connection != 0 && e.Outcome == Network {
		if e.Connection == m.lost && v.permit <= m.lostPermit {
			return false // lost together with the one that was counted
		}
		m.lost, m.lostPermit = e.Connection, m.permits
	}
	if e.Attempt > 1 && m.state != HalfOpen {
		switch {
		case e.Outcome == OK && (m.state != Throttle || now.sub(m.firstTry) < t.ThrottleEase):
			m.answered() // the upstream lives; how well it does first tries show
			return false
		case (e.Outcome == Server || e.Outcome == Network) && e.First <= m.lastGood:
			return false // the request fails, the upstream does not
		case e.Outcome == Server || e.Outcome == Network:
			m.failures++
			return true
		}
	}
	switch e.Outcome {
	case OK:
		m.successes++
		m.streak429 = 0
		m.answered()
		m.learned.good(m, t, now, v.rate)
	case Throttled:
		m.failures = 0
		m.seen429 = m.seen429 || m.state != Normal
		if v.permit > m.overrun {
			m.streak429++
			m.overrun = m.permits
			m.learned.refused(m, t, now, v.rate)
		}
	case Server:
		m.failures++
		m.streak429 = 0
	case Network:
		m.failures++
	case Client, Deferred:
		if m.state != HalfOpen || !e.alive() {
			return false
		}
		m.successes++
		m.answered()
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

// answered notes that the upstream lives. A round of probes with one good answer is no failed round.
func (m *machine) answered() {
	m.failures, m.failing, m.lastGood = 0, 0, m.permits
	if m.state == HalfOpen {
		m.cooldown, m.exhausted = 0, 0
	}
}

// falter notes when so much has failed in a row in Throttle that only probes may pass.
func (m *machine) falter(t *Tuning) {
	switch {
	case m.state != Throttle || m.failures < t.NFailures:
		m.faltering = 0
	case m.faltering == 0:
		m.faltering = m.permits
	}
}

// probing reports whether requests pass one at a time.
func (m *machine) probing() bool { return m.state == HalfOpen || m.faltering != 0 }

// pause delays every process after an answer that asks for it, of whatever epoch, and returns what its Retry-After
// asks of everybody. It has to be called before step, which counts the answer.
func (m *machine) pause(t *Tuning, now Stamp, e *Event, permit uint64, current bool, draw float64) time.Duration {
	asked, given := e.wait()
	wait := asked
	switch {
	case given && e.Outcome == Server && !m.concernsAll(t, current):
		return 0
	case given:
	case e.Outcome == Throttled:
		if permit > m.overrun || m.overrunWait == 0 {
			m.overrunWait = m.drawPause(current, draw)
		}
		wait = m.overrunWait
	default:
		return 0
	}
	m.pauseUntil = max(m.pauseUntil, now.add(wait))
	return asked
}

// concernsAll reports whether a 503's Retry-After speaks for everybody: one bad backend's names its own request.
func (m *machine) concernsAll(t *Tuning, current bool) bool {
	return m.failures+1 >= t.NFailures || current && m.state == HalfOpen && m.from != Throttle
}

// drawPause returns the pause after a 429 without a header: full jitter, from the second in a row at least minPause.
func (m *machine) drawPause(current bool, draw float64) time.Duration {
	streak := m.streak429
	if current {
		streak++
	}
	if streak <= 1 {
		return time.Duration(draw * float64(minPause))
	}
	return max(minPause, fullJitter(streak, draw))
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
		m.seen429 = f.counts.Throttled > 0 && 2*f.counts.Throttled >= f.counts.Errors()
	}
	if r.To == Throttle && (m.state != HalfOpen || m.from != Throttle) {
		m.easing = f.now
	}
	m.state, m.from, m.reason, m.since = r.To, m.state, r.Reason, f.now
	m.epoch++
	m.falter(f.t)
	m.window.records = m.window.records[:0]
	m.successes, m.armed, m.armedPermit, m.sustained = 0, 0, 0, 0
	if r.enter != nil {
		r.enter(*f)
	}
	return tr
}

// longest returns the longest cooldown: an outage without 429s says nothing about the limit, and a probe
// every 10 s costs the upstream nothing.
func (m *machine) longest(t *Tuning) time.Duration {
	if m.seen429 {
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

// regime returns what passes at present.
func (m *machine) regime() *regime {
	if m.faltering != 0 {
		return &regimes[HalfOpen]
	}
	return &regimes[m.state]
}

// pace returns the pace in the present state of a process with this tuning.
func (m *machine) pace(t *Tuning, now Stamp) pace { return m.paceOf(t.RateBase, t.bucketCap(), t, now) }

// paceOf returns the pace in the present state of somebody with this rate and capacity in Normal. Throttle begins with
// its share and doubles it every throttle_ease: errors that a lower rate does not cure do not come from the rate.
func (m *machine) paceOf(rate, capacity float64, t *Tuning, now Stamp) pace {
	normal := m.learned.atMost(rate)
	p := m.regime().pace(normal, capacity)
	if m.state != Throttle || m.faltering != 0 || p.rate <= 0 {
		return p
	}
	doublings := max(now.sub(m.easing), 0).Seconds() / t.ThrottleEase.Seconds()
	return newPace(min(normal, p.rate*math.Exp2(doublings)), capacity)
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
//	+ 2 * min(hold, 10 min)                           a lost probe keeps its slot, here and in a Throttle that falters
//	+ (1 + probe_success) * (1/probing + latency)
//
// learned is the rate that was learned (Status.Learned.Rate; 0: none), blocked the time to the end of the present
// block (Status.Until, Status.PauseUntil), hold the longest Ask.Hold in use (for Transport request_timeout + 1 s),
// latency the time of one good answer; throttled and probing are the rates of Throttle and HalfOpen. Only a
// CacheOnly without an end has no bound.
func (t Tuning) RecoveryBound(learned float64, blocked, hold, latency time.Duration) time.Duration {
	t = t.WithDefaults()
	rate := t.RateBase
	if learned > 0 {
		rate = min(rate, learned)
	}
	throttled, probing := regimes[Throttle].pace(rate, t.bucketCap()), regimes[HalfOpen].pace(rate, 1)
	debt := max(time.Second, probing.interval())
	return blocked + MaxNap + hold + debt + t.CeilingWindow + t.Window +
		time.Duration(t.SRecover+t.Hysteresis)*(throttled.interval()+latency) +
		2*min(hold, ProbeHold) + time.Duration(1+t.ProbeSuccess)*(probing.interval()+latency)
}
