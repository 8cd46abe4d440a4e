package decide

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/pins"
	"github.com/anivault/anivault/internal/release"
)

func ptr(n int) *int { return &n }

// choicesOf are the choices of a run whose file holds the pins.
func choicesOf(t *testing.T, list ...pins.Pin) *runPins {
	t.Helper()
	store := pins.Open(t.TempDir())
	c := &runPins{store: store, set: &pins.Set{}}
	for _, p := range list {
		if err := c.add(context.Background(), p); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	abs, err := filepath.Abs(filepath.FromSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

func seriesOf(names ...string) match.Series {
	var files []match.File
	for i, n := range names {
		files = append(files, match.File{Index: i, Release: release.Parse(n)})
	}
	return match.Group(files)[0]
}

// A title's offset is for downloads: in a library, whose folder has TMDB's ID, it is in the names already.
func TestTheOffsetOfATitleIsAddedOnce(t *testing.T) {
	all := choicesOf(t, pins.Pin{Title: "Title", Kind: match.TV, ID: 7, Offset: 12})
	for file, want := range map[string]bool{
		"Title - 01.mkv": true, "Title (2020)/Title S01E01.mkv": true,
		"Title (2020) [tmdbid-7]/Season 01/Title (2020) S01E13.mkv": false, "Title {tmdb-7}/Title S01E13.mkv": false,
	} {
		if pinned := all.splitByPin(series{Series: seriesOf(file)})[0].pin != nil; pinned != want {
			t.Errorf("%s is pinned: %v", file, pinned)
		}
	}
}

// The pin of a title is not for a namesake, whose path has its own id. A path can still be pinned to anything.
func TestAnIDInThePathBeatsThePinOfATitle(t *testing.T) {
	c := choicesOf(t, pins.Pin{Title: "Title", Kind: match.TV, ID: 7},
		pins.Pin{Path: absolute(t, "lib/Title [tmdbid-9]"), Kind: match.TV, ID: 7})
	for file, want := range map[string]bool{
		"Title S01E01.mkv": true, "Title [tmdbid-7]/Title S01E01.mkv": true, "lib/Title [tmdbid-9]/Title S01E01.mkv": true,
		"Title (2005) [tmdbid-8]/Season 01/Title (2005) S01E01.mkv": false, "Title {tmdb-8}/Title S01E01.mkv": false,
		"Title {tvdb-8}/Title S01E01.mkv": false, "Title [imdbid-tt0000008]/Title S01E01.mkv": false,
	} {
		if pinned := c.splitByPin(series{Series: seriesOf(file)})[0].pin != nil; pinned != want {
			t.Errorf("%s is pinned: %v", file, pinned)
		}
	}
	s := seriesOf("Title {tmdb-8}/Title S01E01.mkv")
	if slices.Contains(append(availableScopes(s, nil, ""), defaultScope(s, Answer{Kind: match.TV}, false)), ByTitle) {
		t.Error("an answer about a path with an id is suggested for its title")
	}
}

// A series falls apart where a pin is about some of its files only.
func TestASeriesIsSplitByPins(t *testing.T) {
	file := "lib/show/Title - 02.mkv"
	for name, c := range map[string]struct {
		pins []pins.Pin
		want string
	}{
		"none":          {nil, "open:0,1,2"},
		"a title":       {[]pins.Pin{{Title: "title", Kind: match.TV, ID: 7}}, "tv/7:0,1,2"},
		"another title": {[]pins.Pin{{Title: "title 2", Kind: match.TV, ID: 7}}, "open:0,1,2"},
		"a folder":      {[]pins.Pin{{Path: absolute(t, "lib/show"), Kind: match.TV, ID: 7}}, "tv/7:0,1,2"},
		"a file":        {[]pins.Pin{{Path: absolute(t, file), Kind: match.Movie, ID: 8}}, "open:0,2 movie/8:1"},
		"all, longest first": {
			[]pins.Pin{
				{Title: "title", Kind: match.TV, ID: 7},
				{Path: absolute(t, "lib"), Kind: match.TV, ID: 9},
				{Path: absolute(t, file), Kind: match.Movie, ID: 8},
			},
			"tv/9:0,2 movie/8:1",
		},
	} {
		s := seriesOf("lib/show/Title - 01.mkv", file, "lib/show/Title - 03.mkv")
		got := ""
		for _, p := range choicesOf(t, c.pins...).splitByPin(series{Series: s}) {
			if got != "" {
				got += " "
			}
			what := "open"
			if p.pin != nil {
				what = p.pin.Entry()
			}
			got += what + ":"
			for i, f := range p.Files {
				if i > 0 {
					got += ","
				}
				got += string(rune('0' + f.Index))
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestAPinCorrectsTheReadingOfAName(t *testing.T) {
	type reading struct {
		Seasons  []int
		Episodes []float64
		Special  bool
	}
	for _, c := range []struct {
		name, path string
		pin        pins.Pin
		want       reading
	}{
		{"nothing to correct", "a/Title - 05.mkv", pins.Pin{Title: "title"}, reading{nil, []float64{5}, false}},
		{"season", "a/Title - 05.mkv", pins.Pin{Title: "title", Season: ptr(2)}, reading{[]int{2}, []float64{5}, false}},
		{
			"season against the name's", "a/Title S03E05.mkv",
			pins.Pin{Title: "title", Season: ptr(2)},
			reading{[]int{2}, []float64{5}, false},
		},
		{
			"offset keeps the name's season", "a/Title S03E05.mkv",
			pins.Pin{Title: "title", Offset: -2},
			reading{[]int{3}, []float64{3}, false},
		},
		{
			"offset of a half episode", "a/Title - 05.5.mkv",
			pins.Pin{Title: "title", Offset: 10},
			reading{nil, []float64{15.5}, false},
		},
		{
			"a folder's special stays one", "a/Title - SP1.mkv",
			pins.Pin{Path: absolute(t, "a"), Season: ptr(2)},
			reading{[]int{2}, []float64{1}, true},
		},
		{
			"a file's does not", "a/Title - SP1.mkv",
			pins.Pin{Path: absolute(t, "a/Title - SP1.mkv"), Season: ptr(2)},
			reading{[]int{2}, []float64{1}, false},
		},
		{
			"a file without a number", "a/Title.mkv",
			pins.Pin{Path: absolute(t, "a/Title.mkv"), Season: ptr(0), Offset: 3},
			reading{[]int{0}, []float64{3}, false},
		},
		{
			"a folder of them", "a/Title.mkv",
			pins.Pin{Path: absolute(t, "a"), Season: ptr(0), Offset: 3},
			reading{[]int{0}, nil, false},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := release.Parse(c.path)
			kept := append([]float64(nil), before.Episodes...)
			r := applyPin(before, c.pin)
			got := reading{r.Seasons, r.Episodes, r.Special != "" || r.Kind == release.Special}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(kept, before.Episodes); diff != "" {
				t.Errorf("the reading itself was changed:\n%s", diff)
			}
		})
	}
}

// A person's word is not doubted: in the season of a pin every number is placed that it has, and no other is.
func TestAPinPlaces(t *testing.T) {
	entry := &match.Entry{Kind: match.TV, ID: 1, Seasons: []match.Season{
		{Number: 1, Episodes: []match.Episode{{Number: 1, Name: "One"}, {Number: 2, Name: "Two"}}},
		{Number: 2, Episodes: []match.Episode{{Number: 1, Name: "Again", AirDate: "2020-01-01"}}},
	}}
	guessed := match.Decision{Outcome: match.Outcome{Status: match.Matched, Reason: "doubtful"}}
	elsewhere := guessed
	elsewhere.Season, elsewhere.Episodes = ptr(1), []int{2}
	for _, c := range []struct {
		name string
		pin  pins.Pin
		had  match.Decision
		want string
	}{
		{"T - 01.mkv", pins.Pin{Season: ptr(2)}, guessed, "S2 [1] [Again] 2020-01-01: the user's choice"},
		{"T - 01.mkv", pins.Pin{Season: ptr(1), Offset: 1}, guessed, "S1 [2] [Two] : the user's choice"},
		{"T.mkv", pins.Pin{Season: ptr(1), Episodes: []int{1, 2}}, guessed, "S1 [1 2] [One Two] : the user's choice"},
		{
			"T - 01.mkv",
			pins.Pin{Season: ptr(1), Episodes: []int{9}},
			elsewhere,
			"pinned to season 1 episode 9, which tv/1 does not have",
		},
		{"T - 02.mkv", pins.Pin{Season: ptr(2)}, elsewhere, "it is pinned to season 2, which has no such number"},
		{"T - 02.mkv", pins.Pin{Season: ptr(3)}, guessed, "pinned to season 3, which tv/1 does not have"},
		{"T.mkv", pins.Pin{Season: ptr(1)}, guessed, "doubtful"},
	} {
		c.pin.Kind, c.pin.ID = match.TV, 1
		d := placeByPin(c.had, applyPin(release.Parse(c.name), c.pin), c.pin, entry)
		got := d.Reason.String()
		if d.Season != nil {
			got = fmt.Sprintf("S%d %d %s %s: %s", *d.Season, d.Episodes, d.EpisodeTitles, d.AirDate, got)
		}
		if got != c.want {
			t.Errorf("%s by %s: %s, want %s", c.name, c.pin.String(), got, c.want)
		}
	}
}
