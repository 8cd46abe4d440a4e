package tmdb

import (
	"context"
	"fmt"
)

// Collection is a series of films.
type Collection struct {
	ID           int     `json:"id"`
	Name         string  `json:"name"`
	PosterPath   *string `json:"poster_path"`
	BackdropPath *string `json:"backdrop_path"`
}

// MovieDetails is a film. The last three fields are nil unless appended.
type MovieDetails struct {
	ID                  int              `json:"id"`
	IMDbID              string           `json:"imdb_id"`
	Title               string           `json:"title"`
	OriginalTitle       string           `json:"original_title"`
	OriginalLanguage    string           `json:"original_language"`
	OriginCountry       []string         `json:"origin_country"`
	ReleaseDate         string           `json:"release_date"`
	Runtime             int              `json:"runtime"` // minutes; 0 means unknown
	Status              string           `json:"status"`  // "Released", "Post Production", ...
	Adult               bool             `json:"adult"`
	Softcore            bool             `json:"softcore"`
	Video               bool             `json:"video"`
	Genres              []Genre          `json:"genres"`
	Overview            string           `json:"overview"`
	Tagline             string           `json:"tagline"`
	Homepage            string           `json:"homepage"`
	Budget              int64            `json:"budget"`
	Revenue             int64            `json:"revenue"`
	Popularity          float64          `json:"popularity"`
	VoteAverage         float64          `json:"vote_average"`
	VoteCount           int              `json:"vote_count"`
	PosterPath          *string          `json:"poster_path"`
	BackdropPath        *string          `json:"backdrop_path"`
	BelongsToCollection *Collection      `json:"belongs_to_collection"`
	ProductionCompanies []Company        `json:"production_companies"`
	ProductionCountries []Country        `json:"production_countries"`
	SpokenLanguages     []SpokenLanguage `json:"spoken_languages"`

	AlternativeTitles *AlternativeTitles `json:"alternative_titles"`
	Translations      *Translations      `json:"translations"`
	ExternalIDs       *ExternalIDs       `json:"external_ids"`
}

func (d *MovieDetails) check(ids []string) error { return sameID(d.ID, ids[0]) }

// Movie calls GET /3/movie/{id}.
func (c *Client) Movie(ctx context.Context, id int, o DetailOptions) (*MovieDetails, *Response, error) {
	return fetch[MovieDetails](ctx, c, fmt.Sprintf("/movie/%d", id), o.query().id(id))
}
