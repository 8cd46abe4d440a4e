package app

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/decide"
	"github.com/anivault/anivault/internal/match"
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
