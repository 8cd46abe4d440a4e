package cache

// How long each kind of answer is fresh: the table of docs/reference.md. The table decides, not Cache-Control: TMDB's
// edge speaks of its own hours.

import (
	"net/http"
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

// The classes, with what TMDB has in them: [Options].Class says which one a request is of.
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
