package tmdb

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/anivault/anivault/ratelimit"
)

type exchange struct {
	req      *http.Request
	status   int      // 0 when no answer came
	redirect *url.URL // where the answer leads, if anywhere
	err      error    // why no answer came, or what the client makes of the answer
	refusal  Error    // err as an *Error, the zero value if it is none
}

type rule struct {
	name    string
	holds   func(x exchange) bool
	outcome ratelimit.Outcome
}

// The first rule that holds decides. onError is for exchanges without an answer.
var onError = []rule{
	{"the caller cancelled", callerCancelled, ratelimit.Cancelled},
	{"stopped by the key latch: nothing was sent, or a 401 came back", errorIs[*UnauthorizedError], ratelimit.Client},
	{
		"certificate, TLS alert, TLS to a plain port, no HTTP, refused redirect, proxy", misconfigured,
		ratelimit.Misconfigured,
	},
	{"a call that could not be made", errorIs[*ArgumentError], ratelimit.Misconfigured},
	{"a 2xx whose body could not be unpacked or was too large", errorIs[*DecodeError], ratelimit.Server},
	{"announced as gzip, but not gzip", func(x exchange) bool { return isGarbledGzip(x.err) }, ratelimit.Server},
	{"DNS, connect, reset, timeout, transfer that broke off, and whatever else", always, ratelimit.Network},
}

var onResponse = []rule{
	{"a gateway that is pointed at itself, by others or at once", loops, ratelimit.Misconfigured},
	{"a gateway's refusal for the time being, such as no permission in time", deferred, ratelimit.Deferred},
	{"429, whatever the body", status(429, 429), ratelimit.Throttled},
	{
		"TMDB's code 25, whatever the status",
		func(x exchange) bool { return x.refusal.Code == CodeOverLimit }, ratelimit.Throttled,
	},
	{"304: the cached body is still right", status(304, 304), ratelimit.OK},
	{"redirect to another host or port, or from https to http", redirectRefused, ratelimit.Misconfigured},
	{"redirect on the same host and port", status(300, 399), ratelimit.Client},
	{"a body that is not TMDB's, whatever the status", notTMDB, ratelimit.Server},
	{"408: the server gave up waiting", status(408, 408), ratelimit.Server},
	{"other 4xx", status(400, 499), ratelimit.Client},
	{"2xx with TMDB's code for a key that is refused, as a 401", errorIs[*UnauthorizedError], ratelimit.Client},
	{"2xx with TMDB's code for what it does not have, as a 404", errorMatches(ErrNotFound), ratelimit.Client},
	{"2xx with an answer", func(x exchange) bool { return x.err == nil && x.status < 300 }, ratelimit.OK},
	{"5xx, 2xx with any other error of TMDB's, any other status", always, ratelimit.Server},
}

// Classify returns what an exchange says about TMDB: resp and its whole body, or err with a nil resp. The body must
// be unpacked already, as [NewWire] leaves it. An answer counts as TMDB's by the same decoder as in [Valid]. A
// deadline counts as the network's: whether it was the request's or the caller's own is for the transport to know.
func Classify(req *http.Request, resp *http.Response, body []byte, err error) ratelimit.Outcome {
	return decidingRule(req, resp, body, err).outcome
}

func decidingRule(req *http.Request, resp *http.Response, body []byte, err error) rule {
	x := exchange{req: req, err: err}
	if err != nil || resp == nil {
		return firstRule(onError, x)
	}
	if req.Method != http.MethodHead { // whose answer has no body
		_, x.err = read(req, resp, body)
	}
	x.status, x.redirect = resp.StatusCode, redirectTarget(req, resp)
	return firstRule(onResponse, x)
}

// Outcome returns what the error says about TMDB, by the same rules as [Classify].
func (e *Error) Outcome() ratelimit.Outcome {
	return firstRule(onResponse, exchange{status: e.HTTPStatus, err: e}).outcome
}

func firstRule(table []rule, x exchange) rule {
	if e, ok := errors.AsType[*Error](x.err); ok {
		x.refusal = *e
	}
	i := slices.IndexFunc(table, func(r rule) bool { return r.holds(x) })
	return table[i] // the last rule of a table always holds
}

func always(exchange) bool { return true }

func status(low, high int) func(exchange) bool {
	return func(x exchange) bool { return x.status >= low && x.status <= high }
}

func errorIs[T error](x exchange) bool {
	var target T
	return errors.As(x.err, &target)
}

func errorMatches(target error) func(exchange) bool {
	return func(x exchange) bool { return errors.Is(x.err, target) }
}

func callerCancelled(x exchange) bool {
	return errors.Is(x.err, context.Canceled) || errors.Is(x.req.Context().Err(), context.Canceled)
}

func misconfigured(x exchange) bool {
	if x.err == nil {
		return false
	}
	_, ok := asConfigError("", x.err)
	return ok
}

func redirectRefused(x exchange) bool {
	return x.redirect != nil && refuseRedirect(x.req.URL, x.redirect) != nil
}

// deferred reports whether an anivault gateway answered that it can't ask now, or that TMDB fails: it has retried,
// waits for TMDB as this process would, and says when to come again. A fault of its own (500) is trouble of the server.
func deferred(x exchange) bool {
	return x.refusal.Gateway && (x.status == 429 || x.status > 500)
}

func loops(x exchange) bool { return x.refusal.Gateway && x.status == http.StatusLoopDetected }

func notTMDB(x exchange) bool { return x.refusal.Foreign != "" || errorIs[*DecodeError](x) }
