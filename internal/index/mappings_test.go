package index

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/anivault/anivault/internal/orders"
)

// A wrong line has no effect, and is named with its reason; the others count.
func TestMappingsOfOnesOwn(t *testing.T) {
	for _, c := range []struct{ lines, want, wrong string }{
		{"anidb 11 = tv/209867 S01 +28", "11: tv 209867 season 1 +28 []", ""},
		{"\ufeff# a comment\n\n  anidb 11=tv/5 S0 -2 # another", "11: tv 5 season 0 -2 []", ""},
		{"anidb 11 = tv/5 absolute", "11: tv 5 absolute +0 []", ""},
		{"anidb 11 = movie/129\nanidb 11 = movie/130", "11: tv 0 +0 [] films [129 130]", ""},
		{
			"anidb 11 1-12 = tv/5 S01\nanidb 11 13- = tv/5 S02 -12\nanidb 11 7 = tv/5 S00 +1",
			"11: tv 5 +0 [S1 1-12 +0 S2 13-0 -12 S0 map[7:[8]]]", "",
		},
		{"anidb 11 = tv/5", "", "give the season, such as S01"},
		{"anidb 11 1-2 = tv/5 absolute", "", "give the season, such as S01"},
		{"anidb 11 = movie/5 S01", "", "a film has no season and no episodes"},
		{"anidb 0 = tv/5 S01", "", "it has no id of AniDB or of TMDB"},
		{"anidb 11 = tv/5 S01\nanidb 11 = tv/6 S01", "11: tv 5 season 1 +0 []", "line 2: another line maps anidb 11 to tv/5"},
		{"anidb 11 = tv/5 S01\nanidb 11 = tv/5 S02", "11: tv 5 season 1 +0 []", "another line maps anidb 11 to tv/5"},
		{"11 -> tv/5\nanidb 12 = tv/5 S01", "12: tv 5 season 1 +0 []", "line 1: it is not of the form anidb ID = tv/ID"},
		{"anidb 11 = tv/5 S01 28", "", "it is not of the form"},
		{"anidb 11 = tv/5 S01 +100000", "", "its numbers are out of range"},
		{"anidb 11 62-61 = tv/5 S01", "", "its numbers are out of range"},
		{"anidb 11 1-3 = tv/5 S01 -3", "", "its numbers are out of range"},
		{"anidb 11 0 = tv/5 S01", "", "its numbers are out of range"},
		{"anidb 11 1-9999999999 = tv/5 S01", "", "its numbers are out of range"},
		{"anidb 11 = tv/5 S01 -9999999999", "", "its numbers are out of range"},
		{"anidb 11 4- = tv/5 S01 -3", "11: tv 5 +0 [S1 4-0 -3]", ""},
		{"anidb 11 1-12 = tv/5 S01\nanidb 11 12- = tv/5 S02", "11: tv 5 +0 [S1 1-12 +0]", "line 2: another line maps"},
		{"anidb 11 7 = tv/5 S01\nanidb 11 7 = tv/5 S02", "11: tv 5 +0 [S1 map[7:[7]]]", "line 2: another line maps"},
		{"anidb 11 = tv/5 S01 +1 +2", "", "it is not of the form"},
	} {
		t.Run(c.lines, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, MappingsFile), []byte(c.lines), 0o600); err != nil {
				t.Fatal(err)
			}
			own, wrong, err := LoadMappings(dir)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for id, a := range own {
				text := fmt.Sprintf("%d: tv %d", id, a.TVID)
				if a.Season != nil {
					text += fmt.Sprint(" season ", *a.Season)
				}
				if a.Absolute {
					text += " absolute"
				}
				var ranges []string
				for _, r := range a.Ranges {
					if r.Pairs != nil {
						ranges = append(ranges, fmt.Sprintf("S%d %v", r.Season, r.Pairs))
						continue
					}
					ranges = append(ranges, fmt.Sprintf("S%d %d-%d %+d", r.Season, r.Start, r.End, r.Offset))
				}
				text += fmt.Sprintf(" %+d %v", a.Offset, ranges)
				if a.MovieIDs != nil {
					text += fmt.Sprint(" films ", a.MovieIDs)
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(c.want, strings.Join(got, "; ")); diff != "" {
				t.Error(diff)
			}
			if (c.wrong == "") != (len(wrong) == 0) || len(wrong) > 0 && !strings.Contains(wrong[0].Error(), c.wrong) {
				t.Errorf("wrong lines: %v, want %q", wrong, c.wrong)
			}
		})
	}
}

// One's own mapping takes an anime from where the lists have it, and as XML it says the same to whoever imports it.
func TestMappingsTakePrecedenceAndAreExported(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	importAll(t, dir, write(t, "a", animeListSample))
	before := siblingsOf(t, dir, 9001)
	moved := before[0].AniDBID
	text := fmt.Sprintf("anidb %d = tv/77 S02 +3\nanidb %d 9- = tv/77 S03 -8\nanidb 99 = movie/5\n", moved, moved)
	if err := os.WriteFile(filepath.Join(dir, MappingsFile), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before[1:], siblingsOf(t, dir, 9001)); diff != "" {
		t.Error(diff)
	}
	own := siblingsOf(t, dir, 77)
	if len(own) != 1 || own[0].AniDBID != moved || *own[0].Season != 2 || own[0].Offset != 3 || len(own[0].Ranges) != 1 ||
		own[0].TVDBID != before[0].TVDBID || len(own[0].TVDB.Specials) != 1 {
		t.Errorf("tv/77 has %+v", own)
	}
	x, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	list, err := x.MappingsXML()
	if err != nil {
		t.Fatal(err)
	}
	importAll(t, other, write(t, "own.xml", string(list)))
	if diff := cmp.Diff(own, siblingsOf(t, other, 77)); diff != "" {
		t.Errorf("%s\n%s", diff, list)
	}
	film, err := x.AnimeOfFilm(5)
	if diff := cmp.Diff([]int{99}, film); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// The line of a single episode takes precedence over the line of a range around it.
func TestAMappingOfOneEpisodeWinsOverARange(t *testing.T) {
	own := Mappings{}
	for _, line := range []string{"anidb 11 1-12 = tv/5 S01", "anidb 11 7 = tv/5 S00 +1"} {
		if err := own.add(line); err != nil {
			t.Fatal(err)
		}
	}
	a := own[11]
	for n, want := range map[int]string{6: "1 [6]", 7: "0 [8]", 8: "1 [8]"} {
		season, episodes, _ := a.EpisodePlace(n)
		if got := fmt.Sprint(season, " ", episodes); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}

// Whatever an anime's mapping is: as XML in the form of Anime-Lists it is read as the same.
func TestMappingsAreReadAsTheyAreWritten(t *testing.T) {
	ranges := func(t *rapid.T) (out []orders.Range) {
		for range rapid.IntRange(0, 3).Draw(t, "ranges") {
			r := orders.Range{Season: rapid.IntRange(0, 30).Draw(t, "season"), Offset: rapid.IntRange(-99, 99).Draw(t, "offset")}
			r.Start = rapid.IntRange(0, 20).Draw(t, "start")
			r.End = rapid.SampledFrom([]int{0, r.Start, r.Start + 12}).Draw(t, "end")
			r.Pairs = rapid.MapOfN(rapid.IntRange(1, 500), rapid.SliceOfN(rapid.IntRange(1, 99), 0, 3), 1, 4).Draw(t, "pairs")
			if rapid.Bool().Draw(t, "without pairs") {
				r.Pairs = nil
			}
			out = append(out, r)
		}
		return out
	}
	numbering := func(t *rapid.T) orders.Numbering {
		x := orders.Numbering{Offset: rapid.IntRange(-99, 99).Draw(t, "offset"), Ranges: ranges(t), Specials: ranges(t)}
		if n := rapid.IntRange(-2, 30).Draw(t, "season"); n >= 0 {
			x.Season = &n
		} else {
			x.Absolute = n == -1
		}
		return x
	}
	rapid.Check(t, func(t *rapid.T) {
		want := anime{
			ID: rapid.IntRange(1, 20000).Draw(t, "id"), Name: rapid.StringMatching(`([a-z<>&"'漢]+ ?)*[a-z]`).Draw(t, "name"),
			TVID: rapid.IntRange(0, 9).Draw(t, "tv"), Numbering: numbering(t),
			TVDBID: rapid.IntRange(0, 9).Draw(t, "tvdb"), TVDB: numbering(t),
			MovieIDs: rapid.SliceOfN(rapid.IntRange(1, 999), 0, 3).Draw(t, "films"),
		}
		text, err := xml.Marshal(struct {
			XMLName xml.Name       `xml:"anime-list"`
			Rows    []animeElement `xml:"anime"`
		}{Rows: []animeElement{want.element()}})
		if err != nil {
			t.Fatal(err)
		}
		var got []anime
		err = readAnimeLists(bytes.NewReader(text), func(a anime) error {
			got = append(got, a)
			return nil
		})
		if diff := cmp.Diff([]anime{want}, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Fatalf("%v\n%s\n%s", err, text, diff)
		}
	})
}

func siblingsOf(t *testing.T, dir string, tv int) []Candidate {
	x, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	out, err := x.Siblings(tv)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
