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
