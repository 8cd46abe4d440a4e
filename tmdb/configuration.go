package tmdb

import (
	"context"
	"errors"
	"time"
)

// ImageConfiguration is how an image's URL is made: SecureBaseURL + size + path.
type ImageConfiguration struct {
	BaseURL       string   `json:"base_url"`
	SecureBaseURL string   `json:"secure_base_url"`
	BackdropSizes []string `json:"backdrop_sizes"`
	LogoSizes     []string `json:"logo_sizes"`
	PosterSizes   []string `json:"poster_sizes"`
	ProfileSizes  []string `json:"profile_sizes"`
	StillSizes    []string `json:"still_sizes"`
}

// Configuration is TMDB's own; it is also the cheapest way to try a key.
type Configuration struct {
	Images     ImageConfiguration `json:"images"`
	ChangeKeys []string           `json:"change_keys"`
}

var errNoImages = errors.New("no image configuration")

func (c *Configuration) check([]string) error {
	if c.Images.BaseURL == "" && c.Images.SecureBaseURL == "" {
		return errNoImages
	}
	return nil
}

// Configuration calls GET /3/configuration.
func (c *Client) Configuration(ctx context.Context) (*Configuration, *Response, error) {
	return fetch[Configuration](ctx, c, "/configuration", newQuery())
}

// GenreList is the genres of a kind.
type GenreList struct {
	Genres []Genre `json:"genres"`
}

func (g *GenreList) check([]string) error { return listOrError(g.Genres) }

// Genres calls GET /3/genre/{kind}/list.
func (c *Client) Genres(ctx context.Context, kind Kind, language string) (*GenreList, *Response, error) {
	return fetch[GenreList](ctx, c, "/genre/"+string(kind)+"/list", newQuery().kind(kind).language(language))
}

// Change is an entry that was edited.
type Change struct {
	ID       int  `json:"id"`
	Adult    bool `json:"adult"`
	Softcore bool `json:"softcore"`
}

// ChangesPage is one page, 100 rows at most, of edited entries.
type ChangesPage struct {
	Page
	Results []Change `json:"results"`
}

func (p *ChangesPage) check([]string) error { return listWithIDs(p.Results) }

func (c Change) rowID() int { return c.ID }

// maxChangesRange is TMDB's bound; more is answered with 422, code 20.
const maxChangesRange = 14 * 24 * time.Hour

// ChangesOptions asks what changed between two days, at most 14 apart. Zero times mean the last 24 hours.
type ChangesOptions struct {
	Start, End time.Time
	Page       int
}

// Changes calls GET /3/{kind}/changes.
func (c *Client) Changes(ctx context.Context, kind Kind, o ChangesOptions) (*ChangesPage, *Response, error) {
	q := newQuery().kind(kind).page(o.Page)
	if !o.Start.IsZero() && !o.End.IsZero() && (o.End.Before(o.Start) || o.End.Sub(o.Start) > maxChangesRange) {
		q.refuse("End", "must be 0 to 14 days after Start")
	}
	if !o.Start.IsZero() {
		q.set("start_date", o.Start.UTC().Format(time.DateOnly))
	}
	if !o.End.IsZero() {
		q.set("end_date", o.End.UTC().Format(time.DateOnly))
	}
	return fetch[ChangesPage](ctx, c, "/"+string(kind)+"/changes", q)
}
