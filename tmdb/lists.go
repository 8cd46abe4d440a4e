package tmdb

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// AlternativeTitle is a further title.
type AlternativeTitle struct {
	Country string `json:"iso_3166_1"`
	Title   string `json:"title"`
	Type    string `json:"type"` // "romanization", "Romaji", ...; mostly ""
}

// AlternativeTitles is the list of them. ID is 0 where it was appended.
type AlternativeTitles struct {
	ID      int
	Results []AlternativeTitle
}

// UnmarshalJSON reads the list of a series ("results") or a film ("titles").
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
	return cmp.Or(checkID(a.ID, ids[0]), listOrError(a.Results))
}

// TranslationData is the text of one translation; whatever is not translated is "".
type TranslationData struct {
	Name     string `json:"name"`  // of a series
	Title    string `json:"title"` // of a film
	Overview string `json:"overview"`
}

// Label returns the translated name or title, whichever there is.
func (d TranslationData) Label() string {
	return cmp.Or(d.Name, d.Title)
}

// Translation is one locale's translation.
type Translation struct {
	Country  string          `json:"iso_3166_1"`
	Language string          `json:"iso_639_1"`
	Name     string          `json:"name"` // of the language, in itself
	Data     TranslationData `json:"data"`
}

// Translations is the list of them. ID is 0 where it was appended.
type Translations struct {
	ID           int           `json:"id"`
	Translations []Translation `json:"translations"`
}

func (t *Translations) check(ids []string) error {
	return cmp.Or(checkID(t.ID, ids[0]), listOrError(t.Translations))
}

// ExternalIDs is where else an entry is listed; "" and 0 where it is not. ID is 0 where it was appended.
type ExternalIDs struct {
	ID         int    `json:"id"`
	IMDbID     string `json:"imdb_id"`
	TVDBID     int    `json:"tvdb_id"`
	WikidataID string `json:"wikidata_id"`
}

func (e *ExternalIDs) check(ids []string) error { return checkID(e.ID, ids[0]) }

// GroupType is what an episode group orders by.
type GroupType int

// The types of episode groups. A series may have several groups of one type, some of them out of date.
const (
	GroupOriginalAirDate GroupType = 1
	GroupAbsolute        GroupType = 2
	GroupDVD             GroupType = 3
	GroupDigital         GroupType = 4
	GroupStoryArc        GroupType = 5
	GroupProduction      GroupType = 6
	GroupTV              GroupType = 7
)

// String names the type; unknown ones by their number.
func (t GroupType) String() string {
	names := [...]string{
		1: "original air date", 2: "absolute", 3: "dvd", 4: "digital", 5: "story arc", 6: "production", 7: "tv",
	}
	if t >= 1 && int(t) < len(names) {
		return names[t]
	}
	return fmt.Sprintf("type %d", int(t))
}

// EpisodeGroupSummary is a group as the list shows it.
type EpisodeGroupSummary struct {
	ID           string    `json:"id"` // 24 hexadecimal digits
	Name         string    `json:"name"`
	Type         GroupType `json:"type"`
	Description  string    `json:"description"`
	EpisodeCount int       `json:"episode_count"`
	GroupCount   int       `json:"group_count"`
	Network      *Network  `json:"network"`
}

// EpisodeGroups is the list of a series' groups. ID is 0 where it was appended.
type EpisodeGroups struct {
	ID      int                   `json:"id"`
	Results []EpisodeGroupSummary `json:"results"`
}

func (g *EpisodeGroups) check(ids []string) error {
	return cmp.Or(checkID(g.ID, ids[0]), listOrError(g.Results))
}

// GroupEpisode is an episode in a group: its own season and number, and its place in the part.
type GroupEpisode struct {
	Episode
	Order int `json:"order"` // from 0 in most groups
}

// GroupPart is one part of a group, a "season" of that order.
type GroupPart struct {
	ID       string         `json:"id"`
	Name     string         `json:"name"`
	Order    int            `json:"order"` // 0 is often the specials
	Episodes []GroupEpisode `json:"episodes"`
}

// EpisodeGroup is a whole group.
type EpisodeGroup struct {
	EpisodeGroupSummary
	Groups []GroupPart `json:"groups"`
}

func (g *EpisodeGroup) check(ids []string) error {
	if g.ID != ids[0] {
		return errOtherID
	}
	return listOrError(g.Groups)
}

// EpisodeGroup calls GET /3/tv/episode_group/{id}.
func (c *Client) EpisodeGroup(ctx context.Context, id string, o DetailOptions) (*EpisodeGroup, *Response, error) {
	return fetch[EpisodeGroup](ctx, c, "/tv/episode_group/"+id, o.query().segment("id", id))
}

// ImageConfiguration is how an image's URL is made: SecureBaseURL + size, such as w500, + path.
type ImageConfiguration struct {
	BaseURL       string `json:"base_url"`
	SecureBaseURL string `json:"secure_base_url"`
}

// Configuration is TMDB's own; it is also the cheapest way to try a key.
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

// GenreList is the genres of a kind.
type GenreList struct {
	Genres []Genre `json:"genres"`
}

func (g *GenreList) check([]string) error { return listOrError(g.Genres) }

// Change is an entry that was edited.
type Change struct {
	ID    int  `json:"id"`
	Adult bool `json:"adult"`
}

// ChangesPage is one page, 100 rows at most, of edited entries.
type ChangesPage struct {
	Page
	Results []Change `json:"results"`
}

func (p *ChangesPage) check([]string) error { return listWithIDs(p.Results) }

func (c Change) rowID() int { return c.ID }
