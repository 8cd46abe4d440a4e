package tmdb

import (
	"context"
	"errors"
)

// TVRow is a series as search, find and lists show it.
type TVRow struct {
	ID               int      `json:"id"`
	Name             string   `json:"name"`
	OriginalName     string   `json:"original_name"`
	OriginalLanguage string   `json:"original_language"`
	OriginCountry    []string `json:"origin_country"`
	FirstAirDate     string   `json:"first_air_date"` // "2023-09-29", or "" when TMDB has none
	GenreIDs         []int    `json:"genre_ids"`      // 16 is Animation
	Overview         string   `json:"overview"`
	Popularity       float64  `json:"popularity"`
	Adult            bool     `json:"adult"`
	PosterPath       *string  `json:"poster_path"`
	BackdropPath     *string  `json:"backdrop_path"`
}

// MovieRow is a film as search, find and lists show it.
type MovieRow struct {
	ID               int     `json:"id"`
	Title            string  `json:"title"`
	OriginalTitle    string  `json:"original_title"`
	OriginalLanguage string  `json:"original_language"`
	ReleaseDate      string  `json:"release_date"`
	GenreIDs         []int   `json:"genre_ids"`
	Overview         string  `json:"overview"`
	Popularity       float64 `json:"popularity"`
	Adult            bool    `json:"adult"`
	Video            bool    `json:"video"`
	PosterPath       *string `json:"poster_path"`
	BackdropPath     *string `json:"backdrop_path"`
}

// Page is the counting part of a page of results. A search that finds nothing has TotalResults 0 and TotalPages 1; a
// page beyond the last has no results and keeps the totals.
type Page struct {
	Page         int `json:"page"`
	TotalPages   int `json:"total_pages"`
	TotalResults int `json:"total_results"`
}

// SearchTVPage is one page, 20 rows at most, of series.
type SearchTVPage struct {
	Page
	Results []TVRow `json:"results"`
}

// SearchMoviePage is one page, 20 rows at most, of films.
type SearchMoviePage struct {
	Page
	Results []MovieRow `json:"results"`
}

func (p *SearchTVPage) check([]string) error { return listWithIDs(p.Results) }

func (r TVRow) rowID() int { return r.ID }

func (p *SearchMoviePage) check([]string) error { return listWithIDs(p.Results) }

func (r MovieRow) rowID() int { return r.ID }

// SearchTVOptions asks for series. TMDB wants every word of Query in a title (no tolerance for typing errors),
// separated by spaces, in Unicode NFC.
type SearchTVOptions struct {
	Query            string
	Year             int // any episode aired then; 0 means any year
	FirstAirDateYear int // the first episode aired then: drops later seasons
	Language         string
	Page             int // 1 to 500; 0 means the first
	IncludeAdult     bool
}

// SearchTV calls GET /3/search/tv. An empty Query is an *ArgumentError.
func (c *Client) SearchTV(ctx context.Context, o SearchTVOptions) (*SearchTVPage, *Response, error) {
	q := newQuery().required("Query", "query", o.Query).
		within("Year", "year", o.Year, 1000, 9999).
		within("FirstAirDateYear", "first_air_date_year", o.FirstAirDateYear, 1000, 9999).
		language(o.Language).page(o.Page).flag("include_adult", o.IncludeAdult)
	return fetch[SearchTVPage](ctx, c, "/search/tv", q)
}

// SearchMovieOptions asks for films; Query as in SearchTVOptions.
type SearchMovieOptions struct {
	Query              string
	Year               int // any release then
	PrimaryReleaseYear int // the first release then
	Language           string
	Region             string // ISO 3166-1, for the release dates shown
	Page               int
	IncludeAdult       bool
}

// SearchMovie calls GET /3/search/movie. An empty Query is an *ArgumentError.
func (c *Client) SearchMovie(ctx context.Context, o SearchMovieOptions) (*SearchMoviePage, *Response, error) {
	q := newQuery().required("Query", "query", o.Query).
		within("Year", "year", o.Year, 1000, 9999).
		within("PrimaryReleaseYear", "primary_release_year", o.PrimaryReleaseYear, 1000, 9999).
		language(o.Language).text("region", o.Region).page(o.Page).flag("include_adult", o.IncludeAdult)
	return fetch[SearchMoviePage](ctx, c, "/search/movie", q)
}

// MultiRow is a row of a mixed search. MediaType says which fields are filled: "tv" (Name), "movie" (Title), "person"
// (Name).
type MultiRow struct {
	MediaType        string  `json:"media_type"`
	ID               int     `json:"id"`
	Name             string  `json:"name"`
	OriginalName     string  `json:"original_name"`
	Title            string  `json:"title"`
	OriginalTitle    string  `json:"original_title"`
	OriginalLanguage string  `json:"original_language"`
	FirstAirDate     string  `json:"first_air_date"`
	ReleaseDate      string  `json:"release_date"`
	GenreIDs         []int   `json:"genre_ids"`
	Popularity       float64 `json:"popularity"`
	Adult            bool    `json:"adult"`
}

// SearchMultiPage is one page of a mixed search.
type SearchMultiPage struct {
	Page
	Results []MultiRow `json:"results"`
}

func (p *SearchMultiPage) check([]string) error { return listWithIDs(p.Results) }

func (r MultiRow) rowID() int { return r.ID }

// Source is a site whose ids TMDB knows.
type Source string

// The sources that /3/find takes.
const (
	SourceIMDb      Source = "imdb_id"
	SourceTVDB      Source = "tvdb_id"
	SourceWikidata  Source = "wikidata_id"
	SourceFacebook  Source = "facebook_id"
	SourceInstagram Source = "instagram_id"
	SourceTwitter   Source = "twitter_id"
	SourceTikTok    Source = "tiktok_id"
	SourceYouTube   Source = "youtube_id"
)

// FindEpisode is an episode found by its id.
type FindEpisode struct {
	Episode
	MediaType string `json:"media_type"`
}

// FindSeason is a season found by its id.
type FindSeason struct {
	SeasonSummary
	ShowID int `json:"show_id"`
}

// Person is somebody found by an id.
type Person struct {
	ID           int    `json:"id"`
	Name         string `json:"name"`
	OriginalName string `json:"original_name"`
}

// FindResults is everything under one external id, mostly one entry; several kinds may come for one id. All lists
// empty means that TMDB knows nothing.
type FindResults struct {
	Movies   []MovieRow    `json:"movie_results"`
	TV       []TVRow       `json:"tv_results"`
	Episodes []FindEpisode `json:"tv_episode_results"`
	Seasons  []FindSeason  `json:"tv_season_results"`
	People   []Person      `json:"person_results"`
}

func (r *FindResults) check([]string) error {
	if r.Movies == nil && r.TV == nil && r.Episodes == nil && r.Seasons == nil && r.People == nil {
		return errNoList
	}
	return errors.Join(haveIDs(r.Movies), haveIDs(r.TV), haveIDs(r.Episodes), haveIDs(r.Seasons), haveIDs(r.People))
}

func (e FindEpisode) rowID() int { return e.ID }
func (s FindSeason) rowID() int  { return s.ID }
func (p Person) rowID() int      { return p.ID }

// Find calls GET /3/find/{externalID}, for example Find(ctx, "tt0944947", SourceIMDb, "").
func (c *Client) Find(
	ctx context.Context, externalID string, source Source, language string,
) (*FindResults, *Response, error) {
	q := newQuery().segment("external id", externalID).
		required("source", "external_source", string(source)).language(language)
	return fetch[FindResults](ctx, c, "/find/"+externalID, q)
}
