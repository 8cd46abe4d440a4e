package redisstore

import (
	"encoding/hex"
	"sync"
	"time"

	"github.com/anivault/anivault/ratelimit/internal/core"
)

const (
	sampleFor = 30 * time.Second
	// leap is what two looks at the server's clock may differ by: by more, it was set, or it is another server.
	leap = 2 * time.Second
)

// clock is shared time: that of the server's clock, plus a bias that is 0 until that clock leaps. A process adds its
// own time since boot to the look at the server's clock that took the shortest way, so shared time is wrong by half a
// round trip at most, and the machine's wall clock has no part in it. Where the server's clock leaps, shared time goes
// on by the time since boot, and the bias, which is in the state, tells the others.
type clock struct {
	boot func() time.Duration // time since boot

	mu      sync.Mutex
	samples []sample // of the last sampleFor, each with a shorter round trip than all after it
	bias    time.Duration
	joined  bool          // bias was compared with that of a state
	last    time.Duration // the newest shared time that was told or read
}

type sample struct {
	at     time.Duration // time since boot
	offset time.Duration // by how much the server's clock is ahead of the time since boot
	trip   time.Duration
}

// look takes note of the server's time in a reply: sent and received are times since boot.
func (c *clock) look(sent, received, server time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := sample{at: received, trip: received - sent, offset: server - sent - (received-sent)/2}
	if len(c.samples) > 0 {
		best := c.samples[0]
		if jump := s.offset - best.offset; jump.Abs() > leap+s.trip/2 {
			c.bias -= jump
			c.samples = c.samples[:0]
		}
	}
	for n := len(c.samples); n > 0 && c.samples[n-1].trip >= s.trip; n-- {
		c.samples = c.samples[:n-1]
	}
	c.samples = append(c.samples, s)
	for c.samples[0].at < received-sampleFor {
		c.samples = c.samples[1:]
	}
}

// join takes note of a state: its bias, where both agree about the time, and its time, which is never gone back behind.
func (c *clock) join(f *frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d := f.bias - c.bias; !c.joined || d.Abs() <= leap {
		c.bias = f.bias
	}
	c.joined = true
	if behind := f.time - c.shared(c.boot()); behind > leap {
		c.bias += behind
	}
	c.last = max(c.last, f.time)
}

func (c *clock) shared(boot time.Duration) time.Duration {
	if len(c.samples) == 0 {
		return 0
	}
	return boot + c.samples[0].offset + c.bias
}

// now returns the shared time at a time since boot, which never goes back, and its bias.
func (c *clock) now(boot time.Duration) (shared, bias time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = max(c.last, c.shared(boot))
	return c.last, c.bias
}

func (c *clock) skew(wall time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.samples) == 0 {
		return 0
	}
	return time.Duration(wall.UnixNano()) - c.boot() - c.samples[0].offset
}

func life(g generation) string { return "redis-" + hex.EncodeToString(g[:]) }

func sinceBoot() time.Duration { return core.SystemInstant().Boot }
