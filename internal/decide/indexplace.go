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
	"github.com/anivault/anivault/internal/orders"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/slicesx"
	"github.com/anivault/anivault/internal/title"
)

func (d *Deciders) byIndex(ctx context.Context, s *series) (resolution, bool) {
	if d.index == nil || len(s.IDs) > 0 {
		return resolution{}, false
	}
	said := d.index.find(s.Series)
	s.NotInIndex = len(said.candidates) == 0
	rivals := said.sufficientCandidates(s.Series)
	if len(rivals) == 0 {
		return resolution{}, false
	}
	hits := slicesx.Map(rivals, hitOf)
	res := d.resolver.ResolveAmong(ctx, s.Series, hits)
	res.Steps = slices.Insert(res.Steps, 0, match.Step{
		Stage: "index", Detail: lang.Textf("entries that the title index has under this title: %d", len(hits)),
	})
	switch {
	case res.Status == match.Matched:
		if res.Confidence < match.ConvincingConfidence || !hasYearNearby(res.Entry, s.Year) ||
			!match.NamesWholeEntry(s.Series, res.Entry) || rivals[0].AniDBID == 0 && s.Year == 0 {
			break // the lists may lack the right work: TMDB's exports have no translated titles
		}
		// The lists have no other work of this title, so record it like a search without a year.
		if len(hits) == 1 {
			d.known.addHits(match.Query{Kind: res.Kind}, []match.Hit{{
				Kind: res.Kind, ID: res.ID, Title: res.Title, OriginalTitle: res.OriginalTitle, Year: res.Year,
			}})
		}
		c := rivals[slices.IndexFunc(rivals, func(c index.Candidate) bool { return c.Kind == res.Kind && c.ID == res.ID })]
		m := indexMapping{c, res.Entry, said.siblings[c.ID]}.withoutLaterSeason(s.Year).withoutSequel(s.Titles)
		res.Mapping, res.DecidedBy = m.mapping(s.Series), match.DecidedByIndex
		if c.Kind != match.TV {
			return resolution{Resolution: res}, true
		}
		older := !m.isMainTitle() && res.IsOlderThanGroup(s.Series)
		return d.tryNamesake(ctx, s.Series, resolution{Resolution: res, readings: m.readings}, older), true
	case len(hits) == 1 && res.Err != nil && ctx.Err() == nil && !errors.Is(res.Err, match.ErrNoEntry):
		return d.resolveOffline(s.Series, rivals[0], said.siblings[rivals[0].ID], res)
	}
	return resolution{}, false
}

// placeByIndex adds the place that the title index has for the files' title in the entry of a pin or an ID.
func (d *Deciders) placeByIndex(s match.Series, out resolution) resolution {
	said := d.index.find(s)
	of := func(c index.Candidate) bool { return c.Kind == match.TV && out.Kind == match.TV && c.ID == out.ID }
	if i := slices.IndexFunc(said.candidates, of); i >= 0 && out.Status == match.Matched {
		m := indexMapping{said.candidates[i], out.Entry, said.siblings[out.ID]}
		m = m.withoutLaterSeason(s.Year).withoutSequel(s.Titles)
		out.Mapping, out.readings = m.mapping(s), m.readings
	}
	return out
}

// tryNamesake returns listed unless it lacks the files' episode numbers, or is older than their group, and another
// entry, found by a TMDB search, fits. The lists may confuse a remake with an older work, because AniDB and TMDB title
// the two differently.
func (d *Deciders) tryNamesake(ctx context.Context, s match.Series, listed resolution, older bool) resolution {
	// Fansubs often continue the episode numbers of the previous season.
	if !older && (s.FansubStyle || noContraryEvidence(s, listed.Resolution) || !d.placesNoFile(ctx, s, listed)) {
		return listed
	}
	once := d.resolver
	once.Options.MaxSearches = 1 // the title is known to be right
	found := resolution{Resolution: once.Resolve(ctx, s)}
	if found.Status != match.Matched || found.Kind == listed.Kind && found.ID == listed.ID ||
		d.placesNoFile(ctx, s, found) || older && found.IsOlderThanGroup(s) {
		return listed
	}
	return found
}

func (d *Deciders) placesNoFile(ctx context.Context, s match.Series, res resolution) bool {
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

func offlineReason(season, offset int) lang.Text {
	if offset > 0 {
		return lang.Textf("from the imported lists: season %d, counted from episode %d (not checked with TMDB)",
			season, offset)
	}
	return lang.Textf("from the imported lists: season %d (not checked with TMDB)", season)
}

func (d *Deciders) resolveOffline(
	s match.Series, c index.Candidate, siblings []index.Candidate, asked match.Resolution,
) (resolution, bool) {
	e := &match.Entry{Kind: c.Kind, Title: c.Text, OriginalTitle: c.Original}
	if s.Year != 0 && c.AniDBID == 0 || !match.NamesWholeEntry(s, e) {
		return resolution{}, false
	}
	confidence := indexConfidence
	if s.Year != 0 && !strings.Contains(c.Text, strconv.Itoa(s.Year)) {
		confidence = yearUnverifiedConfidence
	}
	out := resolution{Resolution: match.Resolution{Outcome: match.Outcome{
		Status: match.Matched, Confidence: confidence, Kind: c.Kind, ID: c.ID, Title: c.Text, OriginalTitle: c.Original,
		DecidedBy: match.DecidedByIndex, Reason: "from the title index only: TMDB was not available",
		Steps: asked.Steps, Err: asked.Err,
	}}}
	if c.Kind != match.TV {
		return out, true
	}
	_, lasts := d.config.ExplainError(asked.Err)
	out.adjust = func(d match.Decision, r release.Release) match.Decision {
		d = placeOffline(d, r, c, siblings)
		if d.Status == match.Matched && d.Season == nil && !lasts { // a retry may soon succeed
			d.Status, d.Reason = match.Pending, "the title index has the entry, but its seasons could not be fetched"
		}
		return d
	}
	return out, true
}

const (
	indexConfidence          = 0.9
	yearUnverifiedConfidence = 0.82
)

func placeEpisodes(c index.Candidate, eps []int) (season int, numbers []int, ok bool) {
	season = -1
	for _, n := range eps {
		to, more, ok := c.EpisodePlace(n)
		if !ok || season >= 0 && to != season {
			return 0, nil, false
		}
		season, numbers = to, append(numbers, more...)
	}
	return season, numbers, true
}

var offlineEpisodeConfidence = 0.9

const minSeasonLength = 12

// placeOffline places a file by the lists alone. The decision keeps the request's error, so the next run asks TMDB.
func placeOffline(d match.Decision, r release.Release, c index.Candidate, siblings []index.Candidate) match.Decision {
	if d.Status != match.Matched {
		return d
	}
	d.Reason = "the title index has the entry, but its seasons and episodes are known only to TMDB, which was not " +
		"available"
	eps, ok := wholeEpisodes(r)
	if !ok {
		return d
	}
	if n, stated := r.Season(); stated && n != 1 {
		known := slices.ContainsFunc(siblings, func(o index.Candidate) bool {
			return o.Season != nil && *o.Season == n && o.Offset == 0
		})
		if c.Season == nil {
			if known && n > 0 {
				d.Season, d.Episodes, d.EpisodeConfidence = &n, eps, &offlineEpisodeConfidence
				d.Reason = lang.Textf("the lists have a season %d (not checked with TMDB)", n)
			}
			return d
		}
	}
	sequels := func(n int) bool { return mayBelongToSequel(n, c, siblings) }
	if season, numbers, ok := placeEpisodes(c, eps); ok && (len(c.Ranges) > 0 || !slices.ContainsFunc(eps, sequels)) {
		d.Season, d.Episodes, d.EpisodeConfidence = &season, numbers, &offlineEpisodeConfidence
		d.Reason = offlineReason(season, c.Offset)
	}
	return d
}

// mayBelongToSequel reports whether an episode number may be one of a later anime of the same series.
func mayBelongToSequel(n int, c index.Candidate, siblings []index.Candidate) bool {
	for _, o := range siblings {
		switch {
		case o.Season == nil || o.AniDBID == c.AniDBID || *o.Season == 0 && *c.Season != 0:
		case *o.Season == *c.Season && o.Offset > c.Offset && n+c.Offset > o.Offset:
			return true
		case *o.Season > *c.Season && n > minSeasonLength:
			return true
		}
	}
	return false
}

// indexMapping maps a title of the index to a season of its entry. Its episode numbers count from that season's start.
type indexMapping struct {
	index.Candidate
	entry    *match.Entry
	siblings []index.Candidate
}

// withoutLaterSeason drops the mapping to a later season if the file's year is the entry's first year.
func (m indexMapping) withoutLaterSeason(year int) indexMapping {
	if year != 0 && m.entry.Year == year && m.Season != nil && (*m.Season != 1 || m.Offset != 0) {
		m.Season, m.Offset = nil, 0
	}
	return m
}

// withoutSequel drops the mapping if the file name has a longer title than the list, and the longer title is not a
// title of the entry. It may be a sequel: "最遊記RELOAD" is not "最遊記".
func (m indexMapping) withoutSequel(titles []release.Title) indexMapping {
	own := title.Compact(m.Text)
	for _, t := range titles {
		whole := title.Compact(t.Text)
		rest := strings.Replace(whole, own, "", 1)
		known := func(o match.AltTitle) bool { return title.Compact(o.Title) == rest }
		if t.From == release.FromName && rest != "" && rest != whole && title.Compact(m.entry.Title) != rest &&
			title.Compact(m.entry.OriginalTitle) != rest && !slices.ContainsFunc(m.entry.Titles, known) {
			m.Numbering = orders.Numbering{}
		}
	}
	return m
}

func (m indexMapping) mapping(s match.Series) *match.Mapping {
	switch {
	case m.Absolute && len(m.Ranges) == 0 && (!s.HasSeason || s.Season <= 1):
		return &match.Mapping{Absolute: true, Offset: m.Offset}
	case m.Season != nil && *m.Season > 0:
		return &match.Mapping{Season: *m.Season, Offset: m.Offset}
	}
	return nil
}

// readings returns the possible interpretations of a file name; the first with an episode at TMDB is used.
func (m indexMapping) readings(r release.Release) []release.Release {
	season, stated := r.Season()
	special := mapsToSpecials(m.Candidate)
	lacks := func(n float64) bool { return !slices.Contains(m.episodeNumbers(season), int(n)) }
	alone := special && stated && season == 1 && !m.isMainTitle() // "Special's Title S01E02" counts within the special
	switch {
	case len(r.Seasons) > 1, !special && len(m.Ranges) == 0, stated && !alone && !slices.ContainsFunc(r.Episodes, lacks),
		stated && season != 1 && m.lastEpisode(season) > 0:
		return []release.Release{r}
	case special && !isSpecial(r) && m.isMainTitle():
		return []release.Release{r} // a special listed under the series' own title: the file may be a regular episode
	case special:
		named := r
		named.Kind, named.Seasons = release.Special, nil
		out := append([]release.Release{named}, m.specialReadings(r)...)
		if !isSpecial(r) && len(r.Episodes) > 0 && int(slices.Max(r.Episodes))+m.Offset > m.lastEpisode(0) {
			out = append(out, r) // more episodes than there are specials
		}
		return out
	}
	if eps, ok := wholeEpisodes(r); ok {
		if season, numbers, ok := m.placeByRanges(eps); ok {
			return []release.Release{withEpisodes(r, season, numbers), r}
		}
	}
	return []release.Release{r}
}

func isSpecial(r release.Release) bool { return r.Kind == release.Special || r.Special != "" }

func withEpisodes(r release.Release, season int, numbers []int) release.Release {
	r.Seasons, r.Absolute, r.Part = []int{season}, false, 0
	r.Episodes = slicesx.Map(numbers, func(n int) float64 { return float64(n) })
	return r
}

// isMainTitle reports whether the listed title is the entry's own title in some language. Alternative titles don't
// count, because they may name specials.
func (m indexMapping) isMainTitle() bool {
	norm := title.Normalize(m.Text)
	year := " " + strconv.Itoa(m.entry.Year) // "Title (2014)"
	same := func(text string) bool { return strings.TrimSuffix(title.Normalize(text), year) == norm }
	return same(m.entry.Title) || same(m.entry.OriginalTitle) ||
		slices.ContainsFunc(m.entry.Titles, func(t match.AltTitle) bool { return t.Language != "" && same(t.Title) })
}

func (m indexMapping) specialReadings(r release.Release) []release.Release {
	next := 0 // the offset at which the next listed special begins
	for _, o := range m.siblings {
		switch {
		case !mapsToSpecials(o), o.AniDBID == m.AniDBID:
		case o.Offset == m.Offset:
			return nil
		case o.Offset > m.Offset && (next == 0 || o.Offset < next):
			next = o.Offset
		}
	}
	r.Kind, r.Special = release.Episode, ""
	eps, ok := wholeEpisodes(r)
	if !ok && len(r.Episodes) == 0 && (next == m.Offset+1 || next == 0 && m.lastEpisode(0) == m.Offset+1) {
		eps, ok = []int{1}, true
	}
	if !ok || next > 0 && slices.Max(eps)+m.Offset > next {
		return nil
	}
	for i := range eps {
		eps[i] += m.Offset
	}
	return []release.Release{withEpisodes(r, 0, eps)}
}

// placeByRanges returns TMDB's season and episode numbers. The lists number each season from 1, but TMDB may continue
// the numbers of the season before.
func (m indexMapping) placeByRanges(eps []int) (season int, numbers []int, ok bool) {
	season, numbers, ok = placeEpisodes(index.Candidate{Numbering: orders.Numbering{Ranges: m.Ranges}}, eps)
	list := m.episodeNumbers(season)
	if !ok || len(list) == 0 {
		return 0, nil, false
	}
	for i, n := range numbers {
		if list[0] > 1 && n <= len(list) {
			numbers[i] = list[n-1]
		}
		if !slices.Contains(list, numbers[i]) {
			return 0, nil, false
		}
	}
	return season, numbers, true
}

func (m indexMapping) episodeNumbers(season int) []int {
	var out []int
	for _, s := range m.entry.Seasons {
		if s.Number == season {
			for _, e := range s.Episodes {
				out = append(out, e.Number)
			}
		}
	}
	slices.Sort(out)
	return out
}

func (m indexMapping) lastEpisode(season int) int {
	return slices.Max(append(m.episodeNumbers(season), 0))
}
