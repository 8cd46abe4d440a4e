package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/tmdb"
)

// failure is a row of the table of errors.
type failure struct {
	reason string
	status int
	code   string // ours; "" where the request itself is at fault
	tmdb   int    // TMDB's code, so that programs understand it
	text   string
}

// failures is the table. 1001, 1002, 1003 and 9999 are known from elsewhere; the others are this gateway's.
var failures = []failure{
	{"acquire_timeout", 429, "1002", 25, "No permission to ask TMDB came in time."},
	{"queue_full", 429, "1002", 25, "Too many requests are waiting."},
	{"client_queue_full", 429, "1002", 25, "Too many requests of this client are waiting."},
	{"client_limit", 429, "1002", 25, "This client's limit is reached."},
	{"request_timeout", 504, "1003", 24, "TMDB did not answer in time."},
	{"sleep", 503, "1004", 9, "TMDB is in trouble and is not asked for a while."},
	{"pause", 503, "1004", 9, "TMDB asked everybody to wait."},
	{"cacheonly", 503, "1004", 9, "TMDB is not asked until somebody says so; only what is stored is answered."},
	{"no_account", 503, "1004", 9, "Every account of the gateway is disabled."},
	{"offline", 503, "1004", 9, "The gateway is offline; only what is stored is answered."},
	{"quota", 503, "1005", 9, "The request budget is spent."},
	{"upstream", 502, "1006", 43, "TMDB could not answer this."},
	{"network", 502, "1006", 43, "TMDB could not be reached."},
	{"malformed_response", 502, "1006", 43, "What came was no answer of TMDB's."},
	{"tls", 502, "1006", 43, "No connection to TMDB can be trusted."},
	{"credentials", 503, "1007", 9, "TMDB refused the gateway's key."},
	{"shutting_down", 503, "1008", 9, "The gateway is shutting down."},
	{"not_cached", 504, "1009", 24, "There is no stored answer."},
	{"limiter", 500, "1001", 11, "The limiter failed."},
	{"internal", 500, "9999", 11, "Something failed in the gateway."},
	{"bad_request", 400, "", 5, ""},
	{"unauthorized", 401, "", 7, ""},
	{"private", 403, "", 3, ""},
	{"cross_site", 403, "", 3, ""},
	{"not_found", 404, "", 34, ""},
	{"method", 405, "", 34, ""},
	{"host", 421, "", 34, ""},
	{"too_large", 413, "", 5, ""},
	{"loop", 508, "", 5, "This gateway asks itself: its base URL leads back to it."},
}

// failureOf returns the row of a reason.
func failureOf(reason string) failure {
	for _, f := range failures {
		if f.reason == reason {
			return f
		}
	}
	return failureOf("internal")
}

// refusal is an answer that the gateway gives itself, in place of TMDB's.
type refusal struct {
	failure
	until time.Time     // when asking again makes sense; zero: see wait
	wait  time.Duration // how long until then
}

// Error implements error.
func (r *refusal) Error() string { return r.reason + ": " + r.text }

// refuse returns the refusal of a reason. status and text are those of the table where they are zero.
func refuse(reason string, status int, text string) *refusal {
	r := &refusal{failure: failureOf(reason)}
	if status != 0 {
		r.status = status
	}
	if text != "" {
		r.text = text
	}
	return r
}

// refusalOf says in the table's words why a question has no answer.
func refusalOf(err error) *refusal {
	var (
		own     *refusal
		blocked *ratelimit.BlockedError
		budget  *ratelimit.BudgetError
	)
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &blocked):
		r := refuse(blockedReason(blocked), 0, "")
		r.until = blocked.Until
		return r
	case errors.As(err, &budget):
		r := refuse("quota", 0, "")
		r.until = budget.Renews
		return r
	}
	for _, row := range [...]struct {
		holds  bool
		reason string
	}{
		{errors.Is(err, ratelimit.ErrAcquireTimeout), "acquire_timeout"},
		{errors.Is(err, cache.ErrWait), "acquire_timeout"},
		{errors.Is(err, ratelimit.ErrRequestTimeout), "request_timeout"},
		{errors.As(err, new(*app.BadQuestionError)), "upstream"},
		{errors.As(err, new(*tmdb.UnauthorizedError)), "credentials"},
		{errors.As(err, new(*tmdb.ConfigError)), "tls"},
		{errors.As(err, new(*tmdb.DecodeError)), "malformed_response"},
		{errors.As(err, new(*ratelimit.BodyTooLargeError)), "malformed_response"},
		{errors.Is(err, ratelimit.ErrClosed), "limiter"},
		{errors.As(err, new(*limiterError)), "limiter"},
		{errors.As(err, new(*panicError)), "internal"},
		{errors.Is(err, context.Canceled), "shutting_down"},
	} {
		if row.holds {
			return refuse(row.reason, 0, "")
		}
	}
	return refuse("network", 0, "")
}

// limiterError is an error of the limiter's store.
type limiterError struct{ error }

// panicError is a panic while a question was asked.
type panicError struct{ value any }

func (*panicError) Error() string { return "panic while asking" }

func blockedReason(b *ratelimit.BlockedError) string {
	switch {
	case b.Offline():
		return "offline"
	case b.Cause == ratelimit.ReasonNoAccount:
		return "no_account"
	case b.Cause == ratelimit.ReasonCredentials:
		return "credentials"
	case b.Cause == ratelimit.ReasonPause:
		return "pause"
	case b.State == ratelimit.CacheOnly:
		return "cacheonly"
	}
	return "sleep"
}

// noEnd is the Retry-After of what has no known end.
const noEnd = 60

// retryAfter is how many seconds a client should wait; 0: it is not told.
func (r *refusal) retryAfter(now time.Time) int {
	if r.reason == "offline" || r.reason == "credentials" || r.status != http.StatusTooManyRequests && r.status != http.StatusServiceUnavailable {
		return 0
	}
	wait := r.wait
	switch {
	case !r.until.IsZero():
		wait = r.until.Sub(now)
	case wait == 0 && r.code != "1002" && r.code != "1008":
		return noEnd
	}
	return max(int(math.Ceil(wait.Seconds())), 1)
}

// errorBody is TMDB's error object, and ours beside it.
type errorBody struct {
	Success bool      `json:"success"`
	Code    int       `json:"status_code"`
	Message string    `json:"status_message"`
	Own     *errorOwn `json:"anivault,omitempty"`
}

type errorOwn struct {
	Code       string `json:"code,omitempty"`
	Reason     string `json:"reason"`
	RetryAfter int    `json:"retry_after,omitempty"`
	RequestID  string `json:"request_id"`
}

// write answers with the refusal.
func (r *refusal) write(w http.ResponseWriter, req *http.Request, id string, now time.Time) int {
	own := &errorOwn{Code: r.code, Reason: r.reason, RetryAfter: r.retryAfter(now), RequestID: id}
	body, err := json.Marshal(errorBody{false, r.tmdb, r.text, own})
	if err != nil {
		panic(err) // plain values
	}
	h := w.Header()
	h.Set("Content-Type", jsonType)
	h.Set("Cache-Control", "no-store")
	if own.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(own.RetryAfter))
	}
	switch r.status {
	case http.StatusMethodNotAllowed:
		h.Set("Allow", allowed)
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", `Bearer realm="anivault"`)
	case http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong:
		h.Set("Connection", "close") // what follows is not read
	}
	return send(w, req, r.status, body)
}
