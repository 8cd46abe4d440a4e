package tmdb

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/ratelimit"
)

// exchange is a request with its response or error, in the form that the rules test.
type exchange struct {
	req      *http.Request
	status   int      // 0 without a response
	redirect *url.URL // the response's redirect target, nil if none
	err      error    // why there is no response, or why the client rejects the response
	apiError Error    // the *Error in err; the zero value if there is none
}

type rule struct {
	name    string
	matches func(x exchange) bool
	outcome ratelimit.Outcome
}

// errorRules classify exchanges without a response. The first rule that matches decides.
var errorRules = []rule{
	{"the caller cancelled", isCallerCancelled, ratelimit.Cancelled},
	{"stopped by the key latch: nothing was sent, or a 401 came back", hasErrorType[*UnauthorizedError], ratelimit.Client},
	{
		"certificate, TLS alert, TLS to a plain port, no HTTP, refused redirect, proxy", isMisconfigured,
		ratelimit.Misconfigured,
	},
	{"a call that could not be made", hasErrorType[*ArgumentError], ratelimit.Misconfigured},
	{"a 2xx whose body could not be unpacked or was too large", hasErrorType[*DecodeError], ratelimit.Server},
	{"announced as gzip, but not gzip", func(x exchange) bool { return isCorruptGzip(x.err) }, ratelimit.Server},
	{"DNS, connect, reset, timeout, transfer that broke off, and whatever else", always, ratelimit.Network},
}

// responseRules classify exchanges with a response. The first rule that matches decides.
var responseRules = []rule{
	{"a gateway that is pointed at itself, by others or at once", isGatewayLoop, ratelimit.Misconfigured},
	{"a gateway's refusal until somebody changes that, as when it is offline", isGatewayStop, ratelimit.Client},
	{"a gateway's refusal for the time being, such as no permission in time", isGatewayDeferral, ratelimit.Deferred},
	{"429, whatever the body", statusBetween(429, 429), ratelimit.Throttled},
	{
		"TMDB's code 25, whatever the status",
		func(x exchange) bool { return x.apiError.Code == CodeOverLimit }, ratelimit.Throttled,
	},
	{"304: the cached body is still right", statusBetween(304, 304), ratelimit.OK},
	{"redirect to another host or port, or from https to http", hasRefusedRedirect, ratelimit.Misconfigured},
	{"redirect on the same host and port", statusBetween(300, 399), ratelimit.Client},
	{"a body that is not TMDB's, whatever the status", hasForeignBody, ratelimit.Server},
	{"408: the server gave up waiting", statusBetween(408, 408), ratelimit.Server},
	{"other 4xx", statusBetween(400, 499), ratelimit.Client},
	{"2xx with TMDB's code for a key that is refused, as a 401", hasErrorType[*UnauthorizedError], ratelimit.Client},
	{"2xx with TMDB's code for what it does not have, as a 404", matchesError(ErrNotFound), ratelimit.Client},
	{"2xx with an answer", func(x exchange) bool { return x.err == nil && x.status < 300 }, ratelimit.OK},
	{"5xx, 2xx with any other error of TMDB's, any other status", always, ratelimit.Server},
}

// Classify returns what a response, or the error err without one, means for the rate limiter. The body must be complete
// and already unpacked, as [NewWire] leaves it. It is decoded as in [Valid]. A deadline counts as a network error: only
// the transport knows whether it was the request's or the caller's own.
func Classify(req *http.Request, resp *http.Response, body []byte, err error) ratelimit.Outcome {
	return findRule(req, resp, body, err).outcome
}

func findRule(req *http.Request, resp *http.Response, body []byte, err error) rule {
	x := exchange{req: req, err: err}
	if err != nil || resp == nil {
		return firstMatch(errorRules, x)
	}
	if req.Method != http.MethodHead { // its response has no body
		_, x.err = readResponse(req, resp, body)
	}
	x.status, x.redirect = resp.StatusCode, redirectTarget(req, resp)
	return firstMatch(responseRules, x)
}

// Outcome classifies the error by the same rules as [Classify].
func (e *Error) Outcome() ratelimit.Outcome {
	return firstMatch(responseRules, exchange{status: e.HTTPStatus, err: e}).outcome
}

func firstMatch(table []rule, x exchange) rule {
	if e, ok := errors.AsType[*Error](x.err); ok {
		x.apiError = *e
	}
	i := slices.IndexFunc(table, func(r rule) bool { return r.matches(x) })
	return table[i] // the last rule of a table always matches
}

func always(exchange) bool { return true }

func statusBetween(low, high int) func(exchange) bool {
	return func(x exchange) bool { return x.status >= low && x.status <= high }
}

func hasErrorType[T error](x exchange) bool { return errors.As(x.err, new(T)) }

func matchesError(target error) func(exchange) bool {
	return func(x exchange) bool { return errors.Is(x.err, target) }
}

func isCallerCancelled(x exchange) bool {
	return errors.Is(x.err, context.Canceled) || errors.Is(x.req.Context().Err(), context.Canceled)
}

func isMisconfigured(x exchange) bool {
	if x.err == nil {
		return false
	}
	_, ok := asConfigError("", x.err)
	return ok
}

func hasRefusedRedirect(x exchange) bool {
	return x.redirect != nil && redirectError(x.req.URL, x.redirect) != nil
}

// isGatewayDeferral reports whether an anivault gateway answered that it cannot ask TMDB now, or that TMDB fails. The
// gateway has already retried and says when to come back. A 500 is the gateway's own fault and counts as a server
// error.
func isGatewayDeferral(x exchange) bool {
	return x.apiError.Gateway != "" && (x.status == 429 || x.status > 500)
}

// isGatewayStop reports whether a gateway sends nothing until a person changes that. Trying again would only take time.
func isGatewayStop(x exchange) bool {
	return slices.Contains([]string{"cacheonly", "offline", "no_account", "credentials"}, x.apiError.Gateway)
}

func retryAt(resp *http.Response) time.Time {
	if wait, _ := ratelimit.ParseRetryAfter(resp.Header, time.Now()); wait.Present {
		return time.Now().Add(wait.Duration)
	}
	return time.Time{}
}

func isGatewayLoop(x exchange) bool {
	return x.apiError.Gateway != "" && x.status == http.StatusLoopDetected
}

func hasForeignBody(x exchange) bool {
	return x.apiError.Foreign != "" || hasErrorType[*DecodeError](x)
}

// Transport builds the transport for the HTTPClient of [Options]: the cache, a [KeyLatch], the limiter with [Classify],
// and [NewWire]. It stores only what [Valid] accepts. Waiting for another process's request counts as waiting for the
// limiter. You may change its fields before the first use; Next is the transport below the cache. Close store and
// limiter yourself. The store's Class must be [ClassOf].
func Transport(store *cache.Store, limiter *ratelimit.Limiter) *cache.Transport {
	tuning := limiter.Tuning()
	wire := NewWire(NewHTTPTransport(TransportOptions{Timeout: tuning.RequestTimeout + time.Second}))
	return &cache.Transport{
		Store: store, Valid: Valid, MaxBody: MaxBody, MaxWait: max(tuning.MaxWait, 1),
		Next:      NewKeyLatch(&ratelimit.Transport{Base: wire, Limiter: limiter, Classify: Classify, MaxBody: MaxBody}),
		IsBlocked: func(err error) bool { return !errors.As(err, new(*ArgumentError)) },
		AddWait: func(ctx context.Context, d time.Duration) context.Context {
			return ratelimit.With(ctx, ratelimit.Request{Waited: d})
		},
		NextClosed: func(ctx context.Context) bool {
			st, err := limiter.Status(ctx)
			return err == nil && st.State == ratelimit.CacheOnly
		},
	}
}
