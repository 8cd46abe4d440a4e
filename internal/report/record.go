// Package report writes results: one Record per file and one Summary per run. The output is a table for people, or
// NDJSON, JSON or CSV for programs. Struct tags document the fields.
package report

import (
	"time"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/orders"
)

// Status is the result for a file.
type Status string

// The statuses, in the order in which summaries count them.
const (
	Matched   Status = "matched"
	Ambiguous Status = "ambiguous"
	Unmatched Status = "unmatched"
	Pending   Status = "pending"
	Skipped   Status = "skipped"
	Failed    Status = "error"
)

// Record is one file's result: one NDJSON line of `match`. Path has the exact bytes, even if not UTF-8.
type Record struct {
	_                 struct{}    `constant:"type=match" doc:"always \"match\""`
	Path              string      `json:"path" bytes:"path_base64" doc:"as given; bytes that are not UTF-8 as U+FFFD"`
	Status            Status      `json:"status" doc:"matched, ambiguous, unmatched, pending, skipped or error"`
	Confidence        *float64    `json:"confidence,omitempty" doc:"0 to 1, if matched or ambiguous: how sure it is"`
	Kind              string      `json:"kind,omitempty" doc:"tv or movie, with tmdb_id"`
	TMDBID            int         `json:"tmdb_id,omitempty" doc:"the TMDB entry; unique only together with kind"`
	Title             string      `json:"title,omitempty" doc:"the entry's title in the display language"`
	OriginalTitle     string      `json:"original_title,omitempty" doc:"the entry's title in its own language"`
	Year              int         `json:"year,omitempty" doc:"of the first broadcast or the release"`
	Season            *int        `json:"season,omitempty" doc:"the season number in the requested order: TMDB's"`
	_                 struct{}    `doc:"unless order says otherwise; 0 holds the specials"`
	Episodes          []int       `json:"episodes,omitempty" doc:"the episode numbers in that order, a list even for one"`
	Order             string      `json:"order,omitempty" doc:"the order of season and episodes, unless it is TMDB's:"`
	_                 struct{}    `doc:"absolute, tvdb, anidb or group:NAME; if missing, they are not known in it"`
	EpisodeConfidence *float64    `json:"episode_confidence,omitempty" doc:"0 to 1: the estimate that season and episodes"`
	_                 struct{}    `doc:"are right if the entry is; given also if they are omitted because it is too low"`
	EpisodeTitles     []string    `json:"episode_titles,omitempty" doc:"one for each of episodes"`
	AirDate           string      `json:"air_date,omitempty" doc:"first broadcast of the first of episodes, YYYY-MM-DD"`
	Subtitles         []string    `json:"subtitles,omitempty" doc:"its subtitle files, with their folder if it is another"`
	IDs               *WorkIDs    `json:"ids,omitempty" doc:"the same work in other catalogues"`
	Orders            *Orders     `json:"orders,omitempty" doc:"the episodes in each order in which all are known"`
	Source            string      `json:"source,omitempty" doc:"network, cache, index or pin; stale for an expired answer"`
	CachedAt          time.Time   `json:"cached_at,omitempty" doc:"when its oldest cached answer was fetched, RFC 3339"`
	Reason            lang.Text   `json:"reason,omitempty" doc:"the reason for the result, for people"`
	Parsed            *Parsed     `json:"parsed,omitempty" doc:"what was read from the name: the fields of parse"`
	Candidates        []Candidate `json:"candidates,omitempty" doc:"the entries that were weighed, the likeliest first"`
	Error             *Error      `json:"error,omitempty" doc:"with pending and error: why"`
	Steps             []Step      `json:"explain,omitempty" doc:"with --explain: what was done"`
}

// Orders are a record's episodes in each order in which all of them are known.
type Orders = orders.Orders

// Candidate is an entry that was considered, with the estimated probability that it is the right one.
type Candidate struct {
	Kind       string   `json:"kind" doc:"tv or movie"`
	TMDBID     int      `json:"tmdb_id" doc:"the TMDB entry"`
	Title      string   `json:"title,omitempty" doc:"its title"`
	Year       int      `json:"year,omitempty" doc:"its year"`
	Confidence float64  `json:"confidence" doc:"0 to 1: the estimate that it is right"`
	Score      float64  `json:"score,omitempty" doc:"with --explain: the sum of the weights"`
	Reasons    []Reason `json:"reasons,omitempty" doc:"with --explain: the parts of the score, the heaviest first"`
}

// Reason is one component of a candidate's score.
type Reason struct {
	Name   string    `json:"name" doc:"what was compared"`
	Weight float64   `json:"weight" doc:"what it adds to the score"`
	Detail lang.Text `json:"detail,omitempty" doc:"the result, for people"`
}

// Error explains why a file is pending or in error.
type Error struct {
	Code    Code      `json:"code" doc:"one of the error codes"`
	Message lang.Text `json:"message" doc:"the same for people"`
}

// Step is one action of the matcher.
type Step struct {
	Stage    string    `json:"stage" doc:"group, query, search, entry, score, decide or place"`
	Detail   lang.Text `json:"detail" doc:"the result"`
	Source   string    `json:"source,omitempty" doc:"where the answer that it used came from"`
	CachedAt string    `json:"cached_at,omitempty" doc:"with cache and stale: when TMDB gave that answer, RFC 3339"`
}

// Parsed is what the name parser read: the fields of `parse`, without the name.
type Parsed struct {
	Title        string    `json:"title,omitempty" doc:"the best title"`
	Titles       []string  `json:"titles,omitempty" doc:"every title that was read, the best first"`
	Seasons      []int     `json:"seasons,omitempty" doc:"season numbers, ranges filled"`
	Season       *int      `json:"season,omitempty" doc:"the season, where there is exactly one"`
	Episodes     []float64 `json:"episodes,omitempty" doc:"episode numbers, ranges filled; 12.5 is possible"`
	Absolute     bool      `json:"absolute,omitempty" doc:"true where the numbers count over all seasons"`
	Part         int       `json:"part,omitempty" doc:"the number of a part or cour"`
	Special      string    `json:"special,omitempty" doc:"what makes it a special or an extra, such as OVA or NCOP"`
	EpisodeTitle string    `json:"episode_title,omitempty" doc:"the title after the episode number"`
	Year         int       `json:"year,omitempty" doc:"the year in the name"`
	IDs          *IDs      `json:"ids,omitempty" doc:"the ids in the path"`
	Group        string    `json:"group,omitempty" doc:"the release group"`
	Resolution   string    `json:"resolution,omitempty" doc:"such as 1080p"`
	Version      int       `json:"version,omitempty" doc:"2 for v2"`
	Checksum     string    `json:"checksum,omitempty" doc:"CRC-32, eight hexadecimal digits"`
	Kind         string    `json:"kind,omitempty" doc:"episode, movie, special, extra or batch"`
	Source       string    `json:"source,omitempty" doc:"such as BluRay or WEB"`
	Video        string    `json:"video,omitempty" doc:"the video codec"`
	Audio        string    `json:"audio,omitempty" doc:"the audio codec"`
	Edition      string    `json:"edition,omitempty" doc:"such as Director's Cut or Extended; several with spaces between"`
	Extension    string    `json:"extension,omitempty" doc:"without the dot"`
}

// WorkIDs are a matched work's ids in other catalogues. Those of IMDb and TVDB are for the whole entry, the others for
// the part of it that the file belongs to.
type WorkIDs struct {
	IMDB    string `json:"imdb,omitempty" doc:"IMDb's, with its tt"`
	TVDB    int    `json:"tvdb,omitempty" doc:"TVDB's"`
	AniDB   int    `json:"anidb,omitempty" doc:"AniDB's, of the one anime that holds this season and these episodes"`
	AniList int    `json:"anilist,omitempty" doc:"AniList's, of the same anime"`
	MAL     int    `json:"mal,omitempty" doc:"MyAnimeList's, of the same anime"`
}

// IDs are the ids in a path.
type IDs struct {
	TMDB  int    `json:"tmdb,omitempty" doc:"TMDB's"`
	IMDB  string `json:"imdb,omitempty" doc:"IMDb's, with its tt"`
	TVDB  int    `json:"tvdb,omitempty" doc:"TVDB's"`
	AniDB int    `json:"anidb,omitempty" doc:"AniDB's"`
}

// ParseRecord is one NDJSON line of `parse`: the name as it was given, and what was read from it.
type ParseRecord struct {
	Name string `json:"name" bytes:"name_base64" doc:"the name as it was given; bytes that are not UTF-8 as U+FFFD"`
	Parsed
}

// Summary is the last line of a run's NDJSON. Every field is always present.
type Summary struct {
	_            struct{} `constant:"type=summary" doc:"always \"summary\""`
	Files        int      `json:"files" doc:"all files of the run: the sum of the six below"`
	Matched      int      `json:"matched" doc:"files with status matched"`
	Ambiguous    int      `json:"ambiguous" doc:"files with status ambiguous"`
	Unmatched    int      `json:"unmatched" doc:"files with status unmatched"`
	Pending      int      `json:"pending" doc:"files with status pending"`
	Skipped      int      `json:"skipped" doc:"files with status skipped"`
	Errors       int      `json:"errors" doc:"files with status error"`
	Requests     int64    `json:"requests" doc:"requests sent to TMDB, retries included"`
	Retries      int64    `json:"retries" doc:"of these, the repeated ones"`
	HTTP429      int64    `json:"http_429" doc:"429 answers, which ask to slow down"`
	CacheHits    int64    `json:"cache_hits" doc:"questions that the cache answered; 0 if all decisions are remembered"`
	CacheMisses  int64    `json:"cache_misses" doc:"questions that it could not answer"`
	ElapsedMS    int64    `json:"elapsed_ms" doc:"duration of the run in milliseconds"`
	LimiterState string   `json:"limiter_state" doc:"at the end: Normal, Throttle, Sleep, HalfOpen, CacheOnly, offline"`
}

// Op is one file of a plan with its result: one NDJSON line of `organize`, `apply`, `undo` and `history`.
type Op struct {
	_          struct{}  `constant:"type=op" doc:"always \"op\""`
	Run        string    `json:"run" doc:"the id of the plan, or of the run"`
	N          int       `json:"n" doc:"its number in the plan, from 1; 0 for a file that is in none"`
	Unit       int       `json:"unit" doc:"the number of its unit, a video with what belongs to it, from 1; 0 for none"`
	Action     string    `json:"action,omitempty" doc:"link, copy, move, symlink, reflink or nfo"`
	Role       string    `json:"role,omitempty" doc:"video, subtitle, audio, image, nfo, font, extra or other"`
	Source     string    `json:"source,omitempty" bytes:"source_base64" doc:"where the file is"`
	Target     string    `json:"target,omitempty" bytes:"target_base64" doc:"where it is to be"`
	Status     string    `json:"status" doc:"planned, left or conflict; of apply and undo also in_place, done, refused,"`
	_          struct{}  `doc:"failed, undone or kept; of verify ok, edited, moved_on, gone, replaced or bad_crc"`
	Kind       string    `json:"kind,omitempty" doc:"tv or movie, with tmdb_id"`
	TMDBID     int       `json:"tmdb_id,omitempty" doc:"the TMDB entry"`
	Season     *int      `json:"season,omitempty" doc:"TMDB's season number"`
	Episodes   []int     `json:"episodes,omitempty" doc:"TMDB's episode numbers"`
	Confidence *float64  `json:"confidence,omitempty" doc:"0 to 1: the record's, or its episode_confidence if smaller"`
	Reason     lang.Text `json:"reason,omitempty" doc:"why it is skipped, for people"`
	Error      *OpError  `json:"error,omitempty" doc:"with left, conflict, refused, failed and kept: why"`
}

// OpError explains why a file was not put where it belongs.
type OpError struct {
	Code    string    `json:"code" doc:"one of the codes of plans"`
	Message lang.Text `json:"message" doc:"the same for people"`
}

// OrganizeProgress is the progress of a long run.
type OrganizeProgress struct {
	_          struct{} `constant:"type=progress" doc:"always \"progress\""`
	Run        string   `json:"run" doc:"the run's id"`
	Bytes      int64    `json:"bytes" doc:"bytes that are copied"`
	BytesTotal int64    `json:"bytes_total" doc:"bytes that the run copies"`
	Files      int      `json:"files" doc:"files that are done"`
	FilesTotal int      `json:"files_total" doc:"files of the run"`
	ETAMS      int64    `json:"eta_ms" doc:"estimate of the time left, in milliseconds"`
}

// OrganizeSummary is the last line of the NDJSON of `organize`, `apply` and `undo`. Every field is always present.
type OrganizeSummary struct {
	_         struct{}  `constant:"type=organize_summary" doc:"always \"organize_summary\""`
	Run       string    `json:"run" doc:"the id of the plan, or of the run"`
	Planned   int       `json:"planned" doc:"files that the plan puts somewhere, whatever happened; of an undo, its files"`
	InPlace   int       `json:"in_place" doc:"files that are where they belong already: organize has no object for them"`
	Left      int       `json:"left" doc:"files that are skipped and stay where they are"`
	Conflicts int       `json:"conflicts" doc:"files that stay because a name is taken or needed twice"`
	Done      int       `json:"done" doc:"files that were put where they belong"`
	Refused   int       `json:"refused" doc:"files that can't be carried out: nothing was done with them"`
	Failed    int       `json:"failed" doc:"files that the system failed to place: they were put back"`
	Undone    int       `json:"undone" doc:"files that were put back"`
	Kept      int       `json:"kept" doc:"files that could not be put back safely"`
	Bytes     int64     `json:"bytes" doc:"bytes that the plan copies"`
	Unowned   []Unowned `json:"unowned,omitempty" doc:"files that are neither in the plan nor skipped for a reason"`
	ElapsedMS int64     `json:"elapsed_ms" doc:"duration in milliseconds"`
}

// Unowned counts the files of an extension that belong to no unit of a plan.
type Unowned struct {
	Extension string `json:"extension" doc:"in lower case, with its dot; empty for files that have none"`
	Files     int    `json:"files" doc:"how many"`
}
