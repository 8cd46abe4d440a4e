package ratelimit

import (
	"cmp"
	"context"
	"net/http"
	"sync"
	"time"
)

// Request is what a caller knows of its requests. A request's context is all that an http.Client hands on, so it
// travels there, see [With]. The zero Request is any request.
type Request struct {
	// MaxWait is how long it waits at most, in place of Tuning.MaxWait; 0: as the tuning says.
	MaxWait time.Duration
	// Waited is what it has used of max-wait before it came to the limiter, such as in a queue of the caller's own.
	Waited time.Duration
	// Reservation pays for it; nil: it is booked on its own.
	Reservation *Reservation
	// Prefer is the account and key that it goes through as long as those can be used; the zero Preference is any.
	// Where their slots are full it waits for exactly them, at most PreferFor; then any will do.
	Prefer    Preference
	PreferFor time.Duration
	// Tries are those of its caller, who asks again; nil: a Transport repeats it. See [Tries.With].
	Tries *Tries
}

// Tries is for a caller that repeats failed requests itself and does other work meanwhile. Only the first try of a
// request is evidence about the upstream, so a request that always fails does not look like an outage. Tries is safe
// for concurrent use, and its zero value is ready.
type Tries struct {
	mu     sync.Mutex
	made   *sync.Map // by method and URL: made
	count  int       // failed attempts since Restart
	failed bool      // a request of this attempt has failed
	counts bool      // and count has it
	due    time.Time // when the next attempt makes sense
}

type made struct {
	tries int
	first uint64 // the number of the first permit
}

// Share returns another Tries with the same requests: one that was tried here is not new there.
func (t *Tries) Share() *Tries {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.share()
	return &Tries{made: t.made}
}

func (t *Tries) share() {
	if t.made == nil {
		t.made = new(sync.Map)
	}
}

// With begins an attempt: with the returned context, a [Transport] sends each request once.
func (t *Tries) With(ctx context.Context) context.Context {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed, t.counts, t.due = false, false, time.Time{}
	return With(ctx, Request{Tries: t})
}

// Failed returns how many attempts have failed, 0 if this one has not, and when the next makes sense: after full
// jitter, or the Retry-After of a 503.
func (t *Tries) Failed() (count int, due time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.failed {
		return 0, time.Time{}
	}
	return max(t.count, 1), t.due
}

// Restart sets the count back, and with it the jitter. A request that was tried stays one that was tried.
func (t *Tries) Restart() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count = 0
}

// AsksAgain reports whether the caller of a request repeats it itself, by a [Tries].
func AsksAgain(ctx context.Context) bool { return carriedBy(ctx).Tries != nil }

func (t *Tries) of(req *http.Request) (m made, before int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.share()
	v, _ := t.made.Load(nameOf(req))
	m, _ = v.(made)
	if before = t.count; t.counts {
		before--
	}
	return m, before
}

// fail notes that a request has failed, and when to try it again. It does not count if an outage is to blame.
func (t *Tries) fail(req *http.Request, m made, due time.Time, counts bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.made.Store(nameOf(req), m)
	if t.failed = true; counts && !t.counts {
		t.count++
		t.counts = true
	}
	if due.After(t.due) {
		t.due = due
	}
}

func nameOf(req *http.Request) string { return req.Method + " " + req.URL.String() }

type carried struct {
	Request
	try    bool
	left   time.Duration
	choice Choice
}

type requestKey struct{}

func carriedBy(ctx context.Context) carried {
	c, _ := ctx.Value(requestKey{}).(carried)
	return c
}

// With returns a context whose requests are as r says. What r leaves zero stays as ctx says; what was waited adds up.
func With(ctx context.Context, r Request) context.Context {
	c := carriedBy(ctx)
	c.Waited += r.Waited
	c.MaxWait, c.Reservation = cmp.Or(r.MaxWait, c.MaxWait), cmp.Or(r.Reservation, c.Reservation)
	c.Tries = cmp.Or(r.Tries, c.Tries)
	if r.Prefer != (Preference{}) {
		c.Prefer, c.PreferFor = r.Prefer, r.PreferFor
	}
	return context.WithValue(ctx, requestKey{}, c)
}

func withTry(ctx context.Context, left time.Duration, choice Choice) context.Context {
	c := carriedBy(ctx)
	c.try, c.left, c.choice = true, left, choice
	return context.WithValue(ctx, requestKey{}, c)
}

// WaitLeft returns how much of max-wait is left to the request whose try ctx is of, so that a server which lets
// requests wait can be told how long it may; ok is false for any other context.
func WaitLeft(ctx context.Context) (left time.Duration, ok bool) {
	c := carriedBy(ctx)
	return c.left, c.try
}

// ChoiceFrom returns through which account and key a try goes, as the Base of a [Transport] sees it. It isn't ok where
// the limiter has no accounts.
func ChoiceFrom(ctx context.Context) (Choice, bool) {
	c := carriedBy(ctx)
	return c.choice, c.choice.Account != ""
}
