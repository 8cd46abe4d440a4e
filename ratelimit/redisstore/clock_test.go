package redisstore

import (
	"testing"
	"time"
)

// world has one server's clock and the times since boot of several machines.
type clockWorld struct {
	server time.Duration
	boot   map[*clock]*time.Duration
}

func (w *clockWorld) machine(boot time.Duration) *clock {
	at := boot
	c := &clock{boot: func() time.Duration { return at }}
	w.boot[c] = &at
	return c
}

func (w *clockWorld) pass(d time.Duration) {
	w.server += d
	for _, at := range w.boot {
		*at += d
	}
}

// look is a look at the server's clock with a round trip.
func (w *clockWorld) look(c *clock, trip time.Duration) {
	sent := *w.boot[c]
	w.pass(trip / 2)
	server := w.server
	w.pass(trip - trip/2)
	c.observe(sent, *w.boot[c], server)
}

func newClockWorld() *clockWorld {
	return &clockWorld{server: 1_700_000_000 * time.Second, boot: map[*clock]*time.Duration{}}
}

func near(t *testing.T, what string, got, want, within time.Duration) {
	t.Helper()
	if d := got - want; d.Abs() > within {
		t.Errorf("%s: off by %v", what, d)
	}
}

// Machines that were started at different times, and whose wall clocks are nobody's business, share the server's time.
func TestMachinesShareTheServersTime(t *testing.T) {
	w := newClockWorld()
	a, b := w.machine(3*time.Hour), w.machine(5*time.Second)
	for _, trip := range []time.Duration{40 * time.Millisecond, 2 * time.Millisecond, 90 * time.Millisecond} {
		w.look(a, trip)
		w.look(b, trip)
		w.pass(time.Second)
	}
	na, _ := a.now(a.boot())
	nb, _ := b.now(b.boot())
	near(t, "a", na, w.server, 0)
	near(t, "b", nb, w.server, 0)
}

// The look with the shortest way counts for 30 s.
func TestTheShortestWayCounts(t *testing.T) {
	w := newClockWorld()
	c := w.machine(time.Hour)
	lopsided := func(trip time.Duration) { // all of the way is the way back
		sent, server := *w.boot[c], w.server
		w.pass(trip)
		c.observe(sent, *w.boot[c], server)
	}
	w.look(c, time.Millisecond)
	w.pass(20 * time.Second)
	lopsided(100 * time.Millisecond)
	got, _ := c.now(c.boot())
	near(t, "within 30 s", got, w.server, time.Millisecond)
	w.pass(20 * time.Second)
	lopsided(100 * time.Millisecond)
	w.pass(time.Second)
	got, _ = c.now(c.boot())
	near(t, "after them", got, w.server, 50*time.Millisecond)
}

// Where the server's clock leaps, or another server takes its place, shared time goes on: no pause ends early, and
// nobody is held.
func TestALeapOfTheServersClockIsCompensated(t *testing.T) {
	for name, leap := range map[string]time.Duration{
		"ahead": time.Minute, "back": -time.Minute,
		"a new server a day behind": -24 * time.Hour,
	} {
		t.Run(name, func(t *testing.T) {
			w := newClockWorld()
			a, b := w.machine(time.Hour), w.machine(2*time.Hour)
			w.look(a, time.Millisecond)
			w.look(b, time.Millisecond)
			truth := w.server
			pass := func(d time.Duration) {
				w.pass(d)
				truth += d
			}
			w.server += leap
			pass(time.Second)
			before := w.server
			w.look(a, time.Millisecond)
			truth += w.server - before
			got, bias := a.now(a.boot())
			near(t, "who sees it", got, truth, 2*time.Millisecond)
			f := frame{time: got, bias: bias}
			pass(time.Second)
			before = w.server
			w.look(b, time.Millisecond)
			truth += w.server - before
			b.adopt(&f)
			got, _ = b.now(b.boot())
			near(t, "who has it from the state", got, truth, 5*time.Millisecond)
			// Somebody who knew nothing before learns it from the state.
			c := w.machine(7 * time.Hour)
			before = w.server
			w.look(c, time.Millisecond)
			truth += w.server - before
			c.adopt(&f)
			got, _ = c.now(c.boot())
			near(t, "who is new", got, truth, 5*time.Millisecond)
		})
	}
}

// What is stored never goes back: a process whose time is behind continues from there.
func TestSharedTimeNeverGoesBack(t *testing.T) {
	w := newClockWorld()
	c := w.machine(time.Hour)
	w.look(c, time.Millisecond)
	ahead := w.server + time.Minute
	c.adopt(&frame{time: ahead})
	got, _ := c.now(c.boot())
	near(t, "at once", got, ahead, time.Microsecond)
	w.pass(time.Second)
	got, _ = c.now(c.boot())
	near(t, "later", got, ahead+time.Second, time.Millisecond)
}
