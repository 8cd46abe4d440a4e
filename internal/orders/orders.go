// Package orders counts the episodes of a TMDB series as other catalogues count them. An answer is right according to
// the lists and to TMDB, or there is none: nothing is guessed, and of several episodes either all are known or none.
package orders

import (
	"slices"
	"strings"
)

// The orders. A group's is GroupPrefix with the group's name.
const (
	TMDB        = "tmdb"
	Absolute    = "absolute"
	TVDB        = "tvdb"
	AniDB       = "anidb"
	GroupPrefix = "group:"
)

// Valid reports whether text is an order.
func Valid(text string) bool {
	name, group := strings.CutPrefix(text, GroupPrefix)
	return group && strings.TrimSpace(name) != "" || slices.Contains([]string{TMDB, Absolute, TVDB, AniDB}, text)
}

// Place is a season and episodes of it, in ascending order.
type Place struct {
	Season   int   `json:"season" doc:"the season; 0 holds the specials"`
	Episodes []int `json:"episodes,omitempty" doc:"the episodes"`
}

// AniDBPlace is episodes of one anime, in ascending order.
type AniDBPlace struct {
	ID       int   `json:"id" doc:"AniDB's id of the anime"`
	Special  bool  `json:"special,omitempty" doc:"true where the numbers are those of its specials"`
	Episodes []int `json:"episodes,omitempty" doc:"the episodes"`
}

// Orders are the same episodes in each order in which all of them are known.
type Orders struct {
	TMDB     *Place      `json:"tmdb,omitempty" doc:"TMDB's numbers"`
	Absolute []int       `json:"absolute,omitempty" doc:"counted over all of TMDB's regular seasons"`
	TVDB     *Place      `json:"tvdb,omitempty" doc:"TVDB's numbers"`
	AniDB    *AniDBPlace `json:"anidb,omitempty" doc:"AniDB's numbers"`
}

// In returns the episodes in an order; nil if they are not known in it. The season of absolute numbers is 1, that of
// AniDB's is 1, or 0 for its specials.
func (o *Orders) In(order string) *Place {
	switch {
	case o == nil:
	case order == TMDB:
		return o.TMDB
	case order == Absolute && o.Absolute != nil:
		return &Place{1, o.Absolute}
	case order == TVDB:
		return o.TVDB
	case order == AniDB && o.AniDB != nil && o.AniDB.Special:
		return &Place{0, o.AniDB.Episodes}
	case order == AniDB && o.AniDB != nil:
		return &Place{1, o.AniDB.Episodes}
	}
	return nil
}

// Anime is one anime of AniDB that the lists map to a TMDB series, and to TVDB's series TVDBID (0: none).
type Anime struct {
	ID         int
	TMDB, TVDB Numbering
	TVDBID     int
}

// Numbering is how a catalogue numbers the episodes of an anime. Ranges and Specials take precedence over Season and
// Offset, which say that regular episode n is episode n+Offset of the season; so do Absolute and Offset, which count
// over all regular seasons. Specials have no default.
type Numbering struct {
	Season   *int    `json:"season,omitempty"` // nil: not given, or Absolute is set
	Absolute bool    `json:"absolute,omitempty"`
	Offset   int     `json:"offset,omitempty"`
	Ranges   []Range `json:"ranges,omitempty"`   // of the anime's regular episodes
	Specials []Range `json:"specials,omitempty"` // of its specials
}

// Range maps some of an anime's episodes to a season. Episode n from Start to End (0: no end) is episode n+Offset of
// Season. Pairs take precedence and map single episodes.
type Range struct {
	Season int           `json:"season"`
	Start  int           `json:"start,omitempty"`
	End    int           `json:"end,omitempty"`
	Offset int           `json:"offset,omitempty"`
	Pairs  map[int][]int `json:"pairs,omitempty"` // empty: the catalogue does not have the episode
}

func (r Range) contains(n int) bool {
	return r.Start > 0 && n >= r.Start && (r.End == 0 || n <= r.End) && n+r.Offset > 0
}

// Overlaps reports whether both ranges map an episode, and neither takes precedence.
func (r Range) Overlaps(other Range) bool {
	for n := range r.Pairs {
		if other.Pairs[n] != nil {
			return true
		}
	}
	return other.contains(r.Start) || r.contains(other.Start)
}

// EpisodePlace returns the season and the episodes of a regular episode, according to the lists.
func (x *Numbering) EpisodePlace(n int) (season int, episodes []int, ok bool) {
	t := x.target(false, n)
	return t.season, t.episodes, t.rule != notMapped && t.rule != byAbsolute && t.episodes[0] >= 0
}

// target is what a Numbering says of an episode. first is the least number that the same rule leads to.
type target struct {
	season   int
	episodes []int
	first    int
	rule     rule
}

type rule byte

const (
	notMapped rule = iota
	byRange
	bySeason
	byAbsolute
)

func (x *Numbering) target(special bool, n int) target {
	list := x.Ranges
	if special {
		list = x.Specials
	}
	excluded := false
	for _, r := range list {
		to, listed := r.Pairs[n]
		if len(to) > 0 {
			first := to[0]
			for _, all := range r.Pairs {
				for _, e := range all {
					first = min(first, e)
				}
			}
			return target{r.Season, to, first, byRange}
		}
		excluded = excluded || listed
	}
	for _, r := range list {
		if !excluded && r.contains(n) {
			return target{r.Season, []int{n + r.Offset}, r.Start + r.Offset, byRange}
		}
	}
	switch {
	case excluded || special:
	case x.Absolute && len(x.Ranges) == 0:
		return target{0, []int{n + x.Offset}, 1 + x.Offset, byAbsolute}
	case x.Season != nil:
		return target{*x.Season, []int{n + x.Offset}, 1 + x.Offset, bySeason}
	}
	return target{}
}

// lists reports whether the lists name a regular episode of the anime.
func (a *Anime) lists(n int) bool {
	for _, r := range slices.Concat(a.TMDB.Ranges, a.TVDB.Ranges) {
		if len(r.Pairs[n]) > 0 || r.End > 0 && r.contains(n) {
			return true
		}
	}
	return n == 1
}

// last returns the last regular episode that the lists name; 0 for none.
func (a *Anime) last() (last int) {
	for _, r := range slices.Concat(a.TMDB.Ranges, a.TVDB.Ranges) {
		last = max(last, r.End)
		for n, to := range r.Pairs {
			if len(to) > 0 {
				last = max(last, n)
			}
		}
	}
	return last
}
