package simulate

import (
	"slices"
	"time"
)

// clock is virtual time with its planned events, in the order of time; those of one moment in the order of planning.
type clock struct {
	now    time.Duration // since the beginning
	events []event
}

type event struct {
	at time.Duration
	do func()
}

// plan calls do after a time.
func (c *clock) plan(after time.Duration, do func()) {
	at := c.now + max(after, 0)
	i, _ := slices.BinarySearchFunc(c.events, at, func(e event, at time.Duration) int {
		if e.at <= at {
			return -1
		}
		return 1
	})
	c.events = slices.Insert(c.events, i, event{at, do})
}

// next returns when the next event is due; ok is false if there is none.
func (c *clock) next() (at time.Duration, ok bool) {
	if len(c.events) == 0 {
		return 0, false
	}
	return c.events[0].at, true
}

// step moves time to the next event and calls it.
func (c *clock) step() {
	e := c.events[0]
	c.events = c.events[1:]
	c.now = e.at
	e.do()
}
