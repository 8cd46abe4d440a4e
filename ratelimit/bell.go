package ratelimit

import (
	"sync"
	"sync/atomic"
)

// This file decides how those of one process who wait hear of what this process has just
// given back, so that they need not find out by asking. Nothing is allocated unless somebody waits.

// bell is rung for everybody who has listened since the mark they took.
type bell struct {
	rings atomic.Uint64
	mu    sync.Mutex
	ch    chan struct{}
}

var rung = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// mark remembers the present: take it before looking whether there is a need to wait.
func (b *bell) mark() uint64 { return b.rings.Load() }

// listen returns a channel that is closed at the first ring after the mark.
func (b *bell) listen(mark uint64) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rings.Load() != mark {
		return rung
	}
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rings.Add(1)
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}
