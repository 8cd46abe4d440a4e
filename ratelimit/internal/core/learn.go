package core

import (
	"math"
	"time"
)

const (
	// answeredFor is how far back the busiest window of good answers is looked for. A 429 that asks for a pause this
	// long is no limit per second, and teaches nothing.
	answeredFor = 10 * time.Second
	unlearnFor  = 5 * time.Minute
	learnedFor  = 24 * time.Hour
)

// learned is the upstream's limit where it is below rate_base: how many answers it gives in one window. The first 429s
// take it from what was answered just before, each later one takes one away, and good answers raise it again.
type learned struct {
	answers int           // in a window; 0: no limit is known
	window  time.Duration // the ceiling_window of the process that learned it
	since   Stamp         // when it was learned
	refusal Stamp         // the last 429

	met       int   // 429s without a whole window of good answers between them
	proven    int   // the limit before the last series of raises, or the one that was learned first
	step      int   // the raise that is on trial; 0: none
	left      int   // good answers until the next raise
	unlearned Stamp // until when nothing is learned
}

func (l *learned) rate() float64 {
	if l.answers == 0 {
		return 0
	}
	return float64(l.answers) / l.window.Seconds()
}

func (l *learned) atMost(wish float64) float64 {
	if l.answers == 0 {
		return wish
	}
	return min(wish, l.rate())
}

// learnedFloor is the lowest limit that can be learned: an upstream that refuses a tenth of everything, whatever the
// rate, must not drive the rate towards nothing.
func learnedFloor(rate float64) float64 { return min(rate, max(5, rate/8)) }

func floorIn(window time.Duration, wish float64) int {
	return int(math.Ceil(learnedFloor(wish)*window.Seconds() - 1e-9))
}

// refused is what a 429 that begins an overrun teaches, before the window has it.
func (l *learned) refused(m *machine, t *Tuning, now Stamp, wish float64) {
	l.met++
	l.refusal = now
	if m.state != Normal && m.state != Throttle || m.pauseUntil.sub(now) >= answeredFor {
		return
	}
	if l.answers > 0 && m.state == Normal {
		l.lower(t, now, wish)
	}
	if l.met >= t.NThrottle && now >= l.unlearned {
		l.learn(t, now, m.window.most(now.add(-answeredFor), t.CeilingWindow), wish)
	}
}

// learn takes one less than the most that was answered well in one window.
func (l *learned) learn(t *Tuning, now Stamp, most int, wish float64) {
	answers := max(most-1, floorIn(t.CeilingWindow, wish))
	if most < 2 || float64(answers)/t.CeilingWindow.Seconds() >= l.atMost(wish) {
		return
	}
	if l.answers == 0 {
		l.proven, l.since = answers, now
	}
	l.answers, l.window, l.step, l.left = answers, t.CeilingWindow, 0, answers
}

// lower takes back the raise on trial, or one. If less than half of the proven limit is still refused, the 429s do not
// come from the rate, and what was learned is forgotten.
func (l *learned) lower(t *Tuning, now Stamp, wish float64) {
	l.answers = max(l.answers-max(l.step, 1), floorIn(l.window, wish))
	l.step, l.left = 0, t.RampAfter
	if 2*l.answers < l.proven {
		l.answers, l.unlearned = 0, now.add(unlearnFor)
	}
}

// good is what a good answer teaches: after enough of them, while requests had to wait, the limit rises by one, then by
// two, four and so on.
func (l *learned) good(m *machine, t *Tuning, now Stamp, wish float64) {
	if now.sub(m.pauseUntil) >= t.CeilingWindow {
		l.met = 0
	}
	wanted := m.lastTokenShortage != 0 && now.sub(m.lastTokenShortage) <= time.Second
	if l.answers == 0 || m.state != Normal || !wanted {
		return
	}
	if l.left--; l.left > 0 {
		return
	}
	if l.step == 0 {
		l.proven, l.step = l.answers, 1
	} else {
		l.step *= 2
	}
	l.answers += l.step
	if l.left = l.answers; l.rate() >= wish {
		l.answers, l.step = 0, 0
	}
}

func (l *learned) expire(now Stamp) {
	if l.answers > 0 && now.sub(l.refusal) >= learnedFor {
		l.answers, l.step = 0, 0
	}
}

func (l *learned) room(now Stamp, c *ceiling) time.Duration {
	if l.answers == 0 {
		return 0
	}
	return c.wait(now, l.answers, l.window)
}

// stated is the limit that the upstream's answers state in their fields. It holds for its own period after the last
// answer that stated it.
type stated struct {
	quota  int // 0: none
	period time.Duration
	since  Stamp
}

func (l *stated) hear(now Stamp, said *Limits) {
	if said.Quota > 0 {
		*l = stated{said.Quota, said.Window, now}
	}
}

func (l *stated) holds(now Stamp) bool { return l.quota > 0 && now < l.since.add(l.period) }

func (l *stated) room(now Stamp, c *ceiling, window time.Duration) time.Duration {
	if !l.holds(now) {
		return 0
	}
	said := Limits{Quota: l.quota, Window: l.period}
	return c.wait(now, said.in(window), window)
}

func (l *learned) lowerOf(alone learned, carried func(Stamp) Stamp) {
	if alone.answers > 0 && (l.answers == 0 || alone.rate() < l.rate()) {
		*l = alone
		l.since, l.refusal, l.unlearned = carried(alone.since), carried(alone.refusal), carried(alone.unlearned)
	}
}

func (w *window) most(from Stamp, span time.Duration) int {
	most, oldest := 0, 0
	var good []int64
	for _, r := range w.records {
		if r.outcome != OK || r.at < millis(from) {
			continue
		}
		good = append(good, r.at)
		for good[oldest] <= r.at-span.Milliseconds() {
			oldest++
		}
		most = max(most, len(good)-oldest)
	}
	return most
}
