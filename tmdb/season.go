package tmdb

import (
	"cmp"
	"context"
	"fmt"
)

// Episode is one episode. Cast and crew are left out: they are nine tenths of the bytes, and recognising a file needs
// none of them.
type Episode struct {
	ID             int     `json:"id"`
	ShowID         int     `json:"show_id"` // 0 in older bodies
	SeasonNumber   int     `json:"season_number"`
	EpisodeNumber  int     `json:"episode_number"`
	EpisodeType    string  `json:"episode_type"` // "standard", "mid_season", "finale"; "" in older bodies
	Name           string  `json:"name"`         // without a translation a placeholder such as "Episode 3"
	AirDate        string  `json:"air_date"`
	Runtime        int     `json:"runtime"` // minutes; 0 means unknown
	Overview       string  `json:"overview"`
	ProductionCode string  `json:"production_code"`
	VoteAverage    float64 `json:"vote_average"`
	VoteCount      int     `json:"vote_count"`
	StillPath      *string `json:"still_path"`
}

func (e *Episode) check(ids []string) error {
	if e.ID <= 0 {
		return errNoID
	}
	return cmp.Or(sameNumber(e.SeasonNumber, ids[1]), sameNumber(e.EpisodeNumber, ids[2]))
}

// Season is a season with its episodes, in TMDB's order.
type Season struct {
	ID           int       `json:"id"`
	DatabaseID   string    `json:"_id"`
	SeasonNumber int       `json:"season_number"`
	Name         string    `json:"name"`
	AirDate      string    `json:"air_date"`
	Overview     string    `json:"overview"`
	VoteAverage  float64   `json:"vote_average"`
	PosterPath   *string   `json:"poster_path"`
	Episodes     []Episode `json:"episodes"`
	Networks     []Network `json:"networks"`
}

func (s *Season) check(ids []string) error {
	return cmp.Or(sameNumber(s.SeasonNumber, ids[1]), listOrError(s.Episodes))
}

// Season calls GET /3/tv/{id}/season/{number}. Season 0 holds the specials.
func (c *Client) Season(ctx context.Context, id, number int, o DetailOptions) (*Season, *Response, error) {
	q := o.query().id(id).number("season", number)
	return fetch[Season](ctx, c, fmt.Sprintf("/tv/%d/season/%d", id, number), q)
}

// Episode calls GET /3/tv/{id}/season/{season}/episode/{episode}. The episode is TMDB's own number inside that
// season.
func (c *Client) Episode(ctx context.Context, id, season, episode int, o DetailOptions) (*Episode, *Response, error) {
	q := o.query().id(id).number("season", season).number("episode", episode)
	return fetch[Episode](ctx, c, fmt.Sprintf("/tv/%d/season/%d/episode/%d", id, season, episode), q)
}
