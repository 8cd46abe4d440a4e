package match

import (
	"context"
	"time"
)

// Kind says whether an entry is a television series or a film. TMDB numbers the two apart: an id means
// nothing without its kind.
type Kind string

const (
	// TV is a television series.
	TV Kind = "tv"
	// Movie is a film.
	Movie Kind = "movie"
)

// Source answers the matcher's questions; it is the only step with I/O. Implementations are shared by many
// goroutines. Errors are handed on untouched in Decision.Err. An id that does not exist is an error too.
type Source interface {
	// Search returns the rows that TMDB's search for the query's kind gives, in TMDB's order.
	// The order carries no weight.
	Search(ctx context.Context, q Query) ([]Hit, Origin, error)
	// Entry returns everything about one entry: titles, seasons with their episodes, episode group references.
	Entry(ctx context.Context, kind Kind, id int) (*Entry, Origin, error)
	// Group returns one episode group of a series by the id from its GroupRef.
	Group(ctx context.Context, id string) (*EpisodeGroup, Origin, error)
}

// SeasonNamer is a Source that can tell the names of a series' seasons in another language than the one it otherwise
// answers in. It is asked only for titles that name an arc in a script of their own.
type SeasonNamer interface {
	// SeasonNames returns the season names of a series by season number. language is like "zh-CN".
	SeasonNames(ctx context.Context, id int, language string) (map[int]string, Origin, error)
}

// Query is one search: the kind to look among, NFC text with its words separated by single spaces, a year, 0 for none,
// and the page of results, 0 or 1 for the first. For a series the year is any year in which an episode aired.
type Query struct {
	Kind Kind
	Text string
	Year int
	Page int
}

// From says where an answer came from, the freshest first, so that of several the greatest is the least fresh.
type From uint8

const (
	// FromNetwork is an answer that TMDB gave just now.
	FromNetwork From = iota
	// FromCache is a cached answer within its time.
	FromCache
	// FromStale is an expired answer, used because TMDB could not be asked.
	FromStale
)

var fromNames = [...]string{"network", "cache", "stale"}

// String is the name that records carry in their field "source".
func (f From) String() string { return fromNames[f] }

// Origin is where answers came from: From is the least fresh of them, FetchedAt when the oldest cached one was fetched,
// zero without one. ReadAt is when this process read the last of them.
type Origin struct {
	From      From
	FetchedAt time.Time
	ReadAt    time.Time
}

// With returns the origin of the answers of both.
func (o Origin) With(p Origin) Origin {
	o.From = max(o.From, p.From)
	if o.FetchedAt.IsZero() || !p.FetchedAt.IsZero() && p.FetchedAt.Before(o.FetchedAt) {
		o.FetchedAt = p.FetchedAt
	}
	if p.ReadAt.After(o.ReadAt) {
		o.ReadAt = p.ReadAt
	}
	return o
}

// Hit is a row of a search answer. Year is that of the first air date or the release, 0 if unknown.
type Hit struct {
	Kind             Kind
	ID               int
	Title            string
	OriginalTitle    string
	OriginalLanguage string
	Year             int
	Genres           []int
	Popularity       float64
	Mapping          *Mapping // what a local index says of the title asked for, if it was found there
}

// Mapping is what a local mapping (Anime-Lists) says of a title: the season of the entry in which its episodes lie, and
// how many of that season come before its first. Absolute means that it counts over all seasons from 1 on.
type Mapping struct {
	Season   int
	Offset   int
	Absolute bool
}

// Entry is what one details request tells about a series or a film. A film has no Seasons and no Groups.
// EpisodeCount is TMDB's own number of regular episodes, 0 if unknown.
type Entry struct {
	Kind             Kind
	ID               int
	Title            string
	OriginalTitle    string
	OriginalLanguage string
	Year             int
	Titles           []AltTitle
	Seasons          []Season
	Groups           []GroupRef
	Genres           []int
	Popularity       float64
	EpisodeCount     int
	IDs              IDs // IMDb's and TheTVDB's
}

// AltTitle is an alternative or translated title. Language is ISO 639-1 and Region ISO 3166-1, where known.
type AltTitle struct {
	Text     string
	Language string
	Region   string
}

// Season is one season of a series; number 0 holds the specials. AirDate is YYYY-MM-DD or empty. Episodes is nil
// when they were not loaded.
type Season struct {
	Number   int
	Name     string
	AirDate  string
	Episodes []Episode
}

// Episode is one episode under TMDB's own number, which need not start at 1 nor be without gaps. AirDate is
// YYYY-MM-DD or empty.
type Episode struct {
	Number  int
	Name    string
	AirDate string
}

// GroupRef names an episode group of a series. Type is TMDB's: 1 original air date, 2 absolute, 3 DVD,
// 4 digital, 5 story arc, 6 production, 7 TV. Episodes is how many it has.
type GroupRef struct {
	ID       string
	Name     string
	Type     int
	Episodes int
}

// EpisodeGroup is another ordering of a series' episodes.
type EpisodeGroup struct {
	Name   string
	Groups []GroupPart
}

// GroupPart is one part of an episode group, such as a season of it. Order is its place.
type GroupPart struct {
	Name     string
	Order    int
	Episodes []GroupEpisode
}

// GroupEpisode is an episode inside a GroupPart: its Season and Number on TMDB, and its Order within the part.
type GroupEpisode struct {
	Season int
	Number int
	Order  int
}
