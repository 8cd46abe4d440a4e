package app

import (
	"cmp"
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

// StateDir returns the folder of the limiter's state for the configured upstream: the state folder itself for TMDB, and
// for any other address a subfolder named after it. Thus failures of a proxy never stop requests to TMDB.
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

// OpenState opens the limiter's shared state: a file for all processes of the user, a coordinator for several machines,
// or this process's memory. If the file's lock is not free within patience, this process limits itself alone; 0 means
// the default patience. The caller must call done to close the store.
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

// OpenCache opens the cache that all processes share. memory is how many bytes of answers it may keep in memory.
func OpenCache(cfg *config.Config, memory int64, warn func(error)) (*cache.Store, error) {
	return cache.Open(cfg.Dirs.Cache, cache.Options{
		Class: tmdb.ClassOf, MaxSize: cfg.Cache.MaxSize, Memory: memory, OnWarning: func(w cache.Warning) { warn(w) },
	})
}

func coordinatorOptions(cfg *config.Config) redisstore.Options {
	u := cfg.TMDB.BaseURL
	port := cmp.Or(u.Port(), map[string]string{"https": "443", "http": "80"}[u.Scheme])
	return redisstore.Options{
		Address: cfg.Redis.Address, Password: cfg.Redis.Password.Reveal(), PasswordFile: cfg.Redis.PasswordFile,
		CA: cfg.Redis.CA, Prefix: cfg.Redis.Prefix,
		Upstream: strings.ToLower(u.Scheme + "://" + u.Hostname() + ":" + port), Dir: machineStateDir(cfg),
	}
}

func machineStateDir(cfg *config.Config) string { return filepath.Join(StateDir(cfg), "coordinator") }

// openCoordinator opens the state that several machines share. If the coordinator can't be reached, it only warns; if
// the settings can never work, it returns a [*config.Error].
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
	warnWithRemedy := func(err error) { warn(withRemedy(err)) }
	machine, err := ratelimit.OpenFileStore(machineStateDir(cfg), ratelimit.FileOptions{
		Processes: cfg.Tuning.Processes, OnWarning: warnWithRemedy,
	})
	if err != nil {
		return nil, nil, err
	}
	backend, err := redisstore.Open(o)
	if err != nil {
		return nil, nil, errors.Join(coordinatorError(cfg, err), machine.Close())
	}
	store := redisstore.NewStore(backend, redisstore.StoreOptions{
		Place: o.Address.Place(), Fallback: machine, Processes: cfg.Tuning.Processes, OnWarning: warnWithRemedy,
	})
	return store, store.Close, nil
}

func coordinatorError(cfg *config.Config, err error) error {
	f, ok := errors.AsType[*redisstore.Fault](err)
	if !ok {
		return cfg.ErrorFor("coordinator", lang.TextOf(err))
	}
	key, fix := "coordinator", CoordinatorFix(cfg, f)
	switch {
	case f.Kind == redisstore.Password && cfg.Redis.PasswordFile != "":
		key = "coordinator_password_file"
	case f.Kind == redisstore.Certificate && cfg.Redis.CAFile != "":
		key = "coordinator_ca_file"
	}
	return cfg.ErrorFor(key, lang.Textf("%s; %s", f, fix))
}

// CoordinatorFix returns advice on how to fix a fault of the coordinator.
func CoordinatorFix(cfg *config.Config, f *redisstore.Fault) lang.Text {
	return map[redisstore.Kind]lang.Text{
		redisstore.Unreachable: "check ANIVAULT_COORDINATOR, the network and the server; " +
			"until then each machine uses a part of the limits",
		redisstore.Password: "write the password into the file that ANIVAULT_COORDINATOR_PASSWORD_FILE names, " +
			"and the user into ANIVAULT_COORDINATOR: redis://user@host:port",
		redisstore.Certificate: "name the server as its certificate does in ANIVAULT_COORDINATOR, " +
			"its authority's PEM file in ANIVAULT_COORDINATOR_CA_FILE, and a port that speaks TLS",
		redisstore.Rights:   lang.Textf("as its administrator run: %s", CoordinatorACLRule(cfg)),
		redisstore.Database: "write a number that it has, or none, in ANIVAULT_COORDINATOR: redis://host:port/0",
		redisstore.TooOld:   "update it, or name another one in ANIVAULT_COORDINATOR",
		redisstore.Refusing: "look at its log; until then each machine uses a part of the limits",
	}[f.Kind]
}

// CoordinatorACLRule returns the Redis ACL rule with all permissions that the coordinator's user needs.
func CoordinatorACLRule(cfg *config.Config) string {
	return coordinatorOptions(cfg).ACLRule(cfg.Redis.Address.User())
}

// CheckCoordinator tests the configured coordinator.
func CheckCoordinator(ctx context.Context, cfg *config.Config) (redisstore.Findings, error) {
	return redisstore.Check(ctx, coordinatorOptions(cfg))
}

// components are the parts that an App and a Gateway have in common.
type components struct {
	opts          Options
	currentConfig atomic.Pointer[config.Config] // a gateway may replace it
	store         ratelimit.Store
	limiter       *ratelimit.Limiter
	cache         *cache.Store
	upstream      *Upstream
	observer      *observer
	closers       []func() error // in the order in which the parts were opened
	warned        *WarnOnce
}

func (c *components) open(cfg *config.Config, opts Options) error {
	c.opts, c.warned = opts, cmp.Or(opts.Warned, new(WarnOnce))
	c.currentConfig.Store(cfg)
	log := slog.New(cmp.Or(opts.Log, slog.DiscardHandler))
	c.observer = &observer{log: log, metrics: metrics.New(), warn: c.warn, cfg: c.currentConfig.Load}
	store, done, err := OpenState(cfg, 0, c.warn)
	if err != nil {
		return err
	}
	c.store, c.closers = store, append(c.closers, done)
	c.limiter, err = ratelimit.New(ratelimit.Config{
		Store: store, Tuning: cfg.Tuning, Offline: opts.Offline, Queue: opts.Queue, Accounts: cfg.LimiterAccounts(),
		Hooks: ratelimit.Hooks{
			OnTransition: c.observer.onTransition, OnAnswer: c.observer.onAnswer, OnWait: c.observer.onWait,
			OnWarning: c.observer.warn,
			OnTuned:   c.observer.onTuned, OnReservationsFreed: c.observer.onReservationsFreed,
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
	opts.onWrite = c.observer.recordWrite
	if c.upstream, err = OpenUpstream(cfg, c.cache, c.limiter, opts); err != nil {
		return err
	}
	c.closers = append(c.closers, c.upstream.Close)
	return nil
}

func (c *components) warn(err error) {
	if !c.warned.isNew(err) {
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
	c.observer.log.Warn(event, about...)
	if c.opts.Warn != nil {
		c.opts.Warn(err)
	}
}

func (c *components) Metrics() *metrics.Metrics { return c.observer.metrics }

func (c *components) Close() error {
	var errs []error
	for _, done := range slices.Backward(c.closers) {
		errs = append(errs, done())
	}
	if err := errors.Join(errs...); err != nil {
		return lang.Error("close: %w", err)
	}
	return nil
}

// Gateway sends other programs' requests to TMDB. It is an http.RoundTripper for requests without a key.
type Gateway struct{ components }

const gatewayMemory = 32 << 20

// OpenGateway opens everything that a gateway needs. It sends nothing. The caller must close the Gateway.
func OpenGateway(cfg *config.Config, opts Options) (*Gateway, error) {
	g := &Gateway{}
	around := opts.WrapLimiter
	opts.WrapLimiter = func(next http.RoundTripper) http.RoundTripper {
		return wrapTransport(around, headerTransport{next})
	}
	opts.Memory = gatewayMemory
	if err := g.open(cfg, opts); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	g.observer.isGateway = true
	return g, nil
}

// RoundTrip answers a request. Its errors are those of cache.Transport, ratelimit and tmdb, and RecentFailureError.
func (g *Gateway) RoundTrip(req *http.Request) (*http.Response, error) {
	return g.upstream.RoundTrip(req)
}

// CachedAnswer returns the cached answer to a URL with this key, fresh or expired; nil if there is none.
func (g *Gateway) CachedAnswer(ctx context.Context, u *url.URL, key string) (*cache.Entry, cache.Info) {
	return g.upstream.Stored(ctx, u, key)
}

// CacheUnwritable reports whether the last write of an answer to the cache failed.
func (g *Gateway) CacheUnwritable() bool { return g.observer.cacheUnwritable.Load() }

// Limiter returns the limiter of all requests.
func (g *Gateway) Limiter() *ratelimit.Limiter { return g.limiter }

// Rate returns how many requests a second the limiter allowed at the latest request. While it sends nothing, or only
// probes, that says nothing about the time after: then it returns the rate of Normal.
func (g *Gateway) Rate() float64 {
	g.observer.mu.Lock()
	defer g.observer.mu.Unlock()
	now := g.observer.gauges
	if now.Rate > 0 && (now.State == ratelimit.Normal || now.State == ratelimit.Throttle) {
		return now.Rate
	}
	return g.limiter.Tuning().RateBase
}

// Reconfigure changes the tuning and the keys for all further requests.
func (g *Gateway) Reconfigure(cfg *config.Config) error {
	if err := g.limiter.Retune(cfg.Tuning); err != nil {
		return err
	}
	g.currentConfig.Store(cfg)
	g.upstream.keyring.update(cfg.EffectiveAccounts())
	return g.limiter.SetAccounts(cfg.LimiterAccounts())
}

type headerTransport struct{ next http.RoundTripper }

func (n headerTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	out := req.Clone(req.Context())
	out.Header.Set("Accept", "application/json")
	out.Header.Set("User-Agent", version.UserAgent())
	return n.next.RoundTrip(out)
}

// Store returns the shared state of the limiter.
func (g *Gateway) Store() ratelimit.Store { return g.store }

// WarnOnce suppresses repeated warnings: many callers may report the same cause, such as a lock that can't be opened.
type WarnOnce struct{ causes sync.Map }

// isNew reports whether the cause of a warning is new. The cause is the *fs.PathError in err, or else err itself. What
// happens to a coordinator is always new.
func (w *WarnOnce) isNew(err error) bool {
	if s, ok := errors.AsType[*ratelimit.StoreWarning](err); ok && strings.HasPrefix(s.Event, "coordinator_") {
		return true
	}
	cause := err.Error()
	if file, ok := errors.AsType[*fs.PathError](err); ok {
		cause = file.Error()
	}
	_, again := w.causes.LoadOrStore(cause, true)
	return !again
}
