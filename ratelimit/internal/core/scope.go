package core

import (
	"math"
	"time"
)

// scope is what a limit of the upstream applies to: the address that requests come from, or an account.
type scope struct {
	machine machine // an account's machine is unused, with epoch 0, if the upstream limits by address
	bucket  bucket
	quota   usage
}

// step applies an event to the machine and adjusts the bucket to the new state. normal is the pace in Normal, slots the
// number of slots in Throttle.
func (c *scope) step(now Stamp, t *Tuning, v stepInput, normal pace, slots int) (Transition, bool) {
	m := &c.machine
	v.rate, v.slots = normal.rate, slots
	before, probing := m.pace(normal, t, now), m.probing()
	tr, moved := m.step(t, now, v)
	switch {
	case !moved && m.probing() != probing:
		c.bucket.changePace(now, before, m.pace(normal, t, now))
		return tr, false
	case !moved:
		return tr, false
	case allowances[m.state].emptiesBucket:
		c.bucket.empty(now)
	case m.state == HalfOpen: // a probe is due at once
		c.bucket.fullAt = min(c.bucket.fullAt, now)
	case before.rate > 0:
		c.bucket.changePace(now, before, m.pace(normal, t, now))
	}
	tr.Epoch = m.epoch
	return tr, true
}

func (c *scope) reset(now Stamp, keepPause bool) {
	c.quota = usage{}
	if c.machine.epoch != 0 {
		c.machine.reset(now, keepPause)
	}
}

// merge takes over the pause and the bucket use of another copy. translate converts its times.
func (c *scope) merge(from *scope, translate func(Stamp) Stamp) {
	if c.machine.epoch != 0 {
		c.machine.pauseUntil = max(c.machine.pauseUntil, translate(from.machine.pauseUntil))
	}
	c.bucket.fullAt = max(c.bucket.fullAt, translate(from.bucket.fullAt))
}

// pace is a rate with its burst. The zero pace allows nothing.
type pace struct {
	rate  float64 // requests a second
	burst float64 // capacity in tokens, at least 1 if rate > 0
}

func newPace(rate, capacity float64) pace {
	if rate <= 0 {
		return pace{}
	}
	return pace{rate, max(1, min(capacity, rate))}
}

// interval returns the time for one token. It is rounded up, so that the rate is never exceeded.
func (p pace) interval() time.Duration {
	return time.Duration(math.Ceil(float64(time.Second) / p.rate))
}

// bucket is a token bucket, stored as a theoretical arrival time (GCRA, ITU-T I.371). All processes share one, at the
// pace of the fastest process. Each process also has a bucket at its own pace.
type bucket struct {
	fullAt Stamp // when the bucket will be full; a time in the past means that it is full
}

// start fills the bucket with a number of tokens.
func (b *bucket) start(now Stamp, p pace, tokens float64) {
	if p.rate > 0 {
		tokens = min(max(tokens, 0), p.burst)
		b.fullAt = now.add(time.Duration((p.burst - tokens) * float64(p.interval())))
	}
}

func (b *bucket) wait(now Stamp, p pace) time.Duration {
	slack := time.Duration((p.burst - 1) * float64(p.interval()))
	return max(b.fullAt.sub(now)-slack, 0)
}

// capDebt raises a negative number of tokens to zero. Debt arises when the rate rises, because tokens taken at a lower
// rate take longer to refill.
func (b *bucket) capDebt(now Stamp, p pace) {
	if p.rate > 0 {
		b.fullAt = min(b.fullAt, now.add(time.Duration(p.burst*float64(p.interval()))))
	}
}

func (b *bucket) take(now Stamp, p pace) { b.fullAt = max(b.fullAt, now).add(p.interval()) }

// tokens returns the number of tokens at this pace. A negative number is debt.
func (b *bucket) tokens(now Stamp, p pace) float64 {
	if p.rate <= 0 {
		return 0
	}
	debt := max(b.fullAt.sub(now), 0)
	return p.burst - float64(debt)/float64(p.interval())
}

// changePace changes the pace and keeps the number of tokens, up to the new capacity.
func (b *bucket) changePace(now Stamp, from, to pace) {
	if to.rate <= 0 {
		return // the next state that allows requests sets the tokens
	}
	tokens := min(b.tokens(now, from), to.burst)
	b.fullAt = now.add(time.Duration((to.burst - tokens) * float64(to.interval())))
}

// empty removes all tokens, whatever the pace: no bucket takes more than a second to fill.
func (b *bucket) empty(now Stamp) { b.fullAt = max(b.fullAt, now.add(time.Second)) }

// drain removes all tokens but one at this rate. At a lower rate it leaves none.
func (b *bucket) drain(now Stamp, rate float64) {
	full := now.add(time.Second)
	if p := newPace(rate, rate); p.rate > 0 {
		full = full.add(-p.interval())
	}
	b.fullAt = max(b.fullAt, full)
}

// maxGrants is the number of grants to remember, and so the largest Tuning.Ceiling.
const maxGrants = 400

// ceiling limits the permits in any sliding window, because a bucket of 35 that refills at 35 a second lets 70 requests
// through in its first second, and the upstream does not.
type ceiling struct {
	grants []Stamp // the newest grants, oldest first
	// unknownBefore is the time before which grants may be missing from the list; 0: the list is complete. Nothing is
	// granted until the missing grants have left the window.
	unknownBefore Stamp
	// othersReservedAt is when room was last reserved for processes that were alone, or grants stopped for their return.
	othersReservedAt Stamp
}

func (c *ceiling) wait(now Stamp, limit int, window time.Duration) time.Duration {
	var wait time.Duration
	if c.unknownBefore != 0 {
		wait = max(c.unknownBefore.add(window).sub(now), 0)
	}
	if n := len(c.grants); n >= limit {
		wait = max(wait, c.grants[n-limit].add(window).sub(now))
	}
	return wait
}

func (c *ceiling) add(now Stamp, window time.Duration) {
	drop := max(len(c.grants)+1-maxGrants, 0)
	for drop < len(c.grants) && now.sub(c.grants[drop]) >= window {
		drop++
	}
	if drop > 0 {
		c.grants = c.grants[:copy(c.grants, c.grants[drop:])]
	}
	c.grants = append(c.grants, now)
	if c.unknownBefore != 0 && now.sub(c.unknownBefore) >= window {
		c.unknownBefore = 0
	}
}

func (c *ceiling) grantsWithin(now Stamp, window time.Duration) int {
	n := 0
	for i := len(c.grants) - 1; i >= 0 && now.sub(c.grants[i]) < window; i-- {
		n++
	}
	return n
}

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
	maxAnswers int           // the limit: the most answers in a window; 0: no limit is known
	window     time.Duration // the length of the window: ceiling_window of the process that learned the limit
	since      Stamp         // when the limit was learned
	last429    Stamp

	count429        int   // 429s without a whole window of good answers between them
	provenMax       int   // maxAnswers before the last series of raises, or when the limit was first learned
	trialRaise      int   // the size of the latest raise, while it is on trial; 0: none
	untilRaise      int   // good answers until the next raise
	noLearningUntil Stamp // nothing is learned until then
}

// rate returns the limit in requests a second, 0 if no limit is known.
func (l *learnedLimit) rate() float64 {
	if l.maxAnswers == 0 {
		return 0
	}
	return float64(l.maxAnswers) / l.window.Seconds()
}

func (l *learnedLimit) capRate(baseRate float64) float64 {
	if l.maxAnswers == 0 {
		return baseRate
	}
	if l.maxAnswers <= minAnswers(l.window, baseRate) { // minAnswers is rounded up, so l.rate() may be above the floor
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
	if l.maxAnswers > 0 && m.state == Normal {
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
	if l.maxAnswers == 0 {
		l.provenMax, l.since = answers, now
	}
	l.maxAnswers, l.window, l.trialRaise, l.untilRaise = answers, t.CeilingWindow, 0, answers
}

// lower takes back the raise that is being tried, or else lowers the limit by one. Below half of the proven limit, the
// rate is probably not what causes the 429s, so lower discards the limit and learns nothing for a while.
func (l *learnedLimit) lower(t *Tuning, now Stamp, baseRate float64) {
	l.maxAnswers = max(l.maxAnswers-max(l.trialRaise, 1), minAnswers(l.window, baseRate))
	l.trialRaise, l.untilRaise = 0, t.RampAfter
	if 2*l.maxAnswers < l.provenMax {
		l.maxAnswers, l.noLearningUntil = 0, now.add(relearnDelay)
	}
}

// onGoodAnswer raises the limit after enough good answers, if requests had to wait: by one, two, four and so on, but
// first by a quarter if there was no 429 since it was learned.
func (l *learnedLimit) onGoodAnswer(m *machine, t *Tuning, now Stamp, baseRate float64) {
	if now.sub(m.pauseUntil) >= t.CeilingWindow {
		l.count429 = 0
	}
	wanted := m.lastTokenShortage != 0 && now.sub(m.lastTokenShortage) <= time.Second
	if l.maxAnswers == 0 || m.state != Normal || !wanted {
		return
	}
	if l.untilRaise--; l.untilRaise > 0 {
		return
	}
	switch {
	case l.trialRaise > 0:
		l.trialRaise *= 2
	case l.since == l.last429: // no 429 since the limit was learned: it may be rising
		l.provenMax, l.trialRaise = l.maxAnswers, max(1, l.maxAnswers/4)
	default:
		l.provenMax, l.trialRaise = l.maxAnswers, 1
	}
	l.maxAnswers += l.trialRaise
	if l.untilRaise = l.maxAnswers; l.rate() >= baseRate {
		l.maxAnswers, l.trialRaise = 0, 0
	}
}

func (l *learnedLimit) expire(now Stamp) {
	if l.maxAnswers > 0 && now.sub(l.last429) >= learnedLifetime {
		l.maxAnswers, l.trialRaise = 0, 0
	}
}

func (l *learnedLimit) wait(now Stamp, c *ceiling) time.Duration {
	if l.maxAnswers == 0 {
		return 0
	}
	return c.wait(now, l.maxAnswers, l.window)
}

// statedLimit is the limit in the upstream's rate-limit fields. It applies for one period after the last such answer.
type statedLimit struct {
	quota      int // requests in a period; 0: no limit was stated
	period     time.Duration
	lastStated Stamp
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
	if isolated.maxAnswers > 0 && (l.maxAnswers == 0 || isolated.rate() < l.rate()) {
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
