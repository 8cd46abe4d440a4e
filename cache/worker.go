package cache

import (
	"context"
	"errors"
	"time"
)

const (
	shortWait    = 20 * time.Millisecond // for a lock, when nothing is urgent
	overdueAfter = 10 * time.Second
	busyPause    = 50 * time.Millisecond
	failPause    = 30 * time.Second
)

// worker is the goroutine of a store that merges the journal when it is due. It begins with the first write and ends
// with Close, which waits for it.
type worker struct {
	store  *Store
	signal chan struct{}
	done   chan struct{}
	cancel context.CancelFunc

	// The store's mutex guards these.
	begun     time.Time // when the oldest unmerged record was written
	notBefore time.Time // after a merge that failed
}

func startWorker(s *Store) *worker {
	ctx, cancel := context.WithCancel(context.Background())
	w := &worker{store: s, signal: make(chan struct{}, 1), done: make(chan struct{}), cancel: cancel, begun: time.Now()}
	go w.run(ctx)
	return w
}

// wake makes the worker look again at what is due.
func (w *worker) wake() {
	select {
	case w.signal <- struct{}{}:
	default:
	}
}

func (w *worker) stop() {
	w.cancel()
	<-w.done
}

func (w *worker) run(ctx context.Context) {
	defer close(w.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for ctx.Err() == nil {
		next := w.due(time.Now())
		if next <= 0 {
			w.merge(ctx)
			continue
		}
		timer.Reset(next)
		select {
		case <-ctx.Done():
		case <-w.signal:
		case <-timer.C:
		}
	}
}

// due returns how long it is until the next merge.
func (w *worker) due(now time.Time) time.Duration {
	s := w.store
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.proc.unmerged()
	if n == 0 {
		return time.Hour
	}
	at := w.begun
	if n < s.opts.MergeRecords {
		at = at.Add(s.opts.MergeEvery)
	}
	if at.Before(w.notBefore) {
		at = w.notBefore
	}
	return at.Sub(now)
}

func (w *worker) merge(ctx context.Context) {
	s := w.store
	s.mu.Lock()
	overdue := time.Since(w.begun) > s.opts.MergeEvery+overdueAfter
	s.mu.Unlock()
	wait := min(shortWait, s.opts.LockWait)
	if overdue {
		wait = s.opts.LockWait
	}
	_, err := s.merge(ctx, wait)
	if ctx.Err() != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		w.begun = time.Now()
	case errors.Is(err, ErrLocked):
		w.notBefore = time.Now().Add(busyPause)
	default:
		w.notBefore = time.Now().Add(failPause)
	}
}
