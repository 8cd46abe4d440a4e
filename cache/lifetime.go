package cache

// What a body says: is it an answer at all, and will it change soon?

import (
	"bytes"
	"encoding/json"
	"errors"
	"time"
)

// volatility is how soon an answer may change.
type volatility uint8

const (
	settledAnswer volatility = iota
	changingAnswer
	emptyAnswer
)

// Why a body must not be stored.
var (
	errEmptyBody = errors.New("the body is empty")
	errNotJSON   = errors.New("the body is not valid JSON")
	errNoContent = errors.New("the body is neither a JSON array nor a JSON object with content")
)

// checkBody is the check that every stored body has passed: a complete JSON array, or an object with at least one
// member. HTML pages, cut transfers, undecoded gzip and "{}" are refused.
func checkBody(body []byte) error {
	trimmed := bytes.TrimSpace(body)
	switch {
	case len(trimmed) == 0:
		return errEmptyBody
	case !json.Valid(trimmed):
		return errNotJSON
	case trimmed[0] == '[':
		return nil
	case trimmed[0] != '{', len(bytes.TrimSpace(trimmed[1:len(trimmed)-1])) == 0:
		return errNoContent
	}
	return nil
}

// settled are the series states after which nothing much happens.
var settled = map[string]bool{"Ended": true, "Canceled": true, "Cancelled": true}

// volatilityOf decides by the body how soon an answer may change. What is not known counts as changing: asking a day
// later costs one revalidation.
func volatilityOf(c Class, body []byte, now time.Time) volatility {
	switch c {
	case Search, Lists:
		return searchVolatility(body)
	case TVDetails:
		var tv struct {
			Status *string `json:"status"`
		}
		if json.Unmarshal(body, &tv) != nil || tv.Status == nil || !settled[*tv.Status] {
			return changingAnswer
		}
		return settledAnswer
	case SeasonDetails:
		return seasonVolatility(body, now)
	case Uncached, MovieDetails, Titles, EpisodeGroups, Reference, People, Extras:
	}
	return settledAnswer
}

// searchVolatility: a page of results, or the lists of a find.
func searchVolatility(body []byte) volatility {
	var lists map[string]json.RawMessage
	if json.Unmarshal(body, &lists) != nil {
		return changingAnswer
	}
	rows := 0
	for name, raw := range lists {
		if name != "results" && !bytes.HasSuffix([]byte(name), []byte("_results")) {
			continue
		}
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) == nil {
			rows += len(list)
		}
	}
	if rows == 0 {
		return emptyAnswer
	}
	return settledAnswer
}

// seasonVolatility: the latest air date in the body, of the season or an episode, against the last 60 days. Seasons
// often have no date of their own.
func seasonVolatility(body []byte, now time.Time) volatility {
	var s struct {
		AirDate  string `json:"air_date"`
		Episodes []struct {
			AirDate string `json:"air_date"`
		} `json:"episodes"`
	}
	if json.Unmarshal(body, &s) != nil {
		return changingAnswer
	}
	last := s.AirDate
	for _, e := range s.Episodes {
		if e.AirDate == "" {
			return changingAnswer // an episode without a date is still to come
		}
		last = max(last, e.AirDate)
	}
	aired, err := time.Parse(time.DateOnly, last)
	if err != nil || now.Sub(aired) < recentSeason {
		return changingAnswer
	}
	return settledAnswer
}
