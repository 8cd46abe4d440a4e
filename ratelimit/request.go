package ratelimit

import (
	"cmp"
	"context"
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
}

// carried is what a context says of its requests and, in a try of a Transport, of the try.
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
