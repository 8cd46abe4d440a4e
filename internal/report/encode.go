package report

// This file decides how a record becomes JSON and back: one line without HTML escapes, and paths whose bytes
// are not UTF-8 kept addressable by path_base64.

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// printablePath returns the path as valid UTF-8, each bad byte as U+FFFD, and, only where that lost
// something, the path's bytes in standard base64.
func printablePath(path string) (text, b64 string) {
	if utf8.ValidString(path) {
		return path, ""
	}
	return validUTF8(path), base64.StdEncoding.EncodeToString([]byte(path))
}

// validUTF8 replaces each byte that is not part of valid UTF-8 with U+FFFD.
func validUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s { // an invalid byte ranges as U+FFFD
		b.WriteRune(r)
	}
	return b.String()
}

func (r Record) wire() wireRecord {
	w := wireRecord{
		Type: "match", Status: r.Status, Confidence: r.Confidence, Kind: r.Kind, TMDBID: r.TMDBID, Title: r.Title,
		OriginalTitle: r.OriginalTitle, Year: r.Year, Season: r.Season, Episodes: r.Episodes,
		EpisodeTitles: r.EpisodeTitles, Source: r.Source, Reason: r.Reason, Parsed: r.Parsed,
		Candidates: r.Candidates, Error: r.Error, Steps: r.Steps,
	}
	w.Path, w.PathBase64 = printablePath(r.Path)
	if !r.CachedAt.IsZero() {
		w.CachedAt = r.CachedAt.UTC().Format(time.RFC3339)
	}
	return w
}

// brief is the record without what only --explain shows. The receiver's slices are not changed.
func (r Record) brief() Record {
	r.Steps = nil
	for i, c := range r.Candidates {
		if c.Score == 0 && c.Reasons == nil {
			continue
		}
		r.Candidates = slices.Clone(r.Candidates)
		for j := i; j < len(r.Candidates); j++ {
			r.Candidates[j].Score, r.Candidates[j].Reasons = 0, nil
		}
		break
	}
	return r
}

// MarshalJSON encodes the record as one `match` object of docs/reference.md.
func (r Record) MarshalJSON() ([]byte, error) { return marshal(r.wire()) }

// UnmarshalJSON decodes what MarshalJSON wrote; the path's own bytes come back from path_base64.
func (r *Record) UnmarshalJSON(data []byte) error {
	var w wireRecord
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	if w.Type != "match" {
		return fmt.Errorf("decode record: type is %q, not \"match\"", w.Type)
	}
	*r = Record{
		Path: w.Path, Status: w.Status, Confidence: w.Confidence, Kind: w.Kind, TMDBID: w.TMDBID, Title: w.Title,
		OriginalTitle: w.OriginalTitle, Year: w.Year, Season: w.Season, Episodes: w.Episodes,
		EpisodeTitles: w.EpisodeTitles, Source: w.Source, Reason: w.Reason, Parsed: w.Parsed,
		Candidates: w.Candidates, Error: w.Error, Steps: w.Steps,
	}
	if w.PathBase64 != "" {
		path, err := base64.StdEncoding.DecodeString(w.PathBase64)
		if err != nil {
			return fmt.Errorf("decode record: path_base64: %w", err)
		}
		r.Path = string(path)
	}
	if w.CachedAt != "" {
		at, err := time.Parse(time.RFC3339, w.CachedAt)
		if err != nil {
			return fmt.Errorf("decode record: cached_at: %w", err)
		}
		r.CachedAt = at
	}
	return nil
}

// marshal encodes v on one line, without a newline and without escaping <, > and &.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	if err := encode(&b, v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// encode appends v as one line of JSON, newline included, without escaping <, > and &.
func encode(b *bytes.Buffer, v any) error {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
