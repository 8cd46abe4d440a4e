package core

import (
	"math"
	"time"
)

const (
	// learnWindow is how far back to look for the busiest window of good answers. A 429 that asks for a pause at least
	// this long is not about a limit per second, so nothing is learned from it.
	learnWindow     = 10 * time.Second
	relearnDelay    = 5 * time.Minute // how long nothing is learned after a limit turned out to be wrong
	learnedLifetime = 24 * time.Hour  // how long a limit is kept after the last 429
)

// learnedLimit is the upstream's limit, if it is below rate_base, as a number of answers in one window. The first 429s
// set it from the answers just before them, each later 429 lowers it by one, and good answers raise it again.
type learnedLimit struct {
	answers int           // the most answers in a window; 0: no limit is known
	window  time.Duration // the length of the window: ceiling_window of the process that learned the limit
	since   Stamp         // when the limit was learned
	last429 Stamp

	count429        int   // 429s without a whole window of good answers between them
	provenAnswers   int   // the limit before the last series of raises, or the first learned limit
	trialRaise      int   // the size of the latest raise, while it is on trial; 0: none
	untilRaise      int   // good answers until the next raise
	noLearningUntil Stamp // nothing is learned until then
}

// rate returns the limit in requests a second, 0 if no limit is known.
func (l *learnedLimit) rate() float64 {
	if l.answers == 0 {
		return 0
	}
	return float64(l.answers) / l.window.Seconds()
}

func (l *learnedLimit) capRate(baseRate float64) float64 {
	if l.answers == 0 {
		return baseRate
	}
	if l.answers <= minAnswers(l.window, baseRate) { // minAnswers is rounded up, so l.rate() may be above the floor
		return learnedFloor(baseRate)
	}
	return min(baseRate, l.rate())
}

// learnedFloor is the lowest rate that can be learned, so that an upstream that refuses a tenth of all requests at any
// rate does not drive the rate to zero.
func learnedFloor(rate float64) float64 { return min(rate, max(5, rate/8)) }

func minAnswers(window time.Duration, baseRate float64) int {
	return int(math.Ceil(learnedFloor(baseRate)*window.Seconds() - 1e-9))
}

// on429 learns from a 429 that is not part of the same burst as the last one. The window does not include it yet.
func (l *learnedLimit) on429(m *machine, t *Tuning, now Stamp, baseRate float64) {
	l.count429++
	l.last429 = now
	if m.state != Normal && m.state != Throttle || m.pauseUntil.sub(now) >= learnWindow {
		return
	}
	if l.answers > 0 && m.state == Normal {
		l.lower(t, now, baseRate)
	}
	if l.count429 >= t.NThrottle && now >= l.noLearningUntil {
		l.learn(t, now, m.window.maxGoodAnswers(now.add(-learnWindow), t.CeilingWindow), baseRate)
	}
}

// learn sets the limit to one less than the most good answers in one window.
func (l *learnedLimit) learn(t *Tuning, now Stamp, mostAnswers int, baseRate float64) {
	answers := max(mostAnswers-1, minAnswers(t.CeilingWindow, baseRate))
	if mostAnswers < 2 || float64(answers)/t.CeilingWindow.Seconds() >= l.capRate(baseRate) {
		return
	}
	if l.answers == 0 {
		l.provenAnswers, l.since = answers, now
	}
	l.answers, l.window, l.trialRaise, l.untilRaise = answers, t.CeilingWindow, 0, answers
}

// lower undoes the raise on trial, or lowers the limit by one. If it falls below half of the proven limit, the 429s do
// not come from the rate, and lower forgets the limit.
func (l *learnedLimit) lower(t *Tuning, now Stamp, baseRate float64) {
	l.answers = max(l.answers-max(l.trialRaise, 1), minAnswers(l.window, baseRate))
	l.trialRaise, l.untilRaise = 0, t.RampAfter
	if 2*l.answers < l.provenAnswers {
		l.answers, l.noLearningUntil = 0, now.add(relearnDelay)
	}
}

// onGoodAnswer raises the limit after enough good answers, if requests had to wait: by one, two, four and so on.
func (l *learnedLimit) onGoodAnswer(m *machine, t *Tuning, now Stamp, baseRate float64) {
	if now.sub(m.pauseUntil) >= t.CeilingWindow {
		l.count429 = 0
	}
	wanted := m.lastTokenShortage != 0 && now.sub(m.lastTokenShortage) <= time.Second
	if l.answers == 0 || m.state != Normal || !wanted {
		return
	}
	if l.untilRaise--; l.untilRaise > 0 {
		return
	}
	if l.trialRaise == 0 {
		l.provenAnswers, l.trialRaise = l.answers, 1
	} else {
		l.trialRaise *= 2
	}
	l.answers += l.trialRaise
	if l.untilRaise = l.answers; l.rate() >= baseRate {
		l.answers, l.trialRaise = 0, 0
	}
}

func (l *learnedLimit) expire(now Stamp) {
	if l.answers > 0 && now.sub(l.last429) >= learnedLifetime {
		l.answers, l.trialRaise = 0, 0
	}
}

func (l *learnedLimit) wait(now Stamp, c *ceiling) time.Duration {
	if l.answers == 0 {
		return 0
	}
	return c.wait(now, l.answers, l.window)
}

// statedLimit is the limit in the upstream's rate-limit fields. It applies for one period after the last such answer.
type statedLimit struct {
	quota      int // requests in a period; 0: no limit was stated
	period     time.Duration
	lastStated Stamp
}

func (l *statedLimit) update(now Stamp, stated *Limits) {
	if stated.Quota > 0 {
		*l = statedLimit{stated.Quota, stated.Window, now}
	}
}

func (l *statedLimit) active(now Stamp) bool { return l.quota > 0 && now < l.lastStated.add(l.period) }

func (l *statedLimit) wait(now Stamp, c *ceiling, window time.Duration) time.Duration {
	if !l.active(now) {
		return 0
	}
	said := Limits{Quota: l.quota, Window: l.period}
	return c.wait(now, said.allowedIn(window), window)
}

// mergeLower takes over a lower limit that was learned in isolation. translate converts its times.
func (l *learnedLimit) mergeLower(isolated learnedLimit, translate func(Stamp) Stamp) {
	if isolated.answers > 0 && (l.answers == 0 || isolated.rate() < l.rate()) {
		*l = isolated
		l.since, l.last429 = translate(isolated.since), translate(isolated.last429)
		l.noLearningUntil = translate(isolated.noLearningUntil)
	}
}

// maxGoodAnswers returns the largest number of good answers in any span of time since from.
func (w *window) maxGoodAnswers(from Stamp, span time.Duration) int {
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
