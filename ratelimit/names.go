package ratelimit

import (
	"net/http"
	"time"

	"github.com/anivault/anivault/ratelimit/internal/core"
	"github.com/anivault/anivault/ratelimit/internal/filestore"
	"github.com/anivault/anivault/ratelimit/internal/shared"
)

// What a caller sets and reads.
type (
	// Tuning is every threshold of the limiter, in exported fields. A zero field means its default; where zero would be
	// a choice, a negative value is it.
	Tuning = core.Tuning
	// TuningError says which setting has a value that cannot be used, alone or together with others.
	TuningError = core.TuningError
	// Budget is a number of answered requests in a fixed period, such as 5000 a day.
	Budget = core.Budget
	// BudgetError says that a request or reservation does not fit into the budget. It is [ErrBudget].
	BudgetError = core.BudgetError
	// Event is what one request has shown: Outcome, Status and RetryAfter, mainly. Permit.Report takes it.
	Event = core.Event
	// Outcome is what one answer, or the lack of one, says about the upstream.
	Outcome = core.Outcome
	// Wait is a parsed Retry-After.
	Wait = core.Wait
	// State is one of the five states of the limiter.
	State = core.State
	// Reason says why the limiter is in its state, or why a request may not be sent.
	Reason = core.Reason
	// Block is a state of the limiter, and what keeps a request from being sent in it.
	Block = core.Block
	// Gauges are what goes with every event: the state and a few numbers.
	Gauges = core.Gauges
	// Transition is one change of state.
	Transition = core.Transition
	// Orphans are requests of the budget that were reserved and forgotten.
	Orphans = core.Orphans
	// Status is the limiter at one moment.
	Status = core.Status
)

// Accounts, through whose keys requests go.
type (
	// Account is an account of the upstream, as one process knows it.
	Account = core.Account
	// Period is a part of the day with a limit of its own.
	Period = core.Period
	// Fingerprint names a key without telling it.
	Fingerprint = core.Fingerprint
	// Preference is the account and key that a request would like to keep.
	Preference = core.Preference
	// Choice is through which account and key a request goes.
	Choice = core.Choice
	// KeyVerdict is what an answer says about the key that asked for it.
	KeyVerdict = core.KeyVerdict
)

// For stores and tools.
type (
	// Store keeps one Snapshot for everybody who shares an upstream.
	Store = core.Store
	// FileOptions tunes OpenFileStore. The zero value is what programs want.
	FileOptions = filestore.Options
	// StoreWarning is what a store tells about trouble with its state.
	StoreWarning = shared.StoreWarning
	// Instant is one moment as a Store sees it.
	Instant = core.Instant
	// Snapshot is everything that the users of one upstream share, and the pure core of the limiter.
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

	// The outcomes. OK, Throttled, Server and Network are evidence; the others only give the slot back.

	Cancelled     = core.Cancelled
	OK            = core.OK            // 2xx, 304
	Throttled     = core.Throttled     // 429
	Server        = core.Server        // 5xx, 408, an answer that the client's own check refuses
	Network       = core.Network       // DNS, connect, reset, timeout, truncated 2xx
	Client        = core.Client        // 4xx that are the request's own fault
	Misconfigured = core.Misconfigured // certificates, TLS to a plain port, foreign redirects
	Deferred      = core.Deferred      // an upstream that queues requests itself, and is well, asks to come later

	// The verdicts on a key.

	KeyUnknown   = core.KeyUnknown
	KeyRefused   = core.KeyRefused
	KeySuspended = core.KeySuspended

	// The standings of a key.

	Proven    = core.Proven
	Refused   = core.Refused
	Suspended = core.Suspended

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
	ReasonFresh               = core.ReasonFresh       // there was no stored state
	ReasonPause               = core.ReasonPause       // a Retry-After or its stand-in delays all processes
	ReasonOffline             = core.ReasonOffline     // this process must not send
	ReasonBackoff             = core.ReasonBackoff     // one request waits before its next try
	ReasonSlot                = core.ReasonSlot        // a slot
	ReasonCeiling             = core.ReasonCeiling     // room under the ceiling
	ReasonTurn                = core.ReasonTurn        // the turn: other requests came first
	ReasonBudget              = core.ReasonBudget      // a new budget period
	ReasonCredentials         = core.ReasonCredentials // the upstream refused all keys
	ReasonNoAccount           = core.ReasonNoAccount   // all accounts are disabled
)

// Default returns the documented defaults (docs/limiter.md, "Settings").
func Default() Tuning { return core.Default() }

// Fields returns all settings in the order of the documentation.
func Fields() []core.Field { return core.Fields() }

// FieldByKey returns the setting with that key.
func FieldByKey(key string) (core.Field, bool) { return core.FieldByKey(key) }

// AccountFields returns the limits of an account.
func AccountFields() []core.AccountField { return core.AccountFields() }

// FingerprintOf returns the fingerprint of a key: the first 8 bytes of a SHA-256.
func FingerprintOf(key string) Fingerprint { return core.FingerprintOf(key) }

// NewMemoryStore returns an empty store for one process: its limiter starts in Normal with a full bucket.
func NewMemoryStore() Store { return core.NewMemoryStore() }

// OpenFileStore returns the store that all processes of a machine share in a folder; see docs/limiter.md,
// "What survives". The folder is made when it is first used; one that can't be used is not an error but a warning: the
// process goes on alone, with a part of everything. The only error is an empty dir.
func OpenFileStore(dir string, opts FileOptions) (*shared.Store, error) {
	return filestore.Open(dir, opts)
}

// ParseRetryAfter reads the Retry-After (RFC 9110, section 10.2.3) of an answer that arrived at now. A value that
// cannot be understood counts as none; the error is a warning then, and the returned Wait is valid in every case.
func ParseRetryAfter(h http.Header, now time.Time) (Wait, error) { return core.ParseRetryAfter(h, now) }
