package ratelimit

import (
	"context"
	"errors"
	"sync"

	"github.com/anivault/anivault/ratelimit/internal/core"
)

// Reservation is a number of requests booked in the budget in advance. Requests made with it (see With) use it up; any
// more take from the budget one by one. Release returns the unused rest.
type Reservation struct {
	l *Limiter

	refusal error // Acquire's error for requests with this reservation; nil if all of them fit into the budget

	mu        sync.Mutex
	remaining int
	released  bool
}

// Reserve books n requests in the budget and, if every usable account has a quota, in the rest of those quotas
// together. If they do not all fit, it returns a *BudgetError, and Acquire returns the same error to requests made with
// that reservation. Without a budget and quotas it always succeeds. The caller must release the reservation. It ends
// with its process, or after Tuning.QuotaOrphanAfter without any request.
func (l *Limiter) Reserve(ctx context.Context, n int) (*Reservation, error) {
	if n < 0 {
		return nil, errors.New("reserve requests: negative number")
	}
	r := &Reservation{l: l}
	if l.offline || n == 0 {
		return r, nil
	}
	refused, err := l.reserve(ctx, r, n)
	if err == nil && refused != nil && l.reap(ctx, 0, core.MaxRetryWait) {
		refused, err = l.reserve(ctx, r, n)
	}
	if err == nil && refused != nil {
		err = refused
	}
	r.refusal = err
	return r, err
}

func (l *Limiter) reserve(ctx context.Context, r *Reservation, n int) (refused *BudgetError, err error) {
	err = l.updateStore(ctx, &update{step: func(at Instant, s *Snapshot, t *Tuning) (tr Transition, _ bool, err error) {
		r.remaining, refused = 0, nil
		if l.closed.Load() {
			return tr, false, ErrClosed
		}
		r.remaining, refused = s.Reserve(at, l.ownerID, n, t, l.ownAccounts())
		return tr, false, nil
	}})
	return refused, err
}

// Left returns how many of the booked requests are unused.
func (r *Reservation) Left() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.remaining
}

// Release returns the unused requests to the budget. Only the first call has an effect.
func (r *Reservation) Release() {
	r.mu.Lock()
	n := r.remaining
	r.remaining, r.released = 0, true
	r.mu.Unlock()
	if n > 0 {
		r.l.unreserve(n)
	}
}

func (l *Limiter) unreserve(n int) {
	err := l.store.Update(context.Background(), func(at Instant, s *Snapshot) error {
		s.Unreserve(at, l.ownerID, n)
		return nil
	})
	if err != nil {
		l.warn(err)
	}
}

// take uses up one request of the reservation. It returns false if none is left.
func (r *Reservation) take() bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.remaining == 0 {
		return false
	}
	r.remaining--
	return true
}

// putBack returns one request to the reservation. It returns false if there is no reservation or it is released.
func (r *Reservation) putBack() bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.released {
		return false
	}
	r.remaining++
	return true
}
