package app

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/metrics"
	"github.com/anivault/anivault/internal/version"
	"github.com/anivault/anivault/ratelimit"
)

// chain is what stands between a question and TMDB, for a run of match as for the gateway, and who watches it.
type chain struct {
	opts     Options
	inForce  atomic.Pointer[config.Config] // a gateway's may be replaced
	store    ratelimit.Store
	limiter  *ratelimit.Limiter
	cache    *cache.Store
	upstream *Upstream
	seen     *observer
	closers  []func() error // in the order in which they were opened
	warned   warnOnce
}

// open opens everything. What it has opened when it fails is for the caller to close.
func (c *chain) open(cfg *config.Config, opts Options) error {
	c.opts = opts
	c.inForce.Store(cfg)
	if opts.Log == nil {
		opts.Log = slog.DiscardHandler
	}
	c.seen = &observer{log: slog.New(opts.Log), metrics: metrics.New(), warn: c.warn, cfg: c.inForce.Load}
	store, done, err := OpenState(cfg, 0, c.warn)
	if err != nil {
		return err
	}
	c.store, c.closers = store, append(c.closers, done)
	c.limiter, err = ratelimit.New(ratelimit.Config{
		Store: store, Tuning: cfg.Tuning, Offline: opts.Offline, Hooks: c.seen.hooks(), Queue: opts.Queue,
		Accounts: cfg.LimiterAccounts(),
	})
	if err != nil {
		return err
	}
	c.closers = append(c.closers, c.limiter.Close)
	if c.cache, err = OpenCache(cfg, opts.Memory, c.warn); err != nil {
		return err
	}
	c.closers = append(c.closers, c.cache.Close)
	if c.upstream, err = OpenUpstream(cfg, c.cache, c.limiter, opts); err != nil {
		return err
	}
	c.closers = append(c.closers, c.upstream.Close)
	return nil
}

func (c *chain) warn(err error) {
	if !c.warned.first(err) {
		return
	}
	event, about := "warning", []any{slog.String("comp", "anivault"), slog.Any("error", err)}
	if w, ok := errors.AsType[*ratelimit.StoreWarning](err); ok {
		event = w.Event
		if w.Parts > 0 {
			about = append(about, slog.Int("parts", w.Parts))
		}
		if w.Alone > 0 {
			about = append(about, slog.Duration("alone", w.Alone.Round(time.Second)))
		}
	}
	c.seen.log.Warn(event, about...)
	if c.opts.Warn != nil {
		c.opts.Warn(err)
	}
}

// Metrics returns what was counted so far.
func (c *chain) Metrics() *metrics.Metrics { return c.seen.metrics }

// Close writes what is not written yet and frees everything that was opened.
func (c *chain) Close() error {
	var errs []error
	for _, done := range slices.Backward(c.closers) {
		errs = append(errs, done())
	}
	if err := errors.Join(errs...); err != nil {
		return lang.Error("close: %w", err)
	}
	return nil
}

// Gateway is the chain for questions of other programs. It is an http.RoundTripper for requests without a key.
type Gateway struct{ chain }

// gatewayMemory bounds the answers that a gateway keeps in memory: some thousands.
const gatewayMemory = 32 << 20

// OpenGateway opens everything that a gateway needs. It sends nothing. The caller must close the Gateway.
func OpenGateway(cfg *config.Config, opts Options) (*Gateway, error) {
	g := &Gateway{}
	around := opts.AroundLimiter
	opts.AroundLimiter = func(next http.RoundTripper) http.RoundTripper { return through(around, named{next}) }
	opts.Memory = gatewayMemory
	if err := g.open(cfg, opts); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// RoundTrip answers a request. For its errors see cache.Transport, ratelimit.Transport, tmdb.UnauthorizedError and
// BadQuestionError.
func (g *Gateway) RoundTrip(req *http.Request) (*http.Response, error) {
	return g.upstream.RoundTrip(req)
}

// Stored returns the answer that the cache has for a question and its key, fresh or expired, nil if there is none. It
// asks nobody.
func (g *Gateway) Stored(ctx context.Context, u *url.URL, key string) (*cache.Entry, cache.Info) {
	return g.upstream.Stored(ctx, u, key)
}

// Limiter returns the limiter that all requests pass.
func (g *Gateway) Limiter() *ratelimit.Limiter { return g.limiter }

// Rate is how many requests a second the limiter let through when it was last asked.
func (g *Gateway) Rate() float64 {
	g.seen.mu.Lock()
	defer g.seen.mu.Unlock()
	if !g.seen.heard {
		return g.limiter.Tuning().RateBase
	}
	return g.seen.gauges.Rate
}

// Reconfigure takes another tuning and other keys, for requests from now on.
func (g *Gateway) Reconfigure(cfg *config.Config) error {
	if err := g.limiter.Retune(cfg.Tuning); err != nil {
		return err
	}
	g.inForce.Store(cfg)
	g.upstream.ring.replace(cfg.Pool())
	return g.limiter.SetAccounts(cfg.LimiterAccounts())
}

// named makes a request this program's own.
type named struct{ next http.RoundTripper }

func (n named) RoundTrip(req *http.Request) (*http.Response, error) {
	out := req.Clone(req.Context())
	out.Header.Set("Accept", "application/json")
	out.Header.Set("User-Agent", version.UserAgent())
	return n.next.RoundTrip(out)
}

// Store returns the state that the limiter shares.
func (g *Gateway) Store() ratelimit.Store { return g.store }

// warnOnce suppresses repeated warnings: one cause, such as a lock that can't be opened, often surfaces through many
// callers.
type warnOnce struct {
	mu   sync.Mutex
	said map[string]bool
}

// first reports whether a warning's cause is new: the failing of a file, where there is one, else the text.
func (w *warnOnce) first(err error) bool {
	cause := err.Error()
	if file, ok := errors.AsType[*fs.PathError](err); ok {
		cause = file.Error()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.said == nil {
		w.said = map[string]bool{}
	}
	again := w.said[cause]
	w.said[cause] = true
	return !again
}
