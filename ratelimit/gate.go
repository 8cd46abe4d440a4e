package ratelimit

import (
	"context"
	"sync"
)

// This file decides who of one process may stand in the shared queue: at most
// Tuning.Concurrency requests, the others wait here, first come first served.

type gate struct {
	mu     sync.Mutex
	limit  int
	inside int
	queue  []*entrant
	closed bool
}

type entrant struct {
	ready    chan struct{}
	admitted bool
}

// enter waits for a place. It returns ctx's error, or ErrClosed.
func (g *gate) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return ErrClosed
	}
	if g.inside < g.limit && len(g.queue) == 0 {
		g.inside++
		g.mu.Unlock()
		return nil
	}
	e := &entrant{ready: make(chan struct{})}
	g.queue = append(g.queue, e)
	g.mu.Unlock()

	select {
	case <-e.ready:
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case e.admitted && ctx.Err() == nil:
		return nil
	case e.admitted:
		g.inside--
		g.admit()
	default:
		for i, other := range g.queue {
			if other == e {
				g.queue = append(g.queue[:i], g.queue[i+1:]...)
				break
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return ErrClosed
}

// leave gives a place back.
func (g *gate) leave() {
	g.mu.Lock()
	g.inside--
	g.admit()
	g.mu.Unlock()
}

// resize changes the number of places. Nobody who is inside is sent away.
func (g *gate) resize(limit int) {
	g.mu.Lock()
	g.limit = limit
	g.admit()
	g.mu.Unlock()
}

// close sends those who wait away, and everybody who comes.
func (g *gate) close() {
	g.mu.Lock()
	g.closed = true
	for _, e := range g.queue {
		close(e.ready)
	}
	g.queue = nil
	g.mu.Unlock()
}

func (g *gate) admit() {
	for g.inside < g.limit && len(g.queue) > 0 {
		e := g.queue[0]
		g.queue = g.queue[1:]
		e.admitted = true
		g.inside++
		close(e.ready)
	}
}
