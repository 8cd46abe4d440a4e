package tmdbfake

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/upstream"
)

// searchBoth merges the two kinds by score, as search/multi does.
func (c *Catalogue) searchBoth(text string, f Filter, rank Rank, seed uint64) []*Work {
	q := Tokens(text)
	both := append(c.hits(TV, q, f, rank, seed), c.hits(Movie, q, f, rank, seed)...)
	slices.SortStableFunc(both, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.luck, b.luck), cmp.Compare(a.work.ID, b.work.ID))
	})
	out := make([]*Work, 0, len(both))
	for _, h := range both {
		out = append(out, h.work)
	}
	return out
}

// externalSources are the values of external_source.
var externalSources = []string{
	"imdb_id", "tvdb_id", "wikidata_id", "facebook_id", "instagram_id", "twitter_id", "tiktok_id", "youtube_id",
}

func (f *Fake) find(q query) answer {
	source := q.values.Get("external_source")
	if !slices.Contains(externalSources, source) {
		return invalid("external_source must be one of " + strings.Join(externalSources, ", "))
	}
	v := f.view(q)
	found := map[Kind][]object{TV: {}, Movie: {}}
	for _, w := range f.catalogue.works {
		have := ""
		switch source {
		case "imdb_id":
			have = w.External.IMDb
		case "tvdb_id":
			if w.External.TVDB != 0 {
				have = strconv.Itoa(w.External.TVDB)
			}
		case "wikidata_id":
			have = w.External.Wikidata
		}
		if have != "" && have == q.ids[0] {
			found[w.Kind] = append(found[w.Kind], w.row(v, true))
		}
	}
	return answer{200, object{
		"movie_results": found[Movie], "tv_results": found[TV],
		"person_results": []any{}, "tv_episode_results": []any{}, "tv_season_results": []any{},
	}, classDetails}
}

func (f *Fake) discover(q query) answer {
	n, ok := page(q.values)
	if !ok {
		return refuse(22)
	}
	language, first := q.values.Get("with_original_language"), year(q.values, "first_air_date_year")
	adult := q.values.Get("include_adult") == "true"
	var found []*Work
	for _, w := range f.catalogue.Works(TV) {
		if language != "" && w.Language != language || first != 0 && w.Date.Year() != first || w.Adult && !adult {
			continue
		}
		if hasGenres(w.Genres, q.values.Get("with_genres")) {
			found = append(found, w)
		}
	}
	key, direction, _ := strings.Cut(q.values.Get("sort_by"), ".")
	slices.SortStableFunc(found, func(a, b *Work) int {
		var c int
		switch key {
		case "first_air_date":
			c = cmp.Compare(a.Date, b.Date)
		case "name":
			c = cmp.Compare(a.shownName("en", "US"), b.shownName("en", "US"))
		case "original_name":
			c = cmp.Compare(a.Original, b.Original)
		case "vote_average":
			c = cmp.Compare(a.vote(), b.vote())
		case "vote_count":
			c = cmp.Compare(a.Votes, b.Votes)
		default:
			c = cmp.Compare(a.Popularity, b.Popularity)
		}
		if direction != "asc" {
			c = -c
		}
		return cmp.Or(c, cmp.Compare(a.ID, b.ID))
	})
	v := f.view(q)
	row := func(w *Work) object {
		o := w.row(v, false)
		delete(o, "adult")
		return o
	}
	return answer{200, paged(found, n, pageSize, row), classSearch}
}

// hasGenres reads with_genres: a comma means and, a pipe means or.
func hasGenres(have []int, want string) bool {
	if want == "" {
		return true
	}
	has := func(s string) bool {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		return err == nil && slices.Contains(have, n)
	}
	if strings.Contains(want, "|") {
		return slices.ContainsFunc(strings.Split(want, "|"), has)
	}
	for s := range strings.SplitSeq(want, ",") {
		if !has(s) {
			return false
		}
	}
	return true
}

// changes lists edited works: the seed chooses about one in fifty for any day, and
// all that were renumbered belong to them.
func (f *Fake) changes(q query, kind Kind) answer {
	n, ok := page(q.values)
	if !ok {
		return refuse(22)
	}
	from, to, code := dateRange(q.values, Day(q.now.Unix()/86400))
	if code != 0 {
		return refuse(code)
	}
	var found []*Work
	for _, w := range f.catalogue.Works(kind) {
		edited := q.changed && w.Later != nil
		for d := from; d <= to && !edited; d++ {
			edited = upstream.Hash(f.seed, "edit", kind, w.ID, int(d))%50 == 0
		}
		if edited {
			found = append(found, w)
		}
	}
	row := func(w *Work) object { return object{"id": w.ID, "adult": w.Adult, "softcore": false} }
	return answer{200, paged(found, n, changeRows, row), classSearch}
}
