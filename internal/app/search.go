package app

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/decide"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/nfo"
	"github.com/anivault/anivault/tmdb"
)

// Search returns what there is by a title: what TMDB and the title index say, and where TMDB can't be asked what any
// cached answer says. more says that there are others. The error is why TMDB could not be asked for all of it.
func (a *App) Search(ctx context.Context, w decide.Wanted) (found []decide.Found, more bool, err error) {
	found, more, err = a.deciders.Lookup(ctx, w)
	if err == nil || ctx.Err() != nil {
		return found, more, err
	}
	base := *a.cfg.TMDB.BaseURL
	base.Path += "/3/"
	prefix := cache.KeyOf(http.MethodGet, &base)
	cached := decide.NewCached(w, a.cfg.TMDB.Languages, found)
	now := time.Now()
	unread := a.cache.Range(ctx, func(e *cache.Entry) error {
		path, query, _ := strings.Cut(strings.TrimPrefix(e.Key, prefix), "?")
		if strings.HasPrefix(e.Key, prefix) && e.Status == http.StatusOK && e.Usable(now, cache.KeepLimit) {
			origin := match.Origin{From: match.FromStale, FetchedAt: e.FetchedAt}
			if e.Fresh(now) {
				origin.From = match.FromCache
			}
			cached.Add(path, query, e.Body, origin)
		}
		return nil
	})
	if unread != nil && ctx.Err() == nil {
		a.warn(unread)
	}
	found, more = cached.Found()
	return found, more, err
}

// Note returns what media servers need to know of an entry. A film may have been matched by a row of a search alone:
// where its details can't be had, any cached row of it will do.
func (a *App) Note(ctx context.Context, kind match.Kind, id int) (*nfo.Entry, error) {
	n, err := a.deciders.Note(ctx, kind, id)
	if err == nil || kind != match.Movie || ctx.Err() != nil {
		return n, err
	}
	if a.rows == nil {
		a.rows = a.cachedFilms(ctx)
	}
	if row := a.rows[id]; row != nil {
		return a.deciders.NoteOfRow(row), nil
	}
	return nil, err
}

// cachedFilms returns the films of all cached searches, those first in whose language this run asks.
func (a *App) cachedFilms(ctx context.Context) map[int]*tmdb.MovieRow {
	base := *a.cfg.TMDB.BaseURL
	base.Path += "/3/search/movie"
	prefix := cache.KeyOf(http.MethodGet, &base)
	mine := "language=" + a.cfg.TMDB.Languages[0]
	out, asked := map[int]*tmdb.MovieRow{}, map[int]bool{}
	err := a.cache.Range(ctx, func(e *cache.Entry) error {
		var page tmdb.SearchMoviePage
		if strings.HasPrefix(e.Key, prefix) && e.Status == http.StatusOK {
			_ = json.Unmarshal(e.Body, &page) // one that can't be read has no rows
		}
		own := strings.Contains(e.Key, mine)
		for i := range page.Results {
			if row := &page.Results[i]; out[row.ID] == nil || own && !asked[row.ID] {
				out[row.ID], asked[row.ID] = row, own
			}
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		a.warn(err)
	}
	return out
}
