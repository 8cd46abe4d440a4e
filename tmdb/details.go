package tmdb

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Named is an id with its name.
type Named struct {
	ID   int    `json:"id"`
	Name string `json:"name"`
}

type (
	// Genre is a genre, named in the requested language; TMDB leaves some names empty in some languages.
	Genre = Named
	// Network is a broadcaster or a streaming service.
	Network = Named
	// Company made a film or series.
	Company = Named
)

// SeasonSummary is a season in the details of its series. AirDate is often "". EpisodeCount is not the last episode's
// number: a season may start at 62 and have gaps.
type SeasonSummary struct {
	ID           int     `json:"id"`
	SeasonNumber int     `json:"season_number"` // 0: the specials
	Name         string  `json:"name"`
	AirDate      string  `json:"air_date"`
	EpisodeCount int     `json:"episode_count"`
	Overview     string  `json:"overview"`
	PosterPath   *string `json:"poster_path"`
}

// TVDetails is a series. The fields after Seasons are nil unless they were appended.
type TVDetails struct {
	ID               int      `json:"id"`
	Name             string   `json:"name"`
	OriginalName     string   `json:"original_name"`
	OriginalLanguage string   `json:"original_language"`
	OriginCountry    []string `json:"origin_country"`
	Languages        []string `json:"languages"`
	FirstAirDate     string   `json:"first_air_date"`
	LastAirDate      string   `json:"last_air_date"`
	InProduction     bool     `json:"in_production"`
	// Status is "Ended", "Returning Series", "Canceled", "Planned", "In Production" or "Pilot".
	Status              string          `json:"status"`
	Type                string          `json:"type"` // "Scripted", "Miniseries", "Video", ...
	Adult               bool            `json:"adult"`
	NumberOfSeasons     int             `json:"number_of_seasons"` // without season 0
	NumberOfEpisodes    int             `json:"number_of_episodes"`
	EpisodeRunTime      []int           `json:"episode_run_time"` // minutes
	Genres              []Genre         `json:"genres"`
	Overview            string          `json:"overview"`
	Popularity          float64         `json:"popularity"`
	PosterPath          *string         `json:"poster_path"`
	BackdropPath        *string         `json:"backdrop_path"`
	LastEpisodeToAir    *Episode        `json:"last_episode_to_air"`
	NextEpisodeToAir    *Episode        `json:"next_episode_to_air"`
	ProductionCompanies []Company       `json:"production_companies"`
	Seasons             []SeasonSummary `json:"seasons"`

	AlternativeTitles *AlternativeTitles `json:"alternative_titles"`
	Translations      *Translations      `json:"translations"`
	ExternalIDs       *ExternalIDs       `json:"external_ids"`
	EpisodeGroups     *EpisodeGroups     `json:"episode_groups"`
	// AppendedSeasons has the seasons of append_to_response by number, except those that TMDB does not have.
	AppendedSeasons map[int]*Season `json:"-"`
}

const seasonPrefix = "season/"

// UnmarshalJSON decodes the details and the appended seasons. Their keys, such as "season/1", fit no struct tag.
func (d *TVDetails) UnmarshalJSON(body []byte) error {
	type plain TVDetails
	if err := json.Unmarshal(body, (*plain)(d)); err != nil {
		return err
	}
	if !bytes.Contains(body, []byte(`"`+seasonPrefix)) && !bytes.Contains(body, []byte(`"season\/`)) {
		return nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return err
	}
	for name, raw := range members {
		rest, ok := strings.CutPrefix(name, seasonPrefix)
		number, err := strconv.Atoi(rest)
		if !ok || err != nil || number < 0 {
			continue
		}
		var season *Season
		if err := json.Unmarshal(raw, &season); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if season == nil || season.Episodes == nil {
			continue // null, or an error object instead of a season
		}
		d.appendSeason(number, season)
	}
	return nil
}

func (d *TVDetails) check(ids []string) error { return checkID(d.ID, ids[0]) }

// DetailOptions are the parameters of a request for details.
type DetailOptions struct {
	// Language is a tag such as "ko-KR"; "" means TMDB's default, en-US. TMDB sends "" for a text that is not
	// translated; it does not fall back to another language.
	Language string
	Append   []string // at most MaxAppends items: AppendTranslations, AppendSeason(1), ...
}

func (o DetailOptions) query() *query {
	return newQuery().setLanguage(o.Language).setAppends(o.Append)
}

// TV calls GET /3/tv/{id}. With more than MaxAppends items to append it returns an *ArgumentError; use TVComplete.
func (c *Client) TV(ctx context.Context, id int, o DetailOptions) (*TVDetails, *Response, error) {
	return fetch[TVDetails](ctx, c, fmt.Sprintf("/tv/%d", id), o.query().requireID(id))
}

// MovieDetails is a film. The last three fields are nil unless appended.
type MovieDetails struct {
	ID                  int       `json:"id"`
	IMDbID              string    `json:"imdb_id"`
	Title               string    `json:"title"`
	OriginalTitle       string    `json:"original_title"`
	OriginalLanguage    string    `json:"original_language"`
	OriginCountry       []string  `json:"origin_country"`
	ReleaseDate         string    `json:"release_date"`
	Runtime             int       `json:"runtime"` // minutes; 0 means unknown
	Status              string    `json:"status"`  // "Released", "Post Production", ...
	Adult               bool      `json:"adult"`
	Video               bool      `json:"video"`
	Genres              []Genre   `json:"genres"`
	Overview            string    `json:"overview"`
	Popularity          float64   `json:"popularity"`
	PosterPath          *string   `json:"poster_path"`
	BackdropPath        *string   `json:"backdrop_path"`
	ProductionCompanies []Company `json:"production_companies"`

	AlternativeTitles *AlternativeTitles `json:"alternative_titles"`
	Translations      *Translations      `json:"translations"`
	ExternalIDs       *ExternalIDs       `json:"external_ids"`
}

func (d *MovieDetails) check(ids []string) error { return checkID(d.ID, ids[0]) }

// Movie calls GET /3/movie/{id}.
func (c *Client) Movie(ctx context.Context, id int, o DetailOptions) (*MovieDetails, *Response, error) {
	return fetch[MovieDetails](ctx, c, fmt.Sprintf("/movie/%d", id), o.query().requireID(id))
}

// Episode is one episode, without cast and crew: they are nine tenths of the bytes and don't help to recognise a file.
type Episode struct {
	ID            int    `json:"id"`
	ShowID        int    `json:"show_id"` // 0 in older bodies
	SeasonNumber  int    `json:"season_number"`
	EpisodeNumber int    `json:"episode_number"`
	EpisodeType   string `json:"episode_type"` // "standard", "mid_season", "finale"; "" in older bodies
	Name          string `json:"name"`         // a placeholder such as "Episode 3" if not translated
	AirDate       string `json:"air_date"`
	Runtime       int    `json:"runtime"` // minutes; 0 means unknown
	Overview      string `json:"overview"`
}

func (e *Episode) check(ids []string) error {
	if e.ID <= 0 {
		return errNoID
	}
	return cmp.Or(checkNumber(e.SeasonNumber, ids[1]), checkNumber(e.EpisodeNumber, ids[2]))
}

// Season is a season with its episodes, in TMDB's order.
type Season struct {
	ID           int       `json:"id"`
	SeasonNumber int       `json:"season_number"`
	Name         string    `json:"name"`
	AirDate      string    `json:"air_date"`
	Overview     string    `json:"overview"`
	PosterPath   *string   `json:"poster_path"`
	Episodes     []Episode `json:"episodes"`
}

func (s *Season) check(ids []string) error {
	return cmp.Or(checkNumber(s.SeasonNumber, ids[1]), checkList(s.Episodes))
}

// Season calls GET /3/tv/{id}/season/{number}. Season 0 contains the specials.
func (c *Client) Season(ctx context.Context, id, number int, o DetailOptions) (*Season, *Response, error) {
	q := o.query().requireID(id)
	if number < 0 {
		q.reject("season", "must not be negative")
	}
	return fetch[Season](ctx, c, fmt.Sprintf("/tv/%d/season/%d", id, number), q)
}

// MaxAppends is how many items TMDB accepts in one append_to_response; it answers more with 400, code 27.
const MaxAppends = 20

// The items for DetailOptions.Append that this package decodes. TMDB accepts others, which are not decoded.
const (
	AppendAlternativeTitles = "alternative_titles"
	AppendTranslations      = "translations"
	AppendEpisodeGroups     = "episode_groups" // series only
	AppendExternalIDs       = "external_ids"
)

// AppendSeason returns the item for DetailOptions.Append that appends season n of a series.
func AppendSeason(n int) string { return seasonPrefix + strconv.Itoa(n) }

// TVComplete reads a series with all its seasons, in as few requests as possible: one for a series of up to 20 −
// len(o.Append) seasons, counting season 0. The first request appends o.Append and, before knowing which exist, as many
// seasons from 0 on as still fit; TMDB leaves out those it does not have. Further requests get the remaining seasons in
// the answer's list and add them to AppendedSeasons. No season is requested twice.
//
// If a later request fails, the incomplete series is returned together with the error. The responses are those of the
// requests made, in order; the last one belongs to the error.
func (c *Client) TVComplete(ctx context.Context, id int, o DetailOptions) (*TVDetails, []*Response, error) {
	var items []string
	add := func(item string) {
		if !slices.Contains(items, item) {
			items = append(items, item)
		}
	}
	for _, item := range o.Append {
		add(item)
	}
	for n := 0; len(items) < MaxAppends; n++ {
		add(AppendSeason(n))
	}

	show, resp, err := c.TV(ctx, id, DetailOptions{Language: o.Language, Append: items[:MaxAppends]})
	responses := []*Response{resp}
	if err != nil {
		return nil, responses, err
	}
	for _, s := range show.Seasons {
		if s.SeasonNumber >= 0 {
			add(AppendSeason(s.SeasonNumber))
		}
	}
	for part := range slices.Chunk(items[MaxAppends:], MaxAppends) {
		more, resp, err := c.TV(ctx, id, DetailOptions{Language: o.Language, Append: part})
		responses = append(responses, resp)
		if err != nil {
			return show, responses, err
		}
		show.merge(more)
	}
	return show, responses, nil
}

func (d *TVDetails) merge(more *TVDetails) {
	for n, season := range more.AppendedSeasons {
		d.appendSeason(n, season)
	}
	d.AlternativeTitles = cmp.Or(more.AlternativeTitles, d.AlternativeTitles)
	d.Translations = cmp.Or(more.Translations, d.Translations)
	d.ExternalIDs = cmp.Or(more.ExternalIDs, d.ExternalIDs)
	d.EpisodeGroups = cmp.Or(more.EpisodeGroups, d.EpisodeGroups)
}

func (d *TVDetails) appendSeason(n int, season *Season) {
	if d.AppendedSeasons == nil {
		d.AppendedSeasons = make(map[int]*Season)
	}
	d.AppendedSeasons[n] = season
}
