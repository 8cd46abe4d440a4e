// Package gateway answers GET /3/... for other programs as TMDB does, through anivault's cache and limiter. Every
// program that can be pointed at its address shares one rate limit, one cache and one TMDB key.
//
// A [Service] listens for requests and runs a [Gateway]. A request passes through these files:
//
//	request.go    is the request well formed?
//	clients.go    who asks, from where, and too often?
//	routes.go     which route answers it?
//	ask.go        is a fresh answer in the cache? If not, join or begin the question's flight.
//	flight.go     one per question, for all its clients: quota, queue, cache, limiter, TMDB
//	queue.go      whose turn is it?
//	answer.go     write the response, or an error
//
// serve.go and reload.go run the process: they open the listeners, drain them at the end, and load a changed
// configuration.
package gateway

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/logging"
	"github.com/anivault/anivault/ratelimit"
)

// Options are what the command sets in addition to the configuration.
type Options struct {
	Offline bool
	Log     slog.Handler // nil: no log
	// Reload reads the configuration again; nil: the configuration never changes.
	Reload func() (*config.Config, error)
	// NotifySocket is systemd's socket for sd_notify(3); "" for none.
	NotifySocket string

	// transport replaces the network in tests that use virtual time; nil: the real network.
	transport http.RoundTripper
}

// Gateway is an http.Handler. New makes one, and its owner must close it.
type Gateway struct {
	upstream   *app.Gateway
	queue      *queue
	flights    *flights
	sessions   stickySessions
	settings   atomic.Pointer[settings]
	log        *slog.Logger
	viaEntry   string // this process's entry in Via: "1.1 anivault-<8 hex digits>", random at each start
	draining   atomic.Bool
	conns      *connCounter // connections to the addresses that serve requests
	adminConns *connCounter

	warnThrottle logging.LineLimiter
}

// New opens the cache, the limiter and the path to TMDB. It does not listen.
func New(cfg *config.Config, o Options) (*Gateway, error) {
	g := &Gateway{viaEntry: fmt.Sprintf("1.1 anivault-%08x", rand.Uint32())}
	g.conns = &connCounter{g: g, listener: "gateway", perPeer: map[string]int{}}
	g.adminConns = &connCounter{g: g, listener: "admin", perPeer: map[string]int{}}
	g.queue = &queue{
		slots: func() int { return g.upstream.Limiter().Tuning().Concurrency },
		contended: func() bool { // with sticky sessions, a request may wait for its account's slots while others go on
			return g.settings.Load().Sticky.Enabled || g.upstream.Limiter().Contended()
		},
	}
	g.flights = &flights{g: g, byKey: map[string]*flight{}, waitingPerClient: map[string]int{}}
	o.Log = cmp.Or(o.Log, slog.DiscardHandler)
	g.log = slog.New(o.Log).With(slog.String("comp", "gateway"))
	g.settings.Store(newSettings(cfg, nil))
	var err error
	g.upstream, err = app.OpenGateway(cfg, app.Options{
		Offline: o.Offline, Log: o.Log, Queue: g.queue, OnCacheWait: g.queue.yieldLimiter,
		WrapLimiter: g.observeLimiter,
		WrapWire: func(network http.RoundTripper) http.RoundTripper {
			if o.transport != nil {
				network = o.transport
			}
			return g.observeUpstream(network)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("open the gateway: %w", err)
	}
	g.upstream.Metrics().EnableGateway(g.setGauges)
	return g, nil
}

// Close cancels running requests and frees all resources.
func (g *Gateway) Close() error {
	g.flights.close(true)
	g.flights.running.Wait()
	return g.upstream.Close()
}

func (g *Gateway) waitReason() string {
	if err := g.checkBlocked(context.Background(), 1); err != nil {
		return refusalOf(err).name
	}
	return "wait"
}

// ServeHTTP implements http.Handler.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{
		g: g, w: w, r: r, began: time.Now(), requester: requester{settings: g.settings.Load(), requestID: requestID(r)},
	}
	defer x.finish()
	w.Header().Set("X-Request-Id", x.requestID)
	if err := x.serve(); err != nil && !x.clientGone {
		x.fail(err)
	}
}

type exchange struct {
	requester
	g      *Gateway
	w      http.ResponseWriter
	r      *http.Request
	began  time.Time
	target target

	status, bytes int
	cache         string  // where the answer came from: fresh, stale, revalidated, network or none
	refusalReason *reason // nil: the request was not refused
	result        result
	clientGone    bool // the client closed the connection
}

func (x *exchange) serve() error {
	if isUnsupportedMethod(x.r.Method, target{}) { // the target of CONNECT is not even a path
		return routeOf(x.r.Method, target{}).refusal
	}
	x.dropEmptyBody()
	t, refused := readTarget(x.r)
	if refused != nil {
		return refused
	}
	x.target = t
	token := tokenOf(x.r, t)
	route := routeOf(x.r.Method, t)
	// Where no token is needed, one that is not known proves nothing.
	proven := token != "" && (!route.public || x.settings.clientsByHash[config.TokenHash(token)] != nil)
	if refused := x.settings.checkOrigin(x.r, proven); refused != nil {
		return refused
	}
	if !route.public {
		if x.client, refused = x.settings.clientOf(token); refused != nil {
			return refused
		}
		x.client.lastUsed.Store(x.began.UnixNano())
	}
	switch {
	case route.refusal != nil:
		return route.refusal
	case x.r.Method == http.MethodOptions:
		x.w.Header().Set("Allow", allowedMethods)
		x.w.WriteHeader(http.StatusNoContent)
		x.status = http.StatusNoContent
		return nil
	case route.serve != nil:
		return route.serve(x)
	}
	if via := viaGateways(x.r.Header.Values("Via")); slices.Contains(via, x.g.viaEntry) || len(via) >= maxGateways {
		return refuse(reasonLoop, "")
	}
	now := time.Now()
	refused = x.client.allow(x.client.requests, now)
	if x.client.setLimitHeaders(x.w.Header(), now); refused != nil {
		return refused
	}
	return x.serveTMDB()
}

// dropEmptyBody removes a body that is announced over HTTP/2 and is empty. Some HTTP clients send one.
func (x *exchange) dropEmptyBody() {
	if x.r.ProtoMajor == 2 && x.r.ContentLength < 0 {
		_ = http.NewResponseController(x.w).SetReadDeadline(time.Now().Add(bodyTimeout))
		if n, err := x.r.Body.Read(make([]byte, 1)); n == 0 && err == io.EOF {
			x.r.ContentLength = 0
		}
	}
}

func (x *exchange) serveTMDB() error {
	x.readPreferences()
	u, key := x.target.urlAndKey(x.settings.cfg.TMDB.BaseURL)
	if len(u.RequestURI()) > maxTargetBytes { // escaping has made it longer
		return refuse(reasonTooLong, "")
	}
	defer func() { x.client.load.unread.Add(-x.held) }()
	var err error
	x.result, err = x.g.get(x.r.Context(), u, key, &x.requester)
	if x.clientGone = x.r.Context().Err() != nil; err != nil {
		return err
	}
	if x.cache = "none"; x.result.hasCacheInfo {
		x.cache = x.result.cacheInfo.Source.String()
	}
	x.status, x.bytes = x.result.write(x.w, x.r, x.result.provenance, time.Now())
	return nil
}

const minPatience = 100 * time.Millisecond

func (x *exchange) readPreferences() {
	h := x.r.Header
	if x.class = x.client.class; urgency(h.Values("Priority")) >= batchUrgency {
		x.class = batch
	}
	x.patience = x.settings.InteractiveMaxWait
	if x.class == batch {
		x.patience = x.settings.BatchMaxWait
	}
	if wait, ok := preferredWait(h.Values("Prefer")); ok {
		x.patience = min(x.patience, max(wait, minPatience))
	}
	x.session = x.client.Name
	if id := h.Get("X-Anivault-Session"); isSafeID(id) {
		x.session += " " + id
	}
	x.via = viaGateways(h.Values("Via"))
	x.onlyIfCached = onlyIfCached(h.Values("Cache-Control"))
}

func (x *exchange) fail(err error) {
	r := refusalOf(err)
	x.bytes = r.write(x.w, x.r, x.requestID, time.Now())
	x.refusalReason, x.status = r.reason, r.status
}

// loggedPath is the path up to the first "=". If a client forgot the "?", the rest may be a query with a key in it.
func (x *exchange) loggedPath() string {
	path, _, _ := strings.Cut(x.r.URL.Path, "=")
	return path
}

func (x *exchange) clientName() string {
	if x.client == nil {
		return "-"
	}
	return x.client.Name
}

func (x *exchange) finish() {
	if p := recover(); p != nil {
		if p == http.ErrAbortHandler { //nolint:errorlint // net/http compares it with == too
			panic(p)
		}
		x.g.logPanic(x.requestID, p)
		if x.status == 0 {
			x.fail(&panicError{p})
		}
	}
	x.g.logRequest(x)
	x.g.logRefusal(x)
	x.g.countRequest(x)
	if x.clientGone && x.status == 0 { // it may still read, and net/http would answer 200 without a body
		panic(http.ErrAbortHandler)
	}
}

// The log never contains a client's credentials or the values of a query.

func (g *Gateway) logSlot(level slog.Level, event string, f *flight, more ...slog.Attr) {
	waits := event == "slot_wait"
	if !waits && !g.log.Enabled(context.Background(), level) {
		return
	}
	running, limit := g.slotUse(f)
	switch {
	case waits && running >= limit:
		level = g.fullWarnLevel()
	case event == "slot_released": // this slot is about to be free
		running = max(running-1, 0)
	}
	attrs := []slog.Attr{slog.String("account", g.accountOf(f))}
	if c := f.lastChoice(); c.Account != "" {
		attrs = append(attrs, slog.Int("key", g.settings.Load().cfg.KeyNumber(c.Account, c.Key)))
	}
	attrs = append(attrs, slog.Int("running", running), slog.Int("limit", limit),
		slog.Int("available", max(limit-running, 0)))
	attrs = append(attrs, more...)
	g.log.LogAttrs(context.Background(), level, event, append(attrs, slog.String("request_id", f.initiator.requestID))...)
}

// slotUse returns how many slots of the flight's account are in use, and how many it has. If the account has no limit,
// or none is chosen yet, it returns the numbers of this process's queue.
func (g *Gateway) slotUse(f *flight) (running, limit int) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if st, err := g.upstream.Limiter().Status(ctx); err == nil {
		for _, a := range st.Accounts {
			if a.Name == g.accountOf(f) && a.Slots > 0 {
				return a.Running, a.Slots
			}
		}
	}
	return g.queue.running()
}

func (f *flight) lastChoice() ratelimit.Choice { return *f.choice.Load() }

func (g *Gateway) accountOf(f *flight) string {
	return cmp.Or(f.lastChoice().Account, g.settings.Load().cfg.OnlyAccount())
}

func (g *Gateway) fullWarnLevel() slog.Level {
	if _, due := g.warnThrottle.Allow("full", time.Now()); due {
		return slog.LevelWarn
	}
	return slog.LevelDebug
}

const noticeableWait = 100 * time.Millisecond

func (g *Gateway) logQuota(ctx context.Context, event string, f *flight) {
	if !g.log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	st, err := g.upstream.Limiter().Status(ctx)
	if err != nil {
		return
	}
	used, held, limit := st.BudgetUsed, st.BudgetHeld, st.Budget.Requests
	for _, a := range st.Accounts {
		if a.Name == g.accountOf(f) && a.Quota.On() {
			used, held, limit = a.QuotaUsed, a.QuotaReserved, a.Quota.Requests
		}
	}
	g.log.Debug(event, slog.String("account", g.accountOf(f)), slog.Int("requests", 1), slog.Int("used", used),
		slog.Int("reserved", held), slog.Int("limit", limit), slog.String("request_id", f.initiator.requestID))
}

func (g *Gateway) logPanic(id string, value any) {
	g.log.Error("panic", slog.String("error", fmt.Sprint(value)), slog.String("stack", string(debug.Stack())),
		slog.String("request_id", id))
}

// logRefusal warns of requests that a client should not have sent, and of those that TMDB refused for the key.
// logRequest logs them too, but at level info, which is off by default.
func (g *Gateway) logRefusal(x *exchange) {
	switch x.refusalReason {
	case reasonUnauthorized, reasonNoAdmin, reasonPrivate, reasonCrossSite, reasonNotFound, reasonClientLimit,
		reasonHost, reasonShuttingDown, reasonCredentials:
		if count, due := g.warnThrottle.Allow(x.clientName()+" "+x.refusalReason.name, time.Now()); due {
			g.log.Warn("refused", slog.String("client", x.clientName()), slog.String("reason", x.refusalReason.name),
				slog.Int("count", count), slog.String("path", x.loggedPath()), slog.String("host", x.r.Host),
				slog.String("addr", x.settings.clientAddress(x.r)))
		}
	}
}

func (g *Gateway) logRequest(x *exchange) {
	level := slog.LevelDebug
	if x.result.sentUpstream || x.status >= 400 || x.clientGone {
		level = slog.LevelInfo
	}
	if !g.log.Enabled(context.Background(), level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("client", x.clientName()), slog.String("method", x.r.Method), slog.String("path", x.loggedPath()),
		slog.Int("status", x.status),
	}
	if x.cache != "" {
		attrs = append(attrs, slog.String("cache", x.cache))
	}
	if x.refusalReason != nil {
		attrs = append(attrs, slog.String("reason", x.refusalReason.name))
	}
	attrs = append(attrs, slog.String("account", cmp.Or(x.result.account, "-")),
		slog.Int64("wait_ms", x.result.waited.Milliseconds()),
		slog.Int64("upstream_ms", x.result.upstream.Milliseconds()), slog.Int("bytes", x.bytes),
		slog.String("addr", x.settings.clientAddress(x.r)), slog.String("request_id", x.requestID))
	g.log.LogAttrs(context.Background(), level, "request", attrs...)
}
