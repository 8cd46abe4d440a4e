// Package gateway answers GET /3/... for other programs as TMDB does, through anivault's cache and limiter: one limit,
// one cache and one key for every program that can be pointed at an address.
//
// A [Service] listens and runs one. A request goes through
//
//	request.go    is the request well formed?
//	clients.go    who asks, from where, and too often?
//	routes.go     where does it go?
//	ask.go        stored and fresh? else the question's flight
//	flight.go     one for all clients that ask the same: quota, queue, cache, limiter, TMDB
//	queue.go      whose turn is it?
//	answer.go     the response, or a refusal
//
// serve.go and reload.go run the process: listeners, draining, a new configuration.
package gateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
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

// Options are set by the command, beyond the configuration.
type Options struct {
	Offline bool
	Log     slog.Handler // nil: none
	// Reload reads the configuration anew; nil: it never changes.
	Reload func() (*config.Config, error)
	// Notify is systemd's socket for sd_notify(3); "" for none.
	Notify string

	// wire replaces the network in tests with virtual time; nil: the network.
	wire http.RoundTripper
}

// Gateway is an http.Handler. It is made by New and must be closed.
type Gateway struct {
	up       *app.Gateway
	queue    *queue
	flights  *flights
	sticky   sticky
	settings atomic.Pointer[settings]
	log      *slog.Logger
	via      string // "1.1 anivault-<8 hex>", new at each start
	draining atomic.Bool
	conns    *conns // of the gateway's addresses
	admins   *conns

	seldom     logging.Seldom
	fullWarned atomic.Int64 // when an account was last said to be full, in nanoseconds of Unix
}

// New opens cache, limiter and upstream. It does not listen.
func New(cfg *config.Config, o Options) (*Gateway, error) {
	var id [4]byte
	_, _ = rand.Read(id[:]) // it never fails
	g := &Gateway{via: "1.1 anivault-" + hex.EncodeToString(id[:])}
	g.conns, g.admins = newConns(g, "gateway"), newConns(g, "admin")
	g.queue = &queue{
		slots: func() int { return g.up.Limiter().Tuning().Concurrency },
		contended: func() bool { // a client that keeps one account may wait for its slots while others go on
			return g.settings.Load().Sticky.Enabled || g.up.Limiter().Contended()
		},
	}
	g.flights = &flights{g: g, byKey: map[string]*flight{}, perClient: map[string]int{}}
	if o.Log == nil {
		o.Log = slog.DiscardHandler
	}
	g.log = slog.New(o.Log).With(slog.String("comp", "gateway"))
	g.settings.Store(newSettings(cfg, nil))
	var err error
	g.up, err = app.OpenGateway(cfg, app.Options{
		Offline: o.Offline, Log: o.Log, Queue: g.queue, OnCacheWait: g.queue.waitsElsewhere,
		AroundLimiter: g.observeLimiter,
		AroundWire: func(network http.RoundTripper) http.RoundTripper {
			if o.wire != nil {
				network = o.wire
			}
			return g.observeUpstream(network)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("open the gateway: %w", err)
	}
	g.up.Metrics().ForGateway(g.setGauges)
	return g, nil
}

// Close cancels running requests and frees everything.
func (g *Gateway) Close() error {
	g.flights.close(true)
	g.flights.running.Wait()
	return g.up.Close()
}

func (g *Gateway) state(ctx context.Context) string {
	st, err := g.up.Limiter().Status(ctx)
	switch {
	case err != nil:
		return "limiter"
	case st.State == ratelimit.Sleep || st.State == ratelimit.HalfOpen:
		return "sleep"
	case st.State == ratelimit.CacheOnly:
		return "cacheonly"
	case st.PauseUntil.After(time.Now()):
		return "pause"
	}
	return "wait"
}

// ServeHTTP implements http.Handler.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{g: g, w: w, r: r, began: time.Now(), asker: asker{settings: g.settings.Load(), id: requestID(r)}}
	defer x.finish()
	w.Header().Set("X-Request-Id", x.id)
	if err := x.serve(); err != nil && !x.gone {
		x.fail(err)
	}
}

type exchange struct {
	asker
	g      *Gateway
	w      http.ResponseWriter
	r      *http.Request
	began  time.Time
	target target

	status, bytes int
	cache         string  // fresh, stale, revalidated, network or none
	refused       *reason // nil: it was answered
	found         found
	gone          bool // the client closed the connection
}

func (x *exchange) serve() error {
	if otherMethod(x.r.Method, target{}) { // of CONNECT not even the target is a path
		return routeOf(x.r.Method, target{}).refusal
	}
	t, refused := readTarget(x.r)
	if refused != nil {
		return refused
	}
	x.target = t
	token := tokenOf(x.r, t)
	if refused := x.settings.checkOrigin(x.r, token != ""); refused != nil {
		return refused
	}
	route := routeOf(x.r.Method, t)
	if !route.open {
		if x.client, refused = x.settings.clientOf(token); refused != nil {
			return refused
		}
		x.client.used.Store(x.began.UnixNano())
	}
	switch {
	case route.refusal != nil:
		return route.refusal
	case x.r.Method == http.MethodOptions:
		x.w.Header().Set("Allow", allowed)
		x.w.WriteHeader(http.StatusNoContent)
		x.status = http.StatusNoContent
		return nil
	case route.to != toTMDB:
		return x.own(route.to)
	}
	if via := viaGateways(x.r.Header.Values("Via")); slices.Contains(via, x.g.via) || len(via) >= mostGateways {
		return refuse(reasonLoop, "")
	}
	now := time.Now()
	refused = x.client.allow(x.client.requests, now)
	if x.client.tellLimit(x.w.Header(), now); refused != nil {
		return refused
	}
	return x.pass()
}

func (x *exchange) pass() error {
	x.readWishes()
	u, key := x.target.question(x.settings.cfg.TMDB.BaseURL)
	var err error
	x.found, err = x.g.get(x.r.Context(), u, key, &x.asker)
	if x.gone = x.r.Context().Err() != nil; err != nil {
		return err
	}
	x.cache = x.found.kind()
	x.status, x.bytes = x.found.write(x.w, x.r, x.found.origin, time.Now())
	return nil
}

const leastPatience = 100 * time.Millisecond

func (x *exchange) readWishes() {
	h := x.r.Header
	if x.class = x.client.class; urgency(h.Values("Priority")) >= lowUrgency {
		x.class = batch
	}
	x.patience = x.settings.InteractivePatience
	if x.class == batch {
		x.patience = x.settings.BatchPatience
	}
	if wait, ok := preferredWait(h.Values("Prefer")); ok {
		x.patience = min(x.patience, max(wait, leastPatience))
	}
	x.session = x.client.Name
	if id := h.Get("X-Anivault-Session"); goodID(id) {
		x.session += " " + id
	}
	x.via = viaGateways(h.Values("Via"))
	x.cached = onlyIfCached(h.Values("Cache-Control"))
}

func (x *exchange) fail(err error) {
	r := refusalOf(err)
	x.refused = r.reason
	x.bytes = r.write(x.w, x.r, x.id, time.Now())
	x.status = r.status
}

// loggedPath is the path without what may be a query whose '?' is missing.
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
		if p == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so
			panic(p)
		}
		x.g.logPanic(x.id, p)
		if x.status == 0 {
			x.fail(&panicError{p})
		}
	}
	x.g.logRequest(x)
	x.g.logRefusal(x)
	x.g.count(x)
}

// The log never has a client's credentials or the values of a query.

func (g *Gateway) logSlot(level slog.Level, event string, f *flight, more ...slog.Attr) {
	waits := event == "slot_wait"
	if !waits && !g.log.Enabled(context.Background(), level) {
		return
	}
	running, limit := g.slots(f)
	switch {
	case waits && running >= limit:
		level = g.fullLevel()
	case event == "slot_released": // the slot is free in a moment
		running = max(running-1, 0)
	}
	attrs := []slog.Attr{slog.String("account", g.accountOf(f))}
	if c := f.through(); c.Account != "" {
		attrs = append(attrs, slog.Int("key", g.settings.Load().cfg.KeyNumber(c.Account, c.Key)))
	}
	attrs = append(attrs, slog.Int("running", running), slog.Int("limit", limit),
		slog.Int("available", max(limit-running, 0)))
	attrs = append(attrs, more...)
	g.log.LogAttrs(context.Background(), level, event, append(attrs, slog.String("request_id", f.by.id))...)
}

// slots returns how many slots of a flight's account are in use, and how many it has; this process's where the account
// has no limit, or is not chosen yet.
func (g *Gateway) slots(f *flight) (running, limit int) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if st, err := g.up.Limiter().Status(ctx); err == nil {
		for _, a := range st.Accounts {
			if a.Name == g.accountOf(f) && a.Slots > 0 {
				return a.Running, a.Slots
			}
		}
	}
	return g.queue.running()
}

func (f *flight) through() (c ratelimit.Choice) {
	if p := f.choice.Load(); p != nil {
		c = *p
	}
	return c
}

func (g *Gateway) accountOf(f *flight) string {
	return cmp.Or(f.through().Account, g.settings.Load().cfg.OnlyAccount())
}

func (g *Gateway) fullLevel() slog.Level {
	now := time.Now().UnixNano()
	if last := g.fullWarned.Load(); now-last >= int64(time.Second) && g.fullWarned.CompareAndSwap(last, now) {
		return slog.LevelWarn
	}
	return slog.LevelDebug
}

const noticeable = 100 * time.Millisecond

func (g *Gateway) logQuota(ctx context.Context, event string, f *flight) {
	if !g.log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	st, err := g.up.Limiter().Status(ctx)
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
		slog.Int("reserved", held), slog.Int("limit", limit), slog.String("request_id", f.by.id))
}

func (g *Gateway) logPanic(id string, value any) {
	g.log.Error("panic", slog.String("error", fmt.Sprint(value)), slog.String("stack", string(debug.Stack())),
		slog.String("request_id", id))
}

// logRefusal warns of requests that a client should not have sent: their line is info, which nobody sees by default.
func (g *Gateway) logRefusal(x *exchange) {
	switch x.refused {
	case reasonUnauthorized, reasonNoAdmin, reasonPrivate, reasonCrossSite, reasonNotFound, reasonClientLimit,
		reasonShuttingDown:
		if count, due := g.seldom.Due(x.clientName()+" "+x.refused.name, time.Now()); due {
			g.log.Warn("refused", slog.String("client", x.clientName()), slog.String("reason", x.refused.name),
				slog.Int("count", count), slog.String("path", x.loggedPath()), slog.String("addr", x.settings.addressOf(x.r)))
		}
	}
}

func (g *Gateway) logRequest(x *exchange) {
	level := slog.LevelDebug
	if x.found.sent || x.status >= 400 || x.gone {
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
	if x.refused != nil {
		attrs = append(attrs, slog.String("reason", x.refused.name))
	}
	attrs = append(attrs, slog.String("account", cmp.Or(x.found.account, "-")),
		slog.Int64("wait_ms", x.found.waited.Milliseconds()),
		slog.Int64("upstream_ms", x.found.upstream.Milliseconds()), slog.Int("bytes", x.bytes),
		slog.String("addr", x.settings.addressOf(x.r)), slog.String("request_id", x.id))
	g.log.LogAttrs(context.Background(), level, "request", attrs...)
}
