package app

import (
	"context"

	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/tmdb"
)

// sites are the sites whose ids paths carry, as TMDB calls them.
var sites = map[string]tmdb.Source{"imdb": tmdb.SourceIMDb, "tvdb": tmdb.SourceTVDB}

// Find implements match.Finder.
func (s *source) Find(ctx context.Context, site, id string) ([]match.Hit, match.Origin, error) {
	return recall(ctx, &s.memo, "find/"+site+"/"+id, func() ([]match.Hit, match.Origin, error) {
		found, resp, err := s.client.Find(ctx, id, sites[site], s.language)
		if err != nil {
			return nil, match.Origin{}, missing(err)
		}
		return append(tvHits(found.TV), movieHits(found.Movies)...), originOf(resp), nil
	})
}
