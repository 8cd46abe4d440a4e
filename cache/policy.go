package cache

// This file says how long each kind of answer is fresh; docs/reference.md has the same table. It ignores Cache-Control,
// which TMDB's CDN sets for its own copies.

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"time"
)

const day = 24 * time.Hour

// recentSeason is how long after its last air date a season still changes often.
const recentSeason = 60 * day

// Class is the kind of a request, such as a search. Requests of the zero Class are not cached.
type Class uint8

// The classes, with the TMDB paths that belong to them. [Options].Class returns the class of a request.
const (
	Uncached      Class = iota
	Search              // search/tv, search/movie, search/multi, find
	TVDetails           // tv/{id}
	SeasonDetails       // tv/{id}/season/{n} and its episodes
	MovieDetails        // movie/{id}
	Titles              // alternative titles, translations, external ids
	EpisodeGroups       // tv/{id}/episode_groups, tv/episode_group/{gid}
	Reference           // configuration, genre lists
	People              // person/{id}, collection/{id}
	Extras              // data about a work or person that changes often: credits, images, reviews, watch/providers
	Lists               // popular, trending, discover, and searches that find neither series nor movies

	classCount = iota // the number of constants above
)

var classNames = [...]string{
	Uncached: "uncached", Search: "search", TVDetails: "tv", SeasonDetails: "season", MovieDetails: "movie",
	Titles: "titles", EpisodeGroups: "episode_groups", Reference: "reference",
	People: "people", Extras: "extras", Lists: "lists",
}

func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return "unknown"
}

// Lifetime says how long the answers of one class are fresh and kept. Zero means that they are not stored.
type Lifetime struct {
	Fresh    time.Duration // how long an answer that rarely changes is fresh
	Changing time.Duration // how long a returning series, or a season of the last 60 days, is fresh
	Empty    time.Duration // how long a search without results is fresh
	Missing  time.Duration // how long a 404 is fresh
	Keep     time.Duration // how long after its fetch any answer may be served, fresh or stale
}

// Policy holds the lifetimes of each class.
type Policy [classCount]Lifetime

// DefaultPolicy returns the lifetimes in docs/reference.md. An empty search stays fresh for 8 h, because asking earlier
// is useless: the CDN of TMDB keeps empty results for 6 to 8 h.
func DefaultPolicy() Policy {
	const w = 7 * day
	return Policy{
		//              fresh      changing   empty          404  keep
		Search:        {1 * day, 1 * day, 8 * time.Hour, 0, KeepLimit},
		TVDetails:     {14 * day, 1 * day, 0, w, KeepLimit},
		SeasonDetails: {14 * day, 1 * day, 0, w, KeepLimit},
		MovieDetails:  {14 * day, 14 * day, 0, w, KeepLimit},
		Titles:        {14 * day, 14 * day, 0, w, KeepLimit},
		EpisodeGroups: {14 * day, 14 * day, 0, w, KeepLimit},
		Reference:     {30 * day, 30 * day, 0, 0, KeepLimit},
		People:        {14 * day, 14 * day, 0, w, KeepLimit},
		Extras:        {1 * day, 1 * day, 0, 1 * day, KeepLimit},
		Lists:         {6 * time.Hour, 6 * time.Hour, time.Hour, 0, KeepLimit},
	}
}

// Fresh returns how long an answer is fresh from now. If it returns 0, the answer must not be stored.
func (p *Policy) Fresh(c Class, status int, body []byte, now time.Time) time.Duration {
	if int(c) >= len(p) {
		return 0
	}
	life := p[c]
	switch status {
	case http.StatusOK:
		switch volatilityOf(c, body, now) {
		case emptyAnswer:
			return life.Empty
		case changingAnswer:
			return life.Changing
		case settledAnswer:
			return life.Fresh
		}
	case http.StatusNotFound:
		return life.Missing
	}
	return 0
}

// Keep returns how long after its fetch an answer of class c may be served. That is at most [KeepLimit].
func (p *Policy) Keep(c Class) time.Duration {
	if int(c) >= len(p) {
		return 0
	}
	return min(p[c].Keep, KeepLimit)
}

type volatility uint8

const (
	settledAnswer volatility = iota
	changingAnswer
	emptyAnswer
)

// Reasons not to store a body.
var (
	errEmptyBody = errors.New("the body is empty")
	errNotJSON   = errors.New("the body is not valid JSON")
	errNoContent = errors.New("the body is neither a JSON array nor a JSON object with content")
)

// checkBody accepts a complete JSON array, and a complete JSON object with at least one member. It rejects HTML pages,
// truncated bodies, compressed bodies and "{}".
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

// endedStatuses are the statuses of series whose details rarely change.
var endedStatuses = map[string]bool{"Ended": true, "Canceled": true, "Cancelled": true}

// volatilityOf guesses how soon an answer may change. An unknown body counts as changing: revalidation is cheap.
func volatilityOf(c Class, body []byte, now time.Time) volatility {
	switch c {
	case Search, Lists:
		return searchVolatility(body)
	case TVDetails:
		var tv struct {
			Status *string `json:"status"`
		}
		if json.Unmarshal(body, &tv) != nil || tv.Status == nil || !endedStatuses[*tv.Status] {
			return changingAnswer
		}
		return settledAnswer
	case SeasonDetails:
		return seasonVolatility(body, now)
	case Uncached, MovieDetails, Titles, EpisodeGroups, Reference, People, Extras:
	}
	return settledAnswer
}

// searchVolatility examines a page of search results, or the result lists of a find request.
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

// seasonVolatility checks whether the latest air date in the body is within the last 60 days. It considers the episodes
// too, because many seasons have no date.
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
			return changingAnswer // an episode without a date has not aired yet
		}
		last = max(last, e.AirDate)
	}
	aired, err := time.Parse(time.DateOnly, last)
	if err != nil || now.Sub(aired) < recentSeason {
		return changingAnswer
	}
	return settledAnswer
}
