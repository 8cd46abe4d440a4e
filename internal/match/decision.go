// Package match finds the TMDB entry, season and episode of a file from what its name says.
//
// It is pure: the only I/O is the Source that the caller hands in. A batch of names goes one way: Group sorts files
// into series (group.go), Queries lists what to search for (query.go), Resolve asks (resolve.go), fetches the few
// entries that matter (fetch.go), scores them (score.go, titles.go) and accepts the best or says that it is ambiguous
// (choose.go), and Place finds the season and episode of each file (place.go, numbering.go, strategies.go, special.go),
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
	"time"

	"github.com/anivault/anivault/internal/release"
)

// Status says how a file came out. The zero value is not a status; Decisions always carry one of these.
type Status string

const (
	// Matched means that the id is believed; season and episode may still be missing, with the Reason.
	Matched Status = "matched"
	// Ambiguous means that no candidate is certain enough; Candidates lists them.
	Ambiguous Status = "ambiguous"
	// Unmatched means that TMDB was asked and knows nothing that fits.
	Unmatched Status = "unmatched"
	// Pending means that something could not be asked now; running again may tell.
	Pending Status = "pending"
	// Skipped means that the file is an extra (a creditless opening, a trailer, a sample) and is not matched.
	Skipped Status = "skipped"
	// Failed means that asking failed in a way that running again will not mend.
	Failed Status = "error"
)

// File is one name to match. Index is the caller's own number for it and is not interpreted. Media says that somebody
// listed the name as media: an extra is then matched to the work it belongs to, without an episode, where that is
// certain.
type File struct {
	Index   int
	Release release.Release
	Media   bool
}

// By says who decided, where that was not TMDB's answers alone.
type By string

const (
	// ByIndex is the local title index.
	ByIndex By = "index"
	// ByPin is the user's own choice.
	ByPin By = "pin"
)

// Seen is an entry whose details a decision stands on, and when this process read the last answer about it.
type Seen struct {
	Kind   Kind
	ID     int
	ReadAt time.Time
}

// Outcome is what became of a series: the entry, and who and what it stands on. Confidence, 0 to 1, estimates that Kind
// and ID are right. Err is what the Source returned, untouched, when that kept the series from being decided (status
// pending or error is the caller's to tell from it; the matcher says pending).
type Outcome struct {
	Status        Status
	Confidence    float64
	Kind          Kind
	ID            int
	Title         string
	OriginalTitle string
	Year          int
	By            By
	Origin        Origin // of all answers that it stands on
	Seen          []Seen
	Reason        string
	Candidates    []Candidate
	Steps         []Step
	Err           error
}

// Decision is the answer for one file. Season is nil and Episodes empty where they are not known: season 0 and episode
// 0 are values. EpisodeConfidence, 0 to 1, estimates that both are right if the entry is; nil where no place was looked
// for.
type Decision struct {
	Outcome

	Season            *int
	Episodes          []int
	EpisodeTitles     []string
	AirDate           string // of the first of Episodes, YYYY-MM-DD; "" where TMDB has none
	EpisodeConfidence *float64
	IDs               IDs // of a matched file
}

// IDs are what other catalogues call an entry, or the part of it that a file is; zero where that is not known.
type IDs struct {
	IMDb                      string
	TVDB, AniDB, AniList, MAL int
}

// Source is what records call the decision's source: who decided, unless an answer that it stands on had expired.
func (o Outcome) Source() string {
	if o.By != "" && o.Origin.From != FromStale {
		return string(o.By)
	}
	return o.Origin.From.String()
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
	Detail string
}

// Step is one thing the matcher did, for --explain. Stage is group, query, search, entry, score, decide or place.
type Step struct {
	Stage  string
	Detail string
	Origin *Origin
}
