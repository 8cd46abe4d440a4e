package gateway

import (
	"context"
	"slices"
	"sync"
)

type class uint8

const (
	interactive class = iota
	batch
	classes = iota
)

var classNames = [classes]string{interactive: "interactive", batch: "batch"}

func (c class) String() string { return classNames[c] }

const aBatchAfter = 8

type ticket struct {
	client string
	weight int // requests that the client has in one turn
	class  class

	ready     chan struct{} // closed when it is let in; nil while it does not wait
	held      bool          // it has a place, but has not asked the limiter yet
	inLimiter bool          // it asks the limiter now
}

// fair is whose turn it is: of the classes, batch gets every ninth turn while interactive waits; of the clients of a
// class, each has as many requests a turn as its weight; of one client, first come, first served. Pure.
type fair struct {
	lines [classes][]*line // clients that wait, the first one has its turn
	since int              // turns of interactive since the last one of batch, while batch waited
}

type line struct {
	client  string
	weight  int
	left    int // requests left in this turn
	waiting []*ticket
}

func (f *fair) push(t *ticket, head bool) {
	lines := &f.lines[t.class]
	i := slices.IndexFunc(*lines, func(l *line) bool { return l.client == t.client })
	if i < 0 {
		i = len(*lines)
		*lines = append(*lines, &line{client: t.client, weight: t.weight, left: t.weight})
	}
	l := (*lines)[i]
	if head {
		l.waiting = slices.Insert(l.waiting, 0, t)
	} else {
		l.waiting = append(l.waiting, t)
	}
}

func (f *fair) pop() *ticket {
	c := interactive
	switch {
	case len(f.lines[batch]) == 0:
		f.since = 0
	case len(f.lines[interactive]) == 0 || f.since >= aBatchAfter:
		c, f.since = batch, 0
	default:
		f.since++
	}
	lines := f.lines[c]
	if len(lines) == 0 {
		return nil
	}
	l := lines[0]
	t := l.waiting[0]
	l.waiting = slices.Delete(l.waiting, 0, 1)
	l.left--
	switch {
	case len(l.waiting) == 0:
		f.lines[c] = slices.Delete(lines, 0, 1)
	case l.left == 0:
		l.left = l.weight
		copy(lines, lines[1:])
		lines[len(lines)-1] = l
	}
	return t
}

func (f *fair) remove(t *ticket) bool {
	lines := &f.lines[t.class]
	for i, l := range *lines {
		j := slices.Index(l.waiting, t)
		if j < 0 {
			continue
		}
		if l.waiting = slices.Delete(l.waiting, j, j+1); len(l.waiting) == 0 {
			*lines = slices.Delete(*lines, i, i+1)
		}
		return true
	}
	return false
}

func (f *fair) count(c class) (n int) {
	for _, l := range f.lines[c] {
		n += len(l.waiting)
	}
	return n
}

func (f *fair) ahead(t *ticket) int {
	own := 0
	for _, l := range f.lines[t.class] {
		if l.client == t.client {
			own = len(l.waiting)
		}
	}
	rounds, n := own/t.weight+1, own
	for _, l := range f.lines[t.class] {
		if l.client != t.client {
			n += min(len(l.waiting), rounds*l.weight)
		}
	}
	if t.class == batch {
		return n + min(f.count(interactive), (n+1)*aBatchAfter)
	}
	return n + min(f.count(batch), n/aBatchAfter)
}

// queue is fair with as many places as the limiter has slots for this process. It is the limiter's own queue in front
// of the shared one (ratelimit.Queue). A question takes its place before it takes a claim: whoever waits here holds
// nothing.
//
// The limiter's own line knows no turns. So only one question of this queue waits there at a time, while the others
// have their permits; where other processes wait too, a process gets its share by the number of its tickets, so all
// wait.
type queue struct {
	slots     func() int
	contended func() bool // nil: it is

	mu        sync.Mutex
	fair      fair
	inside    int
	inLimiter int // tickets that ask the limiter now
}

// Enter implements ratelimit.Queue. A question's first request has the place that the question holds, and a retry takes
// one at the head of its client's line.
func (q *queue) Enter(ctx context.Context) error {
	t := &ticket{weight: 1}
	if f := flightFrom(ctx); f != nil {
		t = &f.ticket
	}
	q.mu.Lock()
	have := t.held
	t.held = false
	if have && !t.inLimiter { // it waited for a claim in the cache
		t.inLimiter = true
		q.inLimiter++
	}
	q.mu.Unlock()
	if have {
		return nil
	}
	if err := q.enter(ctx, t, true); err != nil {
		return err
	}
	q.mu.Lock()
	t.held = false
	q.mu.Unlock()
	return nil
}

func (q *queue) Granted() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.inLimiter--
	q.admit()
}

func (q *queue) Leave(granted bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.inside--
	if !granted {
		q.inLimiter--
	}
	q.admit()
}

// waitsElsewhere lets another ask while the question of ctx, which has a place, waits for something else than the
// limiter.
func (q *queue) waitsElsewhere(ctx context.Context) {
	f := flightFrom(ctx)
	if f == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if t := &f.ticket; t.held && t.inLimiter {
		t.inLimiter = false
		q.inLimiter--
		q.admit()
	}
}

// letGo takes a ticket out of those inside that was let in and never came to the limiter. q.mu is held.
func (q *queue) letGo(t *ticket) {
	t.held = false
	q.inside--
	if t.inLimiter {
		t.inLimiter = false
		q.inLimiter--
	}
	q.admit()
}

func (q *queue) enter(ctx context.Context, t *ticket, head bool) error {
	ready := make(chan struct{})
	q.mu.Lock()
	t.ready, t.held = ready, false
	q.fair.push(t, head)
	q.admit()
	q.mu.Unlock()
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.fair.remove(t) { // it was let in just now
		q.letGo(t)
	}
	t.ready = nil
	return ctx.Err()
}

func (q *queue) giveBack(t *ticket) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.held {
		q.letGo(t)
	}
}

func (q *queue) admit() {
	for q.inside < q.slots() && (q.inLimiter == 0 || q.contended == nil || q.contended()) {
		t := q.fair.pop()
		if t == nil {
			return
		}
		q.inside++
		q.inLimiter++
		t.held, t.inLimiter = true, true
		close(t.ready)
		t.ready = nil
	}
}

func (q *queue) move(t *ticket, client string, weight int, c class) {
	q.mu.Lock()
	defer q.mu.Unlock()
	waits := q.fair.remove(t)
	t.client, t.weight, t.class = client, weight, c
	if waits {
		q.fair.push(t, false)
	}
}

func (q *queue) ahead(t *ticket) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.fair.ahead(t)
}

func (q *queue) running() (inside, places int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.inside, q.slots()
}

func (q *queue) waiting() (n [classes]int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for c := range classes {
		n[c] = q.fair.count(class(c))
	}
	return n
}
