package cache

// One flight per key in a process: of all who want the same answer one asks,
// the others wait for it, each as long as its own context allows.

import (
	"context"
	"sync"
)

// flights are the questions under way.
type flights struct {
	mu sync.Mutex
	by map[string]*flight
}

type flight struct {
	done chan struct{}
	ans  answer
	err  error
	// retry: the leader gave up for reasons of its own; another may lead.
	retry bool
}

// do lets one caller per key run ask and gives its outcome to all. When the
// leader's own context ends the next caller leads.
func (fs *flights) do(ctx context.Context, key string, ask func() (answer, error)) (answer, error) {
	for {
		fs.mu.Lock()
		f := fs.by[key]
		if f == nil {
			f = &flight{done: make(chan struct{}), retry: true}
			if fs.by == nil {
				fs.by = map[string]*flight{}
			}
			fs.by[key] = f
			fs.mu.Unlock()
			return fs.lead(ctx, key, f, ask)
		}
		fs.mu.Unlock()
		select {
		case <-ctx.Done():
			return answer{}, context.Cause(ctx)
		case <-f.done:
		}
		if !f.retry {
			return f.ans, f.err
		}
	}
}

// lead asks. Also when ask panics the others go on.
func (fs *flights) lead(ctx context.Context, key string, f *flight, ask func() (answer, error)) (answer, error) {
	defer func() {
		fs.mu.Lock()
		delete(fs.by, key)
		fs.mu.Unlock()
		close(f.done)
	}()
	ans, err := ask()
	f.ans, f.err = ans, err
	f.retry = err != nil && ctx.Err() != nil
	return ans, err
}
