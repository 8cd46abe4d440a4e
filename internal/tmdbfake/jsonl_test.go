package tmdbfake

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func readLines(t testing.TB, lines ...string) *Catalogue {
	t.Helper()
	c, err := ReadCatalogue(strings.NewReader(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// numbers gives a work's seasons as "season:first-last", with gaps shown.
func numbers(w *Work) string {
	var out []string
	for i := range w.Seasons {
		es := w.Seasons[i].Episodes()
		text := fmt.Sprintf("%d:", w.Seasons[i].Number)
		for j := 0; j < len(es); {
			k := j
			for k+1 < len(es) && es[k+1].Number == es[k].Number+1 {
				k++
			}
			text += fmt.Sprintf("%d-%d,", es[j].Number, es[k].Number)
			j = k + 1
		}
		out = append(out, strings.TrimSuffix(text, ","))
	}
	return strings.Join(out, " ")
}

func TestSeasonsOfACatalogueFile(t *testing.T) {
	for _, row := range []struct{ name, fields, want string }{
		{"one cour", `"year":2016,"seasons":[{"season":1,"cours":[{"anidb":1,"offset":0,"episodes":12,"year":2016}],"episodes":12}]`, "1:1-12"},
		{"merged cours", `"year":2023,"seasons":[{"season":1,"cours":[{"anidb":1,"offset":0,"episodes":28},{"anidb":2,"offset":28,"episodes":10}],"episodes":38}]`, "1:1-38"},
		{"announced continuation has no episodes yet", `"seasons":[{"season":1,"cours":[{"anidb":1,"offset":0,"episodes":11,"year":2023},{"anidb":2,"offset":11}],"episodes":11}]`, "1:1-11"},
		{"a continuation that has a year has aired", `"seasons":[{"season":1,"cours":[{"anidb":1,"offset":0,"episodes":11,"year":2023},{"anidb":2,"offset":11,"year":2026}]}]`, "1:1-23"},
		{"total beyond the cours", `"seasons":[{"season":1,"cours":[{"anidb":1,"offset":0,"episodes":12}],"episodes":24}]`, "1:1-24"},
		{"a cour that begins late leaves no gap", `"seasons":[{"season":1,"cours":[{"anidb":1,"offset":12,"episodes":12}],"episodes":24}]`, "1:1-24"},
		{"specials may have gaps", `"seasons":[{"season":0,"cours":[{"anidb":1,"offset":8,"episodes":1}]},{"season":1,"cours":[{"anidb":2,"offset":0,"episodes":3}]}]`, "0:9-9 1:1-3"},
		{"rolling numbers", `"seasons":[{"season":1,"cours":[{"anidb":7,"offset":0,"episodes":203}],"ranges":[{"anidb":7,"ad":[1,33],"tmdb":[1,33]}],"first":1,"last":33,"episodes":33},` +
			`{"season":2,"cours":[],"ranges":[{"anidb":7,"ad":[34,65],"tmdb":[34,65]}],"first":34,"last":65,"episodes":32}]`, "1:1-33 2:34-65"},
		{"ranges of one series beside the cours of another", `"seasons":[{"season":1,"cours":[{"anidb":1,"offset":0,"episodes":11,"year":2023},{"anidb":2,"offset":11,"episodes":13}],` +
			`"ranges":[{"anidb":2,"ad":[1,13],"tmdb":[12,24]}],"first":12,"last":24,"episodes":13}]`, "1:1-24"},
		{"a cour of unknown length ends where a range begins", `"seasons":[{"season":1,"cours":[{"anidb":1,"offset":0,"year":2025}],"ranges":[{"anidb":null,"ad":[1,5],"tmdb":[13,17]}],"first":13,"last":17}]`, "1:1-17"},
		{"unknown length, old", `"year":1989,"seasons":[{"season":1,"cours":[{"anidb":null,"offset":0}]}]`, "1:1-26"},
		{"unknown length, new", `"year":2019,"seasons":[{"season":1,"cours":[{"anidb":1,"offset":0,"year":2019}]}]`, "1:1-12"},
		{"no seasons at all", `"year":2019,"seasons":[]`, "1:1-12"},
		{"numbered through, seasons unknown", `"year":2004,"absolute":true,"seasons":[]`, "1:1-52"},
		{"seasons are filled from 1", `"year":2014,"seasons":[{"season":3,"cours":[{"anidb":1,"offset":0,"episodes":13}],"episodes":13}]`, "1:1-12 2:1-12 3:1-13"},
		{"only specials are known", `"year":2014,"seasons":[{"season":0,"cours":[{"anidb":1,"offset":0}]}]`, "0:1-1 1:1-12"},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := readLines(t, `{"kind":"tv","tmdb_id":5,"titles":[{"lang":"ja","type":"official","title":"題","season":1}],`+row.fields+`}`)
			if got := numbers(c.Get(TV, 5)); got != row.want {
				t.Errorf("%s, want %s", got, row.want)
			}
		})
	}
}

func TestSeriesOfOneSeasonAreAiredWithAPauseBetweenThem(t *testing.T) {
	for _, cours := range []string{
		`{"anidb":1,"offset":0,"episodes":12,"year":2023},{"anidb":2,"offset":12,"episodes":12,"year":2023}`,
		`{"anidb":1,"offset":0,"episodes":13,"year":2019},{"anidb":2,"offset":13,"episodes":12,"year":2019},{"anidb":3,"offset":25,"episodes":12,"year":2021}`,
		`{"anidb":2,"offset":12,"episodes":12,"year":1968},{"anidb":1,"offset":0,"episodes":12,"year":1968}`,
	} {
		c := readLines(t, `{"kind":"tv","tmdb_id":5,"titles":[{"lang":"ja","type":"official","title":"題","season":1}],"seasons":[{"season":1,"cours":[`+cours+`]}]}`)
		runs := c.Get(TV, 5).Seasons[0].Runs
		for i := 1; i < len(runs); i++ {
			if gap := runs[i].Start - runs[i-1].date(runs[i-1].Last); gap < 60 {
				t.Errorf("%s: run %d begins %d days after the one before", cours, i+1, gap)
			}
		}
		if first := runs[0].Start.Year(); !strings.Contains(cours, fmt.Sprint(first)) {
			t.Errorf("%s: began in %d", cours, first)
		}
	}
}

func TestTitlesOfACatalogueFile(t *testing.T) {
	c := readLines(t, strings.ReplaceAll(
		`{"kind":"tv","tmdb_id":5,"year":2012,"titles":[
		 {"lang":"x-jat","type":"main","title":"Toudai no Hi","season":1},
		 {"lang":"en","type":"official","title":"Keeper\u0060s Fire","season":1},
		 {"lang":"ja","type":"official","title":"灯台の火","season":1},
		 {"lang":"ko","type":"official","title":"등대의 불","season":1},
		 {"lang":"zh-Hant","type":"official","title":"燈塔之火","season":1},
		 {"lang":"en","type":"synonym","title":"Lighthouse Fire","season":1},
		 {"lang":"x-jat","type":"main","title":"Toudai no Hi: Arashi Hen","season":2},
		 {"lang":"ja","type":"official","title":"灯台の火 嵐編","season":2},
		 {"lang":"x-jat","type":"main","title":"Toudai no Hi 3rd Season","season":3},
		 {"lang":"x-jat","type":"main","title":"Toudai no Hi Pikunikku","season":0}],
		 "seasons":[{"season":1,"cours":[{"anidb":1,"offset":0,"episodes":12,"year":2012}]},
		 {"season":2,"cours":[{"anidb":2,"offset":0,"episodes":12,"year":2014}]},
		 {"season":3,"cours":[{"anidb":3,"offset":0,"episodes":12,"year":2016}]}]}`, "\n", ""),
		`{"kind":"movie","tmdb_id":6,"year":2019,"titles":[{"lang":"x-zht","type":"main","title":"Deng Ta"},{"lang":"zh-Hans","type":"official","title":"灯塔"}]}`,
		``,
		`{"kind":"tv","tmdb_id":7,"titles":[{"lang":"ko","type":"bangumi","title":"등대"}],"seasons":[]}`,
	)
	w := c.Get(TV, 5)
	type facts struct {
		Name, Original, Language, Country string
		Alt                               []AltTitle
		Trans                             []Translation
		Seasons                           []string
		JA                                string
		Years                             []int
	}
	got := facts{Name: w.Name, Original: w.Original, Language: w.Language, Country: w.Country, Alt: w.Alt, Trans: w.Trans, JA: w.Seasons[1].Names["ja"], Years: w.years}
	for i := range w.Seasons {
		got.Seasons = append(got.Seasons, shownSeason(&w.Seasons[i], "en"))
	}
	for i := range got.Alt {
		got.Alt[i].Type = "" // a matter of chance
	}
	want := facts{
		Name: "Keeper's Fire", Original: "灯台の火", Language: "ja", Country: "JP",
		Alt: []AltTitle{
			{"JP", "Toudai no Hi", ""},
			{"US", "Lighthouse Fire", ""},
			{"JP", "Toudai no Hi: Arashi Hen", ""},
			{"JP", "灯台の火 嵐編", ""},
			{"JP", "Toudai no Hi 3rd Season", ""},
			{"JP", "Toudai no Hi Pikunikku", ""},
		},
		Trans: []Translation{
			{"ja", "JP", "灯台の火", ""}, {"ko", "KR", "등대의 불", ""}, {"zh", "TW", "燈塔之火", ""},
		},
		Seasons: []string{"Season 1", "Toudai no Hi: Arashi Hen", "Season 3"},
		JA:      "灯台の火 嵐編", Years: []int{2012, 2014, 2016},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if m := c.Get(Movie, 6); m.Language != "zh" || m.Country != "CN" || m.Original != "灯塔" || m.Name != "Deng Ta" || m.Date.Year() != 2019 {
		t.Errorf("a Chinese film: %+v", m)
	}
	if s := w.Seasons[0].Date(); s != w.Date {
		t.Errorf("it first aired on %s, its first season on %s", w.Date, s)
	}
	if k := c.Get(TV, 7); k.Language != "ko" || k.Original != "등대" || k.Date != NoDay {
		t.Errorf("a Korean series: %+v", k)
	}
}

func TestAbsoluteWorksHaveAGroup(t *testing.T) {
	c := readLines(t, `{"kind":"tv","tmdb_id":5,"absolute":true,"titles":[{"lang":"ja","type":"main","title":"題","season":"a"}],`+
		`"seasons":[{"season":1,"cours":[{"anidb":1,"offset":0,"episodes":20}]},{"season":2,"cours":[{"anidb":2,"offset":0,"episodes":10}]}]}`)
	g := c.Get(TV, 5).Groups
	if len(g) != 1 || g[0].Type != 2 || len(g[0].Parts[0].Episodes) != 30 || g[0].Parts[0].Episodes[20] != (EpisodeRef{2, 1}) {
		t.Errorf("groups %+v", g)
	}
}

func TestCatalogueFilesThatAreRefused(t *testing.T) {
	good := `{"kind":"tv","tmdb_id":5,"titles":[{"lang":"ja","type":"main","title":"題"}]}`
	for line, part := range map[string]string{
		`{"kind":"tv"`: "line 2",
		`{"kind":"book","tmdb_id":1,"titles":[{"title":"x"}]}`:                                                      `kind "book"`,
		`{"kind":"tv","tmdb_id":0,"titles":[{"title":"x"}]}`:                                                        "outside 1..",
		`{"kind":"tv","tmdb_id":6,"titles":[]}`:                                                                     "no title",
		`{"kind":"tv","tmdb_id":6,"year":1,"titles":[{"title":"x"}]}`:                                               "year 1",
		`{"kind":"tv","tmdb_id":6,"titles":[{"title":"x","season":"b"}]}`:                                           "neither a number",
		`{"kind":"tv","tmdb_id":6,"titles":[{"title":"x"}],"seasons":[{"season":-1}]}`:                              "season -1",
		`{"kind":"tv","tmdb_id":6,"titles":[{"title":"x"}],"seasons":[{"season":1,"episodes":99999}]}`:              "outside 0..",
		`{"kind":"tv","tmdb_id":6,"titles":[{"title":"x"}],"seasons":[{"season":1,"cours":[{"offset":-1}]}]}`:       "a cour's numbers",
		`{"kind":"tv","tmdb_id":6,"titles":[{"title":"x"}],"seasons":[{"season":1,"ranges":[{"tmdb":[1,99999]}]}]}`: "a range",
		good: "twice",
	} {
		if _, err := ReadCatalogue(strings.NewReader(good + "\n" + line)); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: error %v, want one with %q", line, err, part)
		}
	}
}

func FuzzReadCatalogue(f *testing.F) {
	f.Add(`{"kind":"tv","tmdb_id":5,"year":2012,"titles":[{"lang":"x-jat","type":"main","title":"Toudai no Hi","season":1}],"seasons":[{"season":1,"cours":[{"anidb":1,"offset":0,"episodes":12,"year":2012}],"ranges":[{"anidb":1,"tmdb":[1,5]}],"first":1,"last":5}]}`)
	f.Add(`{"kind":"movie","tmdb_id":6,"multi":true,"titles":[{"lang":"zh-Hant","type":"official","title":"燈塔"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ReadCatalogue(strings.NewReader(text))
		if err != nil {
			return
		}
		v := view{language: "ko", country: "KR"}
		for _, w := range c.works {
			for i := range w.Seasons {
				es := w.Seasons[i].Episodes()
				if len(es) == 0 || len(es) != w.Seasons[i].Count() {
					t.Fatalf("%s %d season %d: %d episodes, Count %d", w.Kind, w.ID, w.Seasons[i].Number, len(es), w.Seasons[i].Count())
				}
				if !slices.IsSortedFunc(es, func(a, b Episode) int { return a.Number - b.Number }) || es[0].Number < 1 {
					t.Fatalf("%s %d season %d: %v", w.Kind, w.ID, w.Seasons[i].Number, es)
				}
			}
			if w.shownName("en", "US") == "" && w.Name != "" {
				t.Fatalf("%s %d has a name and shows none", w.Kind, w.ID)
			}
			_ = w.row(v, true)
			for _, title := range w.searchTitles() {
				if phrase(title) == "" {
					continue
				}
				if !slices.Contains(c.Search(w.Kind, title, Filter{}, RankMixed, 1), w) {
					t.Fatalf("%s %d is not found by its title %q", w.Kind, w.ID, title)
				}
			}
		}
	})
}

// openCatalogue opens the development catalogue, which lies beside the
// repository and is not part of it.
func openCatalogue(tb testing.TB) *os.File {
	tb.Helper()
	f, err := os.Open(filepath.Join("..", "..", "..", "shared", "eval", "catalog_dev.jsonl"))
	if err != nil {
		tb.Skipf("no development catalogue beside the repository: %v", err)
	}
	tb.Cleanup(func() { _ = f.Close() })
	return f
}

// TestDevelopmentCatalogue reads the real file and looks every work up by
// every title that names it.
func TestDevelopmentCatalogue(t *testing.T) {
	if testing.Short() {
		t.Skip("5,000 works take a while under the race detector")
	}
	c, err := ReadCatalogue(openCatalogue(t))
	if err != nil {
		t.Fatal(err)
	}
	if c.Len() < 5_000 {
		t.Fatalf("%d works", c.Len())
	}
	lost := 0
	for _, w := range c.works {
		for i := range w.Seasons {
			if w.Seasons[i].Count() == 0 {
				t.Errorf("%s %d season %d is empty", w.Kind, w.ID, w.Seasons[i].Number)
			}
		}
		for _, title := range []string{w.Name, w.Original} {
			if phrase(title) != "" && !slices.Contains(c.Search(w.Kind, title, Filter{}, RankMixed, 1), w) {
				lost++
				t.Logf("%s %d is not found by %q", w.Kind, w.ID, title)
			}
		}
	}
	if lost > 0 {
		t.Errorf("%d titles do not find their work", lost)
	}
}

func BenchmarkReadCatalogue(b *testing.B) {
	f := openCatalogue(b)
	for b.Loop() {
		if _, err := f.Seek(0, 0); err != nil {
			b.Fatal(err)
		}
		if _, err := ReadCatalogue(f); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSearch(b *testing.B) {
	c, err := ReadCatalogue(openCatalogue(b))
	if err != nil {
		b.Fatal(err)
	}
	works := c.Works(TV)
	i := 0
	for b.Loop() {
		c.Search(TV, works[i%len(works)].Name, Filter{}, RankMixed, 1)
		i++
	}
}

func TestSpecialsCarryTheTitlesTheyWereReleasedUnder(t *testing.T) {
	const line = `{"kind":"tv","tmdb_id":9100001,"year":2011,
"titles":[{"lang":"x-jat","type":"main","title":"Hoshizora","anidb":1,"season":1},{"lang":"en","type":"official","title":"Starlit","anidb":1,"season":1},
{"lang":"x-jat","type":"main","title":"Hoshizora OVA","anidb":2,"season":0},{"lang":"en","type":"official","title":"Starlit: The Lost Summer","anidb":2,"season":0},
{"lang":"x-jat","type":"main","title":"Hoshizora Mini","anidb":3,"season":0}],
"seasons":[{"season":0,"cours":[{"anidb":2,"offset":0,"episodes":1,"year":2012},{"anidb":3,"offset":1,"episodes":2,"year":2013}]},
{"season":1,"cours":[{"anidb":1,"offset":0,"episodes":12,"year":2011}]}]}`
	cat, err := ReadCatalogue(strings.NewReader(strings.ReplaceAll(line, "\n", "")))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range season(cat.Get(TV, 9100001).Seasons, 0).Episodes() {
		got = append(got, e.Title)
	}
	want := []string{"Starlit: The Lost Summer", "Hoshizora Mini 1", "Hoshizora Mini 2"}
	if !slices.Equal(got, want) {
		t.Errorf("specials are called %q, want %q", got, want)
	}
}
