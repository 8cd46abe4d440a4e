package report

import (
	_ "embed" // for the error codes
	"slices"
	"strings"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/slicesx"
	"github.com/anivault/anivault/internal/wordlist"
)

// StatusInfo describes a status. The summary, help texts and documents use it.
type StatusInfo struct {
	Status  Status
	Meaning lang.Text // a clause without a full stop
}

var statuses = []StatusInfo{
	{Matched, "the entry is certain, and so is the episode if there is one"},
	{Ambiguous, "no entry is a safe choice"},
	{Unmatched, "TMDB has nothing that fits"},
	{Pending, "no answer from TMDB yet; the next run tries only these again"},
	{Skipped, "a sample, trailer or other extra, which is not matched"},
	{Failed, "running again will not help"},
}

var matchedWithoutEpisode = StatusInfo{Matched, "the series is known, but not the episode"}

// Statuses returns all statuses, in the order in which summaries count them.
func Statuses() []StatusInfo { return slices.Clone(statuses) }

// Info returns the description of a status; for an unknown status, it has only the name.
func (s Status) Info() StatusInfo {
	for _, row := range statuses {
		if row.Status == s {
			return row
		}
	}
	return StatusInfo{Status: s}
}

// Code is the reason why a file is pending or in error.
type Code string

// The codes of docs/reference.md.
const (
	CodeBlocked           Code = "blocked"
	CodeAcquireTimeout    Code = "acquire_timeout"
	CodeRequestTimeout    Code = "request_timeout"
	CodeUpstream          Code = "upstream"
	CodeNetwork           Code = "network"
	CodeMalformedResponse Code = "malformed_response"
	CodeBudget            Code = "budget"
	CodeUnauthorized      Code = "unauthorized"
	CodeTLS               Code = "tls"
	CodeNotFound          Code = "not_found"
	CodeUnreadable        Code = "unreadable"
	CodeInternal          Code = "internal"
)

// CodeInfo describes an error code.
type CodeInfo struct {
	Code    Code
	Status  Status    // Pending or Failed: the status of a file with this code
	Meaning lang.Text // a clause without a full stop
	Next    lang.Text // what the user can do about it
}

//go:embed codes.json
var codesJSON []byte

// Codes returns all error codes. Those that leave a file pending come first.
var Codes = wordlist.Table[CodeInfo](codesJSON)

// Info returns the description of a code. It describes an unknown code as an internal error.
func (c Code) Info() CodeInfo {
	for _, row := range Codes() {
		if row.Code == c {
			return row
		}
	}
	row := CodeInternal.Info()
	row.Code = c
	return row
}

// NoEpisode is the filter word for matched files without a known episode.
const NoEpisode = "no-episode"

// StatusFilter selects records by words of FilterWords. An empty filter selects all records.
type StatusFilter []string

// FilterWords returns the words that a filter may have: the statuses and no-episode.
func FilterWords() []string {
	words := slicesx.Map(statuses, func(s StatusInfo) string { return string(s.Status) })
	return append(words, NoEpisode)
}

// ParseFilter parses a comma-separated list of filter words.
func ParseFilter(text string) (StatusFilter, error) {
	var o StatusFilter
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimSpace(word)
		if !slices.Contains(FilterWords(), word) {
			return nil, lang.Error("%q is not a status", word)
		}
		o = append(o, word)
	}
	return o, nil
}

// Selects reports whether the filter selects the record.
func (o StatusFilter) Selects(r *Record) bool {
	return len(o) == 0 || o.contains(string(r.Status)) || o.contains(NoEpisode) && r.LacksEpisode()
}

// showsInSummary reports whether the summary lists the files of a status. It always lists pending and error.
func (o StatusFilter) showsInSummary(s Status) bool {
	return len(o) == 0 || o.contains(string(s)) || s == Matched && o.contains(NoEpisode) || s == Pending || s == Failed
}

func (o StatusFilter) contains(word string) bool { return slices.Contains(o, word) }
