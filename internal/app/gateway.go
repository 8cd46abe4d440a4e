package app

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/version"
	"github.com/anivault/anivault/ratelimit"
)

// Gateway is the chain for questions of other programs. It is an http.RoundTripper for requests without a key.
type Gateway struct{ chain }

// gatewayMemory bounds the answers that a gateway keeps in memory: some thousands.
const gatewayMemory = 32 << 20

// OpenGateway opens everything that a gateway needs. It sends nothing. The caller must close the Gateway.
func OpenGateway(cfg *config.Config, opts Options) (*Gateway, error) {
	g := &Gateway{}
	door := opts.Door
	opts.Door = func(next http.RoundTripper) http.RoundTripper { return through(door, named{next}) }
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
