package gateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/metrics"
	"github.com/anivault/anivault/ratelimit"
)

// settings are replaced as a whole when the configuration is reloaded. A running request keeps those it began with.
type settings struct {
	config.Serve
	cfg           *config.Config
	clientsByHash map[string]*client
	anonymous     *client
	allRevoked    bool // tokens are required, but all tokens were revoked
	isClosed      bool // tokens may be required, but clients.yaml can't be read
}

type client struct {
	config.Client
	class    class
	lastUsed *atomic.Int64 // time of the client's last request, Unix time in nanoseconds; 0: never
	load     *load

	mu                 *sync.Mutex
	requests, upstream *window
}

// load is what a client's answers take. Over HTTP/2 a client can have thousands of requests under way.
type load struct {
	decoding chan struct{} // holds an item for each answer that is being decoded
	unread   atomic.Int64  // bytes of the answers that are being written to it
}

const (
	maxDecoding = 4
	maxUnread   = 64 << 20
)

func newSettings(cfg *config.Config, before *settings) *settings {
	s := &settings{Serve: cfg.Serve, cfg: cfg, clientsByHash: map[string]*client{}}
	known := map[string]*client{}
	if before != nil {
		known[config.Anonymous] = before.anonymous
		for _, c := range before.clientsByHash {
			known[c.Name] = c
		}
	}
	for _, c := range cfg.Serve.Clients {
		s.clientsByHash[c.TokenSHA256] = newClient(c, known[c.Name])
	}
	// Only a restart or serve.anonymous ends the need for a token: a file may be empty by mistake.
	s.allRevoked = len(s.clientsByHash) == 0 && (cfg.NeedsClient() || before != nil && !s.Anonymous &&
		(before.allRevoked || len(before.clientsByHash) > 0 || before.cfg.NeedsClient()))
	anonymous := config.Client{Name: config.Anonymous, Class: interactive.String(), Weight: 1}
	s.anonymous = newClient(anonymous, known[config.Anonymous])
	return s
}

func newClient(c config.Client, before *client) *client {
	out := &client{Client: c, mu: &sync.Mutex{}, lastUsed: &atomic.Int64{}}
	out.load = &load{decoding: make(chan struct{}, maxDecoding)}
	if c.Class == batch.String() {
		out.class = batch
	}
	out.requests = &window{limit: c.Requests.Requests, span: c.Requests.Period}
	out.upstream = &window{limit: c.Upstream.Requests, span: c.Upstream.Period}
	if before != nil {
		out.lastUsed, out.load = before.lastUsed, before.load
	}
	if before != nil && before.Requests == c.Requests && before.Upstream == c.Upstream {
		out.mu, out.requests, out.upstream = before.mu, before.requests, before.upstream
	}
	return out
}

// allow counts a request in one of the client's windows, or refuses it.
func (c *client) allow(w *window, now time.Time) *refusal {
	c.mu.Lock()
	wait, ok := w.allow(now)
	c.mu.Unlock()
	if ok {
		return nil
	}
	return &refusal{reason: reasonClientLimit, text: reasonClientLimit.text, retryIn: wait}
}

func (c *client) refund(w *window) {
	c.mu.Lock()
	w.refund()
	c.mu.Unlock()
}

// setLimitHeaders adds the header fields of draft-ietf-httpapi-ratelimit-headers-10: the client's limit, and how many
// requests it has left.
func (c *client) setLimitHeaders(h http.Header, now time.Time) {
	if w := c.requests; w.limit > 0 {
		c.mu.Lock()
		left, until := w.remaining(now)
		c.mu.Unlock()
		h.Set("RateLimit-Policy", fmt.Sprintf(`"client";q=%d;w=%d`, w.limit, wholeSeconds(w.span)))
		h.Set("RateLimit", fmt.Sprintf(`"client";r=%d;t=%d`, left, wholeSeconds(until)))
	}
}

// window is a sliding-window rate limit. It counts requests in the current span and in the one before; the older count
// fades linearly, as if those requests had been evenly spread.
type window struct {
	limit             int // 0: no limit
	span              time.Duration
	start             time.Time // of the current span
	current, previous int
}

// allow counts a request if the limit permits it. Otherwise it returns how long until the limit permits one.
func (w *window) allow(at time.Time) (wait time.Duration, ok bool) {
	if w.limit > 0 {
		if left, until := w.remaining(at); left == 0 {
			return until, false
		}
		w.current++
	}
	return 0, true
}

// remaining returns how many requests are left, and the time until the next span. If none is left, it returns the time
// until there is one.
func (w *window) remaining(at time.Time) (requests int, until time.Duration) {
	w.advance(at)
	end := w.start.Add(w.span)
	if room := float64(w.limit) - w.estimate(at); room > 0 {
		return int(math.Ceil(room)), end.Sub(at)
	}
	if w.current >= w.limit {
		// Requests of this span alone use up the limit. In the next span they fade as the older count.
		over := float64(w.current-w.limit)/float64(w.current)*float64(w.span) + 1
		return 0, end.Sub(at) + time.Duration(over)
	}
	// The older count must fade until it leaves room for one request.
	faded := float64(w.previous-(w.limit-w.current))/float64(w.previous)*float64(w.span) + 1
	return 0, w.start.Add(time.Duration(faded)).Sub(at)
}

func (w *window) refund() { w.current = max(w.current-1, 0) }

func (w *window) advance(at time.Time) {
	switch gone := at.Sub(w.start); {
	case gone >= 2*w.span || gone < 0:
		w.start, w.current, w.previous = at, 0, 0
	case gone >= w.span:
		w.start, w.current, w.previous = w.start.Add(w.span), 0, w.current
	}
}

func (w *window) estimate(at time.Time) float64 {
	left := 1 - float64(at.Sub(w.start))/float64(w.span)
	return float64(w.current) + float64(w.previous)*left
}

// tokenPrefix is how a client's token begins. The gateway ignores any other bearer token or api_key, because many
// programs always send their own TMDB key.
const tokenPrefix = "anv_"

// NewToken returns a random client token, and its hash for the configuration.
func NewToken() (token, hash string) {
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // never fails
	token = tokenPrefix + base64.RawURLEncoding.EncodeToString(secret[:])
	return token, config.TokenHash(token)
}

func tokenOf(r *http.Request, t target) string {
	scheme, bearer, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	bearer = strings.TrimSpace(bearer)
	if ok && strings.EqualFold(scheme, "Bearer") && strings.HasPrefix(bearer, tokenPrefix) {
		return bearer
	}
	for _, key := range t.query["api_key"] {
		if strings.HasPrefix(key, tokenPrefix) {
			return key
		}
	}
	return ""
}

func (s *settings) clientOf(token string) (*client, *refusal) {
	switch {
	case token != "":
		if c := s.clientsByHash[config.TokenHash(token)]; c != nil {
			return c, nil
		}
		return nil, refuse(reasonUnauthorized, "This client token is not known.")
	case s.allRevoked, s.isClosed, len(s.clientsByHash) > 0 && !s.Anonymous:
		return nil, refuse(reasonUnauthorized,
			"A client token is needed: Authorization: Bearer anv_..., or api_key=anv_...")
	}
	return s.anonymous, nil
}

// checkOrigin refuses requests that a web page in a browser may have caused. Without a token, the Host must be known,
// which stops DNS rebinding; browsers always send one. With or without a token, pages of other origins are refused.
func (s *settings) checkOrigin(r *http.Request, hasToken bool) *refusal {
	_, onUnixSocket := r.Context().Value(http.LocalAddrContextKey).(*net.UnixAddr)
	if !hasToken && !onUnixSocket && !s.isKnownHost(r.Host) {
		return refuse(reasonHost, "")
	}
	switch site := r.Header.Get("Sec-Fetch-Site"); {
	case site == "same-origin" || site == "none":
		return nil
	case site != "":
		return refuse(reasonCrossSite, "")
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return nil
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" ||
		!strings.EqualFold(u.Host, r.Host) && !slices.Contains(s.Hosts, strings.ToLower(u.Hostname())) {
		return refuse(reasonCrossSite, "")
	}
	return nil
}

func (s *settings) isKnownHost(host string) bool {
	name := strings.ToLower(hostOf(host))
	if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return true
	}
	return name == "" || name == "localhost" || slices.Contains(s.Hosts, name)
}

// clientAddress returns the client's address for the log: the peer's, or behind trusted proxies the last forwarded
// address that is not a trusted proxy.
func (s *settings) clientAddress(r *http.Request) string {
	peer := hostOf(r.RemoteAddr)
	if !s.trustsProxy(peer) {
		return peer
	}
	for _, item := range slices.Backward(listItems(r.Header.Values("X-Forwarded-For"))) {
		addr, err := netip.ParseAddr(item)
		if err != nil {
			break
		}
		if peer = addr.Unmap().String(); !s.trustsProxy(peer) {
			break
		}
	}
	return peer
}

func (s *settings) trustsProxy(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil &&
		slices.ContainsFunc(s.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(addr.Unmap()) })
}

func hostOf(addr string) string {
	if host, _, err := net.SplitHostPort(addr); err == nil {
		return host
	}
	return addr
}

const maxSessions = 10_000

type stickySessions struct {
	mu            sync.Mutex
	recent, older map[string]session // by session name; each has at most maxSessions/2, and a full recent becomes older
}

type session struct {
	ratelimit.Preference
	askedAt time.Time
}

func (s *stickySessions) get(name string, ttl time.Duration, now time.Time) (ratelimit.Preference, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := cmp.Or(s.recent[name], s.older[name])
	return kept.Preference, now.Sub(kept.askedAt) < ttl
}

func (s *stickySessions) put(name string, p ratelimit.Preference, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.recent == nil || len(s.recent) >= maxSessions/2 {
		s.older, s.recent = s.recent, map[string]session{}
	}
	s.recent[name] = session{p, now}
}

func (g *Gateway) preferSessionAccount(ctx context.Context, f *flight, s config.Sticky) context.Context {
	p, ok := g.sessions.get(f.initiator.session, s.TTL, time.Now())
	if !s.Enabled || !ok {
		return ctx
	}
	return ratelimit.With(ctx, ratelimit.Request{Prefer: p, PreferFor: s.Wait})
}

func (g *Gateway) recordChoice(f *flight, c ratelimit.Choice) {
	s := g.settings.Load()
	f.choice.Store(&c)
	if s.Sticky.Enabled && f.initiator.session != "" {
		g.sessions.put(f.initiator.session, ratelimit.Preference{Account: c.Account, Key: c.Key}, time.Now())
	}
	g.upstream.Metrics().Add(metrics.AccountChosen, 1, c.Account, c.Why.String())
	for _, full := range c.Full {
		g.log.LogAttrs(context.Background(), g.fullWarnLevel(), "slot_skipped", slog.String("account", full),
			slog.String("request_id", f.initiator.requestID))
	}
}
