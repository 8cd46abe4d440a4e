package tmdb

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/anivault/anivault/cache"
)

// endpoints has every path behind "/3/" whose answers are cached or that this client asks for: its class, which decides
// how long it is kept, and the type of its answer, by which the client's calls, [Valid] and [Classify] decode; nil
// where any JSON array or object will do. "#" stands for a number, "*" for any one segment, "work" for tv or movie, and
// "extra" for one of extras. The first row that fits decides.
var endpoints = []endpoint{
	{"search/tv", cache.Search, answerType[SearchTVPage]},
	{"search/movie", cache.Search, answerType[SearchMoviePage]},
	{"search/multi", cache.Search, answerType[SearchMultiPage]},
	{"find/*", cache.Search, answerType[FindResults]},
	{"tv/#", cache.TVDetails, answerType[TVDetails]},
	{"tv/#/season/#", cache.SeasonDetails, answerType[Season]},
	{"tv/#/season/#/episode/#", cache.SeasonDetails, answerType[Episode]},
	{"tv/#/episode_groups", cache.EpisodeGroups, answerType[EpisodeGroups]},
	{"tv/episode_group/*", cache.EpisodeGroups, answerType[EpisodeGroup]},
	{"movie/#", cache.MovieDetails, answerType[MovieDetails]},
	{"work/#/alternative_titles", cache.Titles, answerType[AlternativeTitles]},
	{"work/#/translations", cache.Titles, answerType[Translations]},
	{"work/#/external_ids", cache.Titles, answerType[ExternalIDs]},
	{"work/changes", cache.Uncached, answerType[ChangesPage]},
	{"configuration", cache.Reference, answerType[Configuration]},
	{"configuration/*", cache.Reference, nil},
	{"genre/work/list", cache.Reference, answerType[GenreList]},
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

// extras are the parts of a work, season, episode or person that change often.
var extras = []string{
	"credits", "aggregate_credits", "combined_credits", "movie_credits", "tv_credits", "images", "videos", "keywords",
	"reviews", "recommendations", "similar", "release_dates", "content_ratings",
}

type endpoint struct {
	pattern string
	class   cache.Class
	answer  func() checked
}

// ClassOf returns the class of a request, by its method and path: [cache.Options].Class for TMDB. What is in no row,
// such as the newest of everything, is not cached.
func ClassOf(req *http.Request) cache.Class {
	if req.Method != "" && req.Method != http.MethodGet {
		return cache.Uncached
	}
	if e, _ := endpointOf(req.URL.Path); e != nil {
		return e.class
	}
	return cache.Uncached
}

// IsPath reports whether a path without its version ("tv/1") begins as one of TMDB's does.
func IsPath(path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return slices.ContainsFunc(endpoints, func(e endpoint) bool {
		pattern, _, _ := strings.Cut(e.pattern, "/")
		return fits(pattern, first)
	})
}

// checked is the type of an answer. check refuses a value decoded from JSON of another kind, or about something else
// than the question: ids are the parts of the path in place of "#" and "*".
type checked interface {
	check(ids []string) error
}

func answerType[T any, P interface {
	*T
	checked
}]() checked {
	return P(new(T))
}

// endpointOf returns the row of a path and the segments that stand for "#" and "*"; nil where there is none. A base URL
// may have a path of its own before the version.
func endpointOf(path string) (*endpoint, []string) {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	for i := range endpoints {
		parts := strings.Split(endpoints[i].pattern, "/")
		version := len(segments) - len(parts) - 1
		if version < 0 || segments[version] != apiPrefix[1:] || !slices.EqualFunc(parts, segments[version+1:], fits) {
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

func fits(pattern, segment string) bool {
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

// answerTo returns a zero answer of the type that a request for path gets, and the ids in path.
func answerTo(path string) (checked, []string) {
	if e, ids := endpointOf(path); e != nil && e.answer != nil {
		return e.answer(), ids
	}
	return &document{}, nil
}

// document is an answer to a path that is not in the table. Some of TMDB's are arrays, such as configuration/languages.
type document struct{ json.RawMessage }

func (d *document) check([]string) error {
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

func checkID(got int, asked string) error {
	if got <= 0 {
		return errNoID
	}
	return checkNumber(got, asked)
}

func checkNumber(got int, asked string) error {
	if n, err := strconv.Atoi(asked); err != nil || n != got {
		return errOtherID
	}
	return nil
}

// row is an element of a list, with an id of its own.
type row interface{ rowID() int }

// listWithIDs checks that a list is there, and that each of its rows has a positive id.
func listWithIDs[T row](rows []T) error {
	return cmp.Or(listOrError(rows), haveIDs(rows))
}

func haveIDs[T row](rows []T) error {
	for _, r := range rows {
		if r.rowID() <= 0 {
			return errNoID
		}
	}
	return nil
}

var errNoList = errors.New("its list is missing")

func listOrError[T any](list []T) error {
	if list == nil {
		return errNoList
	}
	return nil
}
