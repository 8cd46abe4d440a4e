package simulate

import (
	"container/heap"
	"time"
)

// clock is virtual time with its planned events, in the order of time; those of one moment in the order of planning.
type clock struct {
	now    time.Duration // since the beginning
	events events
	seq    uint64
}

type event struct {
	at  time.Duration
	seq uint64
	do  func()
}

// plan calls do after a time.
func (c *clock) plan(after time.Duration, do func()) {
	c.seq++
	heap.Push(&c.events, event{c.now + max(after, 0), c.seq, do})
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
	e := heap.Pop(&c.events).(event)
	c.now = e.at
	e.do()
}

// events is a heap.
type events []event

func (e events) Len() int { return len(e) }

func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].seq < e[j].seq
}

func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }

func (e *events) Push(x any) { *e = append(*e, x.(event)) }

func (e *events) Pop() any {
	old := *e
	last := old[len(old)-1]
	old[len(old)-1] = event{}
	*e = old[:len(old)-1]
	return last
}
