package tmdb

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
)

// Kind is what an id belongs to. It is the path segment.
type Kind string

// The kinds of entries.
const (
	KindTV    Kind = "tv"
	KindMovie Kind = "movie"
)

func (q *query) kind(k Kind) *query {
	if k != KindTV && k != KindMovie {
		return q.refuse("kind", "must be tv or movie")
	}
	return q
}

func entryPath(k Kind, id int, sub string) string { return fmt.Sprintf("/%s/%d/%s", k, id, sub) }

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
	return cmp.Or(sameID(a.ID, ids[0]), listOrError(a.Results))
}

// TranslationData is the text of one translation; whatever is not translated is "".
type TranslationData struct {
	Name     string `json:"name"`  // of a series
	Title    string `json:"title"` // of a film
	Overview string `json:"overview"`
	Tagline  string `json:"tagline"`
	Homepage string `json:"homepage"`
}

// Label returns the translated name or title, whichever there is.
func (d TranslationData) Label() string {
	return cmp.Or(d.Name, d.Title)
}

// Translation is one locale's translation.
type Translation struct {
	Country     string          `json:"iso_3166_1"`
	Language    string          `json:"iso_639_1"`
	Name        string          `json:"name"`         // of the language, in itself
	EnglishName string          `json:"english_name"` // of the language
	Data        TranslationData `json:"data"`
}

// Translations is the list of them. ID is 0 where it was appended.
type Translations struct {
	ID           int           `json:"id"`
	Translations []Translation `json:"translations"`
}

func (t *Translations) check(ids []string) error {
	return cmp.Or(sameID(t.ID, ids[0]), listOrError(t.Translations))
}

// ExternalIDs is where else an entry is listed; "" and 0 where it is not. ID is 0 where it was appended.
type ExternalIDs struct {
	ID          int    `json:"id"`
	IMDbID      string `json:"imdb_id"`
	TVDBID      int    `json:"tvdb_id"`
	TVRageID    int    `json:"tvrage_id"`
	WikidataID  string `json:"wikidata_id"`
	FreebaseMID string `json:"freebase_mid"`
	FreebaseID  string `json:"freebase_id"`
	FacebookID  string `json:"facebook_id"`
	InstagramID string `json:"instagram_id"`
	TwitterID   string `json:"twitter_id"`
}

func (e *ExternalIDs) check(ids []string) error { return sameID(e.ID, ids[0]) }

// AlternativeTitles calls GET /3/{kind}/{id}/alternative_titles.
func (c *Client) AlternativeTitles(ctx context.Context, kind Kind, id int) (*AlternativeTitles, *Response, error) {
	return fetch[AlternativeTitles](ctx, c, entryPath(kind, id, AppendAlternativeTitles), newQuery().kind(kind).id(id))
}

// Translations calls GET /3/{kind}/{id}/translations.
func (c *Client) Translations(ctx context.Context, kind Kind, id int) (*Translations, *Response, error) {
	return fetch[Translations](ctx, c, entryPath(kind, id, AppendTranslations), newQuery().kind(kind).id(id))
}

// ExternalIDs calls GET /3/{kind}/{id}/external_ids.
func (c *Client) ExternalIDs(ctx context.Context, kind Kind, id int) (*ExternalIDs, *Response, error) {
	return fetch[ExternalIDs](ctx, c, entryPath(kind, id, AppendExternalIDs), newQuery().kind(kind).id(id))
}
