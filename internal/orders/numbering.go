package orders

import "slices"

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
