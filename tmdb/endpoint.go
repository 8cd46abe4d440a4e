package tmdb

import (
	"cmp"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// endpoints has every path behind "/3/" that this client asks for, and the type of its answer. The client's calls,
// [Valid] and [Classify] decode by this table alone. "#" stands for a number, "*" for any one segment.
var endpoints = []endpoint{
	{"search/tv", answerType[SearchTVPage]},
	{"search/movie", answerType[SearchMoviePage]},
	{"search/multi", answerType[SearchMultiPage]},
	{"find/*", answerType[FindResults]},
	{"tv/#", answerType[TVDetails]},
	{"tv/#/season/#", answerType[Season]},
	{"tv/#/season/#/episode/#", answerType[Episode]},
	{"tv/#/episode_groups", answerType[EpisodeGroups]},
	{"tv/episode_group/*", answerType[EpisodeGroup]},
	{"tv/#/alternative_titles", answerType[AlternativeTitles]},
	{"tv/#/translations", answerType[Translations]},
	{"tv/#/external_ids", answerType[ExternalIDs]},
	{"tv/changes", answerType[ChangesPage]},
	{"movie/#", answerType[MovieDetails]},
	{"movie/#/alternative_titles", answerType[AlternativeTitles]},
	{"movie/#/translations", answerType[Translations]},
	{"movie/#/external_ids", answerType[ExternalIDs]},
	{"movie/changes", answerType[ChangesPage]},
	{"configuration", answerType[Configuration]},
	{"genre/tv/list", answerType[GenreList]},
	{"genre/movie/list", answerType[GenreList]},
}

type endpoint struct {
	pattern string
	answer  func() checked
}

// checked is the type of an answer. check refuses a value that JSON of another kind decodes into, and one that is not
// what was asked for: ids has what stands in the path in place of "#" and "*".
type checked interface {
	check(ids []string) error
}

func answerType[T any, P interface {
	*T
	checked
}]() checked {
	return P(new(T))
}

// endpointOf returns a zero answer of the type that a request for path gets, and the ids in path. For a path that
// this client does not know any JSON array is an answer, and any JSON object with a member.
func endpointOf(path string) (out checked, ids []string) {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	for _, e := range endpoints {
		if ids, ok := matchPath(apiPrefix[1:]+"/"+e.pattern, segments); ok {
			return e.answer(), ids
		}
	}
	return &document{}, nil
}

// matchPath reports whether segments end with the pattern: a base URL may have a path of its own.
func matchPath(pattern string, segments []string) (ids []string, ok bool) {
	parts := strings.Split(pattern, "/")
	if len(segments) < len(parts) {
		return nil, false
	}
	for i, s := range segments[len(segments)-len(parts):] {
		switch parts[i] {
		case "#", "*":
			if _, err := strconv.Atoi(s); err != nil && parts[i] == "#" {
				return nil, false
			}
			ids = append(ids, s)
		case s:
		default:
			return nil, false
		}
	}
	return ids, true
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

// sameID checks that an entry is the one that was asked for.
func sameID(got int, asked string) error {
	if got <= 0 {
		return errNoID
	}
	return sameNumber(got, asked)
}

func sameNumber(got int, asked string) error {
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
