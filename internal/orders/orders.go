// Package orders counts the episodes of a TMDB series as other catalogues count them.
package orders

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
