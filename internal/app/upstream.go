package app

import (
	"cmp"
	"context"
	"maps"
	"math"
	"net/http"
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

// Upstream is the chain of transports that carries a request to TMDB: cache, recentFailureTransport, refusalTransport,
// limiter, signer, tmdb.NewWire and the network. The embedded transport is the first of them.
type Upstream struct {
	*cache.Transport
	withoutCache http.RoundTripper // the chain without the cache and recentFailureTransport
	keyring      *keyring
	network      *http.Transport // the last transport of the chain

	firstRefusal atomic.Pointer[tmdb.UnauthorizedError]
	foreign      atomic.Pointer[error] // set if the latest answer came from something else in TMDB's place
}

// OpenUpstream builds the chain of transports. It sends nothing.
func OpenUpstream(cfg *config.Config, store *cache.Store, limiter *ratelimit.Limiter, opts Options) (*Upstream, error) {
	network, err := NewNetworkTransport(cfg)
	if err != nil {
		return nil, err
	}
	u := &Upstream{network: network, keyring: &keyring{}}
	u.keyring.update(cfg.EffectiveAccounts())
	bad := recentFailureTransport{failures: map[string]recentFailure{}}
	unreachable := newGiveUpTransport(&bad)
	base := signer{tmdb.NewWire(network), u.keyring}
	if !cfg.AsksTMDB() {
		base.next = preferWaitTransport{base.next, limiter}
	}
	transport := &ratelimit.Transport{
		Base: wrapTransport(opts.WrapWire, base), Limiter: limiter, MaxBody: tmdb.MaxBody, Verdict: keyVerdict,
		Classify: func(req *http.Request, resp *http.Response, body []byte, err error) ratelimit.Outcome {
			o := tmdb.Classify(req, resp, body, err)
			bad.recordOutcome(req.Context(), o)
			unreachable.recordTry(o, err)
			u.foreign.Store(foreignAnswer(req, resp, body, o))
			return o
		},
	}
	u.withoutCache = refusalTransport{transport, u.keyring, &u.firstRefusal}
	bad.next = u.withoutCache
	u.Transport = tmdb.Transport(store, limiter)
	u.Next, u.Age = wrapTransport(opts.WrapLimiter, &bad), gatewayAge
	if opts.givesUp {
		u.Next = unreachable
	}
	u.OnWait, u.OnStore = opts.OnCacheWait, opts.onWrite
	u.Refresh, u.Offline = opts.Refresh, opts.Offline
	return u, nil
}

// foreignAnswer returns nil for an error page with a 5xx, too: that is an outage's.
func foreignAnswer(req *http.Request, resp *http.Response, body []byte, o ratelimit.Outcome) *error {
	if o != ratelimit.Server || resp == nil || resp.StatusCode >= http.StatusInternalServerError {
		return nil
	}
	return new(tmdb.Valid(req, resp, body))
}

// requestState collects what the transports learn about a request. It is in the request's context.
type requestState struct {
	sawServerError, sawOtherOutcome atomic.Bool // whether any try ended with a server error, or with another outcome
	// refusal is TMDB's refusal of the last try's key, set by signer, which alone knows the key; nil: accepted.
	refusal atomic.Pointer[tmdb.UnauthorizedError]
}

type requestStateKey struct{}

func requestStateFrom(ctx context.Context) *requestState {
	x, _ := ctx.Value(requestStateKey{}).(*requestState)
	return cmp.Or(x, new(requestState))
}

func withRequestState(req *http.Request) (*http.Request, *requestState) {
	x := requestStateFrom(req.Context())
	return req.WithContext(context.WithValue(req.Context(), requestStateKey{}, x)), x
}

func wrapTransport(wrap func(http.RoundTripper) http.RoundTripper, next http.RoundTripper) http.RoundTripper {
	if wrap == nil {
		return next
	}
	return wrap(next)
}

// preferWaitTransport tells an upstream other than TMDB, such as another gateway, how long a try may take. Without it,
// a gateway that lets requests wait would look like a dead network.
type preferWaitTransport struct {
	next    http.RoundTripper
	limiter *ratelimit.Limiter
}

// RoundTrip sends the request with Prefer: wait (RFC 7240): two seconds less than the timeout of the try, but no longer
// than the request may still wait for permission. Time at the gateway would otherwise not count as waiting, because
// this process has already sent the request.
func (p preferWaitTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	wait := max(p.limiter.Tuning().RequestTimeout-2*time.Second, 0)
	if left, ok := ratelimit.WaitLeft(req.Context()); ok {
		wait = min(wait, left+time.Second-1) // in whole seconds, rounded up
	}
	out := req.Clone(req.Context())
	out.Header.Set("Prefer", "wait="+strconv.Itoa(int(wait/time.Second)))
	return p.next.RoundTrip(out)
}

// gatewayAge returns the age of an anivault gateway's answer. It ignores the Age of TMDB's edge servers.
func gatewayAge(h http.Header) time.Duration {
	if !strings.HasPrefix(h.Get("Cache-Status"), "anivault;") {
		return 0
	}
	seconds, _ := strconv.Atoi(h.Get("Age")) // 0 without a number
	return time.Duration(min(max(seconds, 0), math.MaxInt32)) * time.Second
}

// Close ends idle connections.
func (u *Upstream) Close() error {
	u.network.CloseIdleConnections()
	return nil
}

// NewNetworkTransport returns the last transport of the chain, or a *config.Error about the setting tmdb.ca_file.
func NewNetworkTransport(cfg *config.Config) (*http.Transport, error) {
	// This timeout is a second longer than the limiter's, which thus ends a try first and returns its own error.
	options := tmdb.TransportOptions{Proxy: http.ProxyFromEnvironment, Timeout: cfg.Tuning.RequestTimeout + time.Second}
	if !cfg.AsksTMDB() {
		options.Connections = 256 // the maximum of concurrency_total, which is the real limit
	}
	if caFile := cfg.TMDB.CAFile; caFile != "" {
		pem, err := config.ReadFile(caFile)
		if err != nil {
			return nil, &config.Error{Name: "tmdb.ca_file", Value: caFile, Reason: lang.TextOf(err)}
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

// Probe sends TMDB one cheap request, through the limiter but not the cache. skew is how far TMDB's clock is ahead of
// this machine's; 0 if the answer has no Date header.
func (a *App) Probe(ctx context.Context) (took, skew time.Duration, err error) {
	client, err := newClient(a.cfg, a.upstream.withoutCache, nil)
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

// RecentFailureError means that a request was not sent because all tries of the same request have just failed at TMDB.
type RecentFailureError struct{ Until time.Time }

func (e *RecentFailureError) Error() string { return e.Text().String() }

// Text returns the message for people.
func (e *RecentFailureError) Text() lang.Text {
	return lang.Textf("not sent: TMDB has just failed to answer this request; next try after %s",
		e.Until.Local().Format(time.TimeOnly))
}

const (
	// recentFailureTTL is how long a request is rejected after it has failed.
	recentFailureTTL = time.Minute
	// maxRecentFailures is how many failed requests are remembered. Requests beyond it are not rejected.
	maxRecentFailures = 10_000
)

// recentFailureTransport rejects a request for a minute if all tries of the same request in this process have just
// ended in a server error. Otherwise a client that repeats one such request would look like an outage of TMDB to the
// limiter, which assumes one after eight failures in a row.
type recentFailureTransport struct {
	next http.RoundTripper

	mu       sync.Mutex
	failures map[string]recentFailure // by cache key
}

type recentFailure struct {
	until time.Time
	// of the failed request; a request that may wait more than twice as long gets more tries, so it is sent
	maxWait time.Duration
}

func (*recentFailureTransport) recordOutcome(ctx context.Context, o ratelimit.Outcome) {
	x := requestStateFrom(ctx)
	if o == ratelimit.Server {
		x.sawServerError.Store(true)
	} else {
		x.sawOtherOutcome.Store(true)
	}
}

// RoundTrip implements http.RoundTripper. For a rejected request it returns a *RecentFailureError.
func (b *recentFailureTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	own := ratelimit.RequestIn(req.Context())
	if own.Tries != nil { // the caller retries: each try is a request of its own, and one failure says little
		return b.next.RoundTrip(req)
	}
	key, maxWait := cache.KeyOf(req.Method, req.URL), own.MaxWait
	if until, bad := b.rejectedUntil(key, maxWait, time.Now()); bad {
		return nil, &RecentFailureError{until}
	}
	req, x := withRequestState(req)
	resp, err := b.next.RoundTrip(req)
	if x.sawServerError.Load() && !x.sawOtherOutcome.Load() {
		b.remember(key, maxWait, time.Now())
	}
	return resp, err
}

func (b *recentFailureTransport) rejectedUntil(key string, maxWait time.Duration, now time.Time) (time.Time, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.failures[key]
	return q.until, now.Before(q.until) && maxWait <= 2*q.maxWait
}

func (b *recentFailureTransport) remember(key string, maxWait time.Duration, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.failures) >= maxRecentFailures {
		maps.DeleteFunc(b.failures, func(_ string, q recentFailure) bool { return !now.Before(q.until) })
	}
	if len(b.failures) < maxRecentFailures {
		b.failures[key] = recentFailure{now.Add(recentFailureTTL), maxWait}
	}
}

// giveUpAfter is how long after the first failure a run gives up if nothing has ever answered. The limiter would
// continue for minutes, because it can't tell an outage of TMDB from a machine without network.
const giveUpAfter = 15 * time.Second

// giveUpTransport fails all requests once it has given up: giveUpAfter after the first try, if all tries until then
// have ended in a network error.
type giveUpTransport struct {
	next http.RoundTripper

	gaveUp context.Context
	giveUp context.CancelFunc

	mu       sync.Mutex
	answered bool
	cause    error // of the latest failed try
}

func newGiveUpTransport(next http.RoundTripper) *giveUpTransport {
	gaveUp, giveUp := context.WithCancel(context.Background())
	return &giveUpTransport{next: next, gaveUp: gaveUp, giveUp: giveUp}
}

func (g *giveUpTransport) recordTry(o ratelimit.Outcome, err error) {
	if o == ratelimit.Cancelled {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if o != ratelimit.Network {
		g.answered = true
		return
	}
	if g.cause == nil {
		time.AfterFunc(giveUpAfter, func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			if !g.answered {
				g.giveUp()
			}
		})
	}
	g.cause = err
}

// RoundTrip implements http.RoundTripper. Once g has given up, it returns the error of the latest try, also for
// requests that are waiting for permission.
func (g *giveUpTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	defer cancel() // ratelimit.Transport has read the body
	defer context.AfterFunc(g.gaveUp, cancel)()
	if g.gaveUp.Err() == nil {
		resp, err := g.next.RoundTrip(req.WithContext(ctx))
		if err == nil || g.gaveUp.Err() == nil || req.Context().Err() != nil {
			return resp, err
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return nil, g.cause
}
