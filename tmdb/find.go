package tmdb

import (
	"context"
	"errors"
)

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
