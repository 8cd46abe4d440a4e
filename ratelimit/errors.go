package ratelimit

import (
	"errors"
	"fmt"
	"time"

	"github.com/anivault/anivault/ratelimit/internal/core"
)

var (
	// ErrAcquireTimeout is what an *AcquireTimeoutError is.
	ErrAcquireTimeout = errors.New("no permission to send in time")
	// ErrRequestTimeout is what a *RequestTimeoutError is.
	ErrRequestTimeout = errors.New("no answer in time")
	// ErrClosed is returned by a limiter that has been closed.
	ErrClosed = errors.New("limiter is closed")
	// ErrNotShared says that no other process sees what an operator has changed.
	ErrNotShared = errors.New("the limiter's shared state cannot be reached, so no process would obey")
	// ErrBudget is what a *BudgetError is.
	ErrBudget = core.ErrBudget
	// ErrUnchanged is what a function returns to Store.Update that has left the snapshot as it was.
	ErrUnchanged = core.ErrUnchanged
	// ErrStoreClosed is what Store.Update returns after Close.
	ErrStoreClosed = core.ErrStoreClosed
)

// BlockedError says that a request was not sent because nothing passes
// before Until, which lies beyond what the request may wait.
type BlockedError struct{ Block }

// Error implements error.
func (e *BlockedError) Error() string {
	if e.Cause == ReasonOffline {
		return "send request: offline"
	}
	if e.Until.IsZero() {
		return fmt.Sprintf("send request: blocked in %s (%s)", e.State, e.Cause)
	}
	return fmt.Sprintf("send request: blocked in %s (%s) until %s", e.State, e.Cause, e.Until.UTC().Format(time.RFC3339))
}

// Offline reports whether this process was told not to send.
func (e *BlockedError) Offline() bool { return e.Cause == ReasonOffline }

// AcquireTimeoutError says that a request has waited for permission for all of its max-wait, or until its context's
// deadline. It says nothing about the upstream.
type AcquireTimeoutError struct {
	Waited time.Duration // sum of all waits of the request
	Cause  Reason        // what it was waiting for at the end
	State  State
	// Out is the number of permits of this limiter that have not been given back. If it is more than the number of
	// requests under way, somebody has forgotten Permit.Done.
	Out int
	Err error // the context's error if its deadline came first, else nil
}

// Error implements error.
func (e *AcquireTimeoutError) Error() string {
	text := fmt.Sprintf("send request: %v: waited %s, last for %s in %s",
		ErrAcquireTimeout, e.Waited.Round(time.Millisecond), e.Cause, e.State)
	if e.Out > 0 {
		text += fmt.Sprintf("; permits not given back: %d", e.Out)
	}
	return text
}

// Unwrap returns the context's error, if there is one.
func (e *AcquireTimeoutError) Unwrap() error { return e.Err }

// Is reports whether target is ErrAcquireTimeout.
func (e *AcquireTimeoutError) Is(target error) bool { return target == ErrAcquireTimeout }

// RequestTimeoutError says that a request was sent and not answered in full in time.
type RequestTimeoutError struct {
	After time.Duration // what Tuning.RequestTimeout allows
	Err   error         // what the connection said
}

// Error implements error.
func (e *RequestTimeoutError) Error() string {
	return fmt.Sprintf("await answer: %v: %s", ErrRequestTimeout, core.FormatDuration(e.After))
}

// Is reports whether target is ErrRequestTimeout.
func (e *RequestTimeoutError) Is(target error) bool { return target == ErrRequestTimeout }

// Unwrap returns the error of the connection.
func (e *RequestTimeoutError) Unwrap() error { return e.Err }

// Timeout makes the error a timeout for net.Error's users.
func (e *RequestTimeoutError) Timeout() bool { return true }

// BodyTooLargeError says that an answer was longer than Transport.MaxBody.
type BodyTooLargeError struct{ Limit int64 }

// Error implements error.
func (e *BodyTooLargeError) Error() string {
	return fmt.Sprintf("read answer: longer than %d bytes", e.Limit)
}
