package ratelimit

import (
	"context"
	"errors"
	"sync"

	"github.com/anivault/anivault/ratelimit/internal/core"
)

// Reservation is a number of requests that fit into the budget for certain.
// Requests made with it (see With) use it up; when more are needed they are booked
// one by one. Release gives back what was not used.
type Reservation struct {
	l *Limiter

	refused error // Acquire's error for its requests; nil: they fit

	mu       sync.Mutex
	left     int
	released bool
}

// Reserve books n requests of the budget and, where each account that could be used has a quota, of what those have
// left together. It returns a *BudgetError when they do not all fit; a request that is made with the refused
// reservation gets that error from Acquire. Without budget and quotas Reserve always succeeds. The reservation has to
// be released. Reservations end with their process, and after Tuning.QuotaOrphanAfter in which the limiter asked for
// nothing.
func (l *Limiter) Reserve(ctx context.Context, n int) (*Reservation, error) {
	if n < 0 {
		return nil, errors.New("reserve requests: negative number")
	}
	r := &Reservation{l: l}
	if l.offline || n == 0 {
		return r, nil
	}
	refused, err := l.reserve(ctx, r, n)
	if err == nil && refused != nil && l.reap(ctx, 0, core.MaxNap) {
		refused, err = l.reserve(ctx, r, n)
	}
	if err == nil && refused != nil {
		err = refused
	}
	r.refused = err
	return r, err
}

func (l *Limiter) reserve(ctx context.Context, r *Reservation, n int) (refused *BudgetError, err error) {
	err = l.do(ctx, &update{step: func(at Instant, s *Snapshot, t *Tuning) (tr Transition, moved bool, err error) {
		r.left, refused = 0, nil
		if l.closed.Load() {
			return tr, false, ErrClosed
		}
		r.left, refused = s.Reserve(at, l.owner, n, t, l.ownAccounts())
		return tr, false, nil
	}})
	return refused, err
}

// Left returns how many of the booked requests have not been made.
func (r *Reservation) Left() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.left
}

// Release gives back what was not used. Only the first call does something.
func (r *Reservation) Release() {
	r.mu.Lock()
	n := r.left
	r.left, r.released = 0, true
	r.mu.Unlock()
	if n > 0 {
		r.l.unreserve(n)
	}
}

func (l *Limiter) unreserve(n int) {
	err := l.store.Update(context.Background(), func(at Instant, s *Snapshot) error {
		s.Unreserve(at, l.owner, n)
		return nil
	})
	if err != nil {
		l.warn(err)
	}
}

func (r *Reservation) take() bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left == 0 {
		return false
	}
	r.left--
	return true
}

func (r *Reservation) put() bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.released {
		return false
	}
	r.left++
	return true
}
