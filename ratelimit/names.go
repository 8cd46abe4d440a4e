package ratelimit

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/anivault/anivault/ratelimit/internal/core"
	"github.com/anivault/anivault/ratelimit/internal/filestore"
	"github.com/anivault/anivault/ratelimit/internal/shared"
)

// Types for callers.
type (
	// Tuning has all settings of the limiter. A zero field means its default; a negative one means zero, where zero is
	// allowed.
	Tuning = core.Tuning
	// TuningError names a setting with an invalid value, by itself or together with others.
	TuningError = core.TuningError
	// Budget is how many requests may be answered in a fixed period, such as 5000 a day.
	Budget = core.Budget
	// BudgetError means that a request or reservation exceeds the budget. It matches [ErrBudget].
	BudgetError = core.BudgetError
	// Event is how a request ended: mainly Outcome, Status and RetryAfter. Permit.Report takes it.
	Event = core.Event
	// Outcome classifies a response or error as evidence about the upstream.
	Outcome = core.Outcome
	// Wait is a parsed Retry-After.
	Wait = core.Wait
	// State is one of the five states of the limiter.
	State = core.State
	// Reason is why the limiter is in its state, or why a request may not be sent.
	Reason = core.Reason
	// Block is the limiter's state and the reason why a request may not be sent in it.
	Block = core.Block
	// Gauges are the state and a few numbers that accompany every event.
	Gauges = core.Gauges
	// Transition is a change of the limiter's state, for the address or for one account, with its reason.
	Transition = core.Transition
	// FreedReservations says how many requests of the budget became free because their process had abandoned them.
	FreedReservations = core.FreedReservations
	// Status describes the limiter at one moment.
	Status = core.Status
)

// Types for accounts, whose keys requests use.
type (
	// Account is an account of the upstream, as configured in one process.
	Account = core.Account
	// Period is a part of the day with its own limit.
	Period = core.Period
	// Fingerprint identifies a key without revealing it.
	Fingerprint = core.Fingerprint
	// Preference is the account and key that a request uses if possible.
	Preference = core.Preference
	// Choice is the account and key that a request uses.
	Choice = core.Choice
	// KeyVerdict is what a response means for the key of its request.
	KeyVerdict = core.KeyVerdict
)

// Types for stores and tools.
type (
	// Store keeps one Snapshot for everybody who shares an upstream.
	Store = core.Store
	// FileOptions are the settings of OpenFileStore. The zero value suits most programs.
	FileOptions = filestore.Options
	// StoreWarning is a store's warning about a problem with its state.
	StoreWarning = shared.StoreWarning
	// Instant is one moment as a Store sees it.
	Instant = core.Instant
	// Snapshot is the state that all users of one upstream share.
	Snapshot = core.Snapshot
	// Override is a setting that an operator has changed.
	Override = core.Override
	// ProcessStatus is one process that takes part in the limiter.
	ProcessStatus = core.ProcessStatus
)

// The values of State, Outcome, KeyVerdict, Standing and Reason.
const (
	// The states, and what they let through.

	Throttle  = core.Throttle
	Normal    = core.Normal    // everything the tuning allows
	Sleep     = core.Sleep     // nothing until a time
	HalfOpen  = core.HalfOpen  // one probe at a time
	CacheOnly = core.CacheOnly // nothing until an operator or a timer resumes

	// The outcomes. OK, Throttled, Server and Network are evidence; the others only free the slot.

	Cancelled     = core.Cancelled
	OK            = core.OK            // 2xx, 304
	Throttled     = core.Throttled     // 429
	Server        = core.Server        // 5xx, 408, a response that the client rejects
	Network       = core.Network       // DNS, connect, reset, timeout, truncated 2xx
	Client        = core.Client        // 4xx that are the request's own fault
	Misconfigured = core.Misconfigured // certificates, TLS to a plain port, foreign redirects
	Deferred      = core.Deferred      // a healthy upstream with its own queue asks to come back later

	// The verdicts on a key.

	KeyUnknown   = core.KeyUnknown
	KeyRefused   = core.KeyRefused
	KeySuspended = core.KeySuspended

	// The standings of a key.

	StandingProven    = core.StandingProven
	StandingRefused   = core.StandingRefused
	StandingSuspended = core.StandingSuspended

	// The reasons, see docs/limiter.md.

	ReasonNone                = core.ReasonNone
	ReasonErrorRatio          = core.ReasonErrorRatio
	ReasonConsecutive429      = core.ReasonConsecutive429
	ReasonConsecutiveFailures = core.ReasonConsecutiveFailures
	ReasonSustainedErrors     = core.ReasonSustainedErrors
	ReasonProbeOK             = core.ReasonProbeOK
	ReasonProbeFailed         = core.ReasonProbeFailed
	ReasonPolicy              = core.ReasonPolicy
	ReasonRetryAfterLong      = core.ReasonRetryAfterLong
	ReasonOperator            = core.ReasonOperator
	ReasonResume              = core.ReasonResume
	ReasonFresh               = core.ReasonFresh // there was no stored state
	// a Retry-After, or the random pause after a 429 without one, delays all processes
	ReasonPause       = core.ReasonPause
	ReasonOffline     = core.ReasonOffline     // this process must not send
	ReasonBackoff     = core.ReasonBackoff     // one request waits before its next try
	ReasonSlot        = core.ReasonSlot        // waits for a free slot
	ReasonCeiling     = core.ReasonCeiling     // waits for room under the ceiling
	ReasonTurn        = core.ReasonTurn        // waits because other requests came first
	ReasonBudget      = core.ReasonBudget      // waits for a new budget period
	ReasonCredentials = core.ReasonCredentials // the upstream refused all keys
	ReasonNoAccount   = core.ReasonNoAccount   // all accounts are disabled
)

// Default returns the documented defaults (docs/limiter.md, "Settings").
func Default() Tuning { return core.Default() }

// Fields returns all settings in the order of the documentation.
func Fields() []core.Field { return core.Fields() }

// FieldByKey returns the setting with that key.
func FieldByKey(key string) (core.Field, bool) { return core.FieldByKey(key) }

// AccountFields describes the limits that an account can have: their keys, texts and ranges.
func AccountFields() []core.AccountField { return core.AccountFields() }

// FingerprintOf returns the fingerprint of a key: the first 8 bytes of a SHA-256.
func FingerprintOf(key string) Fingerprint { return core.FingerprintOf(key) }

// NewMemoryStore returns an empty store for one process: its limiter starts in Normal with a full bucket.
func NewMemoryStore() Store { return core.NewMemoryStore() }

// OpenFileStore returns the store that all processes of a machine share in a folder; see "What survives" in
// docs/limiter.md. It creates the folder on first use. If the folder is unusable, it warns, and the process continues
// alone with a part of all limits. The only error is an empty dir.
func OpenFileStore(dir string, opts FileOptions) (*shared.Store, error) {
	return filestore.Open(dir, opts)
}

// ParseRetryAfter parses the Retry-After header (RFC 9110, section 10.2.3) of a response that arrived at now. For an
// invalid value it returns a Wait without a delay, and an error that is only a warning.
func ParseRetryAfter(h http.Header, now time.Time) (Wait, error) { return core.ParseRetryAfter(h, now) }

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
