package decide

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/index"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/orders"
	"github.com/anivault/anivault/internal/release"
)

// byAniDB decides a series whose path has AniDB's ID alone, if the lists know a single entry for it.
func (d *Deciders) byAniDB(ctx context.Context, s *series) (resolution, bool) {
	order, anime := orderOfNames(s)
	if order != orders.AniDB || d.index == nil {
		return resolution{}, false
	}
	var found []index.Candidate
	d.index.withIndex(func(x *index.Index) (err error) {
		found, err = x.EntriesOfAnime(anime)
		return err
	})
	if len(found) != 1 {
		return resolution{}, false
	}
	res := d.resolver.ResolveID(ctx, s.Series, found[0].Kind, found[0].ID)
	res.DecidedBy = match.DecidedByIndex
	res.Steps = slices.Insert(res.Steps, 0, match.Step{
		Stage: "index", Detail: lang.Textf("anidb id %d is %s/%d", anime, string(res.Kind), res.ID),
	})
	return resolution{Resolution: res}, true
}

// orderOfNames returns the order of the numbers in a series' names: that of the catalogue whose ID is in the path, ""
// if TMDB's is there or none. anime is AniDB's ID, in AniDB's order.
func orderOfNames(s *series) (order string, anime int) {
	ids := map[string]string{}
	for _, id := range s.IDs {
		ids[id.Source] = id.Value
	}
	anime, err := strconv.Atoi(ids[orders.AniDB])
	switch {
	case ids[orders.TMDB] != "":
	case ids[orders.TVDB] != "":
		return orders.TVDB, 0
	case err == nil && anime > 0 && ids["imdb"] == "":
		return orders.AniDB, anime
	}
	return "", 0
}

// readInOrder makes the numbers of names in another order than TMDB's the first reading, where it is known what they
// are at TMDB. A pin of their folder says the order, or else the ID in the path.
func (d *Deciders) readInOrder(ctx context.Context, s *series, res *resolution) {
	order, anime := orderOfNames(s)
	if s.pin != nil && s.pin.Path != "" {
		order = cmp.Or(s.pin.Order, order)
	}
	if order == "" || order == orders.TMDB || res.Status != match.Matched || res.Kind != match.TV || res.Entry == nil ||
		s.pin != nil && (s.pin.Season != nil || s.pin.Offset != 0) {
		return
	}
	count, others := d.ordersOfSeries(res.Entry), res.readings
	toTMDB := func(p orders.Place) *orders.Place { return count.ToTMDB(order, anime, p) }
	if name, ok := strings.CutPrefix(order, orders.GroupPrefix); ok {
		group, err := d.Group(ctx, res.ID, name)
		if err != nil {
			return // the record gets this error when it is put into the order
		}
		toTMDB = group.ToTMDB
	}
	res.readings = func(r release.Release) []release.Release {
		out := []release.Release{r}
		if others != nil {
			out = others(r)
		}
		season, stated := r.Season()
		if order == orders.AniDB && len(r.Seasons) == 0 && !isSpecial(r) {
			season, stated = 1, true // an anime has no seasons
		}
		if numbers, whole := wholeNumbers(r.Episodes); stated && whole && r.Kind != release.Extra {
			if at := toTMDB(orders.Place{Season: season, Episodes: numbers}); at != nil {
				own := withEpisodes(r, at.Season, at.Episodes)
				own.Kind, own.Special, own.EpisodeTitle = release.Episode, "", ""
				out = slices.Insert(out, 0, own)
			}
		}
		return out
	}
}
