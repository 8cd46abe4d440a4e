// Package orders counts the episodes of a TMDB series as other catalogues count them.
package orders

import "slices"

// Place is a season and episodes of it.
type Place struct {
	Season   int   `json:"season" doc:"the season; 0 holds the specials"`
	Episodes []int `json:"episodes,omitempty" doc:"the episodes"`
}

// AniDBPlace is episodes of one anime.
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

// Clone returns a copy that shares no memory with o.
func (o *Orders) Clone() *Orders {
	if o == nil {
		return nil
	}
	out := Orders{TMDB: o.TMDB.clone(), Absolute: slices.Clone(o.Absolute), TVDB: o.TVDB.clone()}
	if o.AniDB != nil {
		out.AniDB = &AniDBPlace{ID: o.AniDB.ID, Special: o.AniDB.Special, Episodes: slices.Clone(o.AniDB.Episodes)}
	}
	return &out
}

func (p *Place) clone() *Place {
	if p == nil {
		return nil
	}
	return &Place{Season: p.Season, Episodes: slices.Clone(p.Episodes)}
}

// The orders of Orders by name. An episode group of TMDB is "group:" and its name.
const (
	TMDB     = "tmdb"
	Absolute = "absolute"
	TVDB     = "tvdb"
	AniDB    = "anidb"
)

// In returns the episodes in an order as file names number them: absolute numbers and AniDB's regular episodes are
// season 1, AniDB's specials season 0. It returns false if they are not known in that order.
func (o *Orders) In(order string) (Place, bool) {
	switch {
	case o == nil:
	case order == TMDB && o.TMDB != nil:
		return *o.TMDB, true
	case order == TVDB && o.TVDB != nil:
		return *o.TVDB, true
	case order == Absolute && o.Absolute != nil:
		return Place{Season: 1, Episodes: o.Absolute}, true
	case order == AniDB && o.AniDB != nil && o.AniDB.Special:
		return Place{Season: 0, Episodes: o.AniDB.Episodes}, true
	case order == AniDB && o.AniDB != nil:
		return Place{Season: 1, Episodes: o.AniDB.Episodes}, true
	}
	return Place{}, false
}
