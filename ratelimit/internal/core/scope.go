package core

import (
	"math"
	"time"
)

// scope is what the upstream limits as one: its address or, where it limits by account, an account.
type scope struct {
	machine machine // its epoch is 0 where there is none: an account of an upstream that limits by address
	bucket  bucket
	quota   usage
}

// step makes the machine's step for a pace and a number of slots in Normal, and keeps the bucket in step with it.
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
		c.bucket.full = min(c.bucket.full, now)
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

// merge takes over what another copy knows of pauses and the use of the bucket.
func (c *scope) merge(from *scope, carried func(Stamp) Stamp) {
	if c.machine.epoch != 0 {
		c.machine.pauseUntil = max(c.machine.pauseUntil, carried(from.machine.pauseUntil))
	}
	c.bucket.full = max(c.bucket.full, carried(from.bucket.full))
}

// pace is a rate with its burst. The zero pace lets nothing through.
type pace struct {
	rate  float64 // requests a second
	burst float64 // capacity in tokens, at least 1 where rate > 0
}

func newPace(rate, capacity float64) pace {
	if rate <= 0 {
		return pace{}
	}
	return pace{rate, max(1, min(capacity, rate))}
}

// interval is what one token costs. Rounded up: never faster than the rate.
func (p pace) interval() time.Duration {
	return time.Duration(math.Ceil(float64(time.Second) / p.rate))
}

// bucket is a token bucket, kept as a theoretical arrival time (GCRA, ITU-T I.371). One is shared by all
// processes and runs at the pace of the fastest; each process has one of its own as well, at its own pace.
type bucket struct {
	full Stamp // when the bucket is full again; in the past: it is full
}

func (b *bucket) start(now Stamp, p pace, tokens float64) {
	if p.rate > 0 {
		tokens = min(max(tokens, 0), p.burst)
		b.full = now.add(time.Duration((p.burst - tokens) * float64(p.interval())))
	}
}

func (b *bucket) wait(now Stamp, p pace) time.Duration {
	slack := time.Duration((p.burst - 1) * float64(p.interval()))
	return max(b.full.sub(now)-slack, 0)
}

// capDebt leaves a bucket no emptier than empty at this pace: what was taken at a lower rate cost more than it would
// now.
func (b *bucket) capDebt(now Stamp, p pace) {
	if p.rate > 0 {
		b.full = min(b.full, now.add(time.Duration(p.burst*float64(p.interval()))))
	}
}

func (b *bucket) take(now Stamp, p pace) {
	b.full = max(b.full, now).add(p.interval())
}

// tokens returns how many tokens are there at this pace; negative is debt.
func (b *bucket) tokens(now Stamp, p pace) float64 {
	if p.rate <= 0 {
		return 0
	}
	debt := max(b.full.sub(now), 0)
	return p.burst - float64(debt)/float64(p.interval())
}

// changePace changes the pace: tokens above the new capacity are lost, and none
// appear that were not there before.
func (b *bucket) changePace(now Stamp, from, to pace) {
	if to.rate <= 0 {
		return // the next state that lets requests through decides
	}
	tokens := min(b.tokens(now, from), to.burst)
	b.full = now.add(time.Duration((to.burst - tokens) * float64(to.interval())))
}

// empty leaves no token for anybody: a burst is never more than a second's worth.
func (b *bucket) empty(now Stamp) { b.full = max(b.full, now.add(time.Second)) }

// drain leaves at most one token at this rate, and none at a lower one.
func (b *bucket) drain(now Stamp, rate float64) {
	full := now.add(time.Second)
	if p := newPace(rate, rate); p.rate > 0 {
		full = full.add(-p.interval())
	}
	b.full = max(b.full, full)
}

// maxGrants is the largest number of grants that are remembered, and so the largest Tuning.Ceiling.
const maxGrants = 400

// ceiling is the limit on the permits of any rolling window, whatever the bucket holds. A bucket of 35 that refills at
// 35 a second lets 70 requests through in its first second; the upstream does not.
type ceiling struct {
	grants []Stamp // the newest grants, oldest first
	// unknownSince is the moment up to which grants may be missing, 0 if none are. Nothing is granted until those have
	// left the window.
	unknownSince Stamp
	// othersReservedAt is when room was last made for what processes may have granted alone, see doubt.
	othersReservedAt Stamp
}

func (c *ceiling) wait(now Stamp, limit int, window time.Duration) time.Duration {
	var wait time.Duration
	if c.unknownSince != 0 {
		wait = max(c.unknownSince.add(window).sub(now), 0)
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
	if c.unknownSince != 0 && now.sub(c.unknownSince) >= window {
		c.unknownSince = 0
	}
}

func (c *ceiling) grantsWithin(now Stamp, window time.Duration) int {
	n := 0
	for i := len(c.grants) - 1; i >= 0 && now.sub(c.grants[i]) < window; i-- {
		n++
	}
	return n
}
