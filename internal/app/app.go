// Package app wires the packages together: configuration in, results out. What feeds what can be read in Open.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/decide"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/metrics"
	"github.com/anivault/anivault/internal/pins"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/run"
	"github.com/anivault/anivault/internal/run/results"
	"github.com/anivault/anivault/internal/version"
	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/tmdb"
)

// Options are what a command decides about a run beyond the configuration.
type Options struct {
	Offline bool // never touch the network
	Refresh bool // revalidate cached answers
	Anew    bool // decide everything anew: what is remembered of decisions has no reasons to show
	// Ask is the person who decides what nothing else can; nil for none.
	Ask decide.Asker
	// Warn hears of what was worked around, in one line for a person. It may be called from any goroutine.
	Warn func(error)
	// Log gets log lines; nil for none.
	Log slog.Handler
}

// App is one run: everything that was opened for it.
type App struct {
	cfg     *config.Config
	opts    Options
	started time.Time

	store    ratelimit.Store
	limiter  *ratelimit.Limiter
	cache    *cache.Store
	deciders *decide.Deciders
	seen     *observer
	counts   run.Counts
	closers  []io.Closer
	warned   warnOnce

	refused atomic.Pointer[tmdb.UnauthorizedError]
}

// Open opens state and cache and wires the way of a request. It sends nothing. Close it in any case.
func Open(cfg *config.Config, opts Options) (*App, error) {
	a := &App{cfg: cfg, opts: opts, started: time.Now()}
	if opts.Log == nil {
		opts.Log = slog.DiscardHandler
	}
	a.seen = &observer{log: slog.New(opts.Log), metrics: metrics.New(), warn: a.warn}

	var err error
	if a.store, err = OpenState(cfg, a.warn); err != nil {
		return nil, err
	}
	if c, ok := a.store.(io.Closer); ok {
		a.closers = append(a.closers, c)
	}
	a.limiter, err = ratelimit.New(ratelimit.Config{Store: a.store, Tuning: cfg.Tuning, Offline: opts.Offline, Hooks: a.seen.hooks()})
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	a.cache, err = OpenCache(cfg, a.warn)
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	client, err := a.client()
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	if err := a.openDeciders(client); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// plannedRequests is what a run reserves of the budget before it asks about a series: a search and the details
// of what it finds. What a series needs beyond that is taken from the budget request by request.
const plannedRequests = 2

// openDeciders opens pins and title index and wires who decides a series.
func (a *App) openDeciders(client *tmdb.Client) (err error) {
	options := match.DefaultOptions()
	options.MinConfidence = a.cfg.Match.MinConfidence
	if a.cfg.Match.Type != "auto" {
		options.Kind = match.Kind(a.cfg.Match.Type)
	}
	store := OpenPins(a.cfg)
	a.deciders, err = decide.New(decide.Config{
		Client: client, Language: a.cfg.TMDB.Language, Adult: a.cfg.Match.IncludeAdult, Options: options,
		Pins: store, IndexDir: a.cfg.Dirs.Data, Asker: a.opts.Ask, Warn: a.warn,
		Reserve: func(ctx context.Context) (context.Context, func()) {
			if !a.limiter.Tuning().Budget.On() {
				return ctx, func() {}
			}
			r, _ := a.limiter.Reserve(ctx, plannedRequests) // the refusal travels in the reservation
			return ratelimit.WithReservation(ctx, r), r.Release
		},
		Why: func(err error) (text string, lasts bool) {
			code, text := Explain(err)
			return text, code == report.CodeBlocked || code == report.CodeUnauthorized || code == report.CodeBudget
		},
	})
	if err != nil {
		return &config.Error{Name: "the user's pins", Value: store.Path(), Reason: err.Error()}
	}
	return nil
}

// client wires the way of a request: client, count, cache, key guard, limiter, repair, wire.
func (a *App) client() (*tmdb.Client, error) {
	sender, err := a.sender()
	if err != nil {
		return nil, err
	}
	cached := a.caching(sender)
	return a.clientOver(counting{cached, a.seen}, cached.Forget)
}

// sender is the way of a request that no cache can answer.
func (a *App) sender() (http.RoundTripper, error) {
	wire, err := a.wire()
	if err != nil {
		return nil, err
	}
	return refusals{tmdb.NewKeyGuard(&ratelimit.Transport{
		Base: tmdb.NewWire(wire), Limiter: a.limiter, Classify: classify, MaxBody: tmdb.MaxBody,
	}), &a.refused}, nil
}

// refusals remembers that TMDB refused the key, also where the cache then answers all the same.
type refusals struct {
	next    http.RoundTripper
	refused *atomic.Pointer[tmdb.UnauthorizedError]
}

func (r refusals) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.next.RoundTrip(req)
	if u, ok := errors.AsType[*tmdb.UnauthorizedError](err); ok {
		r.refused.CompareAndSwap(nil, u)
	}
	return resp, err
}

func (a *App) clientOver(transport http.RoundTripper, undecodable func(*http.Request)) (*tmdb.Client, error) {
	return tmdb.New(tmdb.Options{
		BaseURL: a.cfg.TMDB.BaseURL.String(), Token: a.cfg.TMDB.Token.Reveal(), APIKey: a.cfg.TMDB.APIKey.Reveal(),
		HTTPClient: &http.Client{Transport: transport}, UserAgent: version.UserAgent(), OnUndecodable: undecodable,
	})
}

// Probe asks TMDB one cheap question, past the cache but through the limiter. skew is how far TMDB's clock is
// ahead of this machine's, 0 where TMDB did not say.
func (a *App) Probe(ctx context.Context) (took, skew time.Duration, err error) {
	sender, err := a.sender()
	if err != nil {
		return 0, 0, err
	}
	client, err := a.clientOver(sender, nil)
	if err != nil {
		return 0, 0, err
	}
	start := time.Now()
	_, resp, err := client.Configuration(ctx)
	took = time.Since(start)
	if err != nil {
		return took, 0, err
	}
	if date, dateErr := http.ParseTime(resp.Header.Get("Date")); dateErr == nil {
		skew = date.Sub(start.Add(took / 2)).Round(time.Second)
	}
	return took, skew, nil
}

// caching is the cache in front of everything that could ask.
func (a *App) caching(next http.RoundTripper) *cache.Transport {
	return &cache.Transport{
		Store: a.cache, Next: next, Refresh: a.opts.Refresh, Offline: a.opts.Offline, MaxWait: a.cfg.Tuning.MaxWait,
		Blocked: func(err error) bool { return !errors.As(err, new(*tmdb.ArgumentError)) }, MaxBody: tmdb.MaxBody,
		Closed: func(ctx context.Context) bool {
			st, err := a.limiter.Status(ctx)
			return err == nil && st.State == ratelimit.CacheOnly
		},
	}
}

// wire is the transport that does the sending.
func (a *App) wire() (*http.Transport, error) {
	options := tmdb.TransportOptions{Proxy: http.ProxyFromEnvironment}
	if file := a.cfg.TMDB.CAFile; file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			return nil, &config.Error{Name: "tmdb.ca_file", Value: file, Reason: "cannot be read: " + err.Error()}
		}
		if options.RootCAs, err = tmdb.CAPool(pem); err != nil {
			return nil, &config.Error{Name: "tmdb.ca_file", Value: file, Reason: err.Error()}
		}
	}
	t := tmdb.NewHTTPTransport(options)
	a.closers = append(a.closers, closerFunc(func() error { t.CloseIdleConnections(); return nil }))
	return t, nil
}

type closerFunc func() error

func (f closerFunc) Close() error { return f() }

// classify gives the limiter TMDB's own view of an answer.
func classify(req *http.Request, resp *http.Response, body []byte, err error) ratelimit.Outcome {
	switch tmdb.Classify(req, resp, body, err) {
	case tmdb.OutcomeOK:
		return ratelimit.OK
	case tmdb.OutcomeThrottled:
		return ratelimit.Throttled
	case tmdb.OutcomeServer:
		return ratelimit.Server
	case tmdb.OutcomeNetwork:
		return ratelimit.Network
	case tmdb.OutcomeClient:
		return ratelimit.Client
	case tmdb.OutcomeConfig:
		return ratelimit.Misconfigured
	case tmdb.OutcomeCancelled:
	}
	return ratelimit.Cancelled
}

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

// OpenState opens what the limiter shares: a file for all processes of the user, or this process's memory.
func OpenState(cfg *config.Config, warn func(error)) (ratelimit.Store, error) {
	if cfg.Coordinator == "memory" {
		return ratelimit.NewMemoryStore(), nil
	}
	return ratelimit.OpenFileStore(StateDir(cfg), ratelimit.FileOptions{Processes: cfg.Tuning.Processes, OnWarning: warn})
}

// OpenPins names the file of the user's pins.
func OpenPins(cfg *config.Config) *pins.Store { return pins.Open(cfg.Dirs.Data) }

// OpenCache opens the cache that processes share.
func OpenCache(cfg *config.Config, warn func(error)) (*cache.Store, error) {
	return cache.Open(cfg.Dirs.Cache, cache.Options{MaxSize: cfg.Cache.MaxSize, OnWarning: func(w cache.Warning) { warn(w) }})
}

// ReadCacheStats looks at the cache without taking part in it.
func ReadCacheStats(ctx context.Context, cfg *config.Config) (cache.Stats, error) {
	store, err := OpenCache(cfg, func(error) {})
	if err != nil {
		return cache.Stats{}, err
	}
	s, err := store.Stats(ctx)
	return s, errors.Join(err, store.Close())
}

func (a *App) warn(err error) {
	if !a.warned.first(err) {
		return
	}
	a.seen.log.Warn("warning", slog.String("comp", "anivault"), slog.Any("error", err))
	if a.opts.Warn != nil {
		a.opts.Warn(err)
	}
}

// Match decides what produce yields and calls emit with each record (see run.Run).
func (a *App) Match(ctx context.Context, produce run.Producer, emit func(report.Record) error, pause func() error) error {
	c := run.Config{
		Decider: a.deciders, Underway: 2 * a.cfg.Tuning.Concurrency, Jobs: a.cfg.Match.Jobs, Memory: a.memory(),
		Anew: a.opts.Refresh || a.opts.Anew, Explain: Explain, Counts: &a.counts, Warn: a.warn,
	}
	if terminal := a.deciders.Terminal(); terminal != nil {
		// Series that wait for the person must not keep others from being asked about.
		c.Underway = max(c.Underway, underwayAsking)
		emit, pause = betweenQuestions(terminal, emit, pause), nil
	}
	return run.Run(ctx, c, produce, emit, pause)
}

// betweenQuestions returns an emit that sends each record on at once and never into the middle of a question.
func betweenQuestions(terminal sync.Locker, emit func(report.Record) error, pause func() error) func(report.Record) error {
	return func(r report.Record) error {
		terminal.Lock()
		defer terminal.Unlock()
		err := emit(r)
		if err == nil && pause != nil {
			err = pause()
		}
		return err
	}
}

// memory is the memory of what runs have decided; nil where a person decides: what they have pinned is asked for anew.
func (a *App) memory() *results.Memory {
	if a.opts.Ask != nil {
		return nil
	}
	bucket, err := a.cache.Bucket(results.Bucket)
	if err != nil {
		a.warn(err)
		return nil
	}
	pins, index := a.deciders.Basis()
	return results.New(bucket, a.newest, results.Question{
		Upstream: a.cfg.TMDB.BaseURL.String(), Language: a.cfg.TMDB.Language, Type: a.cfg.Match.Type,
		MinConfidence: a.cfg.Match.MinConfidence, IncludeAdult: a.cfg.Match.IncludeAdult,
	}, results.Basis{Program: version.Build(), Pins: pins, Index: index})
}

// newest returns when the newest cached answer about each entry was fetched.
func (a *App) newest(ctx context.Context, entries []results.Entry) ([]time.Time, error) {
	resources := make([]string, len(entries))
	for i, e := range entries {
		u := *a.cfg.TMDB.BaseURL
		u.Path += "/3/" + string(e.Kind) + "/" + strconv.Itoa(e.ID)
		resources[i] = cache.KeyOf(http.MethodGet, &u)
	}
	return a.cache.Newest(ctx, resources...)
}

// underwayAsking is how many series are underway at least while a person is asked. How many requests are is the
// limiter's business.
const underwayAsking = 200

// Unauthorized returns TMDB's refusal of the key, nil if there was none.
func (a *App) Unauthorized() error {
	if u := a.refused.Load(); u != nil {
		return u
	}
	return nil
}

// Summary completes the counts of files by those of requests, cache, time and limiter.
func (a *App) Summary(s report.Summary) report.Summary {
	s.Requests, s.Retries, s.HTTP429 = a.seen.requests.Load(), a.seen.retries.Load(), a.seen.throttled.Load()
	s.CacheHits, s.CacheMisses = a.seen.hits.Load(), a.seen.misses.Load()
	s.ElapsedMS = time.Since(a.started).Milliseconds()
	s.LimiterState = a.stateName()
	return s
}

func (a *App) stateName() string {
	if a.opts.Offline {
		return "offline"
	}
	st, err := a.Limiter()
	if err != nil {
		return a.Progress().State
	}
	return st.State.String()
}

// Limiter returns the limiter as it is now, for all processes together.
func (a *App) Limiter() (ratelimit.Status, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return a.limiter.Status(ctx)
}

// Started is when the run began.
func (a *App) Started() time.Time { return a.started }

// Timeline returns what the limiter went through during the run.
func (a *App) Timeline() []Moment {
	a.seen.mu.Lock()
	defer a.seen.mu.Unlock()
	return append([]Moment(nil), a.seen.timeline...)
}

// Metrics returns the run's metrics.
func (a *App) Metrics() *metrics.Metrics { return a.seen.metrics }

// Close gives back what the run holds and writes what is not written yet.
func (a *App) Close() error {
	var errs []error
	if a.limiter != nil {
		errs = append(errs, a.limiter.Close())
	}
	if a.cache != nil {
		errs = append(errs, a.cache.Close())
	}
	for i := len(a.closers) - 1; i >= 0; i-- {
		errs = append(errs, a.closers[i].Close())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	return nil
}
