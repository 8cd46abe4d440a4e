package decide

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/index"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/release"
)

// byIndex takes the entry that the title index has under this title, if TMDB's details confirm it. While TMDB can't be
// asked, the imported lists alone decide, with less confidence.
func (d *Deciders) byIndex(ctx context.Context, s *series) (resolution, bool) {
	if d.index == nil || len(s.IDs) > 0 || s.left != nil {
		return resolution{}, false
	}
	said := d.index.find(s.Series)
	s.Unlisted = len(said.candidates) == 0
	rivals := said.enough(s.Series)
	if len(rivals) == 0 {
		return resolution{}, false
	}
	var hits []match.Hit
	for _, c := range rivals {
		hits = append(hits, match.Hit{
			Kind: c.Kind, ID: c.ID, Title: c.Text, OriginalTitle: c.Original, Popularity: c.Popularity,
		})
	}
	res := d.resolver.ResolveAmong(ctx, s.Series, hits)
	step := match.Step{
		Stage: "index", Detail: lang.Textf("entries that the title index has under this title: %d", len(hits)),
	}
	res.Steps = slices.Concat([]match.Step{step}, res.Steps)
	switch {
	case res.Status == match.Matched:
		if res.Confidence < match.Convincing || !nearYear(res.Entry, s.Year) || !match.Whole(s.Series, res.Entry) {
			break // the right work may be missing in the lists
		}
		// There is no namesake in the lists, as if a search without a year had shown none.
		if len(hits) == 1 {
			d.known.show(match.Query{Kind: res.Kind}, []match.Hit{{
				Kind: res.Kind, ID: res.ID, Title: res.Title, OriginalTitle: res.OriginalTitle, Year: res.Year,
			}})
		}
		c := rivals[slices.IndexFunc(rivals, func(c index.Candidate) bool { return c.Kind == res.Kind && c.ID == res.ID })]
		m := mapped{c, res.Entry, said.siblings[c.ID]}.ofYear(s.Year)
		res.Mapping, res.By = m.mapping(s.Series), match.ByIndex
		if c.Kind != match.TV {
			return resolution{Resolution: res}, true
		}
		return d.orNamesake(ctx, s.Series, resolution{Resolution: res, read: m.readings}), true
	case len(hits) == 1 && res.Err != nil && ctx.Err() == nil && !errors.Is(res.Err, match.ErrNoEntry):
		return d.byListsAlone(s.Series, rivals[0], said.siblings[rivals[0].ID], res)
	}
	return resolution{}, false
}

// orNamesake returns what TMDB's search finds in place of the entry that the lists have under a title, where that one
// has no place for the files' numbers and the other has: AniDB and TMDB give a remake and the older work of its name
// different titles.
func (d *Deciders) orNamesake(ctx context.Context, s match.Series, listed resolution) resolution {
	// Fansubs count a sequel on from the season before.
	if s.Fansub || beyondDoubt(s, listed.Resolution) || !d.nowhere(ctx, s, listed) {
		return listed
	}
	once := d.resolver
	once.Options.MaxSearches = 1 // the title is known to be right
	found := resolution{Resolution: once.Resolve(ctx, s)}
	if found.Status != match.Matched || found.Kind == listed.Kind && found.ID == listed.ID || d.nowhere(ctx, s, found) {
		return listed
	}
	return found
}

// nowhere reports whether files say season and episode, and an entry has a place for none of them.
func (d *Deciders) nowhere(ctx context.Context, s match.Series, res resolution) bool {
	files := slices.DeleteFunc(slices.Clone(s.Files), func(f match.File) bool {
		n, stated := f.Release.Season()
		_, whole := wholeEpisodes(f.Release)
		return !stated || n == 0 || !whole || slices.Min(f.Release.Episodes) < 1 || isSpecial(f.Release)
	})
	none := len(files) > 0
	d.place(ctx, files, res, func(_ match.File, out match.Decision) {
		none = none && out.Season == nil && (out.EpisodeConfidence == nil || *out.EpisodeConfidence == 0)
	})
	return none
}

// listsText returns where the lists put a file whose episodes begin after the season's first offset.
func listsText(season, offset int) lang.Text {
	if offset > 0 {
		return lang.Textf("by the lists: season %d, counted on from episode %d; unchecked, for TMDB could not be asked",
			season, offset)
	}
	return lang.Textf("by the lists: season %d; unchecked, for TMDB could not be asked", season)
}

// byListsAlone takes the entry of the index while TMDB can't be asked, unless its title is only a piece of the name.
func (d *Deciders) byListsAlone(
	s match.Series, c index.Candidate, siblings []index.Candidate, asked match.Resolution,
) (resolution, bool) {
	e := &match.Entry{Kind: c.Kind, Title: c.Text, OriginalTitle: c.Original}
	if s.Year != 0 && c.Anime == 0 || !match.Whole(s, e) {
		return resolution{}, false
	}
	confidence := indexConfidence
	if s.Year != 0 && !strings.Contains(c.Text, strconv.Itoa(s.Year)) {
		confidence = yearUnseen
	}
	out := resolution{Resolution: match.Resolution{Outcome: match.Outcome{
		Status: match.Matched, Confidence: confidence, Kind: c.Kind, ID: c.ID, Title: c.Text, OriginalTitle: c.Original,
		By: match.ByIndex, Reason: "by the title index alone; TMDB could not be asked", Steps: asked.Steps, Err: asked.Err,
	}}}
	if c.Kind != match.TV {
		return out, true
	}
	_, lasts := d.why(asked.Err)
	out.finish = func(d match.Decision, r release.Release) match.Decision {
		d = placeUnasked(d, r, c, siblings)
		if d.Status == match.Matched && d.Season == nil && !lasts { // asking again soon may give a whole answer
			d.Status, d.Reason = match.Pending, "the title index knows the entry, but its seasons could not be asked for"
		}
		return d
	}
	return out, true
}

// The confidence in an exact title of the index while TMDB can't be asked, and in one that does not confirm the name's
// year.
const (
	indexConfidence = 0.9
	yearUnseen      = 0.82
)

// placeAll returns where the lists put all episodes of a file, if they do and if that is one season.
func placeAll(c index.Candidate, eps []int) (season int, numbers []int, ok bool) {
	season = -1
	for _, n := range eps {
		to, more, ok := c.Place(n)
		if !ok || season >= 0 && to != season {
			return 0, nil, false
		}
		season, numbers = to, append(numbers, more...)
	}
	return season, numbers, true
}

// unaskedPlace is the confidence in a place that the lists alone know.
var unaskedPlace = 0.9

// surelyInFirst is how many episodes a short season has: a number up to it is in the first season.
const surelyInFirst = 12

// placeUnasked fills in season and episodes by the lists alone, where they leave no doubt, or else the reason. The
// decision keeps its error, so it is not remembered and the next run asks TMDB.
func placeUnasked(d match.Decision, r release.Release, c index.Candidate, siblings []index.Candidate) match.Decision {
	if d.Status != match.Matched {
		return d
	}
	d.Reason = "the title index knows the entry; which season and episode, only TMDB can tell, and it could not be asked"
	eps, ok := wholeEpisodes(r)
	if !ok {
		return d
	}
	if n, stated := r.Season(); stated && n != 1 {
		known := slices.ContainsFunc(siblings, func(o index.Candidate) bool {
			return o.Season != nil && *o.Season == n && o.Offset == 0
		})
		if c.Season == nil && known && n > 0 {
			d.Season, d.Episodes, d.EpisodeConfidence = &n, eps, &unaskedPlace
			d.Reason = lang.Textf("the lists know a season %d; unchecked, for TMDB could not be asked", n)
			return d
		}
		if c.Season == nil {
			return d
		}
	}
	sequels := func(n int) bool { return mayBelongToSequel(n, c, siblings) }
	if season, numbers, ok := placeAll(c, eps); ok && (len(c.Ranges) > 0 || !slices.ContainsFunc(eps, sequels)) {
		d.Season, d.Episodes, d.Reason, d.EpisodeConfidence = &season, numbers, listsText(season, c.Offset), &unaskedPlace
	}
	return d
}

// mayBelongToSequel reports whether an episode number may be one of a later anime of the same series: that anime begins
// in the same season before the number, or there are later seasons and the number is too high for a short one.
func mayBelongToSequel(n int, c index.Candidate, siblings []index.Candidate) bool {
	for _, o := range siblings {
		switch {
		case o.Season == nil || o.Anime == c.Anime || *o.Season == 0 && *c.Season != 0:
		case *o.Season == *c.Season && o.Offset > c.Offset && n+c.Offset > o.Offset:
			return true
		case *o.Season > *c.Season && n > surelyInFirst:
			return true
		}
	}
	return false
}
