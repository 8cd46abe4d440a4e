package report

import (
	"testing"

	"github.com/anivault/anivault/internal/match"
)

func TestTheBetterOfSeveralFilesIsNamedWithTheReason(t *testing.T) {
	file := func(path, source, resolution string, version int) Record {
		r := fileOf(path, 1, 1)
		r.Parsed = &Parsed{Source: source, Resolution: resolution, Version: version}
		return r
	}
	sizes := map[string]int64{"large": 1_400_000_000, "small": 700_000_000}
	for _, row := range []struct {
		name         string
		files        []Record
		better, want string
	}{
		{"source", []Record{file("a", "WEB-DL", "1080p", 0), file("b", "BluRay", "", 0)}, "b", "BluRay instead of WEB-DL"},
		{"resolution", []Record{file("a", "WEB", "1080p", 0), file("b", "WEB", "720p", 2)}, "a", "1080p instead of 720p"},
		{"version", []Record{file("a", "", "", 0), file("b", "", "", 2)}, "b", "v2 instead of v1"},
		{"size", []Record{file("small", "", "", 0), file("large", "", "", 0)}, "large", "1.4 GB instead of 700.0 MB"},
		{
			"what one name alone says",
			[]Record{file("small", "", "1080p", 0), file("large", "", "", 0)},
			"large",
			"1.4 GB instead of 700.0 MB",
		},
		{
			"two reasons",
			[]Record{file("a", "DVD", "", 0), file("b", "BluRay", "720p", 0), file("c", "BluRay", "1080p", 0)},
			"c",
			"BluRay instead of DVD, 1080p instead of 720p",
		},
		{"equal", []Record{file("a", "WEB", "720p", 0), file("b", "WEB", "720p", 0)}, "", ""},
		{"two best files", []Record{file("a", "WEB", "", 0), file("b", "DVD", "", 0), file("c", "WEB", "", 0)}, "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := Holdings{Size: func(path string) int64 { return sizes[path] }}
			for i := range row.files {
				h.Add(&row.files[i])
			}
			gaps := h.Gaps(7, []match.Season{seasonOf(1, "2020-01-01")}, "2026-01-01")
			better, why := "", ""
			for _, f := range gaps[0].Duplicates {
				if f.Better != "" {
					better, why = f.Path, f.Better.String()
				}
			}
			if better != row.better || why != row.want {
				t.Errorf("better: %q (%s), want %q (%s)", better, why, row.better, row.want)
			}
		})
	}
}

func TestGapsAsCSV(t *testing.T) {
	one := 1
	gaps := []Gap{{
		TMDBID: 7, Title: "=Trigun", Year: 1998, Season: &one,
		Missing:    []MissingEpisode{{2, "Truth, of Mistake", "1998-04-08"}},
		Duplicates: []EpisodeFile{{Episode: 1, Path: "a"}, {Episode: 1, Path: "-b\xff", Better: "v2 instead of v1"}},
	}, {TMDBID: 8, Title: "X", Unknown: true}}
	want := "status,tmdb_id,title,original_title,year,season,episode,episode_title,air_date,path,better,path_base64\r\n" +
		"missing,7,'=Trigun,,1998,1,2,\"Truth, of Mistake\",1998-04-08,,,\r\n" +
		"twice,7,'=Trigun,,1998,1,1,,,a,,\r\n" +
		"twice,7,'=Trigun,,1998,1,1,,,'-b\uFFFD,v2 instead of v1,LWL/\r\n" +
		"unknown,8,X,,,,,,,,,\r\n"
	if got := string(GapsCSV(gaps, false)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
