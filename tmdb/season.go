package tmdb

// Seasons and episodes. Cast and crew are left out on purpose: they are nine
// tenths of the bytes, and recognising a file needs none of them.

import (
	"context"
	"errors"
	"fmt"
)

// Episode is one episode.
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

func (e *Episode) check() error { return idOrError(e.ID) }

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

var errNoEpisodes = errors.New("no episodes list")

func (s *Season) check() error {
	if s.Episodes == nil {
		return errNoEpisodes
	}
	return nil
}

// Season calls GET /3/tv/{id}/season/{number}. Season 0 holds the specials.
func (c *Client) Season(ctx context.Context, id, number int, o DetailOptions) (*Season, *Response, error) {
	q := o.query().id("id", id).number("season", number)
	return fetch[Season](ctx, c, fmt.Sprintf("/tv/%d/season/%d", id, number), q)
}

// Episode calls GET /3/tv/{id}/season/{season}/episode/{episode}. The episode
// is TMDB's own number inside that season.
func (c *Client) Episode(ctx context.Context, id, season, episode int, o DetailOptions) (*Episode, *Response, error) {
	q := o.query().id("id", id).number("season", season).number("episode", episode)
	return fetch[Episode](ctx, c, fmt.Sprintf("/tv/%d/season/%d/episode/%d", id, season, episode), q)
}
