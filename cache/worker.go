package cache

// The one goroutine of a store that writes: it merges the journal when it is
// due, and gives signs of life while claims are held. It begins with the first
// write and ends with Close, which waits for it.

import (
	"context"
	"errors"
	"time"
)

const (
	beatEvery    = time.Second
	shortWait    = 20 * time.Millisecond // for a lock, when nothing is urgent
	overdueAfter = 2 * time.Second
	busyPause    = 50 * time.Millisecond
	failPause    = 30 * time.Second
	maxShare     = 8
)

type worker struct {
	store  *Store
	signal chan struct{}
	done   chan struct{}
	cancel context.CancelFunc

	// The store's mutex guards these.
	begun     time.Time // when the oldest unmerged record was written
	notBefore time.Time // after a merge that failed
	beaten    time.Time
}

func startWorker(s *Store) *worker {
	ctx, cancel := context.WithCancel(context.Background())
	w := &worker{
		store: s, signal: make(chan struct{}, 1), done: make(chan struct{}), cancel: cancel,
		begun: time.Now(), beaten: time.Now(),
	}
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
		merge, beat, next := w.due(time.Now())
		switch {
		case merge:
			w.merge(ctx)
			continue
		case beat:
			w.beat()
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

// due tells what is to be done now, and else when to look again.
func (w *worker) due(now time.Time) (merge, beat bool, next time.Duration) {
	s := w.store
	s.mu.Lock()
	defer s.mu.Unlock()
	next = time.Hour
	if n := s.proc.unmerged(); n > 0 {
		// Where many processes write each merges more rarely, and more at
		// once: what costs is the lock and the sync, and everybody reads
		// everybody's journals anyway.
		share := min(1+s.recentCompany(now), maxShare)
		at := w.begun.Add(s.opts.MergeEvery * time.Duration(share))
		if n >= s.opts.MergeRecords*share {
			at = w.begun
		}
		if at.Before(w.notBefore) {
			at = w.notBefore
		}
		if !now.Before(at) {
			return true, false, 0
		}
		next = at.Sub(now)
	}
	if len(s.proc.current().claims) > 0 {
		at := w.beaten.Add(beatEvery)
		if !now.Before(at) {
			return false, true, 0
		}
		next = min(next, at.Sub(now))
	}
	return false, false, next
}

func (w *worker) merge(ctx context.Context) {
	s := w.store
	s.mu.Lock()
	late := time.Since(w.begun) > s.opts.MergeEvery*maxShare+overdueAfter
	s.mu.Unlock()
	wait := min(shortWait, s.opts.LockWait)
	if late {
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

// beat shows that the owner of the claims still runs.
func (w *worker) beat() {
	s := w.store
	s.mu.Lock()
	w.beaten = time.Now()
	_, err := s.appendLocked(journalRecord{kind: kindBeat})
	s.mu.Unlock()
	_ = s.workAround(err) // a beat is never too long
}
