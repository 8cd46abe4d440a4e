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
