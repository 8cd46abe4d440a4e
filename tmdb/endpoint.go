package tmdb

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/anivault/anivault/cache"
)

// endpoints has every path after "/3/" that is cached or called by this client, with its cache class and the type of
// its response; nil accepts any JSON array or object. "#" stands for a number, "*" for any one segment, "work" for tv
// or movie, and "extra" for one of extras. The first matching row decides.
var endpoints = []endpoint{
	{"search/tv", cache.Search, newAnswer[SearchTVPage]},
	{"search/movie", cache.Search, newAnswer[SearchMoviePage]},
	{"search/multi", cache.Search, newAnswer[SearchMultiPage]},
	{"find/*", cache.Search, newAnswer[FindResults]},
	{"tv/#", cache.TVDetails, newAnswer[TVDetails]},
	{"tv/#/season/#", cache.SeasonDetails, newAnswer[Season]},
	{"tv/#/season/#/episode/#", cache.SeasonDetails, newAnswer[Episode]},
	{"tv/#/episode_groups", cache.EpisodeGroups, newAnswer[EpisodeGroups]},
	{"tv/episode_group/*", cache.EpisodeGroups, newAnswer[EpisodeGroup]},
	{"movie/#", cache.MovieDetails, newAnswer[MovieDetails]},
	{"work/#/alternative_titles", cache.Titles, newAnswer[AlternativeTitles]},
	{"work/#/translations", cache.Titles, newAnswer[Translations]},
	{"work/#/external_ids", cache.Titles, newAnswer[ExternalIDs]},
	{"work/changes", cache.Uncached, newAnswer[ChangesPage]},
	{"configuration", cache.Reference, newAnswer[Configuration]},
	{"configuration/*", cache.Reference, nil},
	{"genre/work/list", cache.Reference, newAnswer[GenreList]},
	{"person/#", cache.People, nil},
	{"collection/#", cache.People, nil},
	{"work/#/extra", cache.Extras, nil},
	{"work/#/watch/providers", cache.Extras, nil},
	{"tv/#/season/#/extra", cache.Extras, nil},
	{"tv/#/season/#/watch/providers", cache.Extras, nil},
	{"tv/#/season/#/episode/#/extra", cache.Extras, nil},
	{"person/#/extra", cache.Extras, nil},
	{"collection/#/extra", cache.Extras, nil},
	{"search/*", cache.Lists, nil},
	{"discover/work", cache.Lists, nil},
	{"trending/*/*", cache.Lists, nil},
	{"person/popular", cache.Lists, nil},
	{"work/popular", cache.Lists, nil},
	{"work/top_rated", cache.Lists, nil},
	{"movie/now_playing", cache.Lists, nil},
	{"movie/upcoming", cache.Lists, nil},
	{"tv/on_the_air", cache.Lists, nil},
	{"tv/airing_today", cache.Lists, nil},
}

// extras are the subpaths of a work, season, episode or person whose content changes often.
var extras = []string{
	"credits", "aggregate_credits", "combined_credits", "movie_credits", "tv_credits", "images", "videos", "keywords",
	"reviews", "recommendations", "similar", "release_dates", "content_ratings",
}

type endpoint struct {
	pattern string
	class   cache.Class
	answer  func() answerChecker // makes a value to decode into; nil for any JSON
}

// ClassOf returns the cache class of a request, by its method and path; use it as [cache.Options].Class for TMDB. Paths
// that are not in the table, such as tv/latest, are not cached.
func ClassOf(req *http.Request) cache.Class {
	if req.Method != "" && req.Method != http.MethodGet {
		return cache.Uncached
	}
	if e, _ := findEndpoint(req.URL.Path); e != nil {
		return e.class
	}
	return cache.Uncached
}

// IsPath reports whether a path without its version, such as "tv/1", begins like one of TMDB's.
func IsPath(path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return slices.ContainsFunc(endpoints, func(e endpoint) bool {
		pattern, _, _ := strings.Cut(e.pattern, "/")
		return matchesSegment(pattern, first)
	})
}

// answerChecker is a type that responses are decoded into. check fails if the JSON was of another kind or is about
// another entry; ids are the segments of the path that stand for "#" and "*".
type answerChecker interface {
	check(ids []string) error
}

func newAnswer[T any, P interface {
	*T
	answerChecker
}]() answerChecker {
	return P(new(T))
}

// findEndpoint returns the row for a path and the segments that stand for "#" and "*"; nil if there is none. The path
// may have a prefix before the version, from the base URL.
func findEndpoint(path string) (*endpoint, []string) {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	for i := range endpoints {
		parts := strings.Split(endpoints[i].pattern, "/")
		version := len(segments) - len(parts) - 1
		if version < 0 || segments[version] != apiPrefix[1:] ||
			!slices.EqualFunc(parts, segments[version+1:], matchesSegment) {
			continue
		}
		var ids []string
		for j, part := range parts {
			if part == "#" || part == "*" {
				ids = append(ids, segments[version+1+j])
			}
		}
		return &endpoints[i], ids
	}
	return nil, nil
}

func matchesSegment(pattern, segment string) bool {
	switch pattern {
	case "*":
		return segment != ""
	case "#":
		return segment != "" && strings.Trim(segment, "0123456789") == ""
	case "work":
		return segment == "tv" || segment == "movie"
	case "extra":
		return slices.Contains(extras, segment)
	}
	return segment == pattern
}

// untypedAnswer is a response for a path without a type: any JSON array, or an object that has members.
type untypedAnswer struct{ json.RawMessage }

func (d *untypedAnswer) check([]string) error {
	var members map[string]json.RawMessage
	if d.RawMessage[0] == '[' {
		return nil
	}
	if err := json.Unmarshal(d.RawMessage, &members); err != nil {
		return err
	}
	if len(members) == 0 {
		return errors.New("an object without members")
	}
	return nil
}

var (
	errNoID    = errors.New("no id")
	errOtherID = errors.New("not the id that was asked for")
)

func checkID(got int, wanted string) error {
	if got <= 0 {
		return errNoID
	}
	return checkNumber(got, wanted)
}

func checkNumber(got int, wanted string) error {
	if n, err := strconv.Atoi(wanted); err != nil || n != got {
		return errOtherID
	}
	return nil
}

type row interface{ rowID() int }

func checkRowIDs[T row](rows []T) error {
	for _, r := range rows {
		if r.rowID() <= 0 {
			return errNoID
		}
	}
	return nil
}

var errNoList = errors.New("its list is missing")

func checkList[T any](list []T) error {
	if list == nil {
		return errNoList
	}
	return nil
}
