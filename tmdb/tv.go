package tmdb

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Genre is an id and its name in the language that was asked for; some names are empty in some languages.
type Genre struct {
	ID   int    `json:"id"`
	Name string `json:"name"`
}

// Network is a broadcaster or a streaming service.
type Network struct {
	ID            int     `json:"id"`
	Name          string  `json:"name"`
	LogoPath      *string `json:"logo_path"`
	OriginCountry string  `json:"origin_country"`
}

// Company made a film or series.
type Company struct {
	ID            int     `json:"id"`
	Name          string  `json:"name"`
	LogoPath      *string `json:"logo_path"`
	OriginCountry string  `json:"origin_country"`
}

// Country is an ISO 3166-1 code and its English name.
type Country struct {
	Code string `json:"iso_3166_1"`
	Name string `json:"name"`
}

// SpokenLanguage is an ISO 639-1 code and its names.
type SpokenLanguage struct {
	Code        string `json:"iso_639_1"`
	Name        string `json:"name"`
	EnglishName string `json:"english_name"`
}

// SeasonSummary is a season as the details of its series list it. AirDate is often "". EpisodeCount is a count, not
// the last number: seasons may start at 62 and have gaps.
type SeasonSummary struct {
	ID           int     `json:"id"`
	SeasonNumber int     `json:"season_number"` // 0 holds the specials
	Name         string  `json:"name"`
	AirDate      string  `json:"air_date"`
	EpisodeCount int     `json:"episode_count"`
	Overview     string  `json:"overview"`
	VoteAverage  float64 `json:"vote_average"`
	PosterPath   *string `json:"poster_path"`
}

// TVDetails is a series. The fields after Seasons are nil unless they were appended (and, for a season, unless TMDB
// has it).
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
	Status              string           `json:"status"`
	Type                string           `json:"type"` // "Scripted", "Miniseries", "Video", ...
	Adult               bool             `json:"adult"`
	Softcore            bool             `json:"softcore"`
	NumberOfSeasons     int              `json:"number_of_seasons"` // without season 0
	NumberOfEpisodes    int              `json:"number_of_episodes"`
	EpisodeRunTime      []int            `json:"episode_run_time"` // minutes
	Genres              []Genre          `json:"genres"`
	Overview            string           `json:"overview"`
	Tagline             string           `json:"tagline"`
	Homepage            string           `json:"homepage"`
	Popularity          float64          `json:"popularity"`
	VoteAverage         float64          `json:"vote_average"`
	VoteCount           int              `json:"vote_count"`
	PosterPath          *string          `json:"poster_path"`
	BackdropPath        *string          `json:"backdrop_path"`
	LastEpisodeToAir    *Episode         `json:"last_episode_to_air"`
	NextEpisodeToAir    *Episode         `json:"next_episode_to_air"`
	Networks            []Network        `json:"networks"`
	ProductionCompanies []Company        `json:"production_companies"`
	ProductionCountries []Country        `json:"production_countries"`
	SpokenLanguages     []SpokenLanguage `json:"spoken_languages"`
	Seasons             []SeasonSummary  `json:"seasons"`

	AlternativeTitles *AlternativeTitles `json:"alternative_titles"`
	Translations      *Translations      `json:"translations"`
	ExternalIDs       *ExternalIDs       `json:"external_ids"`
	EpisodeGroups     *EpisodeGroups     `json:"episode_groups"`
	// AppendedSeasons has the seasons of append_to_response=season/1,... by their number. A season that TMDB does not
	// have is not in it.
	AppendedSeasons map[int]*Season `json:"-"`
}

const seasonKey = "season/"

// UnmarshalJSON reads the details and the appended seasons, whose keys ("season/1") no struct tag can name.
func (d *TVDetails) UnmarshalJSON(body []byte) error {
	type plain TVDetails
	if err := json.Unmarshal(body, (*plain)(d)); err != nil {
		return err
	}
	if !bytes.Contains(body, []byte(`"`+seasonKey)) && !bytes.Contains(body, []byte(`"season\/`)) {
		return nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return err
	}
	for name, raw := range members {
		rest, ok := strings.CutPrefix(name, seasonKey)
		number, err := strconv.Atoi(rest)
		if !ok || err != nil || number < 0 {
			continue
		}
		var season *Season
		if err := json.Unmarshal(raw, &season); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if season == nil || season.Episodes == nil {
			continue // null, or an error object in its place
		}
		d.appendSeason(number, season)
	}
	return nil
}

func (d *TVDetails) check(ids []string) error { return sameID(d.ID, ids[0]) }

// DetailOptions is what the details of one thing can be asked with.
type DetailOptions struct {
	// Language is a tag such as "ko-KR"; "" means TMDB's default, en-US. TMDB has no fallback: what is not translated
	// is "".
	Language string
	Append   []string // at most MaxAppends items: AppendTranslations, AppendSeason(1), ...
}

func (o DetailOptions) query() *query {
	return newQuery().language(o.Language).appends(o.Append)
}

// TV calls GET /3/tv/{id}. More than MaxAppends items to append are an *ArgumentError; TVComplete makes several
// requests of them.
func (c *Client) TV(ctx context.Context, id int, o DetailOptions) (*TVDetails, *Response, error) {
	return fetch[TVDetails](ctx, c, fmt.Sprintf("/tv/%d", id), o.query().id(id))
}
