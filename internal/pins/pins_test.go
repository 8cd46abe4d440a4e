package pins

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/anivault/anivault/internal/match"
)

func ptr(n int) *int { return &n }

// abs makes a path absolute on every system.
func abs(p string) string {
	out, err := filepath.Abs(filepath.FromSlash(p))
	if err != nil {
		panic(err)
	}
	return out
}

func TestEntriesAreReadInEverySpelling(t *testing.T) {
	for in, want := range map[string]string{
		"tv/26209": "tv/26209", "movie/129": "movie/129", "TV/5": "tv/5", "tv:7": "tv/7", " tv/8 ": "tv/8",
		"https://www.themoviedb.org/tv/30991-cowboy-bebop": "tv/30991", "themoviedb.org/movie/129": "movie/129",
		"https://www.themoviedb.org/tv/1429/season/4?language=en-US": "tv/1429", "http://themoviedb.org/movie/5-x": "movie/5",
		"tv/0": "", "tv/-1": "", "tv/": "", "tv": "", "26209": "", "person/5": "", "tv/9999999999999": "", "tv/+5": "",
		"tv/5x":                    "",
		"https://example.org/tv/5": "", "https://www.themoviedb.org/person/5": "", "https://www.themoviedb.org/tv": "",
		"ftp://themoviedb.org/tv/5": "", "": "",
	} {
		kind, id, err := ParseEntry(in)
		got := ""
		if err == nil {
			got = Pin{Kind: kind, ID: id}.Entry()
		}
		if got != want {
			t.Errorf("%q is %q (%v), want %q", in, got, err, want)
		}
	}
}

const edited = "\ufeff# anivault pins 1\r\n# mine\r\n\r\ntv/1 path /a\r\nnonsense here\r\nmovie/2 title Spirited  " +
	"Away\r\ntv/3 season=x path /b\r\ntv/4 season=2 offset=-12 path /a/b c\n  tv/5 title My Show 2019  \ntv/6 title my " +
	"show\ntv/7 path relative\nmovie/8 offset=3 title Film\n"

func TestAFileEditedByHandIsRead(t *testing.T) {
	if filepath.Separator != '/' {
		t.Skip("the sample's paths are absolute on Unix only")
	}
	set, err := Parse([]byte(edited))
	if err != nil {
		t.Fatal(err)
	}
	want := []Pin{
		{Path: "/a", Kind: match.TV, ID: 1},
		{Title: "Spirited  Away", Kind: match.Movie, ID: 2},
		{Path: "/a/b c", Kind: match.TV, ID: 4, Season: ptr(2), Offset: -12},
		{Title: "My Show 2019", Kind: match.TV, ID: 5},
		{Title: "my show", Kind: match.TV, ID: 6},
	}
	if diff := cmp.Diff(want, set.All()); diff != "" {
		t.Error(diff)
	}
	var lines []int
	for _, p := range set.Problems() {
		lines = append(lines, p.Line)
		if p.Reason == "" || !strings.Contains(p.Error(), "line ") {
			t.Errorf("line %d: no reason", p.Line)
		}
	}
	if diff := cmp.Diff([]int{5, 7, 11, 12}, lines); diff != "" {
		t.Error(diff)
	}
}

func TestTheRightPinWins(t *testing.T) {
	var set Set
	for _, p := range []Pin{
		{Path: abs("/lib"), Kind: match.TV, ID: 1},
		{Path: abs("/lib/show"), Kind: match.TV, ID: 2},
		{Path: abs("/lib/show/05.mkv"), Kind: match.Movie, ID: 3},
		{Path: abs("/other/Cafe\u0301"), Kind: match.TV, ID: 4},
		{Title: "Show (2019)", Kind: match.TV, ID: 5},
		{Title: "ＳＨＯＷ!", Kind: match.TV, ID: 6},
	} {
		if _, err := set.Put(p); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]int{
		"/lib/x.mkv": 1, "/lib": 1, "/lib/show/01.mkv": 2, "/lib/show/deep/er/01.mkv": 2, "/lib/show/05.mkv": 3,
		"/lib/shower/01.mkv": 1, "/library/x.mkv": 0, "/": 0, "/other/Café/1.mkv": 4,
	} {
		got, ok := set.ForPath(abs(path))
		if got.ID != want || ok != (want != 0) {
			t.Errorf("%s falls under %d, want %d", path, got.ID, want)
		}
	}
	for _, c := range []struct {
		title string
		year  int
		want  int
	}{{"show", 0, 6}, {"Show", 2019, 5}, {"Show", 2020, 6}, {"Show 2", 0, 0}, {"", 0, 0}, {"!", 0, 0}} {
		if got, _ := set.ForTitle(c.title, c.year); got.ID != c.want {
			t.Errorf("%q %d falls under %d, want %d", c.title, c.year, got.ID, c.want)
		}
	}
}

func TestEditsKeepWhatTheyDoNotUnderstand(t *testing.T) {
	set, err := Parse([]byte("# mine\ntv/1 title a\nwhat is this\ntv/2 title A!\n# end\n"))
	if err != nil {
		t.Fatal(err)
	}
	old, err := set.Put(Pin{Title: "a", Kind: match.Movie, ID: 9})
	if err != nil || old == nil || old.ID != 2 {
		t.Fatalf("replaced %v, %v", old, err)
	}
	if _, err := set.Put(Pin{Title: "b", Kind: match.TV, ID: 3, Season: ptr(0)}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("# mine\nwhat is this\nmovie/9 title a\n# end\ntv/3 season=0 title b\n",
		string(set.Bytes())); diff != "" {
		t.Error(diff)
	}
	if set.Remove(Pin{Title: "c"}) != nil {
		t.Error("removed what was not there")
	}
	if old := set.Remove(Pin{Title: " A "}); old == nil || old.ID != 9 {
		t.Errorf("removed %v", old)
	}
	if diff := cmp.Diff("# mine\nwhat is this\n# end\ntv/3 season=0 title b\n", string(set.Bytes())); diff != "" {
		t.Error(diff)
	}
	if set.Len() != 1 || len(set.All()) != 1 {
		t.Errorf("%d pins left", set.Len())
	}
}

func TestALaterVersionIsLeftAlone(t *testing.T) {
	_, err := Parse([]byte("# anivault pins 2\ntv/1 title a\n"))
	if err == nil || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("read it: %v", err)
	}
}

func TestPinsThatMakeNoSenseAreRefused(t *testing.T) {
	for name, p := range map[string]Pin{
		"no kind": {Title: "a", ID: 1}, "no id": {Title: "a", Kind: match.TV}, "neither": {Kind: match.TV, ID: 1},
		"both": {Title: "a", Path: abs("/a"), Kind: match.TV, ID: 1}, "relative": {Path: "a", Kind: match.TV, ID: 1},
		"no letters":      {Title: "!!", Kind: match.TV, ID: 1},
		"order":           {Title: "a", Kind: match.TV, ID: 1, Order: "dvd"},
		"a film's order":  {Title: "a", Kind: match.Movie, ID: 1, Order: "tvdb"},
		"a film's season": {Title: "a", Kind: match.Movie, ID: 1, Season: ptr(1)},
		"season":          {Title: "a", Kind: match.TV, ID: 1, Season: ptr(-1)},
		"offset":          {Title: "a", Kind: match.TV, ID: 1, Offset: 1 << 20},
	} {
		var set Set
		if _, err := set.Put(p); err == nil || set.Len() != 0 {
			t.Errorf("%s: accepted", name)
		}
	}
}

// A pin that is written is read as the same pin, whatever stands in its path or title.
func TestWrittenPinsAreReadAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Pin{
			Kind: match.TV, ID: rapid.IntRange(1, maxID).Draw(t, "id"),
			Offset: rapid.IntRange(-maxOffset, maxOffset).Draw(t, "offset"),
		}
		if rapid.Bool().Draw(t, "season") {
			p.Season = ptr(rapid.IntRange(0, maxSeason).Draw(t, "n"))
		}
		p.Order = rapid.SampledFrom([]string{"", "tvdb", "group:A", "group:A b \"c\" path d", "group:\\"}).Draw(t, "order")
		text := string(rapid.SliceOfN(rapid.Byte(), 1, 20).Draw(t, "bytes"))
		if rapid.Bool().Draw(t, "printable") {
			text = rapid.StringN(1, 20, -1).Draw(t, "text")
		}
		if rapid.Bool().Draw(t, "path") {
			p.Path = abs("/") + text
			if numbers := rapid.SliceOfNDistinct(rapid.IntRange(0, 300), 0, 5, rapid.ID).Draw(t, "episodes"); len(numbers) > 0 {
				slices.Sort(numbers)
				p.Season, p.Offset, p.Episodes = ptr(1), 0, numbers
			}
		} else {
			p.Title = "a" + text
		}
		var set Set
		if _, err := set.Put(p); err != nil {
			t.Fatal(err)
		}
		again, err := Parse(set.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]Pin{p}, again.All()); diff != "" {
			t.Fatalf("%s\nthe file:\n%q", diff, set.Bytes())
		}
	})
}

// Whatever stands in the file, reading it does not panic, and writing it again changes nothing but line ends.
func FuzzParse(f *testing.F) {
	f.Add([]byte(edited))
	f.Add([]byte("tv/1 path \"/a\\n\"\n\n\ntv/1 season= title"))
	f.Fuzz(func(t *testing.T, in []byte) {
		set, err := Parse(in)
		if err != nil {
			return
		}
		again, err := Parse(set.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(set.All(), again.All()); diff != "" {
			t.Error(diff)
		}
		if string(again.Bytes()) != string(set.Bytes()) {
			t.Errorf("%q becomes %q", set.Bytes(), again.Bytes())
		}
	})
}

// A damaged file is said in a few lines, however many of its own are not understood.
func TestAFewLinesSayThatManyAreNotUnderstood(t *testing.T) {
	for _, bad := range []int{0, 1, 3, 4, 3756} {
		t.Run(fmt.Sprint(bad), func(t *testing.T) {
			set, err := Parse([]byte("tv/1 title A\n" + strings.Repeat("garbage\n", bad)))
			if err != nil {
				t.Fatal(err)
			}
			warnings := set.Warnings("pins.txt")
			if len(warnings) != min(bad, 4) || len(set.Problems()) != bad || set.Len() != 1 {
				t.Fatalf("%d warnings, %d problems, %d pins: %v", len(warnings), len(set.Problems()), set.Len(), warnings)
			}
			if bad > 3 && !strings.Contains(warnings[3].Error(), fmt.Sprintf("pins.txt: and %d more lines", bad-3)) {
				t.Errorf("the last warning is %q", warnings[3])
			}
		})
	}
}
