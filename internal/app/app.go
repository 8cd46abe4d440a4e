// Package app assembles the other packages according to the configuration: Open prepares a run of match, OpenGateway a
// gateway, and OpenUpstream the chain of HTTP transports that carries a request to TMDB.
package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/decide"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/nfo"
	"github.com/anivault/anivault/internal/orders"
	"github.com/anivault/anivault/internal/pins"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/run"
	"github.com/anivault/anivault/internal/run/results"
	"github.com/anivault/anivault/internal/version"
	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/tmdb"
)

// Options are what a command sets in addition to the configuration.
type Options struct {
	Offline           bool // never touch the network
	Refresh           bool // revalidate cached answers
	SkipDecisionCache bool // decide all files again, because cached decisions have no reasons to show
	// Ask asks the user about files that can't be decided. It may be nil.
	Ask decide.Asker
	// Warn gets a one-line message about each problem that does not stop the run. Any goroutine may call it.
	Warn func(error)
	// Warned has the warnings that earlier runs of the process gave; nil if there were none.
	Warned *WarnOnce
	// Log gets log lines; nil for none.
	Log slog.Handler

	// Memory is how many bytes of decoded answers the cache may keep in memory; 0 keeps none.
	Memory int64
	// Queue orders the requests of this process that wait for the limiter; nil means first come, first served.
	Queue ratelimit.Queue
	// OnCacheWait is called before a request waits for an answer that another process has requested. It may be nil.
	OnCacheWait func(context.Context)
	onWrite     func(error) // called after each write of an answer
	givesUp     bool        // requests fail once nothing has answered for giveUpAfter
	// WrapWire wraps the transport that sends each try to TMDB and reads the whole answer. It may be nil.
	WrapWire func(http.RoundTripper) http.RoundTripper
	// WrapLimiter wraps the transport for requests that the cache could not answer. It may be nil.
	WrapLimiter func(http.RoundTripper) http.RoundTripper
}

// App is one run of a command, with everything that Open has opened for it.
type App struct {
	components
	cfg          *config.Config
	started      time.Time
	deciders     *decide.Deciders
	counts       run.Counts
	cachedMovies map[int]*tmdb.MovieRow // loaded by NFOEntry on first use

	GatewayStopped atomic.Bool // a gateway refused a request because it sends nothing
}

// maxWaitingSeries limits how many series wait for other processes' requests while the run decides others.
const maxWaitingSeries = 32

// Open opens everything for a run. It sends nothing. The caller must close the App.
func Open(cfg *config.Config, opts Options) (*App, error) {
	a := &App{cfg: cfg, started: time.Now()}
	opts.givesUp = cfg.Tuning.AutoRecover == 0 && cfg.IsDefault("limiter.max_wait")
	opts.OnCacheWait = func(ctx context.Context) {
		if a.cache.WaitingRequests() < maxWaitingSeries {
			run.FreeSlot(ctx)
		}
	}
	if err := a.open(cfg, opts); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	client, err := newClient(cfg, cacheCounter{a.upstream, a.observer}, a.upstream.Forget)
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	if err := a.openDeciders(client); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// plannedRequests is the number of requests that a run reserves in the budget for a series before the first one: a
// search and the details of one result. Further requests take from the budget one by one.
const plannedRequests = 2

func (a *App) openDeciders(client *tmdb.Client) (err error) {
	options := match.DefaultOptions()
	options.MinConfidence, options.MinEpisodeConfidence = a.cfg.Match.MinConfidence, a.cfg.Match.MinEpisodeConfidence
	if a.cfg.Match.Type != "auto" {
		options.Kind = match.Kind(a.cfg.Match.Type)
	}
	store := pins.Open(a.cfg.Dirs.Data)
	a.deciders, err = decide.New(decide.Config{
		Client: client, Languages: a.cfg.TMDB.Languages, IncludeAdult: a.cfg.Match.IncludeAdult, Options: options,
		Pins: store, IndexDir: a.cfg.Dirs.Data, Asker: a.opts.Ask, Warn: a.warn,
		Reserve: func(ctx context.Context) (context.Context, func()) {
			if !a.limiter.Rationed() {
				return ctx, func() {}
			}
			r, _ := a.limiter.Reserve(ctx, plannedRequests) // requests with the reservation fail with the same error
			return ratelimit.With(ctx, ratelimit.Request{Reservation: r}), r.Release
		},
		ExplainError: func(err error) (text lang.Text, lasts bool) {
			code, text := Explain(err)
			return text, code == report.CodeBlocked || code == report.CodeUnauthorized || code == report.CodeBudget
		},
	})
	if err != nil {
		return &config.Error{Name: "the user's pins", Value: store.Path(), Reason: lang.TextOf(err)}
	}
	return nil
}

// Match decides the files from produce and calls emit with each record (see run.Run). If the user is asked, the records
// have TMDB's numbers until AskAbout.
func (a *App) Match(
	ctx context.Context, produce run.Producer, emit func(report.Record) error, pause func() error,
) error {
	order := a.cfg.Match.Order
	if _, lists := a.deciders.InputDigests(); lists == "" && (order == orders.TVDB || order == orders.AniDB) {
		a.warn(lang.Error("the numbers of %s come from the title index, and there is none: anivault index update", order))
	}
	c := run.Config{
		Decider: a.deciders, MaxConcurrent: 2 * a.cfg.Tuning.Concurrency, ParseJobs: a.cfg.Match.Jobs,
		Memory: a.resultMemory(), Refresh: a.opts.Refresh || a.opts.SkipDecisionCache,
		ExplainError: a.Explain, Counts: &a.counts, Warn: a.warn,
	}
	var all ratelimit.Tries // shared, because a series may be in many folders
	c.Retry = run.RetryPolicy{
		NewCounter: func() run.AttemptCounter { return all.Share() }, MaxRetries: max(a.cfg.Tuning.MaxRetries, 0),
	}
	return run.Run(ctx, c, produce, func(r report.Record) error {
		if a.opts.Ask == nil {
			a.renumber(ctx, &r)
		}
		return emit(r)
	}, pause)
}

// Explain is the function Explain, except that it names a foreign answer because of which the limiter sleeps. It sets
// GatewayStopped.
func (a *App) Explain(err error) (report.Code, lang.Text) {
	blocked, ok := errors.AsType[*ratelimit.BlockedError](err)
	if foreign := a.upstream.foreign.Load(); ok && blocked.State == ratelimit.Sleep && foreign != nil {
		err = cmp.Or(*foreign, err)
	}
	code, text := Explain(err)
	a.GatewayStopped.CompareAndSwap(false, code == report.CodeBlocked && errors.As(err, new(*tmdb.Error)))
	return code, text
}

// renumber converts a record's season and episodes to the order that the user wants. An episode group takes a request
// per series; if that fails, the record has the error.
func (a *App) renumber(ctx context.Context, r *report.Record) {
	order := a.orderOf(r.TMDBID)
	if order == orders.TMDB || r.Kind != string(match.TV) || r.Season == nil {
		return
	}
	place, err := r.Orders.In(order), error(nil)
	switch {
	case r.Orders == nil:
	case strings.HasPrefix(order, orders.GroupPrefix):
		var group *orders.Group
		if group, err = a.deciders.Group(ctx, r.TMDBID, order[len(orders.GroupPrefix):]); err == nil {
			place = group.Place(*r.Orders.TMDB)
		}
	case place == nil && r.Orders.Absolute == nil && *r.Season > 0: // TMDB's seasons could not be asked for
		_, err = a.Entry(ctx, match.TV, r.TMDBID)
	}
	if r.Renumber(order, place); err != nil {
		why, noGroup := errors.AsType[decide.NoGroupError](err)
		if r.Reason = lang.Text(why); !noGroup {
			r.Fail(err, Explain)
		}
	}
}

// AskAbout asks the user about the records of a Match that could not be decided, and replaces those that the answers
// decide. Then it puts all records into the order that the user wants, which may be one of the answers.
func (a *App) AskAbout(ctx context.Context, records []report.Record) {
	at := map[string][]int{}
	for i := range records {
		at[records[i].Path] = append(at[records[i].Path], i)
	}
	position := func(path string) int {
		if of := at[path]; len(of) > 0 {
			return of[0]
		}
		return len(records) // an interrupted run has no record of it
	}
	a.deciders.AskAll(ctx, position, func(f match.File, d match.Decision) {
		for _, i := range at[f.Release.Path] {
			subtitles := records[i].Subtitles
			records[i] = report.FromDecision(records[i].Path, f.Release, d, Explain)
			records[i].Subtitles = subtitles
		}
	})
	for i := range records {
		a.renumber(ctx, &records[i])
	}
}

func (a *App) resultMemory() *results.Memory {
	if a.opts.Ask != nil {
		return nil
	}
	bucket, err := a.cache.Bucket(results.Bucket)
	if err != nil {
		a.warn(err)
		return nil
	}
	pins, index := a.deciders.InputDigests()
	return results.New(bucket, a.newestAnswers, decisionScope(a.cfg, pins, index))
}

// decisionScope returns a text that changes with every setting and local input that a decision depends on.
func decisionScope(cfg *config.Config, pins, index string) string {
	settings := cfg.Match
	settings.Jobs, settings.Order = 0, "" // a remembered record has its episodes in all orders
	return fmt.Sprintf("%s %q %+v %q %q %q", cfg.TMDB.BaseURL, cfg.TMDB.Languages, settings, version.Build(), pins, index)
}

func (a *App) newestAnswers(ctx context.Context, entries []results.Entry) ([]time.Time, error) {
	resources := make([]string, len(entries))
	for i, e := range entries {
		u := *a.cfg.TMDB.BaseURL
		u.Path += "/3/" + string(e.Kind) + "/" + strconv.Itoa(e.ID)
		resources[i] = cache.KeyOf(http.MethodGet, &u)
	}
	return a.cache.Newest(ctx, resources...)
}

// Entry returns an entry of TMDB, a series with all seasons, by the same requests as matching, to share the cache.
func (a *App) Entry(ctx context.Context, kind match.Kind, id int) (*match.Entry, error) {
	e, _, err := a.deciders.Entry(ctx, kind, id)
	return e, err
}

// Seasons returns the seasons of a series with their episodes, in the order that the user wants (see decide.Seasons).
func (a *App) Seasons(ctx context.Context, id int) ([]match.Season, error) {
	return a.deciders.Seasons(ctx, id, a.orderOf(id))
}

// Orders returns the orders that a series has.
func (a *App) Orders(ctx context.Context, tv int) ([]decide.Order, error) {
	return a.deciders.Orders(ctx, tv)
}

func (a *App) orderOf(tv int) string { return cmp.Or(a.deciders.PinnedOrder(tv), a.cfg.Match.Order) }

// Unauthorized returns the first error about a refused key, nil if TMDB refused none.
func (a *App) Unauthorized() *tmdb.UnauthorizedError { return a.upstream.firstRefusal.Load() }

// Summary adds the counts of requests and cache, the time and the limiter's state to the counts of files.
func (a *App) Summary(s report.Summary) report.Summary {
	s.Requests, s.Retries, s.HTTP429 = a.observer.requests.Load(), a.observer.retries.Load(), a.observer.throttled.Load()
	s.CacheHits, s.CacheMisses = a.observer.hits.Load(), a.observer.misses.Load()
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

// Limiter returns the limiter's shared state.
func (a *App) Limiter() (ratelimit.Status, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return a.limiter.Status(ctx)
}

// Started is when the run began.
func (a *App) Started() time.Time { return a.started }

// Search returns the entries for a title from TMDB and the title index. If a request fails, it returns the entries from
// cached answers, and the request's error. more reports whether there are further entries.
func (a *App) Search(ctx context.Context, w decide.TitleSearch) (found []decide.SearchResult, more bool, err error) {
	found, more, err = a.deciders.Lookup(ctx, w)
	if err == nil || ctx.Err() != nil {
		return found, more, err
	}
	cached := decide.NewCachedSearch(w, a.cfg.TMDB.Languages, found)
	now := time.Now()
	a.forEachCached(ctx, "/3/", func(question string, e *cache.Entry) {
		if e.Usable(now, cache.KeepLimit) {
			origin := match.Origin{Freshness: match.FromStale, FetchedAt: e.FetchedAt}
			if e.Fresh(now) {
				origin.Freshness = match.FromCache
			}
			path, query, _ := strings.Cut(question, "?")
			cached.Add(path, query, e.Body, origin)
		}
	})
	found, more = cached.Results()
	return found, more, err
}

// NFOEntry returns an entry's data for an NFO file. If a film's details can't be fetched, because only a search result
// was needed to match it, NFOEntry uses any cached search result of the film.
func (a *App) NFOEntry(ctx context.Context, kind match.Kind, id int) (*nfo.Entry, error) {
	n, err := a.deciders.NFO(ctx, kind, id)
	if err == nil || kind != match.Movie || ctx.Err() != nil {
		return n, err
	}
	if a.cachedMovies == nil {
		a.cachedMovies = a.cachedFilms(ctx)
	}
	if row := a.cachedMovies[id]; row != nil {
		return a.deciders.NFOFromSearchRow(row), nil
	}
	return nil, err
}

// cachedFilms returns the films of all cached searches. It prefers results in the language of this run.
func (a *App) cachedFilms(ctx context.Context) map[int]*tmdb.MovieRow {
	mine := "language=" + a.cfg.TMDB.Languages[0]
	out, asked := map[int]*tmdb.MovieRow{}, map[int]bool{}
	a.forEachCached(ctx, "/3/search/movie", func(query string, e *cache.Entry) {
		var page tmdb.SearchMoviePage
		_ = json.Unmarshal(e.Body, &page) // invalid JSON gives no rows
		own := strings.Contains(query, mine)
		for i := range page.Results {
			if row := &page.Results[i]; out[row.ID] == nil || own && !asked[row.ID] {
				out[row.ID], asked[row.ID] = row, own
			}
		}
	})
	return out
}

// forEachCached calls f for each cached 200 below path. question is the rest of the request's URL.
func (a *App) forEachCached(ctx context.Context, path string, f func(question string, e *cache.Entry)) {
	base := *a.cfg.TMDB.BaseURL
	base.Path += path
	prefix := cache.KeyOf(http.MethodGet, &base)
	err := a.cache.Range(ctx, func(e *cache.Entry) error {
		if question, ok := strings.CutPrefix(e.Key, prefix); ok && e.Status == http.StatusOK {
			f(question, e)
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		a.warn(err)
	}
}
