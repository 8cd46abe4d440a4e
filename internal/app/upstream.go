package app

import (
	"context"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/version"
	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/tmdb"
)

// Upstream is the path of a request to TMDB, a chain of transports: cache, failingRequests, refusalTransport, limiter,
// signer, tmdb.NewWire and the network. The embedded transport is the first.
type Upstream struct {
	*cache.Transport
	sender http.RoundTripper // without the cache
	ring   *keyring
	wire   *http.Transport

	refused atomic.Pointer[tmdb.UnauthorizedError]
}

// OpenUpstream builds the path of a request. It sends nothing.
func OpenUpstream(cfg *config.Config, store *cache.Store, limiter *ratelimit.Limiter, opts Options) (*Upstream, error) {
	wire, err := openWire(cfg)
	if err != nil {
		return nil, err
	}
	u := &Upstream{wire: wire, ring: &keyring{}}
	u.ring.replace(cfg.EffectiveAccounts())
	var bad failingRequests
	base := signer{tmdb.NewWire(wire), u.ring}
	if !cfg.AsksTMDB() {
		base.next = preferWaitTransport{base.next, limiter}
	}
	transport := &ratelimit.Transport{
		Base: wrapTransport(opts.AroundWire, base), Limiter: limiter, MaxBody: tmdb.MaxBody, Verdict: keyVerdict,
		Classify: func(req *http.Request, resp *http.Response, body []byte, err error) ratelimit.Outcome {
			o := tmdb.Classify(req, resp, body, err)
			bad.observe(req.Context(), o)
			return o
		},
	}
	u.sender = refusalTransport{transport, u.ring, &u.refused}
	bad.next = u.sender
	u.Transport = tmdb.Transport(store, limiter)
	u.Next, u.Age = wrapTransport(opts.AroundLimiter, &bad), gatewayAge
	u.Waits, u.Wrote = opts.OnCacheWait, opts.wrote
	u.Refresh, u.Offline = opts.Refresh, opts.Offline
	return u, nil
}

type request struct {
	serverTrouble, otherOutcome atomic.Bool // whether some try ended with a server error, or otherwise
	// The refusal of the key of the last try; signer sets it, because only there the key is known.
	refusal atomic.Pointer[tmdb.UnauthorizedError]
}

type requestKey struct{}

func requestOf(ctx context.Context) *request {
	if x, ok := ctx.Value(requestKey{}).(*request); ok {
		return x
	}
	return &request{}
}

func withRequest(req *http.Request) (*http.Request, *request) {
	x := requestOf(req.Context())
	return req.WithContext(context.WithValue(req.Context(), requestKey{}, x)), x
}

func wrapTransport(front func(http.RoundTripper) http.RoundTripper, next http.RoundTripper) http.RoundTripper {
	if front == nil {
		return next
	}
	return front(next)
}

// preferWaitTransport sends every upstream except TMDB the time that a try may take. Otherwise a gateway that lets
// requests wait would look like a dead network.
type preferWaitTransport struct {
	next    http.RoundTripper
	limiter *ratelimit.Limiter
}

// RoundTrip sends the request with Prefer: wait (RFC 7240): two seconds less than the timeout of the try, but no longer
// than the request may still wait for permission. A request that waits at the gateway counts as sent here.
func (p preferWaitTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	wait := max(p.limiter.Tuning().RequestTimeout-2*time.Second, 0)
	if left, ok := ratelimit.WaitLeft(req.Context()); ok {
		wait = min(wait, left+time.Second-1) // in whole seconds, rounded up
	}
	out := req.Clone(req.Context())
	out.Header.Set("Prefer", "wait="+strconv.Itoa(int(wait/time.Second)))
	return p.next.RoundTrip(out)
}

// gatewayAge returns the age of an answer from an anivault gateway. It is 0 for TMDB, whose edge servers send Age as
// well.
func gatewayAge(h http.Header) time.Duration {
	if !strings.HasPrefix(h.Get("Cache-Status"), "anivault;") {
		return 0
	}
	seconds, err := strconv.Atoi(h.Get("Age"))
	if err != nil {
		return 0
	}
	return time.Duration(min(max(seconds, 0), math.MaxInt32)) * time.Second
}

// Close ends idle connections.
func (u *Upstream) Close() error {
	u.wire.CloseIdleConnections()
	return nil
}

func openWire(cfg *config.Config) (*http.Transport, error) {
	// A second more, so that the limiter's timeout ends a try first, with its own error.
	options := tmdb.TransportOptions{Proxy: http.ProxyFromEnvironment, Timeout: cfg.Tuning.RequestTimeout + time.Second}
	if !cfg.AsksTMDB() {
		options.Connections = 256 // the maximum of concurrency_total, which limits the requests
	}
	if caFile := cfg.TMDB.CAFile; caFile != "" {
		pem, err := os.ReadFile(caFile)
		if err != nil {
			return nil, &config.Error{Name: "tmdb.ca_file", Value: caFile, Reason: lang.Textf("cannot be read: %s", err)}
		}
		if options.RootCAs, err = tmdb.CAPool(pem); err != nil {
			return nil, &config.Error{Name: "tmdb.ca_file", Value: caFile, Reason: lang.TextOf(err)}
		}
	}
	return tmdb.NewHTTPTransport(options), nil
}

func newClient(
	cfg *config.Config, transport http.RoundTripper, onUndecodable func(*http.Request),
) (*tmdb.Client, error) {
	return tmdb.New(tmdb.Options{
		BaseURL: cfg.TMDB.BaseURL.String(), HTTPClient: &http.Client{Transport: transport}, UserAgent: version.UserAgent(),
		OnUndecodable: onUndecodable,
	})
}

// Probe sends TMDB one cheap request, past the cache but through the limiter. skew is how far TMDB's clock is ahead of
// this machine's; 0 without a Date in the answer.
func (a *App) Probe(ctx context.Context) (took, skew time.Duration, err error) {
	client, err := newClient(a.cfg, a.upstream.sender, nil)
	if err != nil {
		return 0, 0, err
	}
	start := time.Now()
	_, resp, err := client.Configuration(ctx)
	took = time.Since(start)
	if err != nil {
		return took, 0, err
	}
	if date, dateErr := http.ParseTime(resp.Header.Get("Date")); dateErr == nil {
		skew = date.Sub(start.Add(took / 2)).Round(time.Second)
	}
	return took, skew, nil
}

// FailingRequestError means that a request was not sent because TMDB has just failed to answer it at every try.
type FailingRequestError struct{ Until time.Time }

// Error implements error.
func (e *FailingRequestError) Error() string { return e.Text().String() }

// Text returns the message for people.
func (e *FailingRequestError) Text() lang.Text {
	return lang.Textf("not asked: TMDB failed on this very request; it is sent again after %s",
		e.Until.Local().Format(time.TimeOnly))
}

const (
	// failingRequestTTL is how long a failing request is rejected.
	failingRequestTTL = time.Minute
	// maxFailingRequests limits how many are remembered; further ones are sent again.
	maxFailingRequests = 10_000
)

// failingRequests rejects for a minute, in this process, a request whose tries have all ended in a server error. The
// limiter takes eight failures in a row for an outage, and a client that repeats one bad request must not look like
// one.
type failingRequests struct {
	next http.RoundTripper

	mu    sync.Mutex
	known map[string]failingRequest // by the cache's key
}

type failingRequest struct {
	until    time.Time
	patience time.Duration // of the request that failed; one with twice as much has more tries, so it is sent
}

func (*failingRequests) observe(ctx context.Context, o ratelimit.Outcome) {
	x := requestOf(ctx)
	if o == ratelimit.Server {
		x.serverTrouble.Store(true)
	} else {
		x.otherOutcome.Store(true)
	}
}

// RoundTrip implements http.RoundTripper. For a rejected request it returns a *FailingRequestError.
func (b *failingRequests) RoundTrip(req *http.Request) (*http.Response, error) {
	if ratelimit.AsksAgain(req.Context()) { // a retry says nothing about the request itself
		return b.next.RoundTrip(req)
	}
	key, patience := cache.KeyOf(req.Method, req.URL), ratelimit.MaxWaitOf(req.Context())
	if until, bad := b.rejectedUntil(key, patience, time.Now()); bad {
		return nil, &FailingRequestError{until}
	}
	req, x := withRequest(req)
	resp, err := b.next.RoundTrip(req)
	if x.serverTrouble.Load() && !x.otherOutcome.Load() {
		b.remember(key, patience, time.Now())
	}
	return resp, err
}

func (b *failingRequests) rejectedUntil(key string, patience time.Duration, now time.Time) (time.Time, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	q, ok := b.known[key]
	if ok && !now.Before(q.until) {
		delete(b.known, key)
		ok = false
	}
	return q.until, ok && patience <= 2*q.patience
}

func (b *failingRequests) remember(key string, patience time.Duration, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known == nil {
		b.known = map[string]failingRequest{}
	}
	if len(b.known) >= maxFailingRequests {
		for k, q := range b.known {
			if !now.Before(q.until) {
				delete(b.known, k)
			}
		}
	}
	if len(b.known) < maxFailingRequests {
		b.known[key] = failingRequest{now.Add(failingRequestTTL), patience}
	}
}
