package report

import (
	"os"
	"testing"

	"github.com/anivault/anivault/internal/match"
)

func TestTheBetterOfSeveralFilesIsNamedWithTheReason(t *testing.T) {
	file := func(path, source, resolution string, version int) Record {
		r := fileOf(path, 1, 1)
		r.Parsed = &Parsed{Source: source, Resolution: resolution, Version: version}
		return r
	}
	both := file("large", "", "", 0)
	both.Episodes = []int{1, 2}
	t.Chdir(t.TempDir())
	for path, size := range map[string]int64{"large": 1_400_000_000, "small": 700_000_000} {
		testfile(t, path, size)
	}
	for _, row := range []struct {
		name         string
		files        []Record
		better, want string
	}{
		{"source", []Record{file("a", "WEB-DL", "1080p", 0), file("b", "BluRay", "", 0)}, "b", "BluRay instead of WEB-DL"},
		{"resolution", []Record{file("a", "WEB", "1080p", 0), file("b", "WEB", "720p", 2)}, "a", "1080p instead of 720p"},
		{"version", []Record{file("a", "", "", 0), file("b", "", "", 2)}, "b", "v2 instead of v1"},
		{"size", []Record{file("small", "", "", 0), file("large", "", "", 0)}, "large", "1.4 GB instead of 700.0 MB"},
		{"the size of several episodes says nothing", []Record{both, file("small", "", "", 0)}, "", ""},
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
			var h Holdings
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

func testfile(t *testing.T, path string, size int64) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
}

// A library of hard links beside what was downloaded has each file once.
func TestLinksAndPartsAreNoDuplicates(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, path := range []string{"a", "b"} {
		testfile(t, path, 7)
	}
	if err := os.Link("a", "link"); err != nil {
		t.Skip(err)
	}
	part := func(path string, number int) Record {
		r := fileOf(path, 1, 1)
		r.Parsed = &Parsed{Part: number}
		return r
	}
	for _, row := range []struct {
		name  string
		files []Record
		want  int // files
	}{
		{"two names of one file", []Record{fileOf("a", 1, 1), fileOf("link", 1, 1)}, 0},
		{"and another file", []Record{fileOf("a", 1, 1), fileOf("link", 1, 1), fileOf("b", 1, 1)}, 2},
		{"parts", []Record{part("a", 1), part("b", 2)}, 0},
		{"the same part", []Record{part("a", 2), part("b", 2)}, 2},
		{"discs", []Record{part("Show S01E01.cd1.avi", 0), part("Show S01E01.cd2.avi", 0)}, 0},
		{"parts in short", []Record{part("Show.S01E01.pt1.mkv", 0), part("dir.cd1/Show.S01E01.pt2.mkv", 0)}, 0},
		{"the same disc", []Record{part("Show S01E01 CD2.avi", 0), part("dir/Show S01E01 cd 2.avi", 0)}, 2},
		{"only the folders are discs", []Record{part("Disc 1/01.mkv", 0), part("Disc 2/01.mkv", 0)}, 2},
		{"files that do not exist", []Record{fileOf("x", 1, 1), fileOf("y", 1, 1)}, 2},
	} {
		var h Holdings
		for i := range row.files {
			h.Add(&row.files[i])
		}
		files := 0
		for _, g := range h.Gaps(7, []match.Season{seasonOf(1, "2020-01-01")}, "2026-01-01") {
			files += len(g.Duplicates)
		}
		if files != row.want {
			t.Errorf("%s: %d duplicates, want %d", row.name, files, row.want)
		}
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
