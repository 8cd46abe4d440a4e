package ratelimit

import (
	"bytes"
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
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anivault/anivault/ratelimit/internal/core"
)

// timeoutGrace is what a permit outlives the request's timeout by, so that the report of a timeout still counts.
const timeoutGrace = time.Second

// Transport is an http.RoundTripper that sends only what its limiter lets through.
//
// It reads each response body into memory before it releases the permit, so a slot does not wait for the caller's
// Close. It retries idempotent requests (RFC 9110, section 9.2.2) that end as Throttled, Server or Network, if their
// body can be sent again, at most Tuning.MaxRetries times. After the last retry, or if Tuning.MaxWait leaves no time
// for another, it returns the last response or error. If the body of a response that is not 2xx breaks off or is too
// large, it returns the status with the part that it has read, and no error.
//
// Errors: those of Limiter.Acquire, *RequestTimeoutError, *BodyTooLargeError,
// those of Base, and the context's error for a request that its caller gave up.
type Transport struct {
	Base    http.RoundTripper // nil: http.DefaultTransport
	Limiter *Limiter          // required, unless PerHost is set
	// PerHost makes the limiter of a host, such as "https://api.example.org:443", at the first request to it. Then
	// Limiter is not used, and trouble with one host stops no other. An error is the request's, and the next request to
	// the host calls PerHost again.
	PerHost func(host string) (*Limiter, error)
	// Classify says what an answer, or an error instead of one, counts as; nil: ClassifyStatus does. The response is nil
	// if the error is not; the bytes are the whole body. It must not keep what it is given.
	Classify func(*http.Request, *http.Response, []byte, error) Outcome
	// Verdict says what an answer means for the key that asked; nil: nothing. A request whose key is refused is sent
	// again with another, if there is one.
	Verdict func(*http.Request, *http.Response, []byte) KeyVerdict
	MaxBody int64 // bytes; 0: 32 MiB

	http2 sync.Map // hosts that have answered over HTTP/2
	hosts sync.Map // with PerHost: by host, a func() (*Limiter, error)
}

// sentOnce is the empty body of a request that nothing below the limiter may repeat: over HTTP/1.1, net/http sends a
// GET without a body again by itself when a kept connection closes before the answer, and that try would have no
// permit. Over HTTP/2 it only repeats what the server says it has not looked at, and an empty body would cost a frame.
type sentOnce struct{}

func (sentOnce) Read([]byte) (int, error) { return 0, io.EOF }
func (sentOnce) Close() error             { return nil }

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	l, err := t.limiterFor(req.URL)
	if err != nil {
		closeBody(req)
		return nil, err
	}
	ctx := req.Context()
	c := newCall(ctx, l, l.Tuning().RequestTimeout+timeoutGrace)
	if c.Tries != nil {
		c.before, c.askings = c.Tries.of(req)
	}
	var refused *http.Response // the answer to the key before
	for {
		permit, err := c.acquire(ctx)
		if err != nil {
			closeBody(req)
			if refused != nil && noKey(err) {
				return refused, nil
			}
			return nil, err
		}
		c.pauseClock()
		resp, e, err := t.send(c, permit, req)
		outcome := e.Outcome
		if e.Key != KeyUnknown && permit.choice.Account != "" && permit.choice.Why != core.ByTest && repeatable(req) {
			next, againErr := again(req) // ends with the last key
			if againErr != nil {
				return nil, againErr
			}
			req, refused = next, resp
			continue
		}
		if !outcome.Retryable() || !repeatable(req) {
			return resp, err
		}
		// Who waits an outage out must not spend its tries on finding out whether it is over.
		if c.lastExcused = l.Tuning().AutoRecover != 0 && (permit.probe || permit.stopped); c.lastExcused {
			c.excused++
		}
		if c.Tries != nil {
			c.setAside(req, &e)
			return resp, err
		}
		if c.attempt-c.excused > l.Tuning().MaxRetries {
			return resp, err
		}
		next, againErr := again(req)
		if againErr != nil {
			return nil, againErr
		}
		if retryErr := c.retry(ctx, &e); retryErr != nil {
			closeBody(next)
			if ownDelay(retryErr) {
				return resp, err // the upstream's answer says more than that there is no time to ask again
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
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	host := u.Scheme + "://" + strings.ToLower(net.JoinHostPort(u.Hostname(), port))
	once, _ := t.hosts.LoadOrStore(host, sync.OnceValues(func() (*Limiter, error) { return t.PerHost(host) }))
	l, err := once.(func() (*Limiter, error))()
	if err != nil {
		t.hosts.Delete(host)
		return nil, fmt.Errorf("make the limiter of %s: %w", host, err)
	}
	return l, nil
}

// CloseIdleConnections closes those of Base, for http.Client.CloseIdleConnections.
func (t *Transport) CloseIdleConnections() {
	if base, ok := t.base().(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

func (t *Transport) base() http.RoundTripper {
	if t.Base == nil {
		return http.DefaultTransport
	}
	return t.Base
}

func noKey(err error) bool {
	var blocked *BlockedError
	return errors.As(err, &blocked) && (blocked.Cause == ReasonCredentials || blocked.Cause == ReasonNoAccount)
}

// ownDelay reports whether a retry was given up because the request's own delay is longer than it may
// still wait: nothing blocks the others, so its tries are simply spent.
func ownDelay(err error) bool {
	var blocked *BlockedError
	return errors.As(err, &blocked) && blocked.Cause == ReasonBackoff
}

func (t *Transport) send(c *call, p *Permit, req *http.Request) (*http.Response, Event, error) {
	defer p.Report(Event{}) // if Base or Classify panics
	timeout := p.l.Tuning().RequestTimeout
	var w wire
	ctx, cancel := context.WithTimeout(withTry(w.trace(req.Context()), c.left(), p.choice), timeout)
	defer cancel()
	start := time.Now()
	resp, body, err := t.exchange(req.WithContext(ctx))
	e := Event{Latency: time.Since(start)}
	c.resumeClock()
	given := req.Context().Err() // what the caller's context says
	if err != nil && resp != nil && given == nil && !success(resp) {
		err = nil // its status counts, and what could be read is its body
	}
	if err != nil {
		resp, body = nil, nil
	}
	switch {
	case err != nil && errors.Is(given, context.DeadlineExceeded) && w.departed():
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
			e.Connection = w.connection()
		}
		if t.Verdict != nil && resp != nil {
			e.Key = t.Verdict(req, resp, body)
		}
	}
	if resp != nil {
		resp.Request = req // not the one whose context is over
		e.Status = resp.StatusCode
		e.RetryAfter = p.l.retryAfter(&e, resp)
		e.Limits = core.ParseLimits(resp.Header, time.Now())
	}
	p.Report(e)
	return resp, e, err
}

type wire struct {
	traced, wrote atomic.Bool
	conn          atomic.Uintptr
}

func (w *wire) trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { w.traced.Store(true) },
		GotConn: func(info httptrace.GotConnInfo) {
			if v := reflect.ValueOf(info.Conn); v.Kind() == reflect.Pointer {
				w.conn.Store(v.Pointer())
			}
		},
		WroteHeaders: func() { w.wrote.Store(true) },
	})
}

func (w *wire) departed() bool { return w.wrote.Load() || !w.traced.Load() }

func (w *wire) connection() uint64 { return uint64(w.conn.Load()) }

func success(resp *http.Response) bool { return resp.StatusCode >= 200 && resp.StatusCode <= 299 }

func (t *Transport) classify(req *http.Request, resp *http.Response, body []byte, err error) Outcome {
	if t.Classify != nil {
		return t.Classify(req, resp, body, err)
	}
	return ClassifyStatus(req, resp, body, err)
}

// retryAfter reads the header where it is obeyed, and warns of what it cannot understand.
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

// exchange sends the request and reads the answer whole. With an answer whose body broke off or is too large it
// returns both what there is of it and the error.
func (t *Transport) exchange(req *http.Request) (*http.Response, []byte, error) {
	if _, ok := t.http2.Load(req.URL.Host); !ok && (req.Body == nil || req.Body == http.NoBody) {
		req.Body, req.GetBody = sentOnce{}, nil
	}
	resp, err := t.base().RoundTrip(req)
	if err != nil {
		return nil, nil, err
	}
	if resp.ProtoMajor == 2 {
		t.http2.Store(req.URL.Host, true)
	}
	limit := t.MaxBody
	if limit <= 0 {
		limit = 32 << 20
	}
	body, err := readAll(resp, limit)
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if req.Method != http.MethodHead {
		resp.ContentLength = int64(len(body))
	}
	resp.TransferEncoding = nil
	return resp, body, err
}

// readAll reads and closes a body. A close that fails after the last byte is no failure.
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

func repeatable(req *http.Request) bool {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return req.Body == nil || req.Body == http.NoBody || req.GetBody != nil
	default:
		return false
	}
}

func again(req *http.Request) (*http.Request, error) {
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
		_ = req.Body.Close() // it will not be read
	}
}

// ClassifyStatus is the Transport.Classify of a service of which nothing else is known: 2xx
// and 304 are OK, 429 is Throttled, 5xx and 408 are Server, any other status is Client, a
// connection that cannot be trusted is Misconfigured, any other error is Network.
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
	var (
		tooLarge   *BodyTooLargeError
		verify     *tls.CertificateVerificationError
		authority  x509.UnknownAuthorityError
		hostname   x509.HostnameError
		invalid    x509.CertificateInvalidError
		notTLS     tls.RecordHeaderError
		plainReply = "server gave HTTP response to HTTPS client"
	)
	switch {
	case errors.As(err, &tooLarge):
		return Client // it would be as large the next time
	case errors.Is(err, context.Canceled):
		return Cancelled
	case errors.As(err, &verify), errors.As(err, &authority), errors.As(err, &hostname),
		errors.As(err, &invalid), errors.As(err, &notTLS), strings.Contains(err.Error(), plainReply):
		return Misconfigured
	default:
		return Network
	}
}
