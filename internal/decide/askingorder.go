package decide

import (
	"context"
	"sync"
)

// turns is the order in which a person is asked about series: the order of the files. Nothing else waits for it.
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

// Turn is the place of one series in the order in which a person is asked. The zero value waits for nothing.
type Turn struct {
	of *turns
	n  int
}

// next returns the next turn, which the caller must end.
func (t *turns) next() Turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.given++
	return Turn{t, t.given - 1}
}

// wait returns when all earlier turns are over, or with ctx's error.
func (t Turn) wait(ctx context.Context) error {
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

// End ends the turn.
func (t Turn) End() {
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
