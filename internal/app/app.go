// Package app connects the packages: Open builds a run of match from the configuration, OpenUpstream the path of a
// request to TMDB.
package app

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/config"
	"github.com/anivault/anivault/internal/decide"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/nfo"
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
	Offline bool // never touch the network
	Refresh bool // revalidate cached answers
	Anew    bool // ignore cached decisions, which have no reasons to show
	// Ask asks the user about files that can't be decided. It may be nil.
	Ask decide.Asker
	// Warn gets a one-line message about each problem that does not stop the run. Any goroutine may call it.
	Warn func(error)
	// Log gets log lines; nil for none.
	Log slog.Handler

	// Memory limits the decoded answers that the cache keeps in memory, in bytes; 0 keeps none.
	Memory int64
	// Queue orders the requests of this process that wait for the limiter; nil means first come, first served.
	Queue ratelimit.Queue
	// OnCacheWait is called before a request waits for the answer to another process. It may be nil.
	OnCacheWait func(context.Context)
	wrote       func(error) // called after each write of an answer
	// AroundWire wraps each try at TMDB, up to its complete answer. It may be nil.
	AroundWire func(http.RoundTripper) http.RoundTripper
	// AroundLimiter wraps each request that the cache could not answer. It may be nil.
	AroundLimiter func(http.RoundTripper) http.RoundTripper
}

// App is one run of a command, with everything that is open for it.
type App struct {
	stack
	cfg          *config.Config
	started      time.Time
	deciders     *decide.Deciders
	counts       run.Counts
	cachedMovies map[int]*tmdb.MovieRow // loaded by Note on first use
}

// Open opens everything for a run. It sends nothing. The caller must close the App.
func Open(cfg *config.Config, opts Options) (*App, error) {
	a := &App{cfg: cfg, started: time.Now()}
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

// plannedRequests is how much of the budget a run reserves for a series before its first request: a search and the
// details of one result. Further requests take from the budget one by one.
const plannedRequests = 2

func (a *App) openDeciders(client *tmdb.Client) (err error) {
	options := match.DefaultOptions()
	options.MinConfidence, options.MinEpisodeConfidence = a.cfg.Match.MinConfidence, a.cfg.Match.MinEpisodeConfidence
	if a.cfg.Match.Type != "auto" {
		options.Kind = match.Kind(a.cfg.Match.Type)
	}
	store := pins.Open(a.cfg.Dirs.Data)
	a.deciders, err = decide.New(decide.Config{
		Client: client, Languages: a.cfg.TMDB.Languages, Adult: a.cfg.Match.IncludeAdult, Options: options,
		Pins: store, IndexDir: a.cfg.Dirs.Data, Asker: a.opts.Ask, Warn: a.warn,
		Reserve: func(ctx context.Context) (context.Context, func()) {
			if !a.limiter.Rationed() {
				return ctx, func() {}
			}
			r, _ := a.limiter.Reserve(ctx, plannedRequests) // an error is in the reservation
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

// Match decides the files from produce and calls emit with each record (see run.Run).
func (a *App) Match(
	ctx context.Context, produce run.Producer, emit func(report.Record) error, pause func() error,
) error {
	c := run.Config{
		Decider: a.deciders, MaxConcurrent: 2 * a.cfg.Tuning.Concurrency, ParseJobs: a.cfg.Match.Jobs, Memory: a.memory(),
		Refresh: a.opts.Refresh || a.opts.Anew, ExplainError: Explain, Counts: &a.counts, Warn: a.warn,
	}
	if a.opts.Ask == nil { // otherwise questions do not wait for retries
		var all ratelimit.Tries // shared, because a series may be in many folders
		c.Retry = run.RetryPolicy{
			NewCounter: func() run.AttemptCounter { return all.Share() }, MaxRetries: max(a.cfg.Tuning.MaxRetries, 0),
		}
	}
	if terminal := a.deciders.Terminal(); terminal != nil {
		// Series that wait for the user's answer must not delay the search of others.
		c.MaxConcurrent = max(c.MaxConcurrent, minUnderwayInteractive)
		emit, pause = betweenQuestions(terminal, emit, pause), nil
	}
	return run.Run(ctx, c, produce, emit, pause)
}

// betweenQuestions returns an emit that prints each record at once, but not while a question is on the terminal.
func betweenQuestions(
	terminal sync.Locker, emit func(report.Record) error, pause func() error,
) func(report.Record) error {
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

func (a *App) memory() *results.Memory {
	if a.opts.Ask != nil {
		return nil
	}
	bucket, err := a.cache.Bucket(results.Bucket)
	if err != nil {
		a.warn(err)
		return nil
	}
	pins, index := a.deciders.InputDigests()
	return results.New(bucket, a.newest, results.Settings{
		Upstream: a.cfg.TMDB.BaseURL.String(), Language: strings.Join(a.cfg.TMDB.Languages, ","), Type: a.cfg.Match.Type,
		MinConfidence: a.cfg.Match.MinConfidence, MinEpisodeConfidence: a.cfg.Match.MinEpisodeConfidence,
		IncludeAdult: a.cfg.Match.IncludeAdult,
	}, results.LocalInputs{Program: version.Build(), Pins: pins, Index: index})
}

func (a *App) newest(ctx context.Context, entries []results.Entry) ([]time.Time, error) {
	resources := make([]string, len(entries))
	for i, e := range entries {
		u := *a.cfg.TMDB.BaseURL
		u.Path += "/3/" + string(e.Kind) + "/" + strconv.Itoa(e.ID)
		resources[i] = cache.KeyOf(http.MethodGet, &u)
	}
	return a.cache.Newest(ctx, resources...)
}

// minUnderwayInteractive is the minimum number of series in progress if the user is asked. The limiter limits their
// requests.
const minUnderwayInteractive = 200

// Entry returns an entry of TMDB, for a series with all its seasons. It sends the same requests as matching, so that
// both share cached answers.
func (a *App) Entry(ctx context.Context, kind match.Kind, id int) (*match.Entry, error) {
	e, _, err := a.deciders.Entry(ctx, kind, id)
	return e, err
}

// Seasons returns the seasons of a series with their episodes.
func (a *App) Seasons(ctx context.Context, id int) ([]match.Season, error) {
	e, err := a.Entry(ctx, match.TV, id)
	if err != nil {
		return nil, err
	}
	return e.Seasons, nil
}

// Offline reports whether the run may not use the network.
func (a *App) Offline() bool { return a.opts.Offline }

// Unauthorized returns the error of a refused key, nil if TMDB refused none.
func (a *App) Unauthorized() error {
	if u := a.upstream.refused.Load(); u != nil {
		return u
	}
	return nil
}

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

// Timeline returns the limiter's events during the run.
func (a *App) Timeline() []Moment {
	a.observer.mu.Lock()
	defer a.observer.mu.Unlock()
	return append([]Moment(nil), a.observer.timeline...)
}

// Search returns the entries for a title from TMDB and the title index, or from cached answers if a request fails. more
// reports that there are further entries. The error is that of the failed request.
func (a *App) Search(ctx context.Context, w decide.TitleSearch) (found []decide.SearchResult, more bool, err error) {
	found, more, err = a.deciders.Lookup(ctx, w)
	if err == nil || ctx.Err() != nil {
		return found, more, err
	}
	cached := decide.NewCachedSearch(w, a.cfg.TMDB.Languages, found)
	now := time.Now()
	a.rangeCached(ctx, "/3/", func(question string, e *cache.Entry) {
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

// Note returns an entry's data for an NFO file. A search result may have matched a film without its details; if they
// can't be fetched, any cached search result of the film is used.
func (a *App) Note(ctx context.Context, kind match.Kind, id int) (*nfo.Entry, error) {
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
	a.rangeCached(ctx, "/3/search/movie", func(query string, e *cache.Entry) {
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

// rangeCached calls f with each cached answer of status 200 whose URL begins with path, and the rest of its URL.
func (a *App) rangeCached(ctx context.Context, path string, f func(question string, e *cache.Entry)) {
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
