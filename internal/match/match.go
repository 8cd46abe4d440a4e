// Package match finds the TMDB entry, season and episode of a file from its parsed name.
//
// All I/O goes through the caller's Source. Group sorts files into series (group.go). Queries lists the searches for a
// series (query.go). Resolve runs them (resolve.go), fetches details of the few entries that matter (fetch.go), scores
// them (score.go, titles.go), and accepts the best one or reports the series as ambiguous. Place finds the season and
// episode of each file (place.go, numbering.go, strategies.go, special.go) and how certain they are (trust.go). The
// Reasons and Steps of a Decision explain the result.
//
// Most callers need Group, Resolver.Resolve and Resolver.Place. Resolver.ResolveAmong and Resolver.ResolveID are for
// callers that already know the entries.
//
// Two rules always hold. First, "ambiguous" is better than a wrong match, and no episode is better than a wrong
// episode. Second, the order of TMDB's search results never matters.
package match

import (
	"context"
	"time"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/orders"
	"github.com/anivault/anivault/internal/release"
)

// Status is the result of matching a file. Every Decision has one of the constants below, never the zero value.
type Status string

// The possible results for a file.
const (
	Matched   Status = "matched"   // the entry is accepted; if season or episode is missing, Reason says why
	Ambiguous Status = "ambiguous" // no candidate is certain enough; Candidates lists them
	Unmatched Status = "unmatched" // TMDB has nothing that fits
	Pending   Status = "pending"   // a request failed; another run may succeed
	Skipped   Status = "skipped"   // an extra (a creditless opening, a trailer, a sample), which is not matched
	Failed    Status = "error"     // a request failed, and another run will not help
)

// File is one name to match. Index is for the caller's use. If MatchExtra is true, an extra is matched to its
// work instead of skipped.
type File struct {
	Index      int
	Release    release.Release
	MatchExtra bool
	Doubt      lang.Text // a reason to doubt its episode
}

// Decider names what decided which entry a file is, if it was not only TMDB's responses.
type Decider string

// The possible deciders besides TMDB.
const (
	DecidedByIndex Decider = "index" // the local title index
	DecidedByPin   Decider = "pin"   // the user's own choice
)

// UsedEntry is an entry whose details a decision depends on. ReadAt is when this process last read them.
type UsedEntry struct {
	Kind   Kind
	ID     int
	ReadAt time.Time
}

// Outcome is the entry found for a series, with the evidence. Confidence is the estimated probability that Kind and ID
// are right. Err is the Source's own error if the series is pending because of it.
type Outcome struct {
	Status        Status
	Confidence    float64
	Kind          Kind
	ID            int
	Title         string
	OriginalTitle string
	Year          int
	DecidedBy     Decider
	Origin        Origin // of all responses that the decision depends on
	UsedEntries   []UsedEntry
	Reason        lang.Text
	Candidates    []Candidate
	Steps         []Step
	Err           error
}

// Decision is the result for one file. If unknown, Season is nil (0 is a real season) and Episodes is empty.
// EpisodeConfidence is the estimated probability that both are right, given the right entry. It is nil if they were not
// looked for.
type Decision struct {
	Outcome

	Season            *int
	Episodes          []int
	EpisodeTitles     []string
	AirDate           string // of the first of Episodes, YYYY-MM-DD; "" if unknown
	EpisodeConfidence *float64
	Guess             *Guess         // the likeliest place of a file without a season; nil if none is likelier than others
	IDs               IDs            // set only for a matched file
	Orders            *orders.Orders // of Episodes; set only for a matched file with a place
}

// Guess is a place that is not certain enough. It has at least one episode.
type Guess struct {
	Season   int
	Episodes []Episode
}

// IDs are an entry's ids in other catalogues, or those of the part of it that the file belongs to.
type IDs struct {
	IMDb                      string
	TVDB, AniDB, AniList, MAL int
}

// Source returns the "source" field of records: the decider if there is one and no response was stale, otherwise the
// freshness.
func (o Outcome) Source() string {
	if o.DecidedBy != "" && o.Origin.Freshness != FromStale {
		return string(o.DecidedBy)
	}
	return o.Origin.Freshness.String()
}

// Candidate is a scored entry. Confidence is the estimated probability that it is the right one. The weights of its
// Reasons, heaviest first, add up to its score.
type Candidate struct {
	Kind       Kind
	ID         int
	Title      string
	Year       int
	Score      float64
	Confidence float64
	Reasons    []Reason
}

// Reason is one piece of evidence in a score. Detail explains it to the user.
type Reason struct {
	Name   string
	Weight float64
	Detail lang.Text
}

// Step is one action of the matcher, shown by --explain. Stage is pin, group, index, known, search, entry, decide or
// place.
type Step struct {
	Stage  string
	Detail lang.Text
	Origin *Origin
}

// Kind says whether an entry is a series or a film. A series and a film may have the same TMDB id.
type Kind string

// The kinds of entries.
const (
	TV    Kind = "tv"    // a television series
	Movie Kind = "movie" // a film
)

// Source fetches data for the matcher, which does no other I/O. It must be safe for concurrent use.
type Source interface {
	// Search returns TMDB's search results for the query, in any order.
	Search(ctx context.Context, q Query) ([]Hit, Origin, error)
	// Entry returns the details of one entry: titles, seasons with their episodes, episode group references.
	Entry(ctx context.Context, kind Kind, id int) (*Entry, Origin, error)
	// Group returns the episode group with the id of a GroupRef, its parts and their episodes in order.
	Group(ctx context.Context, id string) (*EpisodeGroup, Origin, error)
	// Find returns the entries with an id of another site: site is "imdb" ("tt0903747") or "tvdb" ("81189").
	Find(ctx context.Context, site, id string) ([]Hit, Origin, error)
	// SeasonNames returns the season names of a series in a language such as "zh-CN", by season number.
	SeasonNames(ctx context.Context, id int, language string) (map[int]string, Origin, error)
}

// Query is one search. Text is NFC with single spaces. Year is 0 for any; for a series it may be any year in which it
// aired. Page is 0 or 1 for the first page.
type Query struct {
	Kind Kind
	Text string
	Year int
	Page int
}

// Freshness says where a response came from. A greater value is less fresh.
type Freshness uint8

// Where a response can come from, the freshest first.
const (
	FromNetwork Freshness = iota // TMDB, just now
	FromCache                    // the cache, not expired
	FromStale                    // the cache, expired, because TMDB could not be reached
)

var freshnessNames = [...]string{"network", "cache", "stale"}

// String returns the name used in the "source" field of records.
func (f Freshness) String() string { return freshnessNames[f] }

// Origin describes where one or more responses came from. Freshness describes the least fresh response. FetchedAt is
// the fetch time of the oldest cached response. ReadAt is when this process read the latest response.
type Origin struct {
	Freshness Freshness
	FetchedAt time.Time
	ReadAt    time.Time
}

// CombinedWith returns the combined origin of both.
func (o Origin) CombinedWith(p Origin) Origin {
	o.Freshness = max(o.Freshness, p.Freshness)
	if o.FetchedAt.IsZero() || !p.FetchedAt.IsZero() && p.FetchedAt.Before(o.FetchedAt) {
		o.FetchedAt = p.FetchedAt
	}
	if p.ReadAt.After(o.ReadAt) {
		o.ReadAt = p.ReadAt
	}
	return o
}

// Hit is one search result. Year is the year of the first broadcast or the release, 0 if unknown.
type Hit struct {
	Kind             Kind
	ID               int
	Title            string
	OriginalTitle    string
	OriginalLanguage string
	Year             int
	Genres           []int
	Popularity       float64
	Mapping          *Mapping // from the local title index, if the title was found there
}

// Mapping says where an anime title starts in a series, according to Anime-Lists: in Season, after Offset episodes. If
// Absolute is true, Offset counts the episodes of all regular seasons.
type Mapping struct {
	Season   int
	Offset   int
	Absolute bool
}

// Entry holds the details of a series or film. EpisodeCount is TMDB's total, 0 if unknown.
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
	IDs              IDs // only IMDb and TheTVDB
}

// AltTitle is an alternative or translated title. Language (ISO 639-1) and Region (ISO 3166-1) may be empty.
type AltTitle struct {
	Title    string
	Language string
	Region   string
}

// Season is one season of a series; season 0 holds the specials. AirDate is YYYY-MM-DD or empty. Episodes is nil if
// they were not loaded.
type Season struct {
	Number   int
	Name     string
	AirDate  string
	Episodes []Episode
}

// Episode is one episode of a season. TMDB's numbers may start above 1 and have gaps. AirDate is YYYY-MM-DD or empty.
type Episode struct {
	Number  int
	Name    string
	AirDate string
	Finale  bool // TMDB says that the season, or a part of it, ends with it
}

// GroupRef refers to an episode group. TMDB's types are: 1 original air date, 2 absolute, 3 DVD, 4 digital, 5 story
// arc, 6 production, 7 TV.
type GroupRef struct {
	ID       string
	Name     string
	Type     int
	Parts    int
	Episodes int
}

// EpisodeGroup is an alternative ordering of a series' episodes.
type EpisodeGroup struct {
	Name   string
	Groups []GroupPart
}

// GroupPart is one part of an episode group, such as a season. Order is its position in the group.
type GroupPart struct {
	Name     string
	Order    int
	Episodes []GroupEpisode
}

// GroupEpisode is an episode of a GroupPart. Season and Number are its regular numbers on TMDB. Order is its position
// in the part.
type GroupEpisode struct {
	Season int
	Number int
	Order  int
}
