package ratelimit

import (
	"context"
	"sync"
	"time"
)

// deadline is [context.WithDeadline] that makes its timer when somebody begins to wait: most updates of a store don't.
type deadline struct {
	context.Context
	at time.Time

	once  sync.Once
	timed context.Context
	stop  context.CancelFunc
}

// Deadline implements [context.Context].
func (d *deadline) Deadline() (time.Time, bool) {
	if at, ok := d.Context.Deadline(); ok && at.Before(d.at) {
		return at, true
	}
	return d.at, true
}

// Done implements [context.Context].
func (d *deadline) Done() <-chan struct{} {
	d.once.Do(func() { d.timed, d.stop = context.WithDeadline(d.Context, d.at) })
	return d.timed.Done()
}

// Err implements [context.Context].
func (d *deadline) Err() error {
	if err := d.Context.Err(); err != nil || time.Now().Before(d.at) {
		return err
	}
	return context.DeadlineExceeded
}

// cancel frees the timer. The context must not be used any more.
func (d *deadline) cancel() {
	if d.stop != nil {
		d.stop()
	}
}
