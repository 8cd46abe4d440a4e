package ratelimit

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/anivault/anivault/ratelimit/internal/core"
)

// Request has the settings of one request. Put it into the request's context by [With], because an http.Client passes
// on nothing else. The zero Request uses the limiter's settings.
type Request struct {
	// MaxWait limits the request's waiting; 0 means Tuning.MaxWait.
	MaxWait time.Duration
	// Waited is the time that the request has already waited before it called the limiter, such as in the caller's queue.
	Waited time.Duration
	// Reservation pays for the request; with nil the request takes from the budget itself.
	Reservation *Reservation
	// Prefer is the account and key to use as long as they are usable; the zero Preference means any. If their slots are
	// full, the request waits for them at most PreferFor, then uses any.
	Prefer    Preference
	PreferFor time.Duration
	// Tries is set if the caller retries the request itself; with nil a Transport retries it. See [Tries.With].
	Tries *Tries
}

// Tries is for a caller that retries failed requests itself and does other work in between. Only the first try of a
// request counts as evidence about the upstream, so a request that always fails does not look like an outage. Tries is
// safe for concurrent use; its zero value is ready.
type Tries struct {
	mu             sync.Mutex
	records        *sync.Map // tryRecord by method and URL
	failedAttempts int       // since Restart
	attemptFailed  bool      // of this attempt
	counted        bool      // failedAttempts includes this attempt
	nextAttemptAt  time.Time
	restartAt      time.Time // nextAttemptAt after Restart
	restarted      bool
}

type tryRecord struct {
	tries       int
	firstNumber uint64 // Number of the first permit
	// The last failed try: restartAt is nextAttemptAt after a Restart; counted is false if an outage made it fail.
	failedAt, nextAttemptAt, restartAt time.Time
	counted                            bool
}

// Share returns a new Tries that knows the same requests: a request tried with one of them is a retry with the other.
func (t *Tries) Share() *Tries {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.records = cmp.Or(t.records, new(sync.Map))
	return &Tries{records: t.records}
}

// With begins an attempt. With the returned context, a [Transport] sends each request only once.
func (t *Tries) With(ctx context.Context) context.Context {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.attemptFailed, t.counted, t.nextAttemptAt, t.restartAt = false, false, time.Time{}, time.Time{}
	return With(ctx, Request{Tries: t})
}

// Failed returns how many attempts have failed and the earliest time for the next one: after full jitter, or the
// Retry-After of a 503. The count is 0 if the present attempt has not failed.
func (t *Tries) Failed() (count int, due time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.attemptFailed {
		return 0, time.Time{}
	}
	return max(t.failedAttempts, 1), t.nextAttemptAt
}

// Restart resets the count of failed attempts. Each later attempt waits like a first retry, and still counts as one.
func (t *Tries) Restart() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failedAttempts, t.nextAttemptAt, t.restarted = 0, t.restartAt, true
}

// RequestIn returns the settings that [With] has put into a context, the zero Request if there are none.
func RequestIn(ctx context.Context) Request { return requestFrom(ctx).Request }

// record returns the earlier tries of req and how many earlier attempts have failed: none if t is nil.
func (t *Tries) record(req *http.Request) (m tryRecord, failedAttempts int) {
	if t == nil {
		return m, 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.records = cmp.Or(t.records, new(sync.Map))
	v, _ := t.records.Load(requestKeyOf(req))
	m, _ = v.(tryRecord)
	if failedAttempts = t.failedAttempts; t.counted {
		failedAttempts--
	}
	return m, failedAttempts
}

// Join records that req has failed since begun if a Tries that shares the requests of this one sent it: a cache sends
// simultaneous requests only once. A nil Tries records nothing.
func (t *Tries) Join(req *http.Request, begun time.Time) {
	if m, _ := t.record(req); !m.failedAt.Before(begun) {
		t.fail(m)
	}
}

// fail adds a failed request to the attempt.
func (t *Tries) fail(m tryRecord) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.attemptFailed = true; m.counted && !t.counted {
		t.failedAttempts, t.counted = t.failedAttempts+1, true
	}
	if t.restarted {
		m.nextAttemptAt = m.restartAt
	}
	t.nextAttemptAt = slices.MaxFunc([]time.Time{t.nextAttemptAt, m.nextAttemptAt}, time.Time.Compare)
	t.restartAt = slices.MaxFunc([]time.Time{t.restartAt, m.restartAt}, time.Time.Compare)
}

func requestKeyOf(req *http.Request) string { return req.Method + " " + req.URL.String() }

type requestInfo struct {
	Request
	isTry    bool
	waitLeft time.Duration
	choice   Choice
}

type contextKey struct{}

func requestFrom(ctx context.Context) requestInfo {
	c, _ := ctx.Value(contextKey{}).(requestInfo)
	return c
}

// With returns a context that applies r to its requests. Zero fields of r keep the values in ctx; Waited is added up.
func With(ctx context.Context, r Request) context.Context {
	c := requestFrom(ctx)
	c.Waited += r.Waited
	c.MaxWait, c.Reservation = cmp.Or(r.MaxWait, c.MaxWait), cmp.Or(r.Reservation, c.Reservation)
	c.Tries = cmp.Or(r.Tries, c.Tries)
	if r.Prefer != (Preference{}) {
		c.Prefer, c.PreferFor = r.Prefer, r.PreferFor
	}
	return context.WithValue(ctx, contextKey{}, c)
}

func withTry(ctx context.Context, waitLeft time.Duration, choice Choice) context.Context {
	c := requestFrom(ctx)
	c.isTry, c.waitLeft, c.choice = true, waitLeft, choice
	return context.WithValue(ctx, contextKey{}, c)
}

// WaitLeft returns how much longer the request may wait, so that its Base can tell a server that queues requests. ok is
// false unless ctx is the context of a request that a [Transport] sends.
func WaitLeft(ctx context.Context) (left time.Duration, ok bool) {
	c := requestFrom(ctx)
	return c.waitLeft, c.isTry
}

// ChoiceFrom returns the account and key that a [Transport] has chosen for a request; its Base calls it. It returns
// false if the limiter has no accounts.
func ChoiceFrom(ctx context.Context) (Choice, bool) {
	c := requestFrom(ctx)
	return c.choice, c.choice.Account != ""
}

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
	err := l.update(context.Background(), always(func(at Instant, s *Snapshot) { s.Unreserve(at, l.ownerID, n) }))
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
