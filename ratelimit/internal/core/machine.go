package core

import (
	"math"
	"net/http"
	"time"
)

// machine is the state machine of an address or account, with its evidence. Only step and resets change the state.
type machine struct {
	state         State
	previousState State  // the state before
	epoch         uint64 // grows with every transition
	since         Stamp  // when the state was entered
	reason        Reason // the reason of the last transition

	permits      uint64 // number of the newest permit
	lastFirstTry Stamp  // when the newest permit of a request's first try was granted

	sleepUntil        Stamp
	pauseUntil        Stamp
	blockUntil        Stamp         // when CacheOnly ends by itself; 0: never
	cooldown          time.Duration // the length of Sleep; 0: sleep_min
	timeAtMaxCooldown time.Duration // the total length of failed Sleeps of the longest length

	window         window
	streak429      int
	last429Permit  uint64        // newest permit when the last 429 was counted
	last429Wait    time.Duration // the random pause after that 429
	failures       int           // 5xx and network errors in a row
	failingSince   Stamp         // the first failure since the last good answer; 0: none
	lastGoodPermit uint64        // newest permit at the last good answer
	probingAfter   uint64        // newest permit when failures in Throttle reached n_failures; 0: they have not
	lostConnection uint64        // the last lost connection; 0: none
	lostPermit     uint64        // newest permit when lostConnection was counted
	successes      int           // good answers since the state was entered

	confirmations   int    // how many times in a row a rule with hysteresis has held
	confirmedPermit uint64 // newest permit when the rule with hysteresis last held
	highRatioSince  Stamp  // since when the error ratio has been too high; 0: it is not too high

	easingSince       Stamp        // when Throttle's rate began to rise; 0: it starts anew with the next Throttle
	learned           learnedLimit // the upstream's limit, learned from 429s, if it is below rate_base
	stated            statedLimit  // the limit that the upstream's answers state
	lastTokenShortage Stamp        // when a request in Normal last waited for a token or the ceiling
	seen429           bool         // a 429 since the machine left Normal, or most errors before that were 429s
}

// Event is the outcome of one request, for Permit.Report.
type Event struct {
	Outcome    Outcome
	Status     int           // HTTP status, 0 if there was no answer
	RetryAfter Wait          // used for Throttled and Deferred, and for Server with status 503
	Limits     Limits        // from the answer's rate-limit fields
	Connection uint64        // identifies a broken connection: all requests on it count as one failure; 0: none
	Key        KeyVerdict    // the answer's verdict on the key
	Latency    time.Duration // how long the try took; only hooks use it
	Attempt    int           // the number of the try, from 1; usually only the first try counts as evidence
	First      uint64        // the permit number of the first try; 0: unknown, or this is the first
}

// Obeyed reports whether the limiter obeys a Retry-After in an answer of this kind.
func (e *Event) Obeyed() bool {
	return e.Outcome == Throttled || e.Outcome == Deferred || e.Outcome == Server &&
		e.Status == http.StatusServiceUnavailable
}

func (e *Event) wait() (time.Duration, bool) {
	if e.RetryAfter.Present && e.Obeyed() {
		return e.RetryAfter.Duration, true
	}
	return 0, false
}

// showsUpstreamUp reports whether the answer refuses only its own request but shows that the upstream works.
func (e *Event) showsUpstreamUp() bool {
	return e.Outcome == Deferred || e.Outcome == Client && e.Status != 401 && e.Status != 403
}

func (m *machine) start(now Stamp, reason Reason) {
	if m.reason == ReasonNone {
		m.state, m.previousState, m.reason = Normal, Normal, reason
	}
	// The time is above all permit numbers of an earlier state file, whose permits may still be in use.
	m.epoch = uint64(millis(now))
	m.permits = m.epoch
	m.since = now
}

// reset forgets everything about the upstream, except the pause if pause is true. Numbers of permits go on.
func (m *machine) reset(now Stamp, pause bool) {
	old := *m
	*m = machine{
		state: Normal, previousState: Normal, epoch: old.epoch + 1, since: now, reason: ReasonReset,
		permits: old.permits, last429Permit: old.permits,
	}
	if pause {
		m.pauseUntil = old.pauseUntil
	}
}

// stepInput is an event for the machine: an answer, the passing of time or an operator's command.
type stepInput struct {
	trigger trigger
	event   Event
	permit  uint64 // the number of the answer's permit
	command command
	period  time.Duration // how long the operator's CacheOnly lasts; 0: no end
	draw    float64       // a random number in [0,1)
	rate    float64       // the largest rate of all processes in Normal
	slots   int           // the number of slots in Throttle
	pause   time.Duration // the pause that the answer asks of all requests; 0: none

	streakOnly bool // whether the answer counts only for streaks, not for the error ratio
}

type command uint8

const (
	noCommand command = iota
	forceCacheOnly
	resumeCommand
)

// step applies an event: it counts an answer as evidence, and makes the transition of the first rule that holds.
func (m *machine) step(t *Tuning, now Stamp, v stepInput) (Transition, bool) {
	m.learned.expire(now)
	if v.trigger == onAnswer {
		evidence := m.countAnswer(t, now, &v)
		if m.updateProbing(t); !evidence {
			return Transition{}, false
		}
	}
	f := ruleInput{stepInput: v, m: m, t: t, now: now}
	if v.trigger == onAnswer {
		f.counts = m.window.count(now, t)
		f.ratioSustained = !v.streakOnly && m.ratioSustained(t, now, f.counts)
		if m.highRatioSince != 0 {
			m.easingSince = now // the rate itself may cause the errors, so don't raise it
		}
	}
	for i := range rules {
		r := &rules[i]
		if r.trigger == v.trigger && r.appliesIn(m.state) && m.confirmed(r, &f) {
			return m.enter(r, &f), true
		}
	}
	return Transition{}, false
}

// countAnswer counts an answer. It reports whether the answer is evidence, so that rules must be checked.
func (m *machine) countAnswer(t *Tuning, now Stamp, v *stepInput) bool {
	e := &v.event
	if e.Connection != 0 && e.Outcome == Network {
		if e.Connection == m.lostConnection && v.permit <= m.lostPermit {
			return false // the loss of this connection was already counted
		}
		m.lostConnection, m.lostPermit = e.Connection, m.permits
	}
	if e.Attempt > 1 && m.state != HalfOpen {
		if evidence, counted := m.countRetry(t, now, e); counted {
			v.streakOnly = evidence
			return evidence
		}
	}
	switch e.Outcome {
	case OK:
		m.successes++
		m.streak429 = 0
		m.markAlive()
		m.learned.onGoodAnswer(m, t, now, v.rate)
	case Throttled:
		m.failures = 0
		m.seen429 = m.seen429 || m.state != Normal
		if v.permit > m.last429Permit {
			m.streak429++
			m.last429Permit = m.permits
			m.learned.on429(m, t, now, v.rate)
		}
	case Server:
		m.failures++
		m.streak429 = 0
	case Network:
		m.failures++
	case Client, Deferred:
		if m.state != HalfOpen || !e.showsUpstreamUp() {
			return false
		}
		m.successes++
		m.markAlive()
		return true
	case Cancelled, Misconfigured:
		return false
	}
	if e.Outcome.failed() && m.failingSince == 0 {
		m.failingSince = now
	}
	m.window.add(now, e.Outcome, t)
	return true
}

// countRetry counts the answer to a second or later try. A failure is evidence only if there has been no good answer
// since the first try. counted is false if the caller must count the answer like that of a first try.
func (m *machine) countRetry(t *Tuning, now Stamp, e *Event) (evidence, counted bool) {
	switch {
	case e.Outcome == OK && (m.state != Throttle || now.sub(m.lastFirstTry) < t.ThrottleEase):
		m.markAlive() // a good retry shows that the upstream works, but says nothing about the error ratio
		return false, true
	case e.Outcome != Server && e.Outcome != Network:
		return false, false
	case m.answeredSince(e.First):
		return false, true // the request is at fault, not the upstream
	}
	m.failures++
	return true, true
}

// markAlive ends the streak of failures after a good answer. In HalfOpen it also resets the cooldown.
func (m *machine) markAlive() {
	m.failures, m.failingSince, m.lastGoodPermit = 0, 0, m.permits
	if m.state == HalfOpen {
		m.cooldown, m.timeAtMaxCooldown = 0, 0
	}
}

// updateProbing starts or ends probing in Throttle: with n_failures in a row, only one request at a time may go.
func (m *machine) updateProbing(t *Tuning) {
	switch {
	case m.state != Throttle || m.failures < t.NFailures:
		m.probingAfter = 0
	case m.probingAfter == 0:
		m.probingAfter = m.permits
	}
}

// probing reports whether only one request at a time may go, to find out whether the upstream works.
func (m *machine) probing() bool { return m.state == HalfOpen || m.probingAfter != 0 }

// applyPause pauses all processes if an answer asks for it, even an answer of an earlier epoch. It returns the wait
// that the answer asks of all requests. It must be called before step, which counts the answer.
func (m *machine) applyPause(t *Tuning, now Stamp, answer *stepInput, inPresentEpoch bool) time.Duration {
	e := &answer.event
	if e.Limits.Quota > 0 {
		m.stated = statedLimit{e.Limits.Quota, e.Limits.Window, now}
	}
	asked, given := e.wait()
	if spent := e.Limits.Spent; spent > 0 {
		if !given && e.Obeyed() && spent > t.SleepMax {
			asked, given = spent, true
		}
		m.pauseUntil = max(m.pauseUntil, now.add(min(spent, t.SleepMax)))
	}
	wait := asked
	switch {
	case given && e.Outcome == Server && !m.pausesEverybody(t, e, inPresentEpoch):
		return 0
	case given:
	case e.Outcome == Throttled:
		if answer.permit > m.last429Permit || m.last429Wait == 0 {
			m.last429Wait = m.randomPause(inPresentEpoch, answer.draw)
		}
		wait = m.last429Wait
	default:
		return min(e.Limits.Spent, t.SleepMax)
	}
	m.pauseUntil = max(m.pauseUntil, now.add(wait))
	return asked
}

// pausesEverybody reports whether a 503's Retry-After applies to all requests. A single 503 may come from one bad
// backend of the upstream, so it applies to its own request only.
func (m *machine) pausesEverybody(t *Tuning, e *Event, inPresentEpoch bool) bool {
	failures := m.failures
	if inPresentEpoch && (e.Attempt <= 1 || m.state == HalfOpen || !m.answeredSince(e.First)) {
		failures++ // step will count this answer
	}
	return failures >= t.NFailures || inPresentEpoch && m.state == HalfOpen && m.previousState != Throttle
}

// answeredSince reports whether there has been a good answer since the permit of a request's first try.
func (m *machine) answeredSince(first uint64) bool { return first <= m.lastGoodPermit }

// randomPause returns the pause after a 429 without Retry-After: full jitter, with at least minPause for the second and
// later 429s in a row.
func (m *machine) randomPause(inPresentEpoch bool, draw float64) time.Duration {
	streak := m.streak429
	if inPresentEpoch {
		streak++
	}
	if streak <= 1 {
		return time.Duration(draw * float64(minPause))
	}
	return max(minPause, fullJitter(streak, draw))
}

// ratioSustained reports whether the error ratio has been at least sustainedRatio for sustainedFor.
func (m *machine) ratioSustained(t *Tuning, now Stamp, n Counts) bool {
	switch {
	case n.Total() < t.MinSamples:
		return false
	case n.Ratio() < sustainedRatio:
		m.highRatioSince = 0
		return false
	case m.highRatioSince == 0:
		m.highRatioSince = now
		return false
	}
	return now.sub(m.highRatioSince) >= sustainedFor
}

// confirmed reports whether a rule holds and is confirmed. A rule with hysteresis must hold several times in a row,
// each time for the answer to a newer permit.
func (m *machine) confirmed(r *Rule, f *ruleInput) bool {
	holds := r.holds(*f)
	if r.Confirmation != hysteresis {
		return holds
	}
	if f.streakOnly {
		return false
	}
	switch {
	case !holds:
		m.confirmations = 0
		return false
	case m.confirmations == 0 || f.permit > m.confirmedPermit:
		m.confirmations++
		m.confirmedPermit = m.permits
	}
	return m.confirmations >= f.t.Hysteresis
}

func (m *machine) enter(r *Rule, f *ruleInput) Transition {
	tr := Transition{From: m.state, To: r.To, Reason: r.Reason}
	if m.state == Normal {
		m.seen429 = f.counts.Throttled > 0 && 2*f.counts.Throttled >= f.counts.Errors()
	}
	// Throttle's rate continues to rise after HalfOpen. After Normal it does so within one window, if Throttle ended at
	// Normal's rate: then the rate was not what caused the errors.
	switch {
	case r.To == Sleep, r.To == CacheOnly, r.To == Normal && m.since.sub(m.easingSince) < f.t.ThrottleEase:
		m.easingSince = 0
	case r.To != Throttle:
	case m.easingSince == 0, r.Reason == ReasonConsecutive429, m.state == Normal && f.now.sub(m.since) >= f.t.Window:
		m.easingSince = f.now
	}
	m.state, m.previousState, m.reason, m.since = r.To, m.state, r.Reason, f.now
	m.epoch++
	m.updateProbing(f.t)
	m.window.records = m.window.records[:0]
	m.successes, m.confirmations, m.confirmedPermit, m.highRatioSince = 0, 0, 0, 0
	if r.enter != nil {
		r.enter(*f)
	}
	return tr
}

// maxCooldown returns the longest cooldown. In an outage without 429s it is shorter: frequent probes do no harm.
func (m *machine) maxCooldown(t *Tuning) time.Duration {
	if m.seen429 {
		return t.SleepMax
	}
	return max(min(t.SleepMaxOutage, t.SleepMax), t.SleepMin)
}

func (m *machine) clampedCooldown(t *Tuning) time.Duration {
	return min(max(m.cooldown, t.SleepMin), m.maxCooldown(t))
}

// deadlineAfter returns s plus d. If d is not positive it returns 0: no deadline.
func (s Stamp) deadlineAfter(d time.Duration) Stamp {
	if d <= 0 {
		return 0
	}
	return s.add(d)
}

func (m *machine) blockEnded(now Stamp) bool { return m.blockUntil != 0 && now >= m.blockUntil }

// applyAutoRecover ends CacheOnly after the time auto_recover, for all processes, if a long outage caused it.
func (m *machine) applyAutoRecover(t *Tuning, now Stamp) {
	if t.AutoRecover == 0 || m.state != CacheOnly || m.reason != ReasonPolicy {
		return
	}
	if end := now.add(t.AutoRecover); m.blockUntil == 0 || end < m.blockUntil {
		m.blockUntil = end
	}
}

func (m *machine) allowance() *allowance {
	if m.probingAfter != 0 {
		return &allowances[HalfOpen]
	}
	return &allowances[m.state]
}

// pace reduces a pace in Normal to that of the current state. Throttle starts with a share of the rate, which doubles
// every throttle_ease, because errors that continue at a low rate do not come from the rate. Throttle has just shown
// that the upstream works, so the probes after it need not be slow.
func (m *machine) pace(normal pace, t *Tuning, now Stamp) pace {
	rate := m.learned.capRate(normal.rate)
	if m.state == HalfOpen && m.previousState == Throttle {
		return newPace(min(rate, allowances[Throttle].minRate), normal.burst)
	}
	p := m.allowance().pace(rate, normal.burst)
	if m.state != Throttle || m.probingAfter != 0 || p.rate <= 0 {
		return p
	}
	doublings := max(now.sub(m.easingSince), 0).Seconds() / t.ThrottleEase.Seconds()
	return newPace(min(rate, p.rate*math.Exp2(doublings)), normal.burst)
}

// blocked reports whether all requests are blocked now, why, and until when (0: no end).
func (m *machine) blocked(now Stamp) (cause Reason, until Stamp, blocked bool) {
	switch {
	case m.state == CacheOnly:
		return m.reason, m.blockUntil, true
	case m.state == Sleep:
		return m.reason, max(m.sleepUntil, m.pauseUntil), true
	case m.pauseUntil > now:
		return ReasonPause, m.pauseUntil, true
	default:
		return ReasonNone, 0, false
	}
}

// blockEnd returns when the present block or pause ends; 0 if there is none or it has no end.
func (m *machine) blockEnd(now Stamp) Stamp {
	_, until, _ := m.blocked(now)
	return until
}

func (m *machine) block(l *timeline) Block {
	return Block{m.state, m.reason, l.wallTime(m.since), l.wallTime(m.blockEnd(l.now))}
}
