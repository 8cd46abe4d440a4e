package orders

import (
	"cmp"
	"math"
	"slices"

	"github.com/anivault/anivault/internal/slicesx"
)

// spot is one episode in one order. In AniDB's order, season is 0 for a special and 1 for others.
type spot struct{ anime, season, episode int }

func spotsOf(anime int, p Place) []spot {
	return slicesx.Map(p.Episodes, func(n int) spot { return spot{anime, p.Season, n} })
}

// relation maps episodes of TMDB (side 0) to those of another order (side 1), and the reverse.
type relation [2]map[spot]*unit

// unit is a smallest set of episodes that are the same on both sides: one on each, or several if one episode of a side
// is two on the other. It is bad if two anime claim an episode.
type unit struct {
	sides [2][]spot
	anime int
	bad   bool
}

func (r *relation) add(anime int, pair [2]spot) {
	joined := &unit{anime: anime}
	for side, s := range pair {
		if r[side] == nil {
			r[side] = map[spot]*unit{}
		}
		u := r[side][s]
		switch {
		case u == joined:
		case u == nil:
			joined.sides[side] = append(joined.sides[side], s)
		default:
			u.bad = u.bad || joined.bad || u.anime != joined.anime
			for side, more := range joined.sides {
				u.sides[side] = append(u.sides[side], more...)
			}
			joined = u
		}
	}
	for side, all := range joined.sides {
		for _, s := range all {
			r[side][s] = joined
		}
	}
}

// translate converts episodes of one side to the other. It returns nil unless they are whole units that are all in one
// season of one anime there.
func (r *relation) translate(side int, in []spot) (anime int, place *Place) {
	var units []*unit
	var out []spot
	left := len(in)
	for _, s := range in {
		u := r[side][s]
		if u == nil || u.bad {
			return 0, nil
		}
		if !slices.Contains(units, u) {
			units, out, left = append(units, u), append(out, u.sides[1-side]...), left-len(u.sides[side])
		}
	}
	if left != 0 || len(out) == 0 {
		return 0, nil
	}
	p := &Place{Season: out[0].season}
	for _, s := range out {
		if s.anime != out[0].anime || s.season != p.Season {
			return 0, nil
		}
		p.Episodes = append(p.Episodes, s.episode)
	}
	slices.Sort(p.Episodes)
	return out[0].anime, p
}

// Series counts the episodes of a TMDB series.
type Series struct {
	seasons     map[int][]int // TMDB's episode numbers
	spots       []spot        // all episodes, the specials last
	regular     int           // how many of spots are regular
	rank        map[spot]int  // indices in spots
	tvdb, anidb relation
}

// NewSeries returns the series that has seasons at TMDB and the id tvdb at TVDB, 0 if it is not known. A season that
// pauses is given in parts, in order.
func NewSeries(seasons []Place, tvdb int, anime []Anime) *Series {
	s := &Series{seasons: map[int][]int{}, rank: map[spot]int{}}
	seasons = slices.Clone(seasons)
	slices.SortStableFunc(seasons, func(a, b Place) int {
		return cmp.Or(cmp.Compare(min(b.Season, 1), min(a.Season, 1)), cmp.Compare(a.Season, b.Season))
	})
	var pauses []int // indices in spots
	for _, p := range seasons {
		p.Episodes = slices.Compact(slices.Sorted(slices.Values(p.Episodes)))
		if s.seasons[p.Season] != nil {
			pauses = append(pauses, len(s.spots))
		}
		s.seasons[p.Season] = append(s.seasons[p.Season], p.Episodes...)
		s.spots = append(s.spots, spotsOf(0, p)...)
		if p.Season > 0 {
			s.regular = len(s.spots)
		}
	}
	for i, at := range s.spots {
		s.rank[at] = i
	}
	anime = slices.Clone(anime)
	starts := make([]int, len(anime))
	for i := range anime {
		a := &anime[i]
		if first := s.find(a.TMDB.target(false, 1)); first != nil {
			starts[i] = s.rank[first[0]]
		}
		if a.TVDBID != tvdb || tvdb == 0 {
			a.TVDB = Numbering{}
		}
	}
	// The lists do not say how many episodes an anime has: it ends where the next one begins. If none begins in that
	// season of TMDB, it ends at the first pause after the last episode that the lists name.
	for i, a := range anime {
		end, tvdbEnd := len(s.spots), math.MaxInt
		for j := range anime {
			if n := anime[j].TMDB.Season; n != nil && *n > 0 && s.seasons[*n] == nil {
				end = 0 // TMDB may have put that season's episodes anywhere
			}
			if starts[j] > starts[i] {
				end = min(end, starts[j])
			}
			next := anime[j].TVDB.target(false, 1)
			if next.rule == notMapped || next.rule == byAbsolute || a.TVDB.Season == nil || next.season != *a.TVDB.Season {
				continue
			}
			if first := next.episodes[0]; first > a.TVDB.Offset+1 {
				tvdbEnd = min(tvdbEnd, first)
			}
		}
		s.addAnime(&a, s.endAtPause(&a, starts[i], end, pauses), tvdbEnd)
	}
	return s
}

// endAtPause returns the first pause of an anime's season after start and after the episodes that the lists name; end
// if there is none, or if end lies in that season.
func (s *Series) endAtPause(a *Anime, start, end int, pauses []int) int {
	if last := s.find(a.TMDB.target(false, a.last())); last != nil {
		start = max(start, s.rank[last[0]])
	}
	season := a.TMDB.Season
	if season == nil || end < len(s.spots) && s.spots[end].season == *season {
		return end
	}
	for _, at := range pauses {
		if at > start && at < end && s.spots[at].season == *season {
			return at
		}
	}
	return end
}

// addAnime adds an anime. Episodes that no range maps must come before spots[end], and before episode tvdbEnd at TVDB.
// If TMDB then has fewer episodes than the lists name, it numbers them in a way that the lists don't describe.
func (s *Series) addAnime(a *Anime, end, tvdbEnd int) {
	if t := a.TMDB.target(false, a.last()); a.last() > 0 && (t.rule == bySeason || t.rule == byAbsolute) {
		if at := s.find(t); at == nil || s.rank[at[0]] >= end {
			end = 0
		}
	}
	for _, special := range []bool{false, true} {
		for _, n := range s.numbersOf(a, special) {
			own := spot{a.ID, 1, n}
			if special {
				own.season = 0
			}
			to, other := a.TMDB.target(special, n), a.TVDB.target(special, n)
			ended := other.rule == bySeason && other.episodes[0] >= tvdbEnd
			if other.rule == byAbsolute || ended {
				other = target{}
			}
			for _, at := range s.find(to) {
				if to.rule != byRange && (ended || s.rank[at] >= end || at.season == 0 && !a.lists(n)) {
					continue
				}
				s.anidb.add(a.ID, [2]spot{at, own})
				for _, e := range other.episodes {
					s.tvdb.add(a.ID, [2]spot{at, {0, other.season, e}})
				}
			}
		}
	}
}

// numbersOf returns the numbers that an anime's episodes may have at TMDB.
func (s *Series) numbersOf(a *Anime, special bool) []int {
	var out []int
	ranges := a.TMDB.Specials
	if !special {
		ranges = a.TMDB.Ranges
		for n := range len(s.spots) {
			out = append(out, n+1, n+1-a.TMDB.Offset)
		}
	}
	for _, r := range ranges {
		for n := range r.Pairs {
			out = append(out, n)
		}
		for n := range s.spots {
			if r.contains(r.Start + n) {
				out = append(out, r.Start+n)
			}
		}
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(n int) bool { return n < 1 })
}

// find returns TMDB's episodes, or nil if it does not have all of them. The lists count from the start of a season.
// Where TMDB continues the numbers of the season before, they may mean either count: if both are possible, find
// returns nil.
func (s *Series) find(t target) []spot {
	if t.rule == byAbsolute {
		if n := t.episodes[0]; n >= 1 && n <= s.regular {
			return s.spots[n-1 : n]
		}
		return nil
	}
	list := s.seasons[t.season]
	if len(list) == 0 || list[0] > 1 && t.first >= list[0] && t.first <= len(list) {
		return nil
	}
	var out []spot
	for _, n := range t.episodes {
		if list[0] > 1 && t.first < list[0] && n >= 1 && n <= len(list) {
			n = list[n-1]
		}
		at := spot{0, t.season, n}
		if _, ok := s.rank[at]; !ok {
			return nil
		}
		out = append(out, at)
	}
	return out
}

// Orders returns TMDB's episodes in all orders in which they are known.
func (s *Series) Orders(p Place) *Orders {
	o := &Orders{TMDB: &p}
	in := spotsOf(0, p)
	for _, at := range in {
		n, ok := s.rank[at]
		if !ok || n >= s.regular {
			o.Absolute = nil
			break
		}
		o.Absolute = append(o.Absolute, n+1)
	}
	_, o.TVDB = s.tvdb.translate(0, in)
	if id, at := s.anidb.translate(0, in); at != nil {
		o.AniDB = &AniDBPlace{id, at.Season == 0, at.Episodes}
	}
	return o
}

// Anime returns AniDB's id of the only anime that has the episodes of TMDB, 0 if there is none.
func (s *Series) Anime(p Place) (id int) {
	for _, at := range spotsOf(0, p) {
		u := s.anidb[0][at]
		if u == nil || u.bad || id != 0 && id != u.anime {
			return 0
		}
		id = u.anime
	}
	return id
}

// ToTMDB returns TMDB's place of episodes that are known in another order, which is not a group's; nil if it is not
// known. Anime is AniDB's id, for AniDB's order alone.
func (s *Series) ToTMDB(order string, anime int, p Place) (place *Place) {
	switch order {
	case AniDB:
		_, place = s.anidb.translate(1, spotsOf(anime, p))
	case TVDB:
		_, place = s.tvdb.translate(1, spotsOf(0, p))
	case Absolute:
		for _, n := range p.Episodes {
			if p.Season != 1 || n < 1 || n > s.regular || place != nil && place.Season != s.spots[n-1].season {
				return nil
			}
			place = cmp.Or(place, &Place{Season: s.spots[n-1].season})
			place.Episodes = append(place.Episodes, s.spots[n-1].episode)
		}
	}
	return place
}

// Group is the order of an episode group at TMDB.
type Group relation

// Add adds an episode of TMDB as the n-th, from 1, of a part of the group.
func (g *Group) Add(season, episode, part, n int) {
	(*relation)(g).add(0, [2]spot{{0, season, episode}, {0, part, n}})
}

// ToTMDB returns TMDB's place of episodes of the group; nil if it does not have all of them in one season.
func (g *Group) ToTMDB(p Place) *Place {
	_, out := (*relation)(g).translate(1, spotsOf(0, p))
	return out
}

// Place returns the episodes' place in the group; nil if it does not have all of them in one part, each once.
func (g *Group) Place(p Place) *Place {
	if _, out := (*relation)(g).translate(0, spotsOf(0, p)); out != nil && len(out.Episodes) == len(p.Episodes) {
		return out
	}
	return nil
}
