package ratelimit

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anivault/anivault/ratelimit/internal/core"
)

// timeoutGrace is how much longer a permit lasts than the request's timeout, so that a timeout can still be reported.
const timeoutGrace = time.Second

// Transport is an http.RoundTripper that sends only what its limiter lets through.
//
// It reads each response body into memory before it releases the permit, so a slot does not wait for the caller's
// Close. It retries idempotent requests (RFC 9110, section 9.2.2) that end as Throttled, Server or Network, if their
// body can be sent again, at most Tuning.MaxRetries times. After the last retry, or if Tuning.MaxWait leaves no time
// for another, it returns the last response or error; after a 429 with a longer pause, a *BlockedError. If the body of
// a response that is not 2xx breaks off or is too large, it returns the status with what it has read, and no error.
//
// Errors: those of Limiter.Acquire, *RequestTimeoutError, *BodyTooLargeError,
// those of Base, and the context's error for a request that its caller gave up.
type Transport struct {
	Base    http.RoundTripper // nil: http.DefaultTransport
	Limiter *Limiter          // required, unless PerHost is set
	// PerHost makes the limiter for a host, such as "https://api.example.org:443", at the first request to it. It replaces
	// Limiter, so trouble with one host does not stop others. If it fails, the request fails, and the next request to the
	// host calls PerHost again.
	PerHost func(host string) (*Limiter, error)
	// Classify returns the outcome of a response or error; nil means ClassifyStatus. The response is nil if the error is
	// not; the bytes are the whole body. It must not keep its arguments.
	Classify func(*http.Request, *http.Response, []byte, error) Outcome
	// Verdict returns what a response means for the key of its request; nil means nothing. If a key is refused, the
	// request is sent again with another, if there is one.
	Verdict func(*http.Request, *http.Response, []byte) KeyVerdict
	MaxBody int64 // bytes; 0: 32 MiB

	http1 sync.Map // by host, whether its latest answer came over HTTP/1.1
	hosts sync.Map // with PerHost: by host, a func() (*Limiter, error)
}

// unrepeatableBody is an empty body that stops net/http from repeating a GET by itself. Over HTTP/1.1 it would if a
// connection that has answered before closes before the response, and that try would have no permit. Over HTTP/2 it
// repeats only requests that the server has not processed, and a server may refuse a GET that announces a body.
type unrepeatableBody struct{}

func (unrepeatableBody) Read([]byte) (int, error) { return 0, io.EOF }
func (unrepeatableBody) Close() error             { return nil }

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	l, err := t.limiterFor(req.URL)
	if err != nil {
		closeBody(req)
		return nil, err
	}
	ctx := req.Context()
	c := newCall(ctx, l, l.Tuning().RequestTimeout+timeoutGrace)
	c.earlierTries, c.callerAttempts = c.Tries.record(req)
	var refused *http.Response // the response to the previous key
	for {
		permit, err := c.acquire(ctx)
		if err != nil {
			closeBody(req)
			if refused != nil && isBlockedBy(err, ReasonCredentials, ReasonNoAccount) {
				return refused, nil
			}
			return nil, err
		}
		c.Waited, c.waitingSince = c.waitedTotal(), time.Time{} // the clock stands while the request is under way
		resp, e, err := t.send(c, permit, req)
		outcome := e.Outcome
		if e.Key != KeyUnknown && permit.choice.Account != "" && permit.choice.Why != core.ByTest && isRepeatable(req) {
			next, againErr := cloneForRetry(req) // the loop ends when no key is left
			if againErr != nil {
				return nil, againErr
			}
			req, refused = next, resp
			continue
		}
		if !outcome.Retryable() || !isRepeatable(req) {
			return resp, err
		}
		if c.lastExcused = c.excuses(permit, &e); c.lastExcused {
			c.excused++
		}
		if c.Tries != nil {
			c.recordForCaller(req, permit, &e)
			return resp, err
		}
		if c.attempt-c.excused > l.Tuning().MaxRetries {
			return resp, err
		}
		next, againErr := cloneForRetry(req)
		if againErr != nil {
			return nil, againErr
		}
		if retryErr := c.retry(ctx, &e); retryErr != nil {
			closeBody(next)
			if isBlockedBy(retryErr, ReasonBackoff) { // the delay is longer than the request may still wait
				return resp, err // the upstream's response is more useful than "no time for a retry"
			}
			return nil, retryErr
		}
		req = next
	}
}

func (t *Transport) limiterFor(u *url.URL) (*Limiter, error) {
	switch {
	case t.PerHost != nil:
	case t.Limiter != nil:
		return t.Limiter, nil
	default:
		return nil, errors.New("send request: the transport has no limiter")
	}
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	host := u.Scheme + "://" + strings.ToLower(net.JoinHostPort(u.Hostname(), port))
	once, _ := t.hosts.LoadOrStore(host, sync.OnceValues(func() (*Limiter, error) { return t.PerHost(host) }))
	l, err := once.(func() (*Limiter, error))()
	if err != nil {
		t.hosts.Delete(host)
		return nil, fmt.Errorf("make the limiter of %s: %w", host, err)
	}
	return l, nil
}

// CloseIdleConnections closes the idle connections of Base.
func (t *Transport) CloseIdleConnections() {
	if base, ok := t.base().(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

func (t *Transport) base() http.RoundTripper { return cmp.Or(t.Base, http.DefaultTransport) }

func isBlockedBy(err error, causes ...Reason) bool {
	blocked, ok := errors.AsType[*BlockedError](err)
	return ok && slices.Contains(causes, blocked.Cause)
}

func (t *Transport) send(c *call, p *Permit, req *http.Request) (*http.Response, Event, error) {
	defer p.Report(Event{}) // gives the permit back if Base or Classify panics
	timeout := p.l.Tuning().RequestTimeout
	var w requestTrace
	ctx, cancel := context.WithTimeout(withTry(w.trace(req.Context()), c.waitLeft(), p.choice), timeout)
	defer cancel()
	start := time.Now()
	resp, body, err := t.exchange(req.WithContext(ctx))
	e := Event{Latency: time.Since(start)}
	c.waitingSince = time.Now()
	given := req.Context().Err()
	if err != nil && resp != nil && given == nil && resp.StatusCode/100 != 2 {
		err = nil // keep the status and the part of the body that was read
	}
	if err != nil {
		resp, body = nil, nil
	}
	switch {
	case err != nil && errors.Is(given, context.DeadlineExceeded) && (w.wroteHeaders.Load() || !w.traced.Load()):
		err = given
		e.Outcome = t.classify(req, nil, nil, err)
	case err != nil && given != nil:
		err = given
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = &RequestTimeoutError{After: timeout, Err: err}
		e.Outcome = t.classify(req, nil, nil, err)
	default:
		e.Outcome = t.classify(req, resp, body, err)
		if e.Outcome == Network {
			e.Connection = uint64(w.conn.Load())
		}
		if t.Verdict != nil && resp != nil {
			e.Key = t.Verdict(req, resp, body)
		}
	}
	if resp != nil {
		resp.Request = req // not the copy whose context has ended
		e.Status = resp.StatusCode
		e.RetryAfter = p.l.retryAfter(&e, resp)
		e.Limits = core.ParseLimits(resp.Header, time.Now())
	}
	p.Report(e)
	return resp, e, err
}

type requestTrace struct {
	traced, wroteHeaders atomic.Bool
	conn                 atomic.Uintptr
}

func (w *requestTrace) trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { w.traced.Store(true) },
		GotConn: func(info httptrace.GotConnInfo) {
			if v := reflect.ValueOf(info.Conn); v.Kind() == reflect.Pointer {
				w.conn.Store(v.Pointer())
			}
		},
		WroteHeaders: func() { w.wroteHeaders.Store(true) },
	})
}

func (t *Transport) classify(req *http.Request, resp *http.Response, body []byte, err error) Outcome {
	if t.Classify != nil {
		return t.Classify(req, resp, body, err)
	}
	return ClassifyStatus(req, resp, body, err)
}

// retryAfter parses the Retry-After header if the outcome obeys it, and warns if it is invalid.
func (l *Limiter) retryAfter(e *Event, resp *http.Response) Wait {
	if !e.Obeyed() {
		return Wait{}
	}
	wait, err := ParseRetryAfter(resp.Header, time.Now())
	if err != nil {
		l.warn(err)
	}
	return wait
}

// exchange sends the request and reads the whole response. If the body is interrupted or too large, it returns the part
// that it has read together with the error.
func (t *Transport) exchange(req *http.Request) (*http.Response, []byte, error) {
	if kept, _ := t.http1.Load(req.URL.Host); kept == true && (req.Body == nil || req.Body == http.NoBody) {
		req.Body, req.GetBody = unrepeatableBody{}, nil
	}
	resp, err := t.base().RoundTrip(req)
	if err != nil {
		return nil, nil, err
	}
	t.http1.Store(req.URL.Host, resp.ProtoMajor == 1)
	body, err := readAll(resp, cmp.Or(max(t.MaxBody, 0), 32<<20))
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if req.Method != http.MethodHead {
		resp.ContentLength = int64(len(body))
	}
	resp.TransferEncoding = nil
	return resp, body, err
}

// readAll reads and closes a body. It ignores an error of the close.
func readAll(resp *http.Response, limit int64) ([]byte, error) {
	defer resp.Body.Close()
	var b bytes.Buffer
	if n := resp.ContentLength; n > 0 && n <= limit && resp.Request != nil && resp.Request.Method != http.MethodHead {
		b.Grow(int(n) + bytes.MinRead)
	}
	n, err := b.ReadFrom(io.LimitReader(resp.Body, limit+1))
	switch {
	case err != nil:
		return b.Bytes(), fmt.Errorf("read answer: %w", err)
	case n > limit:
		return b.Bytes()[:limit], &BodyTooLargeError{limit}
	}
	return b.Bytes(), nil
}

func isRepeatable(req *http.Request) bool {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return req.Body == nil || req.Body == http.NoBody || req.GetBody != nil
	default:
		return false
	}
}

func cloneForRetry(req *http.Request) (*http.Request, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return req, nil
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, fmt.Errorf("repeat request: %w", err)
	}
	next := *req
	next.Body = body
	return &next, nil
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}

// ClassifyStatus is the default for Transport.Classify. 2xx and 304 are OK, 429 is Throttled, 5xx and 408 are Server,
// any other status is Client. A connection that cannot be trusted is Misconfigured, any other error Network.
func ClassifyStatus(_ *http.Request, resp *http.Response, _ []byte, err error) Outcome {
	if err != nil {
		return classifyError(err)
	}
	switch code := resp.StatusCode; {
	case code >= 200 && code <= 299, code == http.StatusNotModified:
		return OK
	case code == http.StatusTooManyRequests:
		return Throttled
	case code >= 500, code == http.StatusRequestTimeout:
		return Server
	default:
		return Client
	}
}

func classifyError(err error) Outcome {
	switch {
	case errors.As(err, new(*BodyTooLargeError)):
		return Client // a retry would be just as large
	case errors.Is(err, context.Canceled):
		return Cancelled
	case errors.As(err, new(*tls.CertificateVerificationError)), errors.As(err, new(x509.UnknownAuthorityError)),
		errors.As(err, new(x509.HostnameError)), errors.As(err, new(x509.CertificateInvalidError)),
		errors.As(err, new(tls.RecordHeaderError)), errors.Is(err, http.ErrSchemeMismatch):
		return Misconfigured
	default:
		return Network
	}
}
