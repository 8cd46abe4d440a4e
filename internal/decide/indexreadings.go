package decide

import (
	"slices"

	"github.com/anivault/anivault/internal/index"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/title"
)

// mapped is what the lists say of a title, beside the entry that TMDB has. Numbers of the lists count inside the season
// that they name, and nowhere else.
type mapped struct {
	index.Candidate
	entry    *match.Entry
	siblings []index.Candidate
}

// ofYear drops what the lists say of a later season under a title with a year in which the whole entry began: the name
// means its beginning.
func (m mapped) ofYear(year int) mapped {
	if year != 0 && m.entry.Year == year && m.Season != nil && (*m.Season != 1 || m.Offset != 0) {
		m.Season, m.Offset = nil, 0
	}
	return m
}

// mapping returns what match is told of the lists; nil where readings says all, or where the name states another
// season.
func (m mapped) mapping(s match.Series) *match.Mapping {
	switch {
	case m.Absolute && len(m.Ranges) == 0 && (!s.HasSeason || s.Season <= 1):
		return &match.Mapping{Absolute: true, Offset: m.Offset}
	case m.Season != nil && *m.Season > 0:
		return &match.Mapping{Season: *m.Season, Offset: m.Offset}
	}
	return nil
}

// readings returns how a name may be read, with TMDB's numbers where the lists know them; the first that has a place at
// TMDB counts. A season that the name states and that has the number comes before the lists.
func (m mapped) readings(r release.Release) []release.Release {
	season, stated := r.Season()
	special := special(m.Candidate)
	switch {
	case len(r.Seasons) > 1, !special && len(m.Ranges) == 0, stated && (season != 1 || m.has(season, r.Episodes)):
		return []release.Release{r}
	case special && !isSpecial(r) && m.isOfTheSeries():
		return []release.Release{r} // it bears the series' own title, which the file has as well
	case special:
		out := append([]release.Release{asSpecial(r)}, m.amongSpecials(r)...)
		if !isSpecial(r) && len(r.Episodes) > 0 && int(slices.Max(r.Episodes))+m.Offset > m.last(0) {
			out = append(out, r) // more episodes than there are specials
		}
		return out
	}
	if eps, ok := wholeEpisodes(r); ok {
		if season, numbers, ok := m.inRange(eps); ok {
			return []release.Release{numbered(r, season, numbers), r}
		}
	}
	return []release.Release{r}
}

func isSpecial(r release.Release) bool { return r.Kind == release.Special || r.Special != "" }

// asSpecial returns a reading that is never placed among the regular episodes.
func asSpecial(r release.Release) release.Release {
	r.Kind, r.Seasons = release.Special, nil
	return r
}

// numbered returns a reading with TMDB's numbers.
func numbered(r release.Release, season int, numbers []int) release.Release {
	r.Seasons, r.Episodes, r.Absolute, r.Part = []int{season}, make([]float64, len(numbers)), false, 0
	for i, n := range numbers {
		r.Episodes[i] = float64(n)
	}
	return r
}

// isOfTheSeries reports whether the title is one that TMDB shows for the series, in any language. What TMDB lists as
// alternative titles may be those of specials.
func (m mapped) isOfTheSeries() bool {
	norm := title.Normalize(m.Text)
	same := func(text string) bool { return title.Normalize(text) == norm }
	return same(m.entry.Title) || same(m.entry.OriginalTitle) ||
		slices.ContainsFunc(m.entry.Titles, func(t match.AltTitle) bool { return t.Language != "" && same(t.Text) })
}

// amongSpecials returns the reading with the numbers that the lists give the specials. It is empty where they give them
// to another special as well. A file without a number is the first of them, if there is only one.
func (m mapped) amongSpecials(r release.Release) []release.Release {
	next := 0 // where the list's next special begins
	for _, o := range m.siblings {
		if !special(o) || o.Anime == m.Anime {
			continue
		}
		if o.Offset == m.Offset {
			return nil
		}
		if o.Offset > m.Offset && (next == 0 || o.Offset < next) {
			next = o.Offset
		}
	}
	r.Kind, r.Special = release.Episode, ""
	eps, ok := wholeEpisodes(r)
	if !ok && len(r.Episodes) == 0 && (next == m.Offset+1 || next == 0 && m.last(0) == m.Offset+1) {
		eps, ok = []int{1}, true
	}
	if !ok || next > 0 && slices.Max(eps)+m.Offset > next {
		return nil
	}
	for i := range eps {
		eps[i] += m.Offset
	}
	return []release.Release{numbered(r, 0, eps)}
}

// inRange returns where the lists map all episodes of a file one by one, in TMDB's numbers: where those of a season go
// on from the season before, the lists count from its first.
func (m mapped) inRange(eps []int) (season int, numbers []int, ok bool) {
	season, numbers, ok = placeAll(index.Candidate{Ranges: m.Ranges}, eps)
	list := m.episodes(season)
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

// episodes returns the numbers that TMDB has in a season.
func (m mapped) episodes(season int) []int {
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

// last returns the last number of a season, 0 for none.
func (m mapped) last(season int) int {
	if list := m.episodes(season); len(list) > 0 {
		return list[len(list)-1]
	}
	return 0
}

// has reports whether TMDB's season has all the numbers.
func (m mapped) has(season int, numbers []float64) bool {
	list := m.episodes(season)
	return !slices.ContainsFunc(numbers, func(n float64) bool { return !slices.Contains(list, int(n)) })
}
