package ratelimit

import (
	"errors"
	"fmt"
	"time"

	"github.com/anivault/anivault/ratelimit/internal/core"
)

var (
	// ErrAcquireTimeout is the error that every *AcquireTimeoutError matches with errors.Is.
	ErrAcquireTimeout = errors.New("no permission to send in time")
	// ErrRequestTimeout is the error that every *RequestTimeoutError matches with errors.Is.
	ErrRequestTimeout = errors.New("no answer in time")
	// ErrClosed is returned by a closed limiter.
	ErrClosed = errors.New("limiter is closed")
	// ErrNotShared is returned when an operator's change does not reach the other processes.
	ErrNotShared = errors.New("the limiter's shared state cannot be reached, so no process would obey")
	// ErrBudget is the error that every *BudgetError matches with errors.Is.
	ErrBudget = core.ErrBudget
	// ErrUnchanged is returned to Store.Update by a function that has not changed the snapshot.
	ErrUnchanged = core.ErrUnchanged
	// ErrStoreClosed is returned by Store.Update after Close.
	ErrStoreClosed = core.ErrStoreClosed
)

// BlockedError says that a request was not sent because the limiter blocks all requests until Until, which is later
// than the request can wait.
type BlockedError struct{ Block }

func (e *BlockedError) Error() string {
	if e.Cause == ReasonOffline {
		return "send request: offline"
	}
	if e.Until.IsZero() {
		return fmt.Sprintf("send request: blocked in %s (%s)", e.State, e.Cause)
	}
	return fmt.Sprintf("send request: blocked in %s (%s) until %s", e.State, e.Cause, e.Until.UTC().Format(time.RFC3339))
}

// Offline reports whether this process is configured not to send.
func (e *BlockedError) Offline() bool { return e.Cause == ReasonOffline }

// AcquireTimeoutError says that a request did not get permission within its max-wait, or before its context's deadline.
// It says nothing about the upstream.
type AcquireTimeoutError struct {
	Waited time.Duration // sum of all waits of the request
	Cause  Reason        // what the request was waiting for at the end
	State  State
	// Out is the number of permits of this limiter that have not been given back. If it is higher than the number of
	// requests under way, a caller has forgotten Permit.Done.
	Out int
	Err error // the context's error if its deadline came first, else nil
}

func (e *AcquireTimeoutError) Error() string {
	text := fmt.Sprintf("send request: %v: waited %s, last for %s in %s",
		ErrAcquireTimeout, e.Waited.Round(time.Millisecond), e.Cause, e.State)
	if e.Out > 0 {
		text += fmt.Sprintf("; permits not given back: %d", e.Out)
	}
	return text
}

func (e *AcquireTimeoutError) Unwrap() error { return e.Err }

// Is reports whether target is ErrAcquireTimeout.
func (e *AcquireTimeoutError) Is(target error) bool { return target == ErrAcquireTimeout }

// RequestTimeoutError says that a request was sent but its complete answer did not arrive in time.
type RequestTimeoutError struct {
	After time.Duration // Tuning.RequestTimeout
	Err   error         // the connection's error
}

func (e *RequestTimeoutError) Error() string {
	return fmt.Sprintf("await answer: %v: %s", ErrRequestTimeout, core.FormatDuration(e.After))
}

// Is reports whether target is ErrRequestTimeout.
func (e *RequestTimeoutError) Is(target error) bool { return target == ErrRequestTimeout }

func (e *RequestTimeoutError) Unwrap() error { return e.Err }

// Timeout implements net.Error's method.
func (e *RequestTimeoutError) Timeout() bool { return true }

// BodyTooLargeError says that an answer was longer than Transport.MaxBody.
type BodyTooLargeError struct{ Limit int64 }

func (e *BodyTooLargeError) Error() string {
	return fmt.Sprintf("read answer: longer than %d bytes", e.Limit)
}
