package match

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/anivault/anivault/internal/release"
)

func TestGroupAsksOneQuestionPerSeries(t *testing.T) {
	at := func(path string, r release.Release) release.Release {
		r.Path, r.Name = path, path[strings.LastIndexAny(path, `/\`)+1:]
		return r
	}
	files := []release.Release{
		at("a/1.mkv", rel("Salt Harbor", eps(1))),
		at("a/2.mkv", rel("SALT  Harbor!", eps(2))),
		at("a/3.mkv", rel("Salt Harbor", inSeason(2), eps(1))),
		at("b/1.mkv", rel("Salt Harbor", eps(1))),
		at(`a\x.mkv`, rel("Salt Harbor", of(2018), eps(4))),
		at("a/nced.mkv", rel("Salt Harbor", as(release.Extra))),
		at("a/movie.mkv", rel("Salt Harbor", as(release.Movie))),
		at("a/4.mkv", rel("Salt Harbor", eps(2, 3))),
		at("a/5.mkv", rel("Salt Harbor", eps(3.5))),
	}
	var in []File
	for i, r := range files {
		in = append(in, File{Index: i, Release: r})
	}
	var got []string
	for _, s := range Group(in) {
		line := fmt.Sprintf("%s %q s%s y%d %s last %v of %d:", s.Folder, s.Title(), seasonOf(s), s.Year, s.Want,
			s.LastEpisode, s.Episodes)
		for _, f := range s.Files {
			line += fmt.Sprintf(" %d", f.Index)
		}
		got = append(got, line)
	}
	want := []string{
		`a "Salt Harbor" sunknown y0 tv last 3 of 3: 0 1 7 8`,
		`a "Salt Harbor" s2 y0 tv last 1 of 1: 2`,
		`b "Salt Harbor" sunknown y0 tv last 1 of 1: 3`,
		`a "Salt Harbor" sunknown y2018 tv last 4 of 1: 4`,
		`a "Salt Harbor" sunknown y0 nothing last 0 of 0: 5`,
		`a "Salt Harbor" sunknown y0 movie last 0 of 0: 6`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A folder may have both seasons of a show whose titles differ only in their signs.
func TestGroupKeepsSequelSigns(t *testing.T) {
	var in []File
	for i, name := range []string{"Salt Harbor!", "Salt Harbor!!", "Salt Harbor", "소금 항구", "소금 항구!!"} {
		in = append(in, File{Index: i, Release: rel(name, eps(float64(i+1)))})
	}
	var got []string
	for _, s := range Group(in) {
		got = append(got, fmt.Sprintf("%s %d", s.Title(), len(s.Files)))
	}
	want := []string{"Salt Harbor! 2", "Salt Harbor!! 1", "소금 항구 1", "소금 항구!! 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The name of a folder that says more than those of its files, such as "Films 4K", is their first title if they have no
// number, but need not be that of one work.
func TestGroupKeepsWorksOfAFolderApart(t *testing.T) {
	var in []File
	for i, name := range []string{
		"Shows 1080p/[Group] Salt Harbor - 05 [1080p].mkv", "Shows 1080p/[Group] Glass Tide - 05 [1080p].mkv",
		"Shows 1080p/[Group] Salt Harbor - 06 [1080p].mkv", "Shows 1080p/07.mkv", "Shows 1080p/08.mkv",
		"Films 4K/Glass Tide.mkv", "Films 4K/Salt Harbor.mkv", "Glass | Salt Harbor - 01.mkv", "Glass | Tide - 01.mkv",
		"애니 Raws 1080p/Glass Tide - 05.mkv", "애니 Raws 1080p/Salt Harbor - 05.mkv",
	} {
		in = append(in, File{Index: i, Release: release.Parse(name)})
	}
	var got []string
	for _, s := range Group(in) {
		line := fmt.Sprintf("%v:", s.Titles)
		for _, f := range s.Files {
			line += fmt.Sprintf(" %d", f.Index)
		}
		got = append(got, line)
	}
	want := []string{
		"[{Salt Harbor latin 0} {Shows latin 1}]: 0 2",
		"[{Glass Tide latin 0} {Shows latin 1}]: 1",
		"[{Shows latin 1}]: 3 4",
		"[{Films latin 1} {Glass Tide latin 0}]: 5",
		"[{Films latin 1} {Salt Harbor latin 0}]: 6",
		"[{Glass latin 0} {Salt Harbor latin 0}]: 7",
		"[{Glass latin 0} {Tide latin 0}]: 8",
		"[{Glass Tide latin 0} {애니 Raws ko 1} {Raws latin 1} {애니 ko 1}]: 9",
		"[{Salt Harbor latin 0} {애니 Raws ko 1} {Raws latin 1} {애니 ko 1}]: 10",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A number of one digit after a title may be a sequel's. It is an episode's if the names of the folder count up to 12.
func TestGroupCountsTheNamesOfAFolder(t *testing.T) {
	group := func(pattern string, numbers ...int) string {
		var in []File
		for i, n := range numbers {
			in = append(in, File{Index: i, Release: release.Parse(fmt.Sprintf(pattern, n))})
		}
		var out []string
		for _, s := range Group(in) {
			out = append(out, fmt.Sprintf("%s s%s: %d files, %d episodes", s.Title(), seasonOf(s), len(s.Files), s.Episodes))
		}
		return strings.Join(out, "; ")
	}
	all := []int{1, 10, 11, 12, 2, 3, 4, 5, 6, 7, 8, 9}
	for pattern, want := range map[string]string{
		"Salt Harbor/Salt Harbor %d.mkv": "Salt Harbor sunknown: 12 files, 12 episodes",
		"소금 항구/소금 항구 %d.mkv":             "소금 항구 sunknown: 12 files, 12 episodes",
		"소금 항구/시즌 2/소금 항구_%d.mkv":        "소금 항구 s2: 12 files, 12 episodes",
		"소금 항구 2기 %d [1080p].mkv":        "소금 항구 s2: 12 files, 12 episodes",
	} {
		if got := group(pattern, all...); got != want {
			t.Errorf("%s: %s, want %s", pattern, got, want)
		}
	}
	for _, films := range [][]int{{8, 11, 12, 13}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}} {
		want := fmt.Sprintf("Salt Harbor %d ", films[0])
		if got := group("Films/Salt Harbor %d.mkv", films...); !strings.HasPrefix(got, want) {
			t.Errorf("%v: %s", films, got)
		}
	}
}

// Ranges that begin with the same number overlap, so that number is the season.
func TestGroupReadsPairsOfSeasonAndEpisode(t *testing.T) {
	group := func(pattern string, season, least, most int) (out []string) {
		var in []File
		for n := least; n <= most; n++ {
			in = append(in, File{Index: n, Release: release.Parse(fmt.Sprintf(pattern, season, n))})
		}
		for _, s := range Group(in) {
			out = append(out, fmt.Sprintf("%s s%s: %d of %d", s.Title(), seasonOf(s), s.Episodes, len(s.Files)))
		}
		return out
	}
	for _, pattern := range []string{
		"소금 항구/%d-%d.mkv", "소금 항구/%d-%02d.mkv", "소금 항구/소금 항구 %d-%d.mkv", "소금 항구/소금 항구 %d-%02d [720p].mkv",
		"소금 항구/소금 항구%d-%d회.mkv", "소금 항구/소금 항구.%d-%02d.부제목.avi",
		"소금 항구/시즌 2/소금 항구 %d-%02d.mkv", "소금 항구/시즌2/%d-%d.mkv", "소금 항구/소금 항구 시즌 %d-%d.mkv",
	} {
		for _, r := range [][2]int{{1, 16}, {8, 10}, {10, 12}} {
			for season := 1; season <= 2; season++ {
				want := []string{fmt.Sprintf("소금 항구 s%d: %d of %[2]d", season, r[1]-r[0]+1)}
				isRead := strings.Contains(pattern, "구%d") && (season == 2 || r[0] == 1)
				if isRead || strings.Contains(pattern, "2/") && season == 1 {
					continue // or the folder says another season
				}
				if got := group(pattern, season, r[0], r[1]); !cmp.Equal(got, want) {
					t.Errorf("%s, %d-%d to %d: %q", pattern, season, r[0], r[1], got)
				}
			}
		}
	}
	if got := group("Salt K2/SaltK%d-%02d.mkv", 2, 1, 16); len(got) != 1 || got[0] != "SaltK2 sunknown: 16 of 16" {
		t.Errorf("the title's number: %q", got)
	}
	for _, r := range [][2]int{{10, 11}, {12, 12}} { // too few to tell
		if got := group("Salt Harbor/Salt Harbor %d-%d.mkv", 1, r[0], r[1]); got[0] == "Salt Harbor s1: 2 of 2" {
			t.Errorf("%v: %q", r, got)
		}
	}
}

// Of the numbers that begin names, those without a zero may be of a film's title, if they don't go on from others.
func TestGroupReadsNumbersThatBeginNames(t *testing.T) {
	group := func(numbers []int, pattern string) (out []string) {
		var in []File
		for i, n := range numbers {
			in = append(in, File{Index: i, Release: release.Parse(fmt.Sprintf(pattern, n, 'a'+i))})
		}
		for _, s := range Group(in) {
			out = append(out, fmt.Sprintf("%s s%s %s: %d of %d", s.Title(), seasonOf(s), s.Want, s.Episodes, len(s.Files)))
		}
		return out
	}
	for pattern, want := range map[string]string{
		"소금 항구/%02d 첫 %c.mkv": "소금 항구 sunknown tv: 5 of 5", "소금 항구 시즌2/%02d_%c만남.mkv": "소금 항구 s2 tv: 5 of 5",
		"Salt Harbor/Season 3/%02d-Salt Harbor %c.mkv":    "Salt Harbor s3 tv: 5 of 5",
		"[완결] 소금 항구 (2018) 1080p/%02d 첫 %c.mkv":           "소금 항구 sunknown tv: 5 of 5",
		"소금 항구/소금 항구 %02d. 첫 %c.mkv":                      "소금 항구 sunknown tv: 5 of 5",
		"소금 항구 시즌2/소금 항구 %02d 첫 %c.mkv":                   "소금 항구 s2 tv: 5 of 5",
		"Salt Harbor (2018)/Salt Harbor %02d. The %c.mkv": "Salt Harbor sunknown tv: 5 of 5",
	} {
		if got := group([]int{8, 9, 10, 11, 12}, pattern); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
	}
	for _, numbers := range [][]int{{10, 11, 12}, {9, 12}} {
		if got := group(numbers, "Films/%02d Salt Harbors %c.mkv"); !strings.HasSuffix(got[len(got)-1], "movie: 0 of 1") {
			t.Errorf("%v: %q", numbers, got)
		}
	}
	if got := group([]int{10, 11, 12}, "Salt Harbor/Salt Harbor %d The %c.mkv"); len(got) != 3 { // films, perhaps
		t.Error(got)
	}
}

func TestGroupKeepsAPartInTheTitle(t *testing.T) {
	for name, want := range map[string]string{
		"영화/소금+항구 1부 (2022).mkv": "[소금+항구 소금+항구 1부]", "소금 항구 - 2부.mkv": "[소금 항구 소금 항구 2부]", "소금 항구 3화 2부.mkv": "[소금 항구]",
	} {
		var got []string
		for _, title := range Group([]File{{Release: release.Parse(name)}})[0].Titles {
			got = append(got, title.Text)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestOnlyFoldersAreFolders(t *testing.T) {
	for name, want := range map[string]string{
		"[Group] 銀の道 / Silver Road - 07 [1080p].mkv":     "",
		"[Group][銀の道/Silver Road][07][1080p].mkv":        "",
		"shelf/[Group] Silver Road - 07.mkv":             "shelf",
		"/shelf/road/[Group] 銀の道 ／ Silver Road - 07.mkv": "/shelf/road",
		`C:\shelf\Silver Road - 07.mkv`:                  `C:\shelf`,
		"[Group] Ranma 1/2 - 07.mkv":                     "",
	} {
		if got := Group([]File{{Release: release.Parse(name)}})[0].Folder; got != want {
			t.Errorf("%s is in %q, want %q", name, got, want)
		}
	}
}

// The name of a folder of many works is no title of theirs; that of a folder with a few is.
func TestAShelfIsNoTitle(t *testing.T) {
	shelf := func(names ...string) (in []File) {
		for i, name := range append(names, "") {
			r := rel(name, eps(1))
			r.Name = name + ".mkv"
			r.Path = "shelf/" + r.Name
			r.Titles = append(r.Titles[:min(len(name), 1)], release.Title{Text: "Shelf", From: release.FromFolder})
			r.Title = r.Titles[0].Text
			in = append(in, File{Index: i, Release: r})
		}
		return in
	}
	for _, row := range []struct {
		names []string
		want  int // titles of a file that has one
	}{
		{[]string{"Moth", "Moth 2", "Lantern", "Tide"}, 2},
		{[]string{"Moth", "Lantern", "Tide", "Ebb"}, 1},
	} {
		all := Group(shelf(row.names...))
		for i, s := range all {
			want := row.want
			if i == len(all)-1 {
				want = 1 // the nameless file has the folder's
			}
			if len(s.Titles) != want {
				t.Errorf("%s beside %v: %v", s.Title(), row.names, s.Titles)
			}
		}
	}
}

func TestGroupKeepsEveryFileOnceAndInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var in []File
		for i := range rapid.IntRange(0, 60).Draw(t, "files") {
			r := rel(rapid.SampledFrom([]string{"A", "B", "b", ""}).Draw(t, "title"),
				of(rapid.SampledFrom([]int{0, 2001}).Draw(t, "year")))
			in = append(in, File{Index: i, Release: r})
		}
		seen := map[int]bool{}
		first := -1
		for _, s := range Group(in) {
			if s.Files[0].Index <= first {
				t.Fatalf("series out of order at %d", s.Files[0].Index)
			}
			first = s.Files[0].Index
			last := -1
			for _, f := range s.Files {
				if seen[f.Index] || f.Index <= last {
					t.Fatalf("file %d twice or out of order", f.Index)
				}
				seen[f.Index], last = true, f.Index
			}
		}
		if len(seen) != len(in) {
			t.Fatalf("%d files of %d", len(seen), len(in))
		}
	})
}

// seasonOf is a series' season, or that it is unknown.
func seasonOf(s Series) string {
	if !s.HasSeason {
		return "unknown"
	}
	return strconv.Itoa(s.Season)
}
