package report

// This file is the table of JSON fields that documents and help are made from or checked against. A test holds it to
// the wire structs.

// Field is one JSON field of a record, a summary or a parse line.
type Field struct {
	Name string
	Doc  string // when it is there, and what it says
}

// MatchFields are the fields of a `match` object, in the order in which they are written.
func MatchFields() []Field {
	return []Field{
		{"type", "always \"match\""},
		{"path", "the path or name as it was given; bytes that are not UTF-8 as U+FFFD"},
		{"path_base64", "the path's own bytes, where they are not UTF-8"},
		{"status", "matched, ambiguous, unmatched, pending, skipped or error"},
		{"confidence", "0 to 1, with matched and ambiguous: the estimate that the entry is right"},
		{"kind", "tv or movie, with tmdb_id"},
		{"tmdb_id", "the TMDB entry; unique only together with kind"},
		{"title", "the entry's title in the display language"},
		{"original_title", "the entry's title in its own language"},
		{"year", "of the first broadcast or the release"},
		{"season", "TMDB's season number; 0 holds the specials"},
		{"episodes", "TMDB's episode numbers, a list even for one"},
		{"episode_titles", "one for each of episodes"},
		{"source", "the least fresh answer the record stands on: network, cache, stale, index or pin"},
		{"cached_at", "with cache and stale: when TMDB gave that answer, RFC 3339"},
		{"reason", "why it came out so, for people"},
		{"parsed", "what was read from the name: the fields of parse without the name"},
		{"candidates", "the entries that were weighed, each with kind, tmdb_id, title, year and confidence"},
		{"error", "with pending and error: code and message"},
		{"explain", "with --explain: the steps, each with stage, detail, source and cached_at"},
	}
}

// SummaryFields are the fields of the summary object; all of them are always present.
func SummaryFields() []Field {
	return []Field{
		{"type", "always \"summary\""},
		{"files", "all files of the run: the sum of the six below"},
		{"matched", "files with status matched"},
		{"ambiguous", "files with status ambiguous"},
		{"unmatched", "files with status unmatched"},
		{"pending", "files with status pending"},
		{"skipped", "files with status skipped"},
		{"errors", "files with status error"},
		{"requests", "requests sent to TMDB, retries included"},
		{"retries", "of these, the repeated ones"},
		{"http_429", "answers that told us to slow down"},
		{"cache_hits", "questions that the cache answered; 0 where every decision is remembered from an earlier run: then nothing is asked"},
		{"cache_misses", "questions that it could not answer"},
		{"elapsed_ms", "duration of the run in milliseconds"},
		{"limiter_state", "Normal, Throttle, Sleep, HalfOpen, CacheOnly or offline, at the end of the run"},
	}
}

// ParseFields are the fields of a `parse` line.
func ParseFields() []Field {
	return []Field{
		{"name", "the name as it was given; bytes that are not UTF-8 as U+FFFD"},
		{"title", "the best title"},
		{"titles", "every title that was read, the best first"},
		{"seasons", "season numbers, ranges filled"},
		{"season", "the season, where there is exactly one"},
		{"episodes", "episode numbers, ranges filled; 12.5 is possible"},
		{"absolute", "true where the numbers count over all seasons"},
		{"year", "the year in the name"},
		{"group", "the release group"},
		{"resolution", "such as 1080p"},
		{"version", "2 for v2"},
		{"checksum", "CRC-32, eight hexadecimal digits"},
		{"kind", "episode, movie, special, extra or batch"},
		{"source", "such as BluRay or WEB"},
		{"video", "the video codec"},
		{"audio", "the audio codec"},
		{"extension", "without the dot"},
	}
}
