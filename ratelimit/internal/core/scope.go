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
	case before.rate > 0:
		c.bucket.changePace(now, before, m.pace(normal, t, now))
	case m.state == HalfOpen: // a probe is due when Sleep ends
		c.bucket.fullAt = min(c.bucket.fullAt, now)
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

func (b *bucket) take(now Stamp, p pace) {
	b.fullAt = max(b.fullAt, now).add(p.interval())
}

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
