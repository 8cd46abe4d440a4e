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
	classCount = iota
)

var classNames = [classCount]string{interactive: "interactive", batch: "batch"}

func (c class) String() string { return classNames[c] }

const interactivePerBatch = 8

type ticket struct {
	client string
	weight int // requests per turn of its client
	class  class

	ready     chan struct{} // closed when it is admitted; nil while it does not wait
	admitted  bool          // it uses a place, but has not asked the limiter yet
	inLimiter bool          // it is asking the limiter for a permit
}

// fairOrder is the order in which waiting tickets are admitted. While interactive tickets wait, every ninth turn is a
// batch one. Within a class the clients take turns, each with as many requests per turn as its weight. Within a client
// it is first come, first served.
type fairOrder struct {
	lines            [classCount][]*line // clients with waiting tickets; the first one's turn is next
	interactiveTurns int                 // interactive turns since the last batch turn, while batch tickets waited
}

type line struct {
	client    string
	weight    int
	turnsLeft int // requests left in this turn
	waiting   []*ticket
}

func (f *fairOrder) push(t *ticket, head bool) {
	lines := &f.lines[t.class]
	i := slices.IndexFunc(*lines, func(l *line) bool { return l.client == t.client })
	if i < 0 {
		i = len(*lines)
		*lines = append(*lines, &line{client: t.client, weight: t.weight, turnsLeft: t.weight})
	}
	l := (*lines)[i]
	if head {
		l.waiting = slices.Insert(l.waiting, 0, t)
	} else {
		l.waiting = append(l.waiting, t)
	}
}

func (f *fairOrder) pop() *ticket {
	c := interactive
	switch {
	case len(f.lines[batch]) == 0:
		f.interactiveTurns = 0
	case len(f.lines[interactive]) == 0 || f.interactiveTurns >= interactivePerBatch:
		c, f.interactiveTurns = batch, 0
	default:
		f.interactiveTurns++
	}
	lines := f.lines[c]
	if len(lines) == 0 {
		return nil
	}
	l := lines[0]
	t := l.waiting[0]
	l.waiting = slices.Delete(l.waiting, 0, 1)
	l.turnsLeft--
	switch {
	case len(l.waiting) == 0:
		f.lines[c] = slices.Delete(lines, 0, 1)
	case l.turnsLeft == 0:
		l.turnsLeft = l.weight
		copy(lines, lines[1:])
		lines[len(lines)-1] = l
	}
	return t
}

func (f *fairOrder) remove(t *ticket) bool {
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

func (f *fairOrder) count(c class) (n int) {
	for _, l := range f.lines[c] {
		n += len(l.waiting)
	}
	return n
}

func (f *fairOrder) countAhead(t *ticket) int {
	own := 0
	for _, l := range f.lines[t.class] {
		if i := slices.Index(l.waiting, t); i >= 0 {
			own = i
		} else if l.client == t.client {
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
		return n + min(f.count(interactive), (n+1)*interactivePerBatch)
	}
	return n + min(f.count(batch), n/interactivePerBatch)
}

// queue admits as many questions at a time as the limiter has slots for this process, in fairOrder. It implements
// ratelimit.Queue, the limiter's local queue in front of the one shared by all processes. A question is admitted before
// it claims its key in the cache, so questions that wait here block nobody.
//
// The limiter's shared queue is first come, first served and knows no turns. Therefore only one of the admitted
// questions asks the limiter at a time. If other processes wait too, all admitted questions ask at once, since the
// limiter shares permits by the number of tickets.
type queue struct {
	slots     func() int
	contended func() bool // whether other processes wait too; nil: always

	mu         sync.Mutex
	order      fairOrder
	placesUsed int
	inLimiter  int // tickets that are asking the limiter
}

// Enter implements ratelimit.Queue. A question's first request uses the place that waitTurn got for it. A retry gets a
// new place, ahead of its client's other requests.
func (q *queue) Enter(ctx context.Context) error {
	t := &ticket{weight: 1}
	if f := flightFrom(ctx); f != nil {
		t = &f.ticket
	}
	q.mu.Lock()
	have := t.admitted
	t.admitted = false
	if have && !t.inLimiter { // yieldLimiter took it out while it waited for a claim in the cache
		t.inLimiter = true
		q.inLimiter++
	}
	q.mu.Unlock()
	if have {
		return nil
	}
	if err := q.waitTurn(ctx, t, true); err != nil {
		return err
	}
	q.mu.Lock()
	t.admitted = false
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
	q.placesUsed--
	if !granted {
		q.inLimiter--
	}
	q.admit()
}

// yieldLimiter lets another question ask the limiter while the admitted question of ctx waits for something else, such
// as a claim in the cache.
func (q *queue) yieldLimiter(ctx context.Context) {
	f := flightFrom(ctx)
	if f == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if t := &f.ticket; t.admitted && t.inLimiter {
		t.inLimiter = false
		q.inLimiter--
		q.admit()
	}
}

// release gives up the place of a ticket that was admitted but never asked the limiter. The caller holds q.mu.
func (q *queue) release(t *ticket) {
	t.admitted = false
	q.placesUsed--
	if t.inLimiter {
		t.inLimiter = false
		q.inLimiter--
	}
	q.admit()
}

func (q *queue) waitTurn(ctx context.Context, t *ticket, head bool) error {
	ready := make(chan struct{})
	q.mu.Lock()
	t.ready, t.admitted = ready, false
	q.order.push(t, head)
	q.admit()
	q.mu.Unlock()
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.order.remove(t) { // it has just been admitted
		q.release(t)
	}
	t.ready = nil
	return ctx.Err()
}

func (q *queue) releaseIfAdmitted(t *ticket) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.admitted {
		q.release(t)
	}
}

func (q *queue) admit() {
	for q.placesUsed < q.slots() && (q.inLimiter == 0 || q.contended == nil || q.contended()) {
		t := q.order.pop()
		if t == nil {
			return
		}
		q.placesUsed++
		q.inLimiter++
		t.admitted, t.inLimiter = true, true
		close(t.ready)
		t.ready = nil
	}
}

func (q *queue) requeue(t *ticket, client string, weight int, c class) {
	q.mu.Lock()
	defer q.mu.Unlock()
	waits := q.order.remove(t)
	t.client, t.weight, t.class = client, weight, c
	if waits {
		q.order.push(t, false)
	}
}

func (q *queue) countAhead(t *ticket) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.order.countAhead(t)
}

func (q *queue) running() (inside, places int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.placesUsed, q.slots()
}

func (q *queue) waitingByClass() (n [classCount]int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for c := range classCount {
		n[c] = q.order.count(class(c))
	}
	return n
}
