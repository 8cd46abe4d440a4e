package cache

// How long each kind of answer is fresh: the table of docs/reference.md. The table decides, not Cache-Control: TMDB's
// edge speaks of its own hours.

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

const day = 24 * time.Hour

// KeepLimit is the longest time anything is kept, whatever the settings say, also offline: TMDB's terms allow six
// months.
const KeepLimit = 180 * day

// recentSeason is how long after its last air date a season still changes often.
const recentSeason = 60 * day

// Class is what kind of question a request is. The zero Class is not cached.
type Class uint8

// The classes, by path (see [ClassOf]).
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
	Extras              // what goes with a work or person and changes often: credits, images, reviews, watch/providers
	Lists               // popular, trending, discover, and searches for what is no work

	classes = iota // how many there are
)

var classNames = [...]string{
	Uncached: "uncached", Search: "search", TVDetails: "tv", SeasonDetails: "season", MovieDetails: "movie",
	Titles: "titles", EpisodeGroups: "episode_groups", Reference: "reference",
	People: "people", Extras: "extras", Lists: "lists",
}

// String returns the name that statistics and listings show.
func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return "unknown"
}

// Lifetime is one row of the table. A zero duration means: not stored.
type Lifetime struct {
	Fresh    time.Duration // an answer that will hardly change any more
	Changing time.Duration // a returning series, a season of the last 60 days; of no use to other classes
	Empty    time.Duration // a search without results
	Missing  time.Duration // a 404
	Keep     time.Duration // how long an expired answer may serve as stale
}

// Policy says how long the answers of each class live.
type Policy [classes]Lifetime

// DefaultPolicy is the table of docs/reference.md. An empty search stays 8 h because TMDB's edge keeps empty results
// for 6 to 8 h: asking again sooner is useless.
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

// Fresh is how long an answer of class c with this status and body is fresh from now on. 0 means that it must not be
// stored.
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

// Keep is how long after it was fetched an answer of class c may still serve, never more than [KeepLimit].
func (p *Policy) Keep(c Class) time.Duration {
	if int(c) >= len(p) {
		return 0
	}
	return min(p[c].Keep, KeepLimit)
}

// ClassOf returns the class of a request, by its method and path. The API's version segment ("3") is where the path
// begins to matter, so a base URL may have a prefix.
func ClassOf(method string, u *url.URL) Class {
	if method != "" && method != http.MethodGet {
		return Uncached
	}
	return classOfPath(u.Path)
}

func classOfPath(path string) Class {
	segments := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
	version := slices.Index(segments, "3")
	if version < 0 {
		return Uncached
	}
	for i, pattern := range patterns() {
		if slices.EqualFunc(pattern, segments[version+1:], fits) {
			return paths[i].class
		}
	}
	return Uncached
}

// patterns are the segments of the patterns of paths.
var patterns = sync.OnceValue(func() [][]string {
	out := make([][]string, len(paths))
	for i, p := range paths {
		out[i] = strings.Split(p.pattern, "/")
	}
	return out
})

// paths is the class of every path that is cached. "#" stands for a number, "*" for anything, "work" for tv or movie,
// and "extra" for one of extras. Whatever fits no row is not stored, such as changes and the newest of everything.
var paths = []struct {
	pattern string
	class   Class
}{
	{"search/tv", Search},
	{"search/movie", Search},
	{"search/multi", Search},
	{"find/*", Search},
	{"tv/#", TVDetails},
	{"tv/#/season/#", SeasonDetails},
	{"tv/#/season/#/episode/#", SeasonDetails},
	{"tv/#/episode_groups", EpisodeGroups},
	{"tv/episode_group/*", EpisodeGroups},
	{"movie/#", MovieDetails},
	{"work/#/alternative_titles", Titles},
	{"work/#/translations", Titles},
	{"work/#/external_ids", Titles},
	{"configuration", Reference},
	{"configuration/*", Reference},
	{"genre/work/list", Reference},
	{"person/#", People},
	{"collection/#", People},
	{"work/#/extra", Extras},
	{"work/#/watch/providers", Extras},
	{"tv/#/season/#/extra", Extras},
	{"tv/#/season/#/watch/providers", Extras},
	{"tv/#/season/#/episode/#/extra", Extras},
	{"person/#/extra", Extras},
	{"collection/#/extra", Extras},
	{"search/*", Lists},
	{"discover/work", Lists},
	{"trending/*/*", Lists},
	{"person/popular", Lists},
	{"work/popular", Lists},
	{"work/top_rated", Lists},
	{"movie/now_playing", Lists},
	{"movie/upcoming", Lists},
	{"tv/on_the_air", Lists},
	{"tv/airing_today", Lists},
}

// extras are the parts of a work, season, episode or person that belong to Extras.
var extras = []string{
	"credits", "aggregate_credits", "combined_credits", "movie_credits", "tv_credits", "images", "videos", "keywords",
	"reviews", "recommendations", "similar", "release_dates", "content_ratings",
}

// fits reports whether a segment of a path is what a segment of a pattern stands for.
func fits(pattern, segment string) bool {
	switch pattern {
	case "*":
		return true
	case "#":
		return strings.Trim(segment, "0123456789") == ""
	case "work":
		return segment == "tv" || segment == "movie"
	case "extra":
		return slices.Contains(extras, segment)
	default:
		return segment == pattern
	}
}
