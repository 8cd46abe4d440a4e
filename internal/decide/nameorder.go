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

// byAniDB decides a series whose path has an AniDB ID and no other ID. It needs the imported lists to map that ID to
// exactly one entry.
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

// orderOfNames returns the order in which the file names of a series count episodes. An ID of TVDB or AniDB in the path
// means the order of that catalogue. Without such an ID, or with an ID of TMDB, it returns "". anime is the AniDB ID if
// the order is AniDB's.
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

// readInOrder handles file names that count episodes in another order than TMDB's. It converts their numbers to TMDB's,
// if the conversion is known, and makes the result the first reading. The order comes from a pin of the folder, or else
// from the ID in the path.
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
		if named, ok := placeInName(order, r); ok {
			if at := toTMDB(named); at != nil {
				own := withEpisodes(r, at.Season, at.Episodes)
				own.Kind, own.Special, own.EpisodeTitle = release.Episode, "", ""
				out = slices.Insert(out, 0, own)
			}
		}
		return out
	}
	several := slices.ContainsFunc(res.Entry.Seasons, func(s match.Season) bool { return s.Number > 1 })
	res.doubt = func(r release.Release) lang.Text {
		at, ok := placeInName(order, r)
		if !ok || order != orders.AniDB || at.Season > 1 || at.Season == 1 && !several || toTMDB(at) != nil {
			return ""
		}
		return "the number is AniDB's, and no title index converts it: anivault index update"
	}
}

func placeInName(order string, r release.Release) (at orders.Place, ok bool) {
	season, stated := r.Season()
	if (order == orders.AniDB || order == orders.Absolute) && len(r.Seasons) == 0 && !isSpecial(r) {
		season, stated = 1, true // they have no seasons
	}
	numbers, whole := wholeNumbers(r.Episodes)
	return orders.Place{Season: season, Episodes: numbers}, stated && whole && r.Kind != release.Extra
}
