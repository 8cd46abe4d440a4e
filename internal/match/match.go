// Package match finds the TMDB entry, season and episode of a file from what its name says.
//
// It is pure: the only I/O is the Source that the caller hands in. A batch of names goes one way: Group sorts files
// into series (group.go), Queries lists what to search for (query.go), Resolve asks (resolve.go), fetches the few
// entries that matter (fetch.go), scores them (score.go, titles.go) and accepts the best or says that it is ambiguous
// (choose), and Place finds the season and episode of each file (place.go, numbering.go, strategies.go, special.go),
// how far that may be trusted (trust.go), or why it can't. What was seen and weighed is in the Reasons and Steps of a
// Decision.
//
// Most callers want Group, Resolver.Resolve and Resolver.Place; Resolver.ResolveAmong and Resolver.ResolveID are for
// who knows the entries.
//
// Two rules hold throughout. A wrong silent match costs more than an honest "ambiguous", and an id without an
// episode is better than a wrong episode. And nothing depends on the order in which TMDB lists what it found.
package match

import (
	"context"
	"time"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/release"
)

// Status says how a file came out. The zero value is not a status; Decisions always carry one of these.
type Status string

// How a file can come out.
const (
	Matched   Status = "matched"   // the id is believed; season and episode may still be missing, with the Reason
	Ambiguous Status = "ambiguous" // no candidate is certain enough; Candidates lists them
	Unmatched Status = "unmatched" // TMDB was asked and knows nothing that fits
	Pending   Status = "pending"   // something could not be asked now; running again may tell
	Skipped   Status = "skipped"   // an extra (a creditless opening, a trailer, a sample), which is not matched
	Failed    Status = "error"     // asking failed in a way that running again will not mend
)

// File is one name to match. Index is the caller's own. Media: somebody listed the name, so an extra is matched to its
// work.
type File struct {
	Index   int
	Release release.Release
	Media   bool
}

// Decider says who decided, where that was not TMDB's answers alone.
type Decider string

// Who can decide besides TMDB's answers.
const (
	DecidedByIndex Decider = "index" // the local title index
	DecidedByPin   Decider = "pin"   // the user's own choice
)

// UsedEntry is an entry whose details a decision stands on, and when this process read the last answer about it.
type UsedEntry struct {
	Kind   Kind
	ID     int
	ReadAt time.Time
}

// Outcome is the entry of a series and what it stands on. Confidence, 0 to 1, estimates that Kind and ID are right. Err
// is the Source's error, untouched, if that kept the series pending.
type Outcome struct {
	Status        Status
	Confidence    float64
	Kind          Kind
	ID            int
	Title         string
	OriginalTitle string
	Year          int
	DecidedBy     Decider
	Origin        Origin // of all answers that it stands on
	UsedEntries   []UsedEntry
	Reason        lang.Text
	Candidates    []Candidate
	Steps         []Step
	Err           error
}

// Decision is the answer for one file. Season is nil and Episodes empty if unknown: 0 is a value. EpisodeConfidence
// estimates that both are right if the entry is; nil if no place was looked for.
type Decision struct {
	Outcome

	Season            *int
	Episodes          []int
	EpisodeTitles     []string
	AirDate           string // of the first of Episodes, YYYY-MM-DD; "" where TMDB has none
	EpisodeConfidence *float64
	IDs               IDs // of a matched file
}

// IDs are the ids of an entry, or of the part of it that a file is, in other catalogues.
type IDs struct {
	IMDb                      string
	TVDB, AniDB, AniList, MAL int
}

// Source is what records call the decision's source: who decided, unless an answer that it stands on had expired.
func (o Outcome) Source() string {
	if o.DecidedBy != "" && o.Origin.Freshness != FromStale {
		return string(o.DecidedBy)
	}
	return o.Origin.Freshness.String()
}

// Candidate is an entry that was weighed. Confidence is its own estimate; Reasons hold the parts of its score, the
// heaviest first.
type Candidate struct {
	Kind       Kind
	ID         int
	Title      string
	Year       int
	Score      float64
	Confidence float64
	Reasons    []Reason
}

// Reason is one component of a score: what was seen and what it weighed. Detail is for people.
type Reason struct {
	Name   string
	Weight float64
	Detail lang.Text
}

// Step is one thing the matcher did, for --explain. Stage is group, query, search, entry, score, decide or place.
type Step struct {
	Stage  string
	Detail lang.Text
	Origin *Origin
}

// Kind says whether an entry is a television series or a film. TMDB numbers the two apart: an id means
// nothing without its kind.
type Kind string

// The kinds of entries.
const (
	TV    Kind = "tv"    // a television series
	Movie Kind = "movie" // a film
)

// Source answers the matcher's questions; it is the only step with I/O. Goroutines share it.
type Source interface {
	// Search returns the rows that TMDB's search for the query's kind gives, in TMDB's order.
	// The order carries no weight.
	Search(ctx context.Context, q Query) ([]Hit, Origin, error)
	// Entry returns everything about one entry: titles, seasons with their episodes, episode group references.
	Entry(ctx context.Context, kind Kind, id int) (*Entry, Origin, error)
	// Group returns one episode group of a series by the id from its GroupRef.
	Group(ctx context.Context, id string) (*EpisodeGroup, Origin, error)
	// Find returns the rows under another site's id: site is "imdb" ("tt0903747") or "tvdb" ("81189").
	Find(ctx context.Context, site, id string) ([]Hit, Origin, error)
	// SeasonNames returns the season names of a series by season number in another language, such as "zh-CN".
	SeasonNames(ctx context.Context, id int, language string) (map[int]string, Origin, error)
}

// Query is one search. Text is NFC with single spaces; Year is 0 for none, for a series any year in which it aired;
// Page is 0 or 1 for the first.
type Query struct {
	Kind Kind
	Text string
	Year int
	Page int
}

// Freshness says where an answer came from, the freshest first, so that of several the greatest is the least fresh.
type Freshness uint8

// The places that an answer can come from.
const (
	FromNetwork Freshness = iota // TMDB gave the answer just now
	FromCache                    // a cached answer within its time
	FromStale                    // an expired answer, used because TMDB could not be asked
)

var freshnessNames = [...]string{"network", "cache", "stale"}

// String is the name that records carry in their field "source".
func (f Freshness) String() string { return freshnessNames[f] }

// Origin is where answers came from: From is the least fresh, FetchedAt the time of the oldest cached one, ReadAt when
// this process read the last.
type Origin struct {
	Freshness Freshness
	FetchedAt time.Time
	ReadAt    time.Time
}

// With returns the origin of the answers of both.
func (o Origin) With(p Origin) Origin {
	o.Freshness = max(o.Freshness, p.Freshness)
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

// Mapping is what Anime-Lists say of a title: its season, and how many of that season's episodes come before its first.
// Absolute counts over all seasons from 1 on.
type Mapping struct {
	Season   int
	Offset   int
	Absolute bool
}

// Entry is what one details request tells about a series or a film. EpisodeCount is TMDB's own number, 0 if unknown.
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

// GroupRef names an episode group. Type is TMDB's: 1 original air date, 2 absolute, 3 DVD, 4 digital, 5 story arc, 6
// production, 7 TV.
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
