package gateway

import (
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

// settings are replaced as a whole by a reload. A running request keeps those it began with.
type settings struct {
	config.Serve
	cfg       *config.Config
	byHash    map[string]*client
	anonymous *client
	closed    bool // tokens are required, but all were revoked
}

type client struct {
	config.Client
	class class
	used  *atomic.Int64 // when it last asked, in nanoseconds of Unix; 0: never

	mu                 *sync.Mutex
	requests, upstream *window
}

func newSettings(cfg *config.Config, before *settings) *settings {
	s := &settings{Serve: cfg.Serve, cfg: cfg, byHash: map[string]*client{}}
	known := map[string]*client{}
	if before != nil {
		known[config.Anonymous] = before.anonymous
		for _, c := range before.byHash {
			known[c.Name] = c
		}
	}
	for _, c := range cfg.Serve.Clients {
		s.byHash[c.TokenSHA256] = newClient(c, known[c.Name])
	}
	s.closed = len(s.byHash) == 0 && cfg.NeedsClient()
	anonymous := config.Client{Name: config.Anonymous, Class: interactive.String(), Weight: 1}
	s.anonymous = newClient(anonymous, known[config.Anonymous])
	return s
}

func newClient(c config.Client, before *client) *client {
	out := &client{Client: c, mu: &sync.Mutex{}, used: &atomic.Int64{}}
	if c.Class == batch.String() {
		out.class = batch
	}
	out.requests = &window{limit: c.Requests.Requests, span: c.Requests.Period}
	out.upstream = &window{limit: c.Upstream.Requests, span: c.Upstream.Period}
	if before != nil {
		out.used = before.used
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
	r := refuse(reasonClientLimit, "")
	r.wait = wait
	return r
}

func (c *client) undo(w *window) {
	c.mu.Lock()
	w.undo()
	c.mu.Unlock()
}

// tellLimit adds the fields of draft-ietf-httpapi-ratelimit-headers-10: the client's window, and what is left of it.
func (c *client) tellLimit(h http.Header, now time.Time) {
	w := c.requests
	if w.limit <= 0 {
		return
	}
	c.mu.Lock()
	left, until := w.left(now)
	c.mu.Unlock()
	h.Set("RateLimit-Policy", fmt.Sprintf(`"client";q=%d;w=%d`, w.limit, wholeSeconds(w.span)))
	h.Set("RateLimit", fmt.Sprintf(`"client";r=%d;t=%d`, left, wholeSeconds(until)))
}

// window counts requests in a sliding span of time by two cells: the present one, and the rest of the one before,
// as if its requests had been spread evenly. Pure.
type window struct {
	limit     int // 0: none
	span      time.Duration
	began     time.Time // start of the current cell
	now, last int
}

// allow counts a request if there is room for it, else it returns how long until there is. What is refused does not
// count.
func (w *window) allow(at time.Time) (wait time.Duration, ok bool) {
	if w.limit <= 0 {
		return 0, true
	}
	if left, until := w.left(at); left == 0 {
		return until, false
	}
	w.now++
	return 0, true
}

// left returns how many requests there is room for, and how long that holds: until the next cell or, where there is
// none, until there is room for one.
func (w *window) left(at time.Time) (requests int, until time.Duration) {
	w.slide(at)
	end := w.began.Add(w.span)
	if room := float64(w.limit) - w.weight(at); room > 0 {
		return int(math.Ceil(room)), end.Sub(at)
	}
	if w.now >= w.limit {
		// In the next cell this one counts in full at first, and falls below the limit with the first moment.
		over := float64(w.now-w.limit)/float64(w.now)*float64(w.span) + 1
		return 0, end.Sub(at) + time.Duration(over)
	}
	// Here the cell before has to fade until its rest is below the room.
	faded := float64(w.last-(w.limit-w.now))/float64(w.last)*float64(w.span) + 1
	return 0, w.began.Add(time.Duration(faded)).Sub(at)
}

func (w *window) undo() { w.now = max(w.now-1, 0) }

func (w *window) slide(at time.Time) {
	switch gone := at.Sub(w.began); {
	case gone >= 2*w.span || gone < 0:
		w.began, w.now, w.last = at, 0, 0
	case gone >= w.span:
		w.began, w.now, w.last = w.began.Add(w.span), 0, w.now
	}
}

func (w *window) weight(at time.Time) float64 {
	left := 1 - float64(at.Sub(w.began))/float64(w.span)
	return float64(w.now) + float64(w.last)*left
}

// tokenPrefix is how a client's token begins. Any other bearer token or api_key is ignored, not refused: many programs
// always send an API key of their own.
const tokenPrefix = "anv_"

// NewToken makes a client's token, and the hash by which it is known.
func NewToken() (token, hash string) {
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // it never fails
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
		if c := s.byHash[config.TokenHash(token)]; c != nil {
			return c, nil
		}
		return nil, refuse(reasonUnauthorized, "This client token is not known.")
	case s.closed, len(s.byHash) > 0 && !s.Anonymous:
		return nil, refuse(reasonUnauthorized,
			"A client token is needed: Authorization: Bearer anv_..., or api_key=anv_...")
	}
	return s.anonymous, nil
}

// checkOrigin refuses what a page in a browser might send. Without a token the Host must be one that no stranger's name
// leads to; with or without, a page of another origin gets no answer.
func (s *settings) checkOrigin(r *http.Request, hasToken bool) *refusal {
	_, onUnixSocket := r.Context().Value(http.LocalAddrContextKey).(*net.UnixAddr)
	if !hasToken && !onUnixSocket && !s.knownHost(r.Host) {
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

func (s *settings) knownHost(host string) bool {
	name := strings.ToLower(host)
	if h, _, err := net.SplitHostPort(name); err == nil {
		name = h
	}
	if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return true
	}
	return name == "localhost" || slices.Contains(s.Hosts, name)
}

// addressOf is the client's address for the log: the peer's, or behind trusted proxies the last one that is none of
// them.
func (s *settings) addressOf(r *http.Request) string {
	peer := hostOf(r.RemoteAddr)
	if !s.trusts(peer) {
		return peer
	}
	list := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, item := range slices.Backward(list) {
		addr, err := netip.ParseAddr(strings.TrimSpace(item))
		if err != nil {
			break
		}
		if peer = addr.Unmap().String(); !s.trusts(peer) {
			break
		}
	}
	return peer
}

func (s *settings) trusts(host string) bool {
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

type sticky struct {
	mu            sync.Mutex
	recent, older map[string]session // by name; at most a half of maxSessions each
}

type session struct {
	ratelimit.Preference
	asked time.Time
}

func (s *sticky) get(name string, ttl time.Duration, now time.Time) (ratelimit.Preference, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept, ok := s.recent[name]
	if !ok {
		kept, ok = s.older[name]
	}
	return kept.Preference, ok && now.Sub(kept.asked) < ttl
}

func (s *sticky) keep(name string, p ratelimit.Preference, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.recent == nil || len(s.recent) >= maxSessions/2 {
		s.older, s.recent = s.recent, map[string]session{}
	}
	s.recent[name] = session{p, now}
}

func (g *Gateway) sticking(ctx context.Context, f *flight, s config.Sticky) context.Context {
	if !s.Enabled || f.by.session == "" {
		return ctx
	}
	if p, ok := g.sticky.get(f.by.session, s.TTL, time.Now()); ok {
		return ratelimit.With(ctx, ratelimit.Request{Prefer: p, PreferFor: s.Wait})
	}
	return ctx
}

func (g *Gateway) chosen(f *flight, c ratelimit.Choice) {
	s := g.settings.Load()
	f.choice.Store(&c)
	if s.Sticky.Enabled && f.by.session != "" {
		g.sticky.keep(f.by.session, ratelimit.Preference{Account: c.Account, Key: c.Key}, time.Now())
	}
	g.up.Metrics().Add(metrics.AccountChosen, 1, c.Account, c.Why.String())
	for _, full := range c.Full {
		g.log.LogAttrs(context.Background(), g.fullLevel(), "slot_skipped", slog.String("account", full),
			slog.String("request_id", f.by.id))
	}
}
