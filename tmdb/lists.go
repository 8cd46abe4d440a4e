package tmdb

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
)

// AlternativeTitle is another title of a series or film.
type AlternativeTitle struct {
	Country string `json:"iso_3166_1"`
	Title   string `json:"title"`
	Type    string `json:"type"` // "romanization", "Romaji", ...; mostly ""
}

// AlternativeTitles lists the other titles of a series or film. ID is 0 if the list was appended to details.
type AlternativeTitles struct {
	ID      int
	Results []AlternativeTitle
}

// UnmarshalJSON decodes the list of a series ("results") or a film ("titles").
func (a *AlternativeTitles) UnmarshalJSON(body []byte) error {
	var both struct {
		ID      int                `json:"id"`
		Results []AlternativeTitle `json:"results"`
		Titles  []AlternativeTitle `json:"titles"`
	}
	if err := json.Unmarshal(body, &both); err != nil {
		return err
	}
	a.ID, a.Results = both.ID, both.Results
	if both.Results == nil {
		a.Results = both.Titles
	}
	return nil
}

func (a *AlternativeTitles) check(ids []string) error {
	return cmp.Or(checkID(a.ID, ids[0]), checkList(a.Results))
}

// TranslationData is the text of one translation; a field is "" if it is not translated.
type TranslationData struct {
	Name     string `json:"name"`  // of a series
	Title    string `json:"title"` // of a film
	Overview string `json:"overview"`
}

// Label returns Name, or Title if Name is "".
func (d TranslationData) Label() string { return cmp.Or(d.Name, d.Title) }

// Translation is a translation into one language of one country.
type Translation struct {
	Country  string          `json:"iso_3166_1"`
	Language string          `json:"iso_639_1"`
	Name     string          `json:"name"` // of the language, such as "Deutsch"
	Data     TranslationData `json:"data"`
}

// Translations lists the translations of a series or film. ID is 0 if the list was appended to details.
type Translations struct {
	ID           int           `json:"id"`
	Translations []Translation `json:"translations"`
}

func (t *Translations) check(ids []string) error {
	return cmp.Or(checkID(t.ID, ids[0]), checkList(t.Translations))
}

// ExternalIDs has an entry's ids on other sites; "" or 0 if none. ID is 0 if they were appended to details.
type ExternalIDs struct {
	ID         int    `json:"id"`
	IMDbID     string `json:"imdb_id"`
	TVDBID     int    `json:"tvdb_id"`
	WikidataID string `json:"wikidata_id"`
}

func (e *ExternalIDs) check(ids []string) error { return checkID(e.ID, ids[0]) }

// EpisodeGroupSummary is an episode group without its episodes.
type EpisodeGroupSummary struct {
	ID           string   `json:"id"` // 24 hexadecimal digits
	Name         string   `json:"name"`
	Type         int      `json:"type"` // 1 air date, 2 absolute, 3 DVD, 4 digital, 5 story arc, 6 production, 7 TV
	Description  string   `json:"description"`
	EpisodeCount int      `json:"episode_count"`
	GroupCount   int      `json:"group_count"`
	Network      *Network `json:"network"`
}

// EpisodeGroups lists the episode groups of a series. ID is 0 if the list was appended to details.
type EpisodeGroups struct {
	ID      int                   `json:"id"`
	Results []EpisodeGroupSummary `json:"results"`
}

func (g *EpisodeGroups) check(ids []string) error {
	return cmp.Or(checkID(g.ID, ids[0]), checkList(g.Results))
}

// GroupEpisode is an episode in an episode group: its ordinary season and number, and its place in the part.
type GroupEpisode struct {
	Episode
	Order int `json:"order"` // starts at 0 in most groups
}

// GroupPart is one part of an episode group, comparable to a season.
type GroupPart struct {
	ID       string         `json:"id"`
	Name     string         `json:"name"`
	Order    int            `json:"order"` // 0 is often the specials
	Episodes []GroupEpisode `json:"episodes"`
}

// EpisodeGroup is an episode group with its episodes.
type EpisodeGroup struct {
	EpisodeGroupSummary
	Groups []GroupPart `json:"groups"`
}

func (g *EpisodeGroup) check(ids []string) error {
	if g.ID != ids[0] {
		return errOtherID
	}
	return checkList(g.Groups)
}

// EpisodeGroup calls GET /3/tv/episode_group/{id}.
func (c *Client) EpisodeGroup(ctx context.Context, id string, o DetailOptions) (*EpisodeGroup, *Response, error) {
	return fetch[EpisodeGroup](ctx, c, "/tv/episode_group/"+id, o.query().requireSegment("id", id))
}

// ImageConfiguration has the base URLs of images. An image's URL is SecureBaseURL + size, such as w500, + path.
type ImageConfiguration struct {
	BaseURL       string `json:"base_url"`
	SecureBaseURL string `json:"secure_base_url"`
}

// Configuration is TMDB's API configuration. Getting it is the cheapest way to test a key.
type Configuration struct {
	Images ImageConfiguration `json:"images"`
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

// GenreList lists the genres of series or films.
type GenreList struct {
	Genres []Genre `json:"genres"`
}

func (g *GenreList) check([]string) error { return checkList(g.Genres) }

// Change is an entry that was edited recently.
type Change struct {
	ID    int  `json:"id"`
	Adult bool `json:"adult"`
}

// TVRow is a series in search results and lists.
type TVRow struct {
	ID               int      `json:"id"`
	Name             string   `json:"name"`
	OriginalName     string   `json:"original_name"`
	OriginalLanguage string   `json:"original_language"`
	OriginCountry    []string `json:"origin_country"`
	FirstAirDate     string   `json:"first_air_date"` // "2023-09-29", or "" if TMDB has none
	GenreIDs         []int    `json:"genre_ids"`      // 16 is Animation
	Overview         string   `json:"overview"`
	Popularity       float64  `json:"popularity"`
	Adult            bool     `json:"adult"`
	PosterPath       *string  `json:"poster_path"`
	BackdropPath     *string  `json:"backdrop_path"`
}

// MovieRow is a film in search results and lists.
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

// Page has the page number and the totals of a result page. A search without results has TotalResults 0 and TotalPages
// 1; a page after the last has no results but the same totals.
type Page struct {
	Page         int `json:"page"`
	TotalPages   int `json:"total_pages"`
	TotalResults int `json:"total_results"`
}

// ResultPage is one page of a list.
type ResultPage[T row] struct {
	Page
	Results []T `json:"results"`
}

func (p *ResultPage[T]) check([]string) error {
	return cmp.Or(checkList(p.Results), checkRowIDs(p.Results))
}

type (
	// SearchTVPage is one page, at most 20 rows, of series.
	SearchTVPage = ResultPage[TVRow]
	// SearchMoviePage is one page, at most 20 rows, of films.
	SearchMoviePage = ResultPage[MovieRow]
	// SearchMultiPage is one page of a search for series, films and people.
	SearchMultiPage = ResultPage[MultiRow]
	// ChangesPage is one page, at most 100 rows, of edited entries.
	ChangesPage = ResultPage[Change]
)

func (r TVRow) rowID() int       { return r.ID }
func (r MovieRow) rowID() int    { return r.ID }
func (r MultiRow) rowID() int    { return r.ID }
func (c Change) rowID() int      { return c.ID }
func (e FindEpisode) rowID() int { return e.ID }
func (s FindSeason) rowID() int  { return s.ID }
func (p Person) rowID() int      { return p.ID }

// SearchTVOptions are the parameters of SearchTV. TMDB finds a title only if it has every word of Query, spelled the
// same. Separate words by spaces and use Unicode NFC.
type SearchTVOptions struct {
	Query            string
	Year             int // some episode aired in that year; 0 means any year
	FirstAirDateYear int // the first episode aired in that year; 0 means any year
	Language         string
	Page             int // 1 to 500; 0 means the first
	IncludeAdult     bool
}

// SearchTV calls GET /3/search/tv. An empty Query is an *ArgumentError.
func (c *Client) SearchTV(ctx context.Context, o SearchTVOptions) (*SearchTVPage, *Response, error) {
	q := newQuery().setRequired("Query", "query", o.Query).
		setNumber("Year", "year", o.Year, 1000, 9999).
		setNumber("FirstAirDateYear", "first_air_date_year", o.FirstAirDateYear, 1000, 9999).
		setLanguage(o.Language).setPage(o.Page).setFlag("include_adult", o.IncludeAdult)
	return fetch[SearchTVPage](ctx, c, "/search/tv", q)
}

// SearchMovieOptions are the parameters of SearchMovie; Query is as in SearchTVOptions.
type SearchMovieOptions struct {
	Query              string
	Year               int // some release was in that year
	PrimaryReleaseYear int // the first release was in that year
	Language           string
	Region             string // ISO 3166-1, for the release dates shown
	Page               int
	IncludeAdult       bool
}

// SearchMovie calls GET /3/search/movie. An empty Query is an *ArgumentError.
func (c *Client) SearchMovie(ctx context.Context, o SearchMovieOptions) (*SearchMoviePage, *Response, error) {
	q := newQuery().setRequired("Query", "query", o.Query).
		setNumber("Year", "year", o.Year, 1000, 9999).
		setNumber("PrimaryReleaseYear", "primary_release_year", o.PrimaryReleaseYear, 1000, 9999).
		setLanguage(o.Language).setText("region", o.Region).setPage(o.Page).setFlag("include_adult", o.IncludeAdult)
	return fetch[SearchMoviePage](ctx, c, "/search/movie", q)
}

// MultiRow is a result of a search for series, films and people. MediaType decides which fields are set: "tv" (Name),
// "movie" (Title) or "person" (Name).
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

// Source is a site whose ids TMDB knows; it is the external_source parameter of Find.
type Source string

// The sources that have ids of series and films. TMDB accepts others, such as "wikidata_id".
const (
	SourceIMDb Source = "imdb_id"
	SourceTVDB Source = "tvdb_id"
)

// FindEpisode is an episode found by an external id.
type FindEpisode struct {
	Episode
	MediaType string `json:"media_type"`
}

// FindSeason is a season found by an external id.
type FindSeason struct {
	SeasonSummary
	ShowID int `json:"show_id"`
}

// Person is a person found by an external id.
type Person struct {
	ID           int    `json:"id"`
	Name         string `json:"name"`
	OriginalName string `json:"original_name"`
}

// FindResults has everything that TMDB knows under one external id, usually one entry; all lists may be empty.
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
	return errors.Join(checkRowIDs(r.Movies), checkRowIDs(r.TV), checkRowIDs(r.Episodes), checkRowIDs(r.Seasons),
		checkRowIDs(r.People))
}

// Find calls GET /3/find/{externalID}, for example Find(ctx, "tt0944947", SourceIMDb, "").
func (c *Client) Find(
	ctx context.Context, externalID string, source Source, language string,
) (*FindResults, *Response, error) {
	q := newQuery().requireSegment("external id", externalID).
		setRequired("source", "external_source", string(source)).setLanguage(language)
	return fetch[FindResults](ctx, c, "/find/"+externalID, q)
}
