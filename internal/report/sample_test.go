package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files under testdata")

// golden compares got with testdata/name, or rewrites it with -update.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (make it with: go test ./internal/report -update)", err)
	}
	want = bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n")) // git may have touched it
	if diff := cmp.Diff(string(want), string(bytes.ReplaceAll(got, []byte("\r\n"), []byte("\n")))); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func ptr[T any](v T) *T { return &v }

var fetched = time.Date(2026, 10, 1, 8, 30, 0, 0, time.UTC)

// sample is a run with one of everything.
func sample() []Record {
	bebop := func(file string, episode int, title string) Record {
		return Record{
			Path: "/lib/Cowboy Bebop/" + file, Status: Matched, Confidence: ptr(0.9712), Kind: "tv", TMDBID: 30991,
			Title: "Cowboy Bebop", OriginalTitle: "カウボーイビバップ", Year: 1998, Season: ptr(1),
			Episodes: []int{episode}, EpisodeTitles: []string{title}, Source: "network", Reason: "title and year agree",
		}
	}
	return []Record{
		{
			Path: "/lib/Cowboy Bebop/00 trailer.mkv", Status: Skipped, Reason: "a trailer",
		},
		bebop("[Group] Cowboy Bebop - 01 [1080p][ABCD1234].mkv", 1, "Asteroid Blues"),
		bebop("[Group] Cowboy Bebop - 02 [1080p][0123ABCD].mkv", 2, "Stray Dog Strut"),
		{
			Path: "/lib/Cowboy Bebop/[Group] Cowboy Bebop - Session XX.mkv", Status: Matched, Confidence: ptr(0.9), Kind: "tv",
			TMDBID: 30991, Title: "Cowboy Bebop", OriginalTitle: "カウボーイビバップ", Year: 1998, Season: ptr(0), Episodes: []int{0},
			Source: "cache", CachedAt: fetched,
		},
		{
			Path: "/lib/비밀의 숲/비밀의 숲 1-2화 그리고 아주 긴 이름이 계속해서 이어지는 파일 이름입니다 1080p.mkv", Status: Matched, Confidence: ptr(1.0),
			Kind: "tv", TMDBID: 70593, Title: "비밀의 숲", Year: 2017, Season: ptr(1), Episodes: []int{1, 2},
			EpisodeTitles: []string{"1회", "2회"},
			Source:        "stale", CachedAt: fetched,
		},
		{
			Path: "/lib/비밀의 숲/비밀의 숲 특별편.mkv", Status: Matched, Confidence: ptr(0.95), Kind: "tv",
			TMDBID: 70593, Title: "비밀의 숲", Year: 2017, Source: "stale", CachedAt: fetched,
			Reason: "season 0 has no episode of that name",
		},
		{
			Path: "/lib/films/千と千尋の神隠し (2001).mkv", Status: Matched, Confidence: ptr(0.999), Kind: "movie", TMDBID: 129,
			Title: "Spirited Away", OriginalTitle: "千と千尋の神隠し", Year: 2001, Source: "pin",
		},
		{
			Path: "/lib/films/Dune.mkv", Status: Ambiguous, Confidence: ptr(0.52), Source: "network",
			Candidates: []Candidate{
				{
					Kind: "movie", TMDBID: 438631, Title: "Dune", Year: 2021, Confidence: 0.52, Score: 1.25,
					Reasons: []Reason{{"title", 1, "equal"}, {"year", 0.25, ""}},
				},
				{Kind: "movie", TMDBID: 841, Title: "Dune", Year: 1984, Confidence: 0.4},
			},
			Steps: []Step{
				{Stage: "query", Detail: "movie \"Dune\""},
				{Stage: "search", Detail: "12 hits", Source: "cache", CachedAt: "2026-10-01T08:30:00Z"},
			},
		},
		{
			Path: "/lib/films/line\nbreak \x1b[31m.mkv", Status: Unmatched, Source: "network",
			Reason: "nothing like it in 3 searches",
		},
		{
			Path: "/lib/films/\xff\xfe.mkv", Status: Pending, Reason: "not asked yet",
			Error: &Error{CodeBlocked, "the limiter sleeps until 12:00:00 after 429"},
		},
		{
			Path: "/lib/films/later.mkv", Status: Pending,
			Error: &Error{CodeBlocked, "the limiter sleeps until 12:00:00 after 429"},
		},
		{Path: "/lib/secret", Status: Failed, Error: &Error{CodeUnreadable, "permission denied"}},
		{
			Path: "=cmd|' /C calc'!A0, \"quoted\".mkv", Status: Matched, Confidence: ptr(0.8), Kind: "tv", TMDBID: 7,
			Title: "-Record-", Season: ptr(2), Episodes: []int{3, 4, 5, 8}, Source: "index",
			Parsed: &Parsed{
				Title: "Record", Titles: []string{"Record"}, Seasons: []int{2}, Season: ptr(2), Episodes: []float64{3, 12.5},
				Absolute: true, Year: 2011, Group: "G", Resolution: "1080p", Version: 2, Checksum: "ABCD1234", Kind: "episode",
				Source: "BluRay",
				Video:  "H.265", Audio: "FLAC", Extension: "mkv",
			},
		},
	}
}

func sampleSummary(t *Tally) Summary {
	for _, r := range sample() {
		t.Add(r)
	}
	s := t.Counts()
	s.Requests, s.Retries, s.HTTP429, s.CacheHits, s.CacheMisses = 8, 1, 2, 30, 8
	s.ElapsedMS, s.LimiterState = 412, "Sleep"
	return s
}
