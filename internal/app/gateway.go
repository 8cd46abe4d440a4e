package app

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/version"
	"github.com/anivault/anivault/ratelimit"
)

// Gateway is the chain for questions of other programs. It is an http.RoundTripper for requests without a key: the
// configured one is put on below the cache, one of several accounts below the limiter.
type Gateway struct {
	chain
	key *keyed
}

// gatewayMemory bounds the answers that a gateway keeps in memory: some thousands.
const gatewayMemory = 32 << 20

// OpenGateway opens everything that a gateway needs. It sends nothing. The caller must close the Gateway.
func OpenGateway(cfg *config.Config, opts Options) (*Gateway, error) {
	g := &Gateway{key: &keyed{}}
	g.key.tmdb.Store(&cfg.TMDB)
	door := opts.Door
	opts.Door = func(next http.RoundTripper) http.RoundTripper {
		g.key.next = next
		return through(door, g.key)
	}
	opts.Memory = gatewayMemory
	if err := g.open(cfg, opts); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// RoundTrip answers a request. For its errors see cache.Transport, ratelimit.Transport, tmdb.KeyGuard and BadQuestionError.
func (g *Gateway) RoundTrip(req *http.Request) (*http.Response, error) {
	return g.upstream.RoundTrip(req)
}

// Stored returns the answer that the cache has for a question and its key, fresh or expired, nil if there is none. It asks
// nobody.
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

// Reconfigure takes another tuning and another key, for requests from now on.
func (g *Gateway) Reconfigure(cfg *config.Config) error {
	if err := g.limiter.Retune(cfg.Tuning); err != nil {
		return err
	}
	g.key.tmdb.Store(&cfg.TMDB)
	if g.upstream.ring != nil {
		g.upstream.ring.replace(cfg.Accounts)
		return g.limiter.SetAccounts(cfg.LimiterAccounts())
	}
	return nil
}

// keyed puts the configured key, where there is only one, on requests that have none.
type keyed struct {
	next http.RoundTripper
	tmdb atomic.Pointer[config.TMDB]
}

func (k *keyed) RoundTrip(req *http.Request) (*http.Response, error) {
	t := k.tmdb.Load()
	out := req.Clone(req.Context())
	out.Header.Set("Accept", "application/json")
	out.Header.Set("User-Agent", version.UserAgent())
	if t.HasKey() { // else it is put on below the limiter
		out = signed(out, config.Key{Token: t.Token, APIKey: t.APIKey})
	}
	resp, err := k.next.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	resp.Request = req // without the key
	return resp, hide(resp, cmp.Or(t.Token.Reveal(), t.APIKey.Reveal()))
}

// hide takes the key out of an answer that repeats it, as some servers do in their errors.
func hide(resp *http.Response, key string) error {
	body, err := io.ReadAll(resp.Body) // from memory
	if err != nil {
		return err
	}
	if key != "" && bytes.Contains(body, []byte(key)) {
		body = bytes.ReplaceAll(body, []byte(key), []byte("[redacted]"))
		resp.ContentLength = int64(len(body))
		resp.Header.Del("Content-Length")
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}
