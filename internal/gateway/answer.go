package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
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
	status                      int
	contentType, etag, modified string // of the header, "" for none
	body                        []byte
	info                        cache.Info
	known                       bool // the cache stores such questions, so info is set
}

func readReply(resp *http.Response) (*reply, error) {
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	h := resp.Header
	r := &reply{
		status: resp.StatusCode, body: body,
		contentType: h.Get("Content-Type"), etag: h.Get("ETag"), modified: h.Get("Last-Modified"),
	}
	r.info, r.known = cache.InfoFrom(resp)
	return r, nil
}

func (r *reply) fromCache() bool {
	return r.known && (r.info.Source == cache.Fresh || r.info.Source == cache.Stale)
}

type origin struct {
	forward        string // why it was asked: "miss" or "stale"
	upstreamStatus int    // the status that TMDB answered a revalidation with
	collapsed      bool   // the answer to another client's request for the same
	detail         string // why the answer is an expired one
}

func (r *reply) cacheStatus(o origin, now time.Time) string {
	if r.fromCache() {
		s := "anivault; hit; ttl=" + strconv.Itoa(int(r.info.ExpiresAt.Sub(now)/time.Second))
		if r.info.Source == cache.Stale && o.detail != "" {
			s += "; detail=" + o.detail
		}
		return s
	}
	s := "anivault; fwd=" + o.forward
	if o.forward == "stale" && o.upstreamStatus != 0 {
		s += "; fwd-status=" + strconv.Itoa(o.upstreamStatus)
	}
	switch {
	case o.collapsed:
		s += "; collapsed"
	case r.known && !r.info.ExpiresAt.IsZero():
		s += "; stored"
	}
	return s
}

func (r *reply) kind() string {
	if !r.known {
		return "none"
	}
	return r.info.Source.String()
}

func (r *reply) write(w http.ResponseWriter, req *http.Request, o origin, now time.Time) (status, bytes int) {
	h := w.Header()
	lifetime, age := 0, ""
	if r.known && !r.info.ExpiresAt.IsZero() {
		// The whole lifetime: the reader subtracts Age itself (RFC 9111, section 4.2).
		lifetime = int(max(r.info.ExpiresAt.Sub(r.info.FetchedAt), 0) / time.Second)
		age = strconv.Itoa(int(r.info.Age(now) / time.Second))
	}
	for _, f := range [...]struct{ name, value string }{
		{"Cache-Status", r.cacheStatus(o, now)},
		{"Cache-Control", "private, max-age=" + strconv.Itoa(lifetime)},
		{"Age", age},
		{"Content-Type", r.contentType},
		{"Etag", r.etag},
		{"Last-Modified", r.modified},
	} {
		if f.value != "" {
			h[f.name] = []string{f.value}
		}
	}
	if r.status == http.StatusOK && matches(req.Header.Values("If-None-Match"), r.etag) {
		h.Del("Content-Type")
		w.WriteHeader(http.StatusNotModified)
		return http.StatusNotModified, 0
	}
	return r.status, send(w, req, r.status, r.body)
}

func matches(values []string, etag string) bool {
	if etag == "" {
		return false
	}
	for part := range strings.SplitSeq(strings.Join(values, ","), ",") {
		part = strings.TrimSpace(part)
		if part == "*" || part != "" && strings.TrimPrefix(part, "W/") == strings.TrimPrefix(etag, "W/") {
			return true
		}
	}
	return false
}

const (
	// piece is how many bytes are written within one writeLimit.
	piece      = 64 << 10
	writeLimit = 30 * time.Second
)

func send(w http.ResponseWriter, req *http.Request, status int, body []byte) int {
	h := w.Header()
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("X-Content-Type-Options", "nosniff")
	rc := http.NewResponseController(w)
	_ = rc.SetWriteDeadline(time.Now().Add(writeLimit)) // a recorder in a test has none
	w.WriteHeader(status)
	if req.Method == http.MethodHead {
		return 0
	}
	sent := 0
	for len(body) > 0 {
		n, err := w.Write(body[:min(len(body), piece)])
		sent += n
		if err != nil {
			return sent // the client is gone
		}
		if body = body[n:]; len(body) > 0 {
			_ = rc.SetWriteDeadline(time.Now().Add(writeLimit))
		}
	}
	return sent
}

// reason is a row of the table of refusals. An answer names it, and so do metrics and the log.
type reason struct {
	name   string
	status int
	code   string // ours; "" if the request itself is wrong
	tmdb   int    // TMDB's code, so that programs understand it
	text   string
}

var reasons []*reason

func row(name string, status int, code string, tmdb int, text string) *reason {
	r := &reason{name, status, code, tmdb, text}
	reasons = append(reasons, r)
	return r
}

// Codes 1001, 1002, 1003 and 9999 keep the meaning that other gateways gave them; the others are ours.
var (
	reasonAcquireTimeout  = row("acquire_timeout", 429, "1002", 25, "No permission to ask TMDB came in time.")
	reasonQueueFull       = row("queue_full", 429, "1002", 25, "Too many requests are waiting.")
	reasonClientQueueFull = row("client_queue_full", 429, "1002", 25, "Too many requests of this client are waiting.")
	reasonClientLimit     = row("client_limit", 429, "1002", 25, "This client's limit is reached.")
	reasonRequestTimeout  = row("request_timeout", 504, "1003", 24, "TMDB did not answer in time.")
	reasonSleep           = row("sleep", 503, "1004", 9, "TMDB is in trouble and is not asked for a while.")
	reasonPause           = row("pause", 503, "1004", 9, "TMDB asked everybody to wait.")
	reasonCacheOnly       = row("cacheonly", 503, "1004", 9,
		"TMDB is not asked until somebody says so; only what is stored is answered.")
	reasonNoAccount    = row("no_account", 503, "1004", 9, "Every account of the gateway is disabled.")
	reasonOffline      = row("offline", 503, "1004", 9, "The gateway is offline; only what is stored is answered.")
	reasonQuota        = row("quota", 503, "1005", 9, "The request budget is spent.")
	reasonUpstream     = row("upstream", 502, "1006", 43, "TMDB could not answer this.")
	reasonNetwork      = row("network", 502, "1006", 43, "TMDB could not be reached.")
	reasonMalformed    = row("malformed_response", 502, "1006", 43, "What came was no answer of TMDB's.")
	reasonTLS          = row("tls", 502, "1006", 43, "No connection to TMDB can be trusted.")
	reasonCredentials  = row("credentials", 503, "1007", 9, "TMDB refused the gateway's key.")
	reasonShuttingDown = row("shutting_down", 503, "1008", 9, "The gateway is shutting down.")
	reasonNotCached    = row("not_cached", 504, "1009", 24, "There is no stored answer.")
	reasonLimiter      = row("limiter", 500, "1001", 11, "The limiter failed.")
	reasonInternal     = row("internal", 500, "9999", 11, "Something failed in the gateway.")

	reasonBadRequest   = row("bad_request", 400, "", 5, "")
	reasonUnauthorized = row("unauthorized", 401, "", 7, "")
	reasonNoAdmin      = row("unauthorized", 403, "", 7,
		"/metrics needs the token of an admin: anivault serve token new NAME --admin")
	reasonPrivate   = row("private", 403, "", 3, "this belongs to one person's account")
	reasonCrossSite = row("cross_site", 403, "", 3, "Pages of other origins get no answer.")
	reasonNotFound  = row("not_found", 404, "", 34, "")
	reasonMethod    = row("method", 405, "", 34, "")
	reasonHost      = row("host", 421, "", 34, "The gateway is not known by this Host; name it in serve.hosts.")
	reasonTooLarge  = row("too_large", 413, "", 5, "a request has no body here")
	reasonTooLong   = row("too_large", 414, "", 5, "the address is longer than 8 KiB")
	reasonLoop      = row("loop", 508, "", 5, "This gateway asks itself: its base URL leads back to it.")
)

type refusal struct {
	*reason
	text  string
	until time.Time     // when to ask again; zero: see wait
	wait  time.Duration // how long until then
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
		r.until = blocked.Until
		if r.reason == reasonCacheOnly && !r.until.IsZero() {
			r.text = "TMDB is not asked for a while; only what is stored is answered."
		}
		return r
	case errors.As(err, &budget):
		r := refuse(reasonQuota, "")
		r.until = budget.Renews
		return r
	case errors.Is(err, ratelimit.ErrAcquireTimeout), errors.Is(err, cache.ErrWait):
		return refuse(reasonAcquireTimeout, "")
	case errors.Is(err, ratelimit.ErrRequestTimeout):
		return refuse(reasonRequestTimeout, "")
	case errors.As(err, new(*app.BadQuestionError)):
		return refuse(reasonUpstream, "")
	case errors.As(err, new(*tmdb.UnauthorizedError)):
		return refuse(reasonCredentials, "")
	case errors.As(err, &setup):
		switch setup.Kind {
		case tmdb.ConfigRedirect, tmdb.ConfigDowngrade, tmdb.ConfigProxy:
			return refuse(reasonUpstream, "")
		case tmdb.ConfigNotHTTP:
			return refuse(reasonMalformed, "")
		default:
			return refuse(reasonTLS, "")
		}
	case errors.As(err, new(*tmdb.DecodeError)), errors.As(err, new(*ratelimit.BodyTooLargeError)):
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

const noEnd = 60

// retryAfter returns the seconds of Retry-After, 0 to send none.
func (r *refusal) retryAfter(now time.Time) int {
	told := r.status == http.StatusTooManyRequests || r.status == http.StatusServiceUnavailable
	if !told || r.reason == reasonOffline || r.reason == reasonCredentials {
		return 0
	}
	wait := r.wait
	switch {
	case !r.until.IsZero():
		wait = r.until.Sub(now)
	case wait == 0 && r.code != "1002" && r.code != "1008":
		return noEnd
	}
	return wholeSeconds(wait)
}

func wholeSeconds(d time.Duration) int { return max(int(math.Ceil(d.Seconds())), 1) }

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

func (r *refusal) write(w http.ResponseWriter, req *http.Request, id string, now time.Time) int {
	own := &errorOwn{Code: r.code, Reason: r.name, RetryAfter: r.retryAfter(now), RequestID: id}
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
	}
	if req.ContentLength != 0 || r.status == http.StatusRequestURITooLong {
		h.Set("Connection", "close") // else net/http would wait for the rest of the request before it answers
	}
	return send(w, req, r.status, body)
}
