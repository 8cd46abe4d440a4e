package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/tmdb"
)

const jsonType = "application/json;charset=utf-8"

type reply struct {
	status             int
	etag, lastModified string // header fields, "" if absent
	body               []byte
	cacheInfo          cache.Info
	hasCacheInfo       bool // the cache stores answers of this kind, so cacheInfo is set
}

func readReply(resp *http.Response) (*reply, error) {
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	h := resp.Header
	r := &reply{status: resp.StatusCode, body: body, etag: h.Get("ETag"), lastModified: h.Get("Last-Modified")}
	r.cacheInfo, r.hasCacheInfo = cache.InfoFrom(resp)
	return r, nil
}

func (r *reply) fromCache() bool {
	return r.hasCacheInfo && (r.cacheInfo.Source == cache.Fresh || r.cacheInfo.Source == cache.Stale)
}

type provenance struct {
	forwardReason  string // why TMDB was asked: "miss" or "stale"
	upstreamStatus int    // TMDB's status in answer to a revalidation
	collapsed      bool   // the answer came from a flight that another request began
	staleReason    string // why the client gets an expired answer
}

func (r *reply) cacheStatus(o provenance, now time.Time) string {
	if r.fromCache() {
		s := "anivault; hit; ttl=" + strconv.Itoa(int(r.cacheInfo.ExpiresAt.Sub(now)/time.Second))
		if r.cacheInfo.Source == cache.Stale && o.staleReason != "" {
			s += "; detail=" + o.staleReason
		}
		return s
	}
	s := "anivault; fwd=" + o.forwardReason
	if o.forwardReason == "stale" && o.upstreamStatus != 0 {
		s += "; fwd-status=" + strconv.Itoa(o.upstreamStatus)
	}
	switch {
	case o.collapsed:
		s += "; collapsed"
	case r.hasCacheInfo && !r.cacheInfo.ExpiresAt.IsZero():
		s += "; stored"
	}
	return s
}

func (r *reply) write(w http.ResponseWriter, req *http.Request, o provenance, now time.Time) (status, bytes int) {
	h := w.Header()
	lifetime, age := 0, ""
	if r.hasCacheInfo && !r.cacheInfo.ExpiresAt.IsZero() {
		// max-age is the whole lifetime: the client subtracts Age (RFC 9111, section 4.2).
		lifetime = int(max(r.cacheInfo.ExpiresAt.Sub(r.cacheInfo.FetchedAt), 0) / time.Second)
		age = strconv.Itoa(int(r.cacheInfo.Age(now) / time.Second))
	}
	for _, f := range [...]struct{ name, value string }{
		{"Cache-Status", r.cacheStatus(o, now)},
		{"Cache-Control", "private, max-age=" + strconv.Itoa(lifetime)},
		{"Age", age},
		{"Content-Type", jsonType}, // of every valid answer, whatever the upstream says
		{"Etag", r.etag},
		{"Last-Modified", r.lastModified},
	} {
		if f.value != "" {
			h[f.name] = []string{f.value}
		}
	}
	if r.status == http.StatusOK && etagMatches(req.Header.Values("If-None-Match"), r.etag) {
		h.Del("Content-Type")
		w.WriteHeader(http.StatusNotModified)
		return http.StatusNotModified, 0
	}
	return r.status, writeBody(w, req, r.status, r.body)
}

func etagMatches(values []string, etag string) bool {
	return etag != "" && slices.ContainsFunc(listItems(values), func(item string) bool {
		return item == "*" || strings.TrimPrefix(item, "W/") == strings.TrimPrefix(etag, "W/")
	})
}

const (
	// writeChunk is the number of bytes that must be written within one writeTimeout.
	writeChunk   = 64 << 10
	writeTimeout = 30 * time.Second
	bodyTimeout  = 5 * time.Second // for the rest of a request that is refused for its body
)

func writeBody(w http.ResponseWriter, req *http.Request, status int, body []byte) int {
	h := w.Header()
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("X-Content-Type-Options", "nosniff")
	rc := http.NewResponseController(w)
	_ = rc.SetWriteDeadline(time.Now().Add(writeTimeout)) // test recorders don't support it
	w.WriteHeader(status)
	if req.Method == http.MethodHead {
		return 0
	}
	sent := 0
	for len(body) > 0 {
		n, err := w.Write(body[:min(len(body), writeChunk)])
		if sent, body = sent+n, body[n:]; err != nil || len(body) == 0 {
			return sent // done, or the client closed the connection
		}
		_ = rc.SetWriteDeadline(time.Now().Add(writeTimeout))
	}
	return sent
}

// reason is why a request is refused. The error body, metrics and the log contain its name.
type reason struct {
	name     string
	status   int
	code     string // anivault's error code; "" if the request itself is wrong
	tmdbCode int    // TMDB's status_code for a similar error, for programs that only know TMDB's
	text     string
}

var reasons []*reason

func newReason(name string, status int, code string, tmdb int, text string) *reason {
	r := &reason{name, status, code, tmdb, text}
	reasons = append(reasons, r)
	return r
}

// Codes 1001, 1002, 1003 and 9999 mean what they mean in other gateways; the other codes are anivault's own.
var (
	reasonAcquireTimeout  = newReason("acquire_timeout", 429, "1002", 25, "No permission to ask TMDB came in time.")
	reasonQueueFull       = newReason("queue_full", 429, "1002", 25, "Too many requests are waiting.")
	reasonClientQueueFull = newReason("client_queue_full", 429, "1002", 25,
		"Too many requests from this client are waiting.")
	reasonClientLimit    = newReason("client_limit", 429, "1002", 25, "This client's limit is reached.")
	reasonRequestTimeout = newReason("request_timeout", 504, "1003", 24, "TMDB did not answer in time.")
	reasonSleep          = newReason("sleep", 503, "1004", 9, "TMDB has trouble; requests are paused for a while.")
	reasonPause          = newReason("pause", 503, "1004", 9, "TMDB asked all clients to wait.")
	reasonCacheOnly      = newReason("cacheonly", 503, "1004", 9,
		"Requests to TMDB are paused until an administrator resumes them; only cached answers are available.")
	reasonNoAccount    = newReason("no_account", 503, "1004", 9, "Every account of the gateway is disabled.")
	reasonOffline      = newReason("offline", 503, "1004", 9, "The gateway is offline; only cached answers are available.")
	reasonQuota        = newReason("quota", 503, "1005", 9, "The request budget is spent.")
	reasonUpstream     = newReason("upstream", 502, "1006", 43, "TMDB could not answer this.")
	reasonNetwork      = newReason("network", 502, "1006", 43, "TMDB could not be reached.")
	reasonMalformed    = newReason("malformed_response", 502, "1006", 43, "The response was not a valid answer from TMDB.")
	reasonTLS          = newReason("tls", 502, "1006", 43, "The connection to TMDB can't be trusted.")
	reasonCredentials  = newReason("credentials", 503, "1007", 9, "TMDB refused the gateway's key, or wants one.")
	reasonShuttingDown = newReason("shutting_down", 503, "1008", 9, "The gateway is shutting down.")
	reasonNotCached    = newReason("not_cached", 504, "1009", 24, "There is no cached answer.")
	reasonLimiter      = newReason("limiter", 500, "1001", 11, "The limiter failed.")
	reasonInternal     = newReason("internal", 500, "9999", 11, "Something failed in the gateway.")

	reasonBadRequest   = newReason("bad_request", 400, "", 5, "")
	reasonUnauthorized = newReason("unauthorized", 401, "", 7, "")
	reasonNoAdmin      = newReason("unauthorized", 403, "", 7,
		"/metrics needs the token of an admin: anivault serve token new NAME --admin")
	reasonPrivate   = newReason("private", 403, "", 3, "this belongs to one person's account")
	reasonCrossSite = newReason("cross_site", 403, "", 3, "Pages of other origins get no answer.")
	reasonNotFound  = newReason("not_found", 404, "", 34, "")
	reasonMethod    = newReason("method", 405, "", 34, "")
	reasonHost      = newReason("host", 421, "", 34, "The gateway is not known by this Host; name it in serve.hosts.")
	reasonTooLarge  = newReason("too_large", 413, "", 5, "a request has no body here")
	reasonTooLong   = newReason("too_large", 414, "", 5, "the address is longer than 8 KiB")
	reasonLoop      = newReason("loop", 508, "", 5, "This gateway asks itself: its base URL leads back to it.")
)

// relayed maps the reasons of an upstream gateway to those that this gateway gives its clients. A limit that the
// upstream gateway sets for this one is a quota for all of its clients.
var relayed = map[string]*reason{
	reasonAcquireTimeout.name: reasonAcquireTimeout, reasonQueueFull.name: reasonQueueFull,
	reasonClientQueueFull.name: reasonQueueFull, reasonClientLimit.name: reasonQuota, reasonQuota.name: reasonQuota,
	reasonSleep.name: reasonSleep, reasonPause.name: reasonPause, reasonCacheOnly.name: reasonCacheOnly,
	reasonNoAccount.name: reasonNoAccount, reasonOffline.name: reasonOffline, reasonCredentials.name: reasonCredentials,
	reasonPrivate.name: reasonPrivate, reasonBadRequest.name: reasonBadRequest, reasonTooLong.name: reasonTooLong,
}

type refusal struct {
	*reason
	text    string
	retryAt time.Time     // when to ask again; zero: see retryIn
	retryIn time.Duration // how long to wait before asking again; 0: unknown
}

func (r *refusal) Error() string { return r.name + ": " + r.text }

func refuse(r *reason, text string) *refusal {
	return &refusal{reason: r, text: cmp.Or(text, r.text)}
}

func refusalOf(err error) *refusal {
	var (
		own     *refusal
		blocked *ratelimit.BlockedError
		budget  *ratelimit.BudgetError
		setup   *tmdb.ConfigError
	)
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &blocked):
		r := refuse(blockedReason(blocked), "")
		r.retryAt = blocked.Until
		if r.reason == reasonCacheOnly && !r.retryAt.IsZero() {
			r.text = "Requests to TMDB are paused for a while; only cached answers are available."
		}
		return r
	case errors.As(err, &budget):
		if budget.Used+budget.Requested <= budget.Budget.Requests {
			return refuse(reasonQuota, "The rest of the request budget is reserved for requests under way or other machines.")
		}
		return &refusal{reason: reasonQuota, text: reasonQuota.text, retryAt: budget.Renews}
	case errors.Is(err, ratelimit.ErrAcquireTimeout), errors.Is(err, cache.ErrWait):
		return refuse(reasonAcquireTimeout, "")
	case errors.Is(err, ratelimit.ErrRequestTimeout):
		return refuse(reasonRequestTimeout, "")
	case errors.As(err, new(*app.RecentFailureError)):
		return refuse(reasonUpstream, "")
	case errors.As(err, new(*tmdb.UnauthorizedError)):
		return refuse(reasonCredentials, "")
	case errors.As(err, &setup):
		switch setup.Kind { //nolint:exhaustive // all others are of TLS
		case tmdb.ConfigRedirect, tmdb.ConfigDowngrade, tmdb.ConfigProxy:
			return refuse(reasonUpstream, "")
		case tmdb.ConfigNotHTTP:
			return refuse(reasonMalformed, "")
		}
		return refuse(reasonTLS, "")
	case errors.As(err, new(*tmdb.DecodeError)), errors.As(err, new(*ratelimit.BodyTooLargeError)),
		errors.Is(err, cache.ErrUnexpected304):
		return refuse(reasonMalformed, "")
	case errors.Is(err, ratelimit.ErrClosed), errors.As(err, new(*limiterError)):
		return refuse(reasonLimiter, "")
	case errors.As(err, new(*panicError)):
		return refuse(reasonInternal, "")
	case errors.Is(err, context.Canceled):
		return refuse(reasonShuttingDown, "")
	}
	return refuse(reasonNetwork, "")
}

type limiterError struct{ error }

type panicError struct{ value any }

func (*panicError) Error() string { return "panic while asking" }

func blockedReason(b *ratelimit.BlockedError) *reason {
	switch {
	case b.Offline():
		return reasonOffline
	case b.Cause == ratelimit.ReasonNoAccount:
		return reasonNoAccount
	case b.Cause == ratelimit.ReasonCredentials:
		return reasonCredentials
	case b.Cause == ratelimit.ReasonPause:
		return reasonPause
	case b.State == ratelimit.CacheOnly:
		return reasonCacheOnly
	}
	return reasonSleep
}

// retryAfter returns the value of Retry-After in seconds, 0 for no such field.
func (r *refusal) retryAfter(now time.Time) int {
	told := r.status == http.StatusTooManyRequests || r.status == http.StatusServiceUnavailable
	if !told || r.reason == reasonOffline || r.reason == reasonCredentials {
		return 0
	}
	wait := r.retryIn
	switch {
	case !r.retryAt.IsZero():
		wait = r.retryAt.Sub(now)
	case wait == 0 && r.code != "1002" && r.code != "1008":
		return 60
	}
	return wholeSeconds(wait)
}

func wholeSeconds(d time.Duration) int { return max(int(math.Ceil(d.Seconds())), 1) }

type errorBody struct {
	Success bool         `json:"success"`
	Code    int          `json:"status_code"`
	Message string       `json:"status_message"`
	Detail  *errorDetail `json:"anivault,omitempty"`
}

type errorDetail struct {
	Code       string `json:"code,omitempty"`
	Reason     string `json:"reason"`
	RetryAfter int    `json:"retry_after,omitempty"`
	RequestID  string `json:"request_id"`
}

func (r *refusal) write(w http.ResponseWriter, req *http.Request, id string, now time.Time) int {
	own := &errorDetail{Code: r.code, Reason: r.name, RetryAfter: r.retryAfter(now), RequestID: id}
	body, err := json.Marshal(errorBody{false, r.tmdbCode, r.text, own})
	if err != nil {
		panic(err) // impossible: it has only plain values
	}
	h := w.Header()
	h.Set("Content-Type", jsonType)
	h.Set("Cache-Control", "no-store")
	if own.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(own.RetryAfter))
		// A client need not send anything during a short wait. During a long one it may ask for what is in the cache.
		if r.reason == reasonClientLimit && own.RetryAfter <= 60 {
			h.Set("RateLimit", `"client";r=0;t=`+strconv.Itoa(own.RetryAfter))
		}
	}
	switch r.status {
	case http.StatusMethodNotAllowed:
		h.Set("Allow", allowedMethods)
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", `Bearer realm="anivault"`)
	}
	if req.ContentLength != 0 || r.status == http.StatusRequestURITooLong {
		h.Set("Connection", "close") // otherwise net/http would read the rest of the request before it answers
		// It reads it afterwards; without a deadline, a body that never comes would keep the connection open.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout)) // test recorders don't support it
	}
	return writeBody(w, req, r.status, body)
}
