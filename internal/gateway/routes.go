package gateway

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	_ "embed" // the front page
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/app"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/metrics"
	"github.com/anivault/anivault/internal/schema"
	"github.com/anivault/anivault/internal/version"
	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/tmdb"
)

type route struct {
	matches func(method string, t target) bool
	public  bool                  // no token is needed
	refusal *refusal              // the answer, if there is no other
	serve   func(*exchange) error // writes the answer; nil: TMDB's
	doc     schema.Operation      // for /openapi.json; a route without a path is not in it
}

// ownRoute is a route whose answer is the gateway's own.
func ownRoute(public bool, doc schema.Operation, serve func(*exchange) error) route {
	return route{matches: pathIs(doc.Path), public: public, serve: serve, doc: doc}
}

const (
	connectRefusal = "a proxy that is spoken to by CONNECT sees ciphertext only: " +
		"set the program's TMDB address to this gateway instead"
	allowedMethods = "GET, HEAD, OPTIONS"
	textType       = "text/plain; charset=utf-8"
)

var routes []route

func init() { // serveOpenAPI needs the table itself
	routes = []route{
		{
			matches: func(m string, _ target) bool { return m == http.MethodConnect }, public: true,
			refusal: refuse(reasonMethod, connectRefusal),
		},
		{
			matches: isUnsupportedMethod, public: true,
			refusal: refuse(reasonMethod, "nothing is written through the gateway's keys"),
		},
		ownRoute(true, schema.Get("/", "what this is", ""),
			answerOf(textType, frontPage+"\nanivault "+version.Get().Version+"\n")),
		ownRoute(true, schema.Get("/robots.txt", "forbids crawlers everything", ""),
			answerOf(textType, "User-agent: *\nDisallow: /\n")),
		ownRoute(true, schema.Get("/healthz", "200 while the process runs", Health{}), (*exchange).serveHealth),
		ownRoute(true, schema.Get("/readyz", "503 while it shuts down", Health{}), (*exchange).serveHealth),
		ownRoute(true, schema.Get("/openapi.json", "this document", nil), (*exchange).serveOpenAPI),
		ownRoute(false, schema.Get("/metrics", "metrics for Prometheus, for admins", ""), (*exchange).serveMetrics),
		ownRoute(false, schema.Get("/3/authentication", "whether the client's token is known", nil),
			answerOf(jsonType, `{"success":true,"status_code":1,"status_message":"Success."}`)),
		{matches: isPrivate, refusal: refuse(reasonPrivate, "")},
		notFound(pathIs("/3", "/3/"), "ask for a path below /3, such as /3/configuration"),
		{matches: pathBelow("/3/"), doc: schema.Get("/3/{path}", "TMDB's answer; path may have slashes", nil)},
		notFound(func(_ string, t target) bool { // as in /3search/tv
			return strings.HasPrefix(t.path, "/3") && tmdb.IsPath("/"+t.path[2:])
		}, "a slash is missing behind /3: end the base URL with one"),
		notFound(pathBelow("/t/p/"), "images come from image.tmdb.org, not from here"),
		notFound(pathBelow("/4/"), "there is no version 4 here, only /3"),
		notFound(func(_ string, t target) bool { return tmdb.IsPath(t.path) }, "/3 is missing in front of the path"),
		notFound(pathBelow(""), "there is only /3 here; images come from image.tmdb.org"),
	}
}

func routeOf(methodName string, t target) *route {
	for i := range routes {
		if routes[i].matches(methodName, t) {
			return &routes[i]
		}
	}
	panic("the last route fits everything")
}

func notFound(matches func(string, target) bool, why string) route {
	return route{matches: matches, refusal: refuse(reasonNotFound, why)}
}

func isUnsupportedMethod(m string, _ target) bool {
	return m != http.MethodGet && m != http.MethodHead && m != http.MethodOptions
}

func pathIs(paths ...string) func(string, target) bool {
	return func(_ string, t target) bool { return slices.Contains(paths, t.path) }
}

func pathBelow(prefix string) func(string, target) bool {
	return func(_ string, t target) bool { return strings.HasPrefix(t.path, prefix) }
}

func isPrivate(_ string, t target) bool {
	t.path = strings.ToLower(t.path)
	isStates := func(appended string) bool { return path.Base(appended) == "account_states" }
	within := func(prefix string) bool { return strings.HasPrefix(t.path, prefix) }
	return within("/3/account") || within("/3/authentication/") || within("/3/guest_session") ||
		within("/3/") && (strings.Contains(t.path, "/account_states") || t.query.Has("session_id") ||
			t.query.Has("guest_session_id") || slices.ContainsFunc(listItems(t.query["append_to_response"]), isStates))
}

func (x *exchange) serveOpenAPI() error {
	return x.writeOwn(jsonType, openAPI())
}

var openAPI = sync.OnceValue(func() []byte {
	var list []schema.Operation
	for _, r := range routes {
		if r.doc.Path != "" {
			r.doc.Public = r.public
			list = append(list, r.doc)
		}
	}
	body, _ := json.Marshal(schema.OpenAPI("anivault gateway", version.Get().Version, "api_key", errorBody{}, list))
	return body
})

//go:embed front.txt
var frontPage string

func (x *exchange) writeOwn(contentType string, body []byte) error {
	x.w.Header().Set("Content-Type", contentType)
	x.w.Header().Set("Cache-Control", "no-store")
	x.status = cmp.Or(x.status, http.StatusOK)
	x.bytes = writeBody(x.w, x.r, x.status, body)
	return nil
}

func answerOf(contentType, text string) func(*exchange) error {
	return func(x *exchange) error { return x.writeOwn(contentType, []byte(text)) }
}

func (g *Gateway) isolationReason() string {
	return map[bool]string{true: "coordinator_lost", false: "store_alone"}[g.settings.Load().cfg.Coordinator == "redis"]
}

// serveHealth answers /healthz and /readyz. Trouble at TMDB does not make the gateway unready: a load balancer would
// take out every gateway, although they can still answer from their caches.
func (x *exchange) serveHealth() error {
	view := Health{!x.g.draining.Load(), "unknown", []string{}}
	if x.target.path == "/readyz" && !view.Ready {
		x.status = http.StatusServiceUnavailable
	}
	st, err := x.g.upstream.Limiter().Status(x.r.Context())
	if err == nil {
		view.State = st.State.String()
	}
	degrade := func(name string, holds bool) {
		if holds {
			view.Degraded = append(view.Degraded, name)
		}
	}
	degrade(x.g.isolationReason(), err != nil || st.Alone)
	degrade("sleep", st.State == ratelimit.Sleep || st.State != ratelimit.CacheOnly && st.PauseUntil.After(time.Now()))
	degrade("cacheonly", st.State == ratelimit.CacheOnly)
	degrade("no_account", err == nil && app.AllUnusable(x.g.settings.Load().cfg, st))
	degrade("offline", st.Offline)
	degrade("cache_unwritable", x.g.upstream.CacheUnwritable())
	body, _ := json.Marshal(view) // it has only plain values
	return x.writeOwn(jsonType, body)
}

// Health is the body of /readyz and /healthz.
type Health struct {
	Ready    bool     `json:"ready"` // false while the process is shutting down
	State    string   `json:"state"` // the limiter's state
	Degraded []string `json:"degraded"`
}

// RunningGateway is a gateway that answered at one of the configured addresses.
type RunningGateway struct {
	Health
	Addr string // as configured
}

// OtherProgramError means that another program listens at a gateway's address.
type OtherProgramError struct{ Addr string }

func (e *OtherProgramError) Error() string {
	return e.Addr + " is taken by something that is no gateway"
}

// FindRunning asks each configured address for /readyz. It returns the first gateway that answers, or nil if nothing
// does. If another program answers first, it returns an *OtherProgramError.
func FindRunning(ctx context.Context, cfg *config.Config) (*RunningGateway, error) {
	for _, addr := range cfg.Serve.Listen {
		scheme, transport := "http", &http.Transport{DisableKeepAlives: true}
		network, to := "tcp", dialAddress(addr)
		if path, ok := strings.CutPrefix(addr, "unix:"); ok {
			network, to = "unix", path
		} else if cfg.Serve.TLSCert != "" {
			scheme = "https"
			// The address belongs to this machine, but the certificate is for another name. No secret is sent.
			transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // see above
		}
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, to)
		}
		if found, err := askReady(ctx, transport, scheme, addr); err == nil || errors.As(err, new(*OtherProgramError)) {
			return found, err
		}
	}
	return nil, nil
}

func askReady(ctx context.Context, transport http.RoundTripper, scheme, addr string) (*RunningGateway, error) {
	req := &http.Request{URL: &url.URL{Scheme: scheme, Host: "localhost", Path: "/readyz"}, Header: http.Header{}}
	resp, err := transport.RoundTrip(req.WithContext(ctx))
	if err != nil {
		return nil, fmt.Errorf("ask for /readyz: %w", err)
	}
	defer resp.Body.Close()
	found := &RunningGateway{Addr: addr}
	if json.NewDecoder(io.LimitReader(resp.Body, maxTargetBytes)).Decode(&found.Health) != nil || found.State == "" {
		return nil, &OtherProgramError{addr}
	}
	return found, nil
}

// dialAddress returns an address at which a listener can be reached: localhost for one that listens on all interfaces.
func dialAddress(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}

func (g *Gateway) countRequest(x *exchange) {
	m, cached := g.upstream.Metrics(), cmp.Or(x.cache, "-")
	m.Add(metrics.GatewayRequests, 1, x.clientName(), strconv.Itoa(x.status), cached)
	m.Observe(metrics.GatewayDuration, time.Since(x.began), cached)
	if x.cache == cache.Fresh.String() || x.cache == cache.Stale.String() {
		m.Add(metrics.CacheHits, 1)
	} else if x.cache != "" {
		m.Add(metrics.CacheMisses, 1)
	}
	if x.refusalReason != nil {
		m.Add(metrics.GatewayRefused, 1, x.clientName(), x.refusalReason.name)
	}
	switch x.refusalReason {
	case reasonAcquireTimeout:
		m.Add(metrics.GatewayTimeouts, 1, "acquire")
	case reasonRequestTimeout:
		m.Add(metrics.GatewayTimeouts, 1, "request")
	}
}

// setGauges sets the metrics that are read at the moment of a scrape, also per configured account. The budget applies
// to all accounts together; with a single account it is shown as its quota.
func (g *Gateway) setGauges(set metrics.Setter) {
	for c, n := range g.queue.waitingByClass() {
		set(metrics.GatewayQueue, float64(n), class(c).String())
	}
	for _, c := range []*connCounter{g.conns, g.adminConns} {
		set(metrics.GatewayConnections, c.open(), c.listener)
	}
	setProcessGauges(set)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	st, err := g.upstream.Limiter().Status(ctx)
	if err == nil {
		for s := ratelimit.Throttle; s <= ratelimit.CacheOnly; s++ {
			set(metrics.LimiterState, map[bool]float64{true: 1}[s == st.State], s.String())
		}
		set(metrics.LearnedRate, st.Learned.Rate)
	}
	set(metrics.CoordinatorUp, map[bool]float64{true: 1}[err == nil && !st.Alone])
	accounts := app.ViewAccounts(g.settings.Load().cfg, st)
	for _, a := range accounts {
		set(metrics.AccountRunning, float64(a.Running), a.Name)
		set(metrics.AccountLimit, float64(cmp.Or(a.Limit, st.Slots)), a.Name)
		set(metrics.AccountRate, a.Rate, a.Name)
		for _, k := range a.Keys {
			set(metrics.KeyRunning, float64(k.Running), a.Name, strconv.Itoa(k.Number))
		}
		quota := a.Quota
		if quota == nil && len(accounts) == 1 {
			quota = app.ViewQuota(st.Budget, st.BudgetUsed, st.BudgetHeld, st.BudgetRenews)
		}
		if quota != nil {
			set(metrics.QuotaUsed, float64(quota.Used), a.Name)
			set(metrics.QuotaReserved, float64(quota.Reserved), a.Name)
			set(metrics.QuotaLimit, float64(quota.Limit), a.Name)
		}
	}
}

var processStart = time.Now()

// setProcessGauges sets the metrics of this process: memory, open files, start time.
func setProcessGauges(set metrics.Setter) {
	v := version.Get()
	set(metrics.BuildInfo, 1, v.Version, v.Commit, v.Go)
	set(metrics.Started, float64(processStart.Unix()))
	if files, err := os.ReadDir("/proc/self/fd"); err == nil {
		set(metrics.OpenFDs, float64(len(files)))
	}
	var pages, resident, most float64
	raw, _ := os.ReadFile("/proc/self/statm")
	if n, _ := fmt.Sscan(string(raw), &pages, &resident); n == 2 {
		set(metrics.Memory, resident*float64(os.Getpagesize()))
	}
	raw, _ = os.ReadFile("/proc/self/limits")
	_, limit, _ := strings.Cut(string(raw), "Max open files")
	if n, _ := fmt.Sscan(limit, &most); n == 1 {
		set(metrics.MaxFDs, most)
	}
}

// ClientUse returns how many questions of a client are waiting now, and when its last request came; zero: never.
func (s *Service) ClientUse(name string) (waiting int, last time.Time) {
	s.g.flights.mu.Lock()
	waiting = s.g.flights.waitingPerClient[name]
	s.g.flights.mu.Unlock()
	now := s.g.settings.Load()
	for _, c := range append(slices.Collect(maps.Values(now.clientsByHash)), now.anonymous) {
		if at := c.lastUsed.Load(); c.Name == name && at != 0 {
			last = time.Unix(0, at)
		}
	}
	return waiting, last
}

func (x *exchange) serveMetrics() error {
	if !x.client.Admin && x.client != x.settings.anonymous {
		return refuse(reasonNoAdmin, "")
	}
	var b bytes.Buffer
	if err := metrics.Prometheus(&b, x.g.upstream.Metrics().Snapshot()); err != nil {
		return err
	}
	return x.writeOwn("text/plain; version=0.0.4; charset=utf-8", b.Bytes())
}
