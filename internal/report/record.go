// Package report is how results leave anivault: one Record per file and one Summary per run, written as a
// table for people or as NDJSON, JSON or CSV for programs. The wire structs live here and nowhere else;
// names and rules are those of docs/reference.md.
package report

// This file decides the shape of a record: which fields there are and when one is present. Absent fields
// are left out, never null; season 0 and episode 0 are values.

import (
	"time"
)

// Status is what became of a file.
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

// Record is one file's result: one NDJSON line of `match`. Path holds the path's own bytes, valid UTF-8 or
// not; encoding takes care of it. Zero fields are left out, and pointers exist where zero is a value.
type Record struct {
	Path          string
	Status        Status
	Confidence    *float64 // 0 to 1; with matched and ambiguous
	Kind          string   // "tv" or "movie"
	TMDBID        int
	Title         string
	OriginalTitle string
	Year          int
	Season        *int
	Episodes      []int
	EpisodeTitles []string
	Source        string    // the least fresh answer the record stands on: network, cache, stale, index, pin
	CachedAt      time.Time // with cache and stale
	Reason        string
	Parsed        *Parsed
	Candidates    []Candidate
	Error         *Error // with pending and error
	Steps         []Step // what was done; written only with --explain
}

// Candidate is an entry that was considered, with the estimate that it is the right one. Score and Reasons,
// the heaviest first, are written only with --explain.
type Candidate struct {
	Kind       string   `json:"kind"`
	TMDBID     int      `json:"tmdb_id"`
	Title      string   `json:"title,omitempty"`
	Year       int      `json:"year,omitempty"`
	Confidence float64  `json:"confidence"`
	Score      float64  `json:"score,omitempty"`
	Reasons    []Reason `json:"reasons,omitempty"`
}

// Reason is one component of a candidate's score. Detail is for people.
type Reason struct {
	Name   string  `json:"name"`
	Weight float64 `json:"weight"`
	Detail string  `json:"detail,omitempty"`
}

// Error says why a file is pending or in error.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

// Step is one thing that the matcher did: its stage (group, query, search, entry, score, decide, place), what
// came of it, and, where it used an answer, where that came from.
type Step struct {
	Stage    string `json:"stage"`
	Detail   string `json:"detail"`
	Source   string `json:"source,omitempty"`
	CachedAt string `json:"cached_at,omitempty"` // RFC 3339
}

// Parsed is what the name parser read: the fields of `parse`, without the name.
type Parsed struct {
	Title      string    `json:"title,omitempty"`
	Titles     []string  `json:"titles,omitempty"`
	Seasons    []int     `json:"seasons,omitempty"`
	Season     *int      `json:"season,omitempty"` // only where there is exactly one
	Episodes   []float64 `json:"episodes,omitempty"`
	Absolute   bool      `json:"absolute,omitempty"`
	Year       int       `json:"year,omitempty"`
	Group      string    `json:"group,omitempty"`
	Resolution string    `json:"resolution,omitempty"`
	Version    int       `json:"version,omitempty"`
	Checksum   string    `json:"checksum,omitempty"`
	Kind       string    `json:"kind,omitempty"` // episode, movie, special, extra, batch
	Source     string    `json:"source,omitempty"`
	Video      string    `json:"video,omitempty"`
	Audio      string    `json:"audio,omitempty"`
	Extension  string    `json:"extension,omitempty"`
}

// ParseRecord is one NDJSON line of `parse`: the name as it was given, and what was read from it.
type ParseRecord struct {
	Name string `json:"name"`
	Parsed
}

// wireRecord fixes the names and the order of a record's JSON fields.
type wireRecord struct {
	Type          string      `json:"type"`
	Path          string      `json:"path"`
	PathBase64    string      `json:"path_base64,omitempty"`
	Status        Status      `json:"status"`
	Confidence    *float64    `json:"confidence,omitempty"`
	Kind          string      `json:"kind,omitempty"`
	TMDBID        int         `json:"tmdb_id,omitempty"`
	Title         string      `json:"title,omitempty"`
	OriginalTitle string      `json:"original_title,omitempty"`
	Year          int         `json:"year,omitempty"`
	Season        *int        `json:"season,omitempty"`
	Episodes      []int       `json:"episodes,omitempty"`
	EpisodeTitles []string    `json:"episode_titles,omitempty"`
	Source        string      `json:"source,omitempty"`
	CachedAt      string      `json:"cached_at,omitempty"`
	Reason        string      `json:"reason,omitempty"`
	Parsed        *Parsed     `json:"parsed,omitempty"`
	Candidates    []Candidate `json:"candidates,omitempty"`
	Error         *Error      `json:"error,omitempty"`
	Steps         []Step      `json:"explain,omitempty"`
}

// wireSummary is a Summary with its type field in front.
type wireSummary struct {
	Type string `json:"type"`
	Summary
}

// Summary is the last line of a run's NDJSON. Every field is always present.
type Summary struct {
	Files        int    `json:"files"`
	Matched      int    `json:"matched"`
	Ambiguous    int    `json:"ambiguous"`
	Unmatched    int    `json:"unmatched"`
	Pending      int    `json:"pending"`
	Skipped      int    `json:"skipped"`
	Errors       int    `json:"errors"`
	Requests     int64  `json:"requests"`
	Retries      int64  `json:"retries"`
	HTTP429      int64  `json:"http_429"`
	CacheHits    int64  `json:"cache_hits"`
	CacheMisses  int64  `json:"cache_misses"`
	ElapsedMS    int64  `json:"elapsed_ms"`
	LimiterState string `json:"limiter_state"` // Normal, Throttle, Sleep, HalfOpen, CacheOnly, offline
}
