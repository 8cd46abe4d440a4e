// Package index is the local title index: which TMDB entry, season and offset a title is, in any script, without
// asking anyone. It is built from lists that the user has fetched (Anime-Lists, AniDB's titles, TMDB's daily exports)
// and answers by exact normalised title only; what is near is the matcher's business.
package index

import (
	"github.com/anivault/anivault/internal/match"
)

// Source is a list that an index is built from.
type Source string

// The sources. Each is replaced whole when it is imported again.
const (
	AnimeLists Source = "anime-lists" // Anime-Lists' XML: AniDB's anime to TMDB's entries
	AniDB      Source = "anidb"       // AniDB's anime-titles
	TVExport   Source = "tmdb-tv"     // TMDB's tv_series_ids
	FilmExport Source = "tmdb-movie"  // TMDB's movie_ids
	AnimeIDs   Source = "anime-ids"   // Fribb's anime-list-full.json: AniDB's anime to those of AniList and MyAnimeList
)

// sources lists all of them, in the order of documents and statistics.
var sources = []Source{AnimeLists, AniDB, TVExport, FilmExport, AnimeIDs}

// anime is what Anime-Lists says of one anime of AniDB's.
type anime struct {
	ID       int     `json:"-"` // AniDB's
	Name     string  `json:"name,omitempty"`
	TV       int     `json:"tv,omitempty"`     // TMDB's series, 0 for none
	Season   *int    `json:"season,omitempty"` // nil: not said, or absolute
	Absolute bool    `json:"absolute,omitempty"`
	Offset   int     `json:"offset,omitempty"`
	Movies   []int   `json:"movies,omitempty"`
	Ranges   []Range `json:"ranges,omitempty"`
}

// Range maps some episodes of an anime one by one, for regular ones only. An episode n from Start to End (0: no end)
// is episode n+Offset of Season; Pairs overrule that.
type Range struct {
	Season int            `json:"season"`
	Start  int            `json:"start,omitempty"`
	End    int            `json:"end,omitempty"`
	Offset int            `json:"offset,omitempty"`
	Pairs  map[int]Target `json:"pairs,omitempty"`
}

// Target is the episodes that one episode corresponds to; none where TMDB lacks it.
type Target []int

// titleRow is a title of AniDB's.
type titleRow struct {
	anime    int
	kind     titleKind
	language string
	text     string
}

// titleKind says how good a title is; the smaller the better.
type titleKind byte

const (
	mainTitle titleKind = iota + 1
	officialTitle
	synonym
	shortTitle
)

// exportRow is a line of TMDB's exports.
type exportRow struct {
	kind       match.Kind
	id         int
	title      string
	popularity float64
}

// Candidate is an entry that a title may be. Text is the title as the source writes it. Season is nil where no list
// says one; Absolute counts over all seasons. Anime is AniDB's id, 0 for what stands in TMDB's exports alone.
// Original and Popularity are known where TMDB's exports were imported.
type Candidate struct {
	Kind       match.Kind
	ID         int
	Text       string
	Original   string
	Popularity float64
	Anime      int
	Short      bool // an abbreviation that AniDB lists; several works may share it
	Season     *int
	Absolute   bool
	Offset     int
	Ranges     []Range
}

// Place finds where the lists put a regular episode of the candidate: its season and TMDB's numbers in it. ok is
// false where they do not say.
func (c Candidate) Place(n int) (season int, episodes []int, ok bool) {
	for _, r := range c.Ranges {
		if t, listed := r.Pairs[n]; listed {
			return r.Season, t, len(t) > 0
		}
	}
	for _, r := range c.Ranges {
		if r.Start > 0 && n >= r.Start && (r.End == 0 || n <= r.End) && n+r.Offset > 0 {
			return r.Season, []int{n + r.Offset}, true
		}
	}
	if c.Season == nil || n+c.Offset < 0 {
		return 0, nil, false
	}
	return *c.Season, []int{n + c.Offset}, true
}
