package cache

// A glance into a body: is it what it should be, and will it change soon?

import (
	"bytes"
	"encoding/json"
	"errors"
	"time"
)

type look uint8

const (
	looksSettled look = iota
	looksChanging
	looksEmpty
)

// errNotObject is why a body must not be stored.
var (
	errEmptyBody = errors.New("the body is empty")
	errNotJSON   = errors.New("the body is not valid JSON")
	errNotObject = errors.New("the body is not a JSON object with content")
)

// checkBody is the check that every stored body has passed: a complete JSON
// object with at least one member. HTML pages, cut transfers, undecoded gzip,
// arrays and "{}" are refused.
func checkBody(body []byte) error {
	trimmed := bytes.TrimSpace(body)
	switch {
	case len(trimmed) == 0:
		return errEmptyBody
	case !json.Valid(trimmed):
		return errNotJSON
	case trimmed[0] != '{', len(bytes.TrimSpace(trimmed[1:len(trimmed)-1])) == 0:
		return errNotObject
	}
	return nil
}

// settled are the series states after which nothing much happens.
var settled = map[string]bool{"Ended": true, "Canceled": true, "Cancelled": true}

// peek decides by the body how soon an answer may change. What can't be told
// counts as changing: asking a day later costs one revalidation.
func peek(c Class, body []byte, now time.Time) look {
	switch c {
	case Search:
		return peekSearch(body)
	case TVDetails:
		var tv struct {
			Status *string `json:"status"`
		}
		if json.Unmarshal(body, &tv) != nil || tv.Status == nil || !settled[*tv.Status] {
			return looksChanging
		}
		return looksSettled
	case SeasonDetails:
		return peekSeason(body, now)
	case Uncached, MovieDetails, Titles, EpisodeGroups, Reference:
	}
	return looksSettled
}

// peekSearch: a page of results, or the lists of a find.
func peekSearch(body []byte) look {
	var lists map[string]json.RawMessage
	if json.Unmarshal(body, &lists) != nil {
		return looksChanging
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
		return looksEmpty
	}
	return looksSettled
}

// peekSeason: the latest air date in the body, of the season or an episode,
// against the last 60 days. Seasons often have no date of their own.
func peekSeason(body []byte, now time.Time) look {
	var s struct {
		AirDate  string `json:"air_date"`
		Episodes []struct {
			AirDate string `json:"air_date"`
		} `json:"episodes"`
	}
	if json.Unmarshal(body, &s) != nil {
		return looksChanging
	}
	last := s.AirDate
	for _, e := range s.Episodes {
		if e.AirDate == "" {
			return looksChanging // an episode without a date is still to come
		}
		last = max(last, e.AirDate)
	}
	aired, err := time.Parse(time.DateOnly, last)
	if err != nil || now.Sub(aired) < recentSeason {
		return looksChanging
	}
	return looksSettled
}
