package tmdb

// THE table of which answer means what for a rate limiter. It says what
// docs/limiter.md ("Outcomes") says, for TMDB: the body counts as well as the
// status.

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
)

// Outcome is what one exchange says about the upstream.
type Outcome uint8

// The outcomes. Cancelled is the zero value: it says nothing.
const (
	OutcomeCancelled Outcome = iota // the caller gave up
	OutcomeOK                       // an answer
	OutcomeThrottled                // too many requests
	OutcomeServer                   // the upstream is in trouble
	OutcomeNetwork                  // no answer arrived, or not all of it
	OutcomeClient                   // this request is refused; others may pass
	OutcomeConfig                   // the setup is wrong; no request can pass
)

var outcomeNames = [...]string{"cancelled", "ok", "throttled", "server", "network", "client", "config"}

// String gives the outcome's name in lower case.
func (o Outcome) String() string {
	if int(o) < len(outcomeNames) {
		return outcomeNames[o]
	}
	return "unknown"
}

// exchange is what the rules look at.
type exchange struct {
	req  *http.Request
	resp *http.Response // nil when err is not
	body []byte
	err  error
	code int // TMDB's code in an error body, 0 if it is none
}

type rule struct {
	name    string
	holds   func(x exchange) bool
	outcome Outcome
}

// The first rule that holds decides. With an error there is no response.
var onError = []rule{
	{"the caller cancelled", callerCancelled, OutcomeCancelled},
	{"stopped by the key guard: nothing was sent, or a 401 came back", errorIs[*UnauthorizedError], OutcomeClient},
	{"certificate, TLS alert, TLS to a plain port, no HTTP, refused redirect, proxy", misconfigured, OutcomeConfig},
	{"a call that could not be made", errorIs[*ArgumentError], OutcomeConfig},
	{"a 2xx whose body could not be unpacked or was too large", errorIs[*DecodeError], OutcomeServer},
	{"announced as gzip, but is none", func(x exchange) bool { return isGarbledGzip(x.err) }, OutcomeServer},
	{"DNS, connect, reset, timeout, transfer that broke off, and whatever else", always, OutcomeNetwork},
}

var onResponse = []rule{
	{"429", status(429, 429), OutcomeThrottled},
	{"TMDB's code 25, whatever the status", func(x exchange) bool { return x.code == CodeOverLimit }, OutcomeThrottled},
	{"304: the cached body is still right", status(304, 304), OutcomeOK},
	{"redirect to another host or from https to http", redirectRefused, OutcomeConfig},
	{"redirect on the same host", status(300, 399), OutcomeClient},
	{"408: the server gave up waiting", status(408, 408), OutcomeServer},
	{"other 4xx", status(400, 499), OutcomeClient},
	{"5xx", status(500, 599), OutcomeServer},
	{"2xx with one of TMDB's codes for trouble of its own", troubleInsideOK, OutcomeServer},
	{"2xx with any other error object", func(x exchange) bool { return x.code != 0 }, OutcomeClient},
	{"2xx with a JSON object", jsonOK, OutcomeOK},
	{"2xx with an HTML page, nothing, cut JSON, compressed bytes", always, OutcomeServer},
}

// Classify tells what an exchange says about TMDB: resp and its whole body, or
// err with a nil resp. The body must be unpacked already, as NewWire leaves
// it. A deadline counts as the network's: whether it was the request's or the
// caller's own is for the transport to know.
func Classify(req *http.Request, resp *http.Response, body []byte, err error) Outcome {
	return decidingRule(req, resp, body, err).outcome
}

func decidingRule(req *http.Request, resp *http.Response, body []byte, err error) rule {
	x := exchange{req: req, resp: resp, body: body, err: err}
	table := onResponse
	if err != nil || resp == nil {
		table = onError
	} else if code, _, failed, ok := decodeErrorBody(body); ok && failed {
		x.code = code
	}
	for _, r := range table {
		if r.holds(x) {
			return r
		}
	}
	return table[len(table)-1] // not reached: the last rule always holds
}

func always(exchange) bool { return true }

func status(low, high int) func(exchange) bool {
	return func(x exchange) bool { return x.resp.StatusCode >= low && x.resp.StatusCode <= high }
}

func errorIs[T error](x exchange) bool {
	var target T
	return errors.As(x.err, &target)
}

func callerCancelled(x exchange) bool {
	return errors.Is(x.err, context.Canceled) ||
		x.req != nil && errors.Is(x.req.Context().Err(), context.Canceled)
}

func misconfigured(x exchange) bool {
	if x.err == nil {
		return false
	}
	_, ok := asConfigError("", x.err)
	return ok
}

func redirectRefused(x exchange) bool {
	to := redirectTarget(x.req, x.resp)
	return to != nil && refuseRedirect(x.req.URL, to) != nil
}

// troubleInsideOK: offline (9), internal error (11), failed (15), backend
// timeout (24), no backend (43), internal id error (44), maintenance (46).
func troubleInsideOK(x exchange) bool {
	switch x.code {
	case 9, 11, 15, 24, 43, 44, 46:
		return true
	}
	return false
}

func jsonOK(x exchange) bool {
	return sniffJSON(x.body) == "" && json.Valid(x.body)
}
