package app

import (
	"context"
	"sync"
)

// This file decides in which order series that need a person get one: in the order in which they came. Other work does not
// wait for it.

// turns numbers the series. A nil *turns gives turns that are always there.
type turns struct {
	mu      sync.Mutex
	given   int
	first   int                   // the earliest that is not over
	ended   map[int]bool          // over, but an earlier one is not
	waiting map[int]chan struct{} // closed when the turn comes
}

func newTurns() *turns {
	return &turns{ended: map[int]bool{}, waiting: map[int]chan struct{}{}}
}

// turn is one series' place in the order.
type turn struct {
	of *turns
	n  int
}

// next gives the next turn; whoever gets it must end it.
func (t *turns) next() turn {
	if t == nil {
		return turn{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.given++
	return turn{t, t.given - 1}
}

// wait returns when all earlier turns are over, or with ctx's error.
func (t turn) wait(ctx context.Context) error {
	if t.of == nil {
		return nil
	}
	t.of.mu.Lock()
	if t.of.first >= t.n {
		t.of.mu.Unlock()
		return nil
	}
	ready := make(chan struct{})
	t.of.waiting[t.n] = ready
	t.of.mu.Unlock()
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// over ends the turn.
func (t turn) over() {
	if t.of == nil {
		return
	}
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	t.of.ended[t.n] = true
	for t.of.ended[t.of.first] {
		delete(t.of.ended, t.of.first)
		t.of.first++
	}
	if ready, ok := t.of.waiting[t.of.first]; ok {
		delete(t.of.waiting, t.of.first)
		close(ready)
	}
}
