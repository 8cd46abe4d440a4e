package app

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/metrics"
	"github.com/anivault/anivault/internal/version"
	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/redisstore"
	"github.com/anivault/anivault/tmdb"
)

// StateDir is the folder of the limiter's state for the configured upstream. TMDB's own lies in the state
// folder itself; a stand-in's or a proxy's in a folder below it that is named after its address, so that its
// trouble never puts the real API to sleep.
func StateDir(cfg *config.Config) string {
	u := cfg.TMDB.BaseURL
	if u.Scheme == "https" && u.Host == "api.themoviedb.org" {
		return cfg.Dirs.State
	}
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return '_'
	}, strings.ToLower(u.Scheme+"_"+u.Host))
	return filepath.Join(cfg.Dirs.State, name)
}

// OpenState opens what the limiter shares: a file for all processes of the user, a coordinator for several machines, or
// this process's memory. patience is how long it waits for the file before it goes on alone; 0: as a run does. The
// caller calls done in the end.
func OpenState(
	cfg *config.Config, patience time.Duration, warn func(error),
) (store ratelimit.Store, done func() error, err error) {
	switch cfg.Coordinator {
	case "memory":
		return ratelimit.NewMemoryStore(), func() error { return nil }, nil
	case "redis":
		return openCoordinator(cfg, warn)
	}
	file, err := ratelimit.OpenFileStore(StateDir(cfg), ratelimit.FileOptions{
		Processes: cfg.Tuning.Processes, Patience: patience, OnWarning: func(err error) { warn(withRemedy(err)) },
	})
	if err != nil {
		return nil, nil, err
	}
	return file, file.Close, nil
}

func withRemedy(err error) error {
	w, ok := errors.AsType[*ratelimit.StoreWarning](err)
	switch {
	case ok && w.Event == "state_newer":
		return lang.Error("%w; update anivault", err)
	case ok && w.Event == "state_shared":
		return lang.Error("%w; give each machine an ANIVAULT_STATE_DIR of its own, and for one limit on all of them "+
			"ANIVAULT_COORDINATOR=redis://... (docs/several-machines.md)", err)
	}
	return err
}

// OpenCache opens the cache that processes share. memory bounds the answers that are kept in memory, in bytes.
func OpenCache(cfg *config.Config, memory int64, warn func(error)) (*cache.Store, error) {
	return cache.Open(cfg.Dirs.Cache, cache.Options{
		Class: tmdb.ClassOf, MaxSize: cfg.Cache.MaxSize, Memory: memory, OnWarning: func(w cache.Warning) { warn(w) },
	})
}

// ReadCacheStats reads the cache's statistics without opening it for writing.
func ReadCacheStats(ctx context.Context, cfg *config.Config) (cache.Stats, error) {
	store, err := OpenCache(cfg, 0, func(error) {})
	if err != nil {
		return cache.Stats{}, err
	}
	s, err := store.Stats(ctx)
	return s, errors.Join(err, store.Close())
}

func coordinatorOptions(cfg *config.Config) redisstore.Options {
	u := cfg.TMDB.BaseURL
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	return redisstore.Options{
		Address: cfg.Redis.Address, Password: cfg.Redis.Password.Reveal(), CA: cfg.Redis.CA, Prefix: cfg.Redis.Prefix,
		Upstream: strings.ToLower(u.Scheme + "://" + u.Hostname() + ":" + port), Dir: machineDir(cfg),
	}
}

func machineDir(cfg *config.Config) string { return filepath.Join(StateDir(cfg), "coordinator") }

// openCoordinator opens the state that several machines share. A coordinator that can't be reached now is a warning,
// one that never will do with these settings is a [*config.Error].
func openCoordinator(cfg *config.Config, warn func(error)) (_ ratelimit.Store, done func() error, err error) {
	o := coordinatorOptions(cfg)
	if _, err := redisstore.Check(context.Background(), o); err != nil {
		if f, ok := errors.AsType[*redisstore.Fault](err); !ok || f.Lasting() {
			return nil, nil, coordinatorError(cfg, err)
		}
	}
	if o.Address.Exposed() {
		warn(lang.Error("traffic to the coordinator at %s can be read on the network: use TLS (rediss://)",
			o.Address.Place()))
	}
	told := func(err error) { warn(withRemedy(err)) }
	machine, err := ratelimit.OpenFileStore(machineDir(cfg), ratelimit.FileOptions{
		Processes: cfg.Tuning.Processes, OnWarning: told,
	})
	if err != nil {
		return nil, nil, err
	}
	backend, err := redisstore.Open(o)
	if err != nil {
		return nil, nil, errors.Join(coordinatorError(cfg, err), machine.Close())
	}
	store := redisstore.NewStore(backend, redisstore.StoreOptions{
		Place: o.Address.Place(), Fallback: machine, Processes: cfg.Tuning.Processes, OnWarning: told,
	})
	return store, store.Close, nil
}

func coordinatorError(cfg *config.Config, err error) error {
	f, ok := errors.AsType[*redisstore.Fault](err)
	if !ok {
		return cfg.Refuse("coordinator", lang.TextOf(err))
	}
	key, fix := "coordinator", CoordinatorFix(cfg, f)
	switch {
	case f.Kind == redisstore.Password && cfg.Redis.PasswordFile != "":
		key = "coordinator_password_file"
	case f.Kind == redisstore.Certificate && cfg.Redis.CAFile != "":
		key = "coordinator_ca_file"
	}
	return cfg.Refuse(key, lang.Textf("%s; %s", f, fix))
}

// CoordinatorFix returns a hint that mends a fault.
func CoordinatorFix(cfg *config.Config, f *redisstore.Fault) lang.Text {
	switch f.Kind {
	case redisstore.Password:
		return "write the password into the file that ANIVAULT_COORDINATOR_PASSWORD_FILE names, " +
			"and the user into ANIVAULT_COORDINATOR: redis://user@host:port"
	case redisstore.Certificate:
		return "name the server as its certificate does in ANIVAULT_COORDINATOR, " +
			"its authority's PEM file in ANIVAULT_COORDINATOR_CA_FILE, and a port that speaks TLS"
	case redisstore.Rights:
		return lang.Textf("as its administrator run: %s", CoordinatorRule(cfg))
	case redisstore.Database:
		return "write a number that it has, or none, in ANIVAULT_COORDINATOR: redis://host:port/0"
	case redisstore.TooOld:
		return "update it, or name another one in ANIVAULT_COORDINATOR"
	case redisstore.Refusing:
		return "look at its log; until then each machine uses a part of the limits"
	case redisstore.Unreachable:
	}
	return "check ANIVAULT_COORDINATOR, the network and the server; until then each machine uses a part of the limits"
}

// CoordinatorRule is a sufficient ACL rule for the coordinator's user.
func CoordinatorRule(cfg *config.Config) string {
	return coordinatorOptions(cfg).Rule(cfg.Redis.Address.User())
}

// CheckCoordinator tests the configured coordinator.
func CheckCoordinator(ctx context.Context, cfg *config.Config) (redisstore.Findings, error) {
	return redisstore.Check(ctx, coordinatorOptions(cfg))
}

// chain connects a question with TMDB, for a run of match and for the gateway: stores, limiter, upstream, observer.
type chain struct {
	opts     Options
	inForce  atomic.Pointer[config.Config] // a gateway may replace it
	store    ratelimit.Store
	limiter  *ratelimit.Limiter
	cache    *cache.Store
	upstream *Upstream
	seen     *observer
	closers  []func() error // in the order in which they were opened
	warned   warnOnce
}

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
		Store: store, Tuning: cfg.Tuning, Offline: opts.Offline, Queue: opts.Queue, Accounts: cfg.LimiterAccounts(),
		Hooks: ratelimit.Hooks{
			OnTransition: c.seen.onTransition, OnAnswer: c.seen.onAnswer, OnWait: c.seen.onWait, OnWarning: c.seen.warn,
			OnTuned: c.seen.onTuned, OnOrphans: c.seen.onOrphans,
		},
	})
	if err != nil {
		return err
	}
	c.closers = append(c.closers, c.limiter.Close)
	if c.cache, err = OpenCache(cfg, opts.Memory, c.warn); err != nil {
		return err
	}
	c.closers = append(c.closers, c.cache.Close)
	opts.wrote = c.seen.wrote
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

// Close writes pending values and frees everything.
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

const gatewayMemory = 32 << 20

// OpenGateway opens everything that a gateway needs. It sends nothing. The caller must close the Gateway.
func OpenGateway(cfg *config.Config, opts Options) (*Gateway, error) {
	g := &Gateway{}
	around := opts.AroundLimiter
	opts.AroundLimiter = func(next http.RoundTripper) http.RoundTripper { return through(around, ownAgent{next}) }
	opts.Memory = gatewayMemory
	if err := g.open(cfg, opts); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	g.seen.serves = true
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

// CacheUnwritable reports whether the newest answer could not be written to the disk.
func (g *Gateway) CacheUnwritable() bool { return g.seen.unwritable.Load() }

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

type ownAgent struct{ next http.RoundTripper }

func (n ownAgent) RoundTrip(req *http.Request) (*http.Response, error) {
	out := req.Clone(req.Context())
	out.Header.Set("Accept", "application/json")
	out.Header.Set("User-Agent", version.UserAgent())
	return n.next.RoundTrip(out)
}

// Store returns the state that the limiter shares.
func (g *Gateway) Store() ratelimit.Store { return g.store }

// warnOnce suppresses repeated warnings: one cause, such as a lock that can't be opened, often surfaces through many
// callers.
type warnOnce struct{ said sync.Map }

// first reports whether a warning's cause is new: the failing of a file, where there is one, else the text.
func (w *warnOnce) first(err error) bool {
	cause := err.Error()
	if file, ok := errors.AsType[*fs.PathError](err); ok {
		cause = file.Error()
	}
	_, again := w.said.LoadOrStore(cause, true)
	return !again
}
