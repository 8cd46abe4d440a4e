package ratelimit

import "time"

// This file decides how the table of rules.go is applied to one event: what is
// remembered of an answer, when a row counts as confirmed, and what happens on entering a state.

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
	cooldown   time.Duration // 0: sleep_min
	rounds     int           // failed probes at the longest cooldown

	window      window
	streak429   int
	overrun     uint64        // newest permit when the last 429 was counted
	overrunWait time.Duration // the wait drawn for that overrun
	failures    int           // streak of 5xx and network errors
	successes   int           // since the state was entered

	armed       int    // times in a row the state's statistical row has held
	armedPermit uint64 // newest permit when it last did
	sustained   Stamp  // since when every judged ratio was too high

	ramp        float64 // rate the ramp began with; 0: no ramp
	rampAt      Stamp   // when it began
	troubled429 int     // 429s in the present trouble
	troubleRate float64 // rate at which it began

	blockUntil  Stamp         // CacheOnly by a long Retry-After: its end
	autoRecover time.Duration // CacheOnly otherwise: its length; 0: no end
}

// Event is what one request has shown. Permit.Done takes it.
type Event struct {
	Outcome Outcome
	Status  int // HTTP status, 0 if there was no answer

	// RetryAfter is the answer's Retry-After, see ParseRetryAfter. It is looked
	// at for Throttled, and for Server with status 503.
	RetryAfter Wait

	// Latency is how long the try took, for hooks only.
	Latency time.Duration
	// Attempt counts the tries of one request from 1, for hooks only.
	Attempt int
}

// wait returns the Retry-After that has to be obeyed.
func (e *Event) wait() (time.Duration, bool) {
	if e.RetryAfter.Given && (e.Outcome == Throttled || e.Outcome == Server && e.Status == 503) {
		return e.RetryAfter.For, true
	}
	return 0, false
}

// begin makes the machine that of an upstream nothing is known about.
func (m *machine) begin(now Stamp, why Reason) {
	if m.reason == ReasonNone {
		m.state, m.reason = Normal, why
	}
	// Never the numbers of an earlier life, whose permits may still be out.
	m.epoch = uint64(millis(now))
	m.permits = m.epoch
	m.since = now
}

// move is something that may change the machine's state.
type move struct {
	on       trigger
	event    Event  // the answer
	permit   uint64 // its permit
	operator command
	period   time.Duration // the operator's auto-recover period
	draw     float64       // in [0,1)
	rate     float64       // the largest rate of all processes in Normal
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
	if m.state == Normal && now.sub(m.since) >= t.CooldownReset {
		m.cooldown = 0
	}
	if v.on == onClock && !ticks[m.state] || v.on == onAnswer && !v.event.Outcome.counts() {
		return Transition{}, false
	}
	f := facts{m: m, t: t, now: now, move: v}
	if v.on == onAnswer {
		m.remember(t, now, v)
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

// remember adds an answer to window and streaks.
func (m *machine) remember(t *Tuning, now Stamp, v move) {
	o := v.event.Outcome
	m.window.add(now, o, t)
	switch o {
	case OK:
		m.successes++
		m.streak429, m.failures = 0, 0
	case Throttled:
		m.failures = 0
		m.troubled429++
		if v.permit > m.overrun {
			m.streak429++
			m.overrun = m.permits
		}
	case Server:
		m.failures++
		m.streak429 = 0
	case Network:
		m.failures++
	case Cancelled, Client, Misconfigured: // they do not count
	}
}

// pause holds everybody back after an answer that asks for it, of whatever
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

// sustain reports whether the ratio has been bad at every judged answer for so long.
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

// confirmed reports whether a row holds, and holds for good: a statistical
// one has to be seen several times in a row, each time by a newer permit.
func (m *machine) confirmed(r *rule, f *facts) bool {
	holds := r.holds(f)
	if r.confirm != hysteresis {
		return holds
	}
	switch {
	case !holds:
		m.armed = 0
		return false
	case m.armed == 0 || f.move.permit > m.armedPermit:
		m.armed++
		m.armedPermit = m.permits
	}
	return m.armed >= f.t.Hysteresis
}

// enter makes the transition of a row.
func (m *machine) enter(r *rule, f *facts) Transition {
	tr := Transition{From: m.state, To: r.to, Reason: r.reason}
	m.leave(f)
	m.state, m.reason, m.since = r.to, r.reason, f.now
	m.epoch++
	m.window.clear()
	m.successes, m.armed, m.armedPermit, m.sustained = 0, 0, 0, 0
	if r.entering != nil {
		r.entering(f)
	}
	return tr
}

// leave notes what Normal was like when trouble begins.
func (m *machine) leave(f *facts) {
	if m.state == Normal {
		m.troubleRate = m.rampRate(f.move.rate, f.t, f.now)
		m.troubled429 = f.counts.Throttled
	}
}

// lengthen makes the next Sleep longer after a failed probe.
func (m *machine) lengthen(t *Tuning) {
	m.cooldown = min(time.Duration(float64(m.cooled(t))*t.CooldownFactor), t.SleepMax)
}

// cooled returns the length of the next Sleep.
func (m *machine) cooled(t *Tuning) time.Duration {
	return min(max(m.cooldown, t.SleepMin), t.SleepMax)
}

// recovered sets the ramp when trouble is over: 429s say that the rate was too
// high, an outage says nothing about the limit and leaves the ramp where it was.
func (m *machine) recovered(t *Tuning, now Stamp) {
	m.rounds = 0
	if m.troubled429 > 0 && m.troubleRate > 0 {
		m.ramp, m.rampAt = m.troubleRate*t.RampStart, now
	}
	m.troubled429, m.troubleRate = 0, 0
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

// recoverAt returns when CacheOnly ends by itself, 0 for never.
func (m *machine) recoverAt() Stamp {
	switch {
	case m.reason == ReasonRetryAfterLong:
		return max(m.blockUntil, m.since)
	case m.autoRecover > 0:
		return m.since.add(m.autoRecover)
	default:
		return 0
	}
}
