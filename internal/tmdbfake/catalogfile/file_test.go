package catalogfile

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/tmdbfake"
)

func readLines(t testing.TB, lines ...string) *tmdbfake.Catalogue {
	t.Helper()
	c, err := Read(strings.NewReader(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// all returns the works of both kinds.
func all(c *tmdbfake.Catalogue) []*tmdbfake.Work {
	return append(c.Works(tmdbfake.TV), c.Works(tmdbfake.Movie)...)
}

// titlesOf returns every title that a search should find.
func titlesOf(w *tmdbfake.Work) []string {
	out := []string{w.Name, w.Original}
	for _, t := range w.Trans {
		out = append(out, t.Name)
	}
	for _, a := range w.Alt {
		out = append(out, a.Title)
	}
	return out
}

// numbers returns a work's seasons as "season:first-last", with gaps shown.
func numbers(w *tmdbfake.Work) string {
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
		{
			"one cour",
			`"year":2016,"seasons":[{"season":1,"cours":[{"anidb":1,"offset":0,"episodes":12,"year":2016}],"episodes":12}]`,
			"1:1-12",
		},
		{
			"merged cours",
			`"year":2023,"seasons":[{"season":1,"cours":[{"anidb":1,"offset":0,"episodes":28},{"anidb":2,"offset":28,` +
				`"episodes":10}],"episodes":38}]`, "1:1-38",
		},
		{
			"announced continuation has no episodes yet",
			`"seasons":[{"season":1,"cours":[{"anidb":1,"offset":0,"episodes":11,"year":2023},{"anidb":2,"offset":11}],` +
				`"episodes":11}]`, "1:1-11",
		},
		{
			"a continuation that has a year has aired",
			`"seasons":[{"season":1,"cours":[{"anidb":1,"offset":0,"episodes":11,"year":2023},{"anidb":2,"offset":11,` +
				`"year":2026}]}]`, "1:1-23",
		},
		{
			"total beyond the cours", `"seasons":[{"season":1,"cours":[{"anidb":1,"offset":0,"episodes":12}],"episodes":24}]`,
			"1:1-24",
		},
		{
			"a cour that begins late leaves no gap",
			`"seasons":[{"season":1,"cours":[{"anidb":1,"offset":12,"episodes":12}],"episodes":24}]`, "1:1-24",
		},
		{
			"specials may have gaps",
			`"seasons":[{"season":0,"cours":[{"anidb":1,"offset":8,"episodes":1}]},{"season":1,"cours":[{"anidb":2,"offset":0,` +
				`"episodes":3}]}]`, "0:9-9 1:1-3",
		},
		{
			"rolling numbers",
			`"seasons":[{"season":1,"cours":[{"anidb":7,"offset":0,"episodes":203}],"ranges":[{"anidb":7,"ad":[1,33],` +
				`"tmdb":[1,33]}],"first":1,"last":33,"episodes":33},` +
				`{"season":2,"cours":[],"ranges":[{"anidb":7,"ad":[34,65],"tmdb":[34,65]}],"first":34,"last":65,"episodes":32}]`,
			"1:1-33 2:34-65",
		},
		{
			"ranges of one series beside the cours of another",
			`"seasons":[{"season":1,"cours":[{"anidb":1,"offset":0,"episodes":11,"year":2023},{"anidb":2,"offset":11,` +
				`"episodes":13}],` +
				`"ranges":[{"anidb":2,"ad":[1,13],"tmdb":[12,24]}],"first":12,"last":24,"episodes":13}]`, "1:1-24",
		},
		{
			"a cour of unknown length ends where a range begins",
			`"seasons":[{"season":1,"cours":[{"anidb":1,"offset":0,"year":2025}],"ranges":[{"anidb":null,"ad":[1,5],` +
				`"tmdb":[13,17]}],"first":13,"last":17}]`, "1:1-17",
		},
		{"unknown length, old", `"year":1989,"seasons":[{"season":1,"cours":[{"anidb":null,"offset":0}]}]`, "1:1-26"},
		{
			"unknown length, new", `"year":2019,"seasons":[{"season":1,"cours":[{"anidb":1,"offset":0,"year":2019}]}]`,
			"1:1-12",
		},
		{"no seasons at all", `"year":2019,"seasons":[]`, "1:1-12"},
		{"numbered through, seasons unknown", `"year":2004,"absolute":true,"seasons":[]`, "1:1-52"},
		{
			"seasons are filled from 1",
			`"year":2014,"seasons":[{"season":3,"cours":[{"anidb":1,"offset":0,"episodes":13}],"episodes":13}]`,
			"1:1-12 2:1-12 3:1-13",
		},
		{
			"a season that TMDB has folded is not served, nor filled in",
			`"seasons":[{"season":1,"cours":[{"anidb":1,"offset":0,"episodes":24,"year":2020}],"ranges":[{"anidb":2,"ad":[1,` +
				`23],"tmdb":[25,47]}],"episodes":47},` +
				`{"season":2,"cours":[{"anidb":2,"offset":0,"episodes":23,"year":2023}],"stale":true},{"season":3,` +
				`"cours":[{"anidb":3,"offset":0,"episodes":6}]}]`, "1:1-47 3:1-6",
		},
		{
			"only a folded season", `"seasons":[{"season":1,"cours":[{"anidb":1,"offset":0,"episodes":24}],"stale":true}]`,
			"1:1-12",
		},
		{"only specials are known", `"year":2014,"seasons":[{"season":0,"cours":[{"anidb":1,"offset":0}]}]`, "0:1-1 1:1-12"},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := readLines(t,
				`{"kind":"tv","tmdb_id":5,"titles":[{"lang":"ja","type":"official","title":"題","season":1}],`+row.fields+`}`)
			if got := numbers(c.Get(tmdbfake.TV, 5)); got != row.want {
				t.Errorf("%s, want %s", got, row.want)
			}
		})
	}
}

func TestSeriesOfOneSeasonAreAiredWithAPauseBetweenThem(t *testing.T) {
	for _, cours := range []string{
		`{"anidb":1,"offset":0,"episodes":12,"year":2023},{"anidb":2,"offset":12,"episodes":12,"year":2023}`,
		`{"anidb":1,"offset":0,"episodes":13,"year":2019},{"anidb":2,"offset":13,"episodes":12,"year":2019},{"anidb":3,` +
			`"offset":25,"episodes":12,"year":2021}`,
		`{"anidb":2,"offset":12,"episodes":12,"year":1968},{"anidb":1,"offset":0,"episodes":12,"year":1968}`,
		`{"anidb":1,"offset":0,"episodes":50,"year":2023},{"anidb":2,"offset":50,"episodes":12,"year":2024},{"anidb":3,` +
			`"offset":62,"episodes":12,"year":2024}`,
	} {
		c := readLines(t,
			`{"kind":"tv","tmdb_id":5,"titles":[{"lang":"ja","type":"official","title":"題","season":1}],`+
				`"seasons":[{"season":1,"cours":[`+cours+`]}]}`)
		runs := c.Get(tmdbfake.TV, 5).Seasons[0].Runs
		for i := 1; i < len(runs); i++ {
			if gap := runs[i].Start - runs[i-1].Date(runs[i-1].Last); gap < 60 {
				t.Errorf("%s: run %d begins %d days after the one before", cours, i+1, gap)
			}
		}
		if first := runs[0].Start.Year(); !strings.Contains(cours, fmt.Sprint(first)) {
			t.Errorf("%s: began in %d", cours, first)
		}
	}
}

// A folded series was broadcast when the lists say, and so a pause tells it from the one before.
func TestAFoldedSeriesKeepsItsYear(t *testing.T) {
	c := readLines(t,
		`{"kind":"tv","tmdb_id":5,"titles":[{"lang":"ja","type":"official","title":"題","season":1}],"seasons":[`+
			`{"season":1,"cours":[{"anidb":1,"offset":0,"episodes":24,"year":2020}],"ranges":[{"anidb":2,"ad":[1,23],`+
			`"tmdb":[25,47]}]},`+
			`{"season":2,"cours":[{"anidb":2,"offset":0,"episodes":23,"year":2023}],"stale":true}]}`)
	if runs := c.Get(tmdbfake.TV, 5).Seasons[0].Runs; len(runs) != 2 || runs[1].Start.Year() != 2023 {
		t.Errorf("its runs are %v", runs)
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
		`{"kind":"movie","tmdb_id":6,"year":2019,"titles":[{"lang":"x-zht","type":"main","title":"Deng `+
			`Ta"},{"lang":"zh-Hans","type":"official","title":"灯塔"}]}`,
		``,
		`{"kind":"tv","tmdb_id":7,"titles":[{"lang":"ko","type":"bangumi","title":"등대"}],"seasons":[]}`,
	)
	w := c.Get(tmdbfake.TV, 5)
	type facts struct {
		Name, Original, Language, Country string
		Alt                               []tmdbfake.AltTitle
		Trans                             []tmdbfake.Translation
		Seasons                           []string
		JA                                string
		Years                             []int
	}
	got := facts{
		Name: w.Name, Original: w.Original, Language: w.Language, Country: w.Country, Alt: w.Alt, Trans: w.Trans,
		JA: w.Seasons[1].Names["ja"],
	}
	for i := range w.Seasons {
		got.Seasons = append(got.Seasons, w.Seasons[i].Name)
	}
	for year := 2010; year < 2020; year++ {
		if len(c.Search(tmdbfake.TV, w.Name, tmdbfake.Filter{Year: year}, tmdbfake.RankMixed, 1)) > 0 {
			got.Years = append(got.Years, year)
		}
	}
	for i := range got.Alt {
		got.Alt[i].Type = "" // a matter of chance
	}
	want := facts{
		Name: "Keeper's Fire", Original: "灯台の火", Language: "ja", Country: "JP",
		Alt: []tmdbfake.AltTitle{
			{Country: "JP", Title: "Toudai no Hi"},
			{Country: "US", Title: "Lighthouse Fire"},
			{Country: "JP", Title: "Toudai no Hi: Arashi Hen"},
			{Country: "JP", Title: "灯台の火 嵐編"},
			{Country: "JP", Title: "Toudai no Hi 3rd Season"},
			{Country: "JP", Title: "Toudai no Hi Pikunikku"},
		},
		Trans: []tmdbfake.Translation{
			{Language: "ja", Country: "JP", Name: "灯台の火"},
			{Language: "ko", Country: "KR", Name: "등대의 불"},
			{Language: "zh", Country: "TW", Name: "燈塔之火"},
		},
		Seasons: []string{"", "Toudai no Hi: Arashi Hen", ""},
		JA:      "灯台の火 嵐編", Years: []int{2012, 2014, 2016},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if m := c.Get(tmdbfake.Movie, 6); m.Language != "zh" || m.Country != "CN" || m.Original != "灯塔" ||
		m.Name != "Deng Ta" || m.Date.Year() != 2019 {
		t.Errorf("a Chinese film: %+v", m)
	}
	if s := w.Seasons[0].Date(); s != w.Date {
		t.Errorf("it first aired on %s, its first season on %s", w.Date, s)
	}
	if k := c.Get(tmdbfake.TV, 7); k.Language != "ko" || k.Original != "등대" || k.Date != tmdbfake.NoDay {
		t.Errorf("a Korean series: %+v", k)
	}
}

func TestTitlesThatOnlyCountSeasonsNameNone(t *testing.T) {
	for _, row := range []struct {
		title string
		want  bool
	}{
		{"Keeper 2", true},
		{"Keeper S2", true},
		{"Keeper 2nd Season", true},
		{"Keeper", true},
		{"Keeper S", false},
		{"Keeper SS", false},
		{"Keeper: The Storm", false},
	} {
		if got := numbered(row.title, map[string]bool{"keeper": true}); got != row.want {
			t.Errorf("numbered(%q) = %v", row.title, got)
		}
	}
}

func TestRangesSayWhichSeasonASeriesNames(t *testing.T) {
	line := func(seasons string) string {
		return `{"kind":"tv","tmdb_id":5,"titles":[{"lang":"x-jat","type":"main","title":"Toudai","season":1,"anidb":1},` +
			`{"lang":"x-jat","type":"main","title":"Toudai Arashi","season":1,"anidb":2}],"seasons":[` + seasons + `]}`
	}
	const first = `{"season":1,"cours":[{"anidb":1,"offset":0,"episodes":12},{"anidb":2,"offset":0,"episodes":12}]}`
	for _, row := range []struct{ name, seasons, want string }{
		{"no ranges", first + `,{"season":2,"cours":[{"anidb":3,"offset":0,"episodes":12}]}`, ""},
		{
			"all of the season", first + `,{"season":2,"first":1,"last":12,"ranges":[{"anidb":2,"ad":[1,12],"tmdb":[1,12]}]}`,
			"Toudai Arashi",
		},
		{"its end", first +
			`,{"season":2,"first":1,"last":24,"ranges":[{"anidb":3,"ad":[1,12],"tmdb":[1,12]},{"anidb":2,"ad":[1,12],` +
			`"tmdb":[13,24]}]}`, ""},
		{"two seasons", first + `,{"season":2,"first":1,"last":6,"ranges":[{"anidb":2,"ad":[1,6],"tmdb":[1,6]}]},` +
			`{"season":3,"first":1,"last":6,"ranges":[{"anidb":2,"ad":[7,12],"tmdb":[1,6]}]}`, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := readLines(t, line(row.seasons)).Get(tmdbfake.TV, 5).Seasons[1].Name; got != row.want {
				t.Errorf("season 2 is called %q, want %q", got, row.want)
			}
		})
	}
}

func TestAbsoluteWorksHaveAGroup(t *testing.T) {
	c := readLines(t,
		`{"kind":"tv","tmdb_id":5,"absolute":true,"titles":[{"lang":"ja","type":"main","title":"題","season":"a"}],`+
			`"seasons":[{"season":1,"cours":[{"anidb":1,"offset":0,"episodes":20}]},{"season":2,"cours":[{"anidb":2,"offset":0,`+
			`"episodes":10}]}]}`)
	g := c.Get(tmdbfake.TV, 5).Groups
	want := []tmdbfake.EpisodeRange{{Season: 1, First: 1, Last: 20}, {Season: 2, First: 1, Last: 10}}
	if len(g) != 1 || g[0].Type != 2 || !slices.Equal(g[0].Parts[0].Episodes, want) {
		t.Errorf("groups %+v", g)
	}
}

func TestCatalogueFilesThatAreRefused(t *testing.T) {
	good := `{"kind":"tv","tmdb_id":5,"titles":[{"lang":"ja","type":"main","title":"題"}]}`
	for _, row := range []struct{ line, part string }{
		{`{"kind":"tv"`, "line 2"},
		{`{"kind":"book","tmdb_id":1,"titles":[{"title":"x"}]}`, `kind "book"`},
		{`{"kind":"tv","tmdb_id":0,"titles":[{"title":"x"}]}`, "outside 1.."},
		{`{"kind":"tv","tmdb_id":6,"titles":[]}`, "no title"},
		{`{"kind":"tv","tmdb_id":6,"year":1,"titles":[{"title":"x"}]}`, "year 1"},
		{`{"kind":"tv","tmdb_id":6,"titles":[{"title":"x","season":"b"}]}`, "neither a number"},
		{`{"kind":"tv","tmdb_id":6,"titles":[{"title":"x"}],"seasons":[{"season":-1}]}`, "season -1"},
		{`{"kind":"tv","tmdb_id":6,"titles":[{"title":"x"}],"seasons":[{"season":1,"episodes":99999}]}`, "outside 0.."},
		{
			`{"kind":"tv","tmdb_id":6,"titles":[{"title":"x"}],"seasons":[{"season":1,"cours":[{"offset":-1}]}]}`,
			"a cour's numbers",
		},
		{
			`{"kind":"tv","tmdb_id":6,"titles":[{"title":"x"}],"seasons":[{"season":1,"ranges":[{"tmdb":[1,99999]}]}]}`,
			"a range",
		},
		{good, "twice"},
	} {
		t.Run(row.part, func(t *testing.T) {
			_, err := Read(strings.NewReader(good + "\n" + row.line))
			if err == nil || !strings.Contains(err.Error(), row.part) {
				t.Errorf("%s: error %v, want one with %q", row.line, err, row.part)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"kind":"tv","tmdb_id":5,"year":2012,"titles":[{"lang":"x-jat","type":"main","title":"Toudai no ` +
		`Hi","season":1}],"seasons":[{"season":1,"cours":[{"anidb":1,"offset":0,"episodes":12,"year":2012}],` +
		`"ranges":[{"anidb":1,"tmdb":[1,5]}],"first":1,"last":5}]}`)
	f.Add(`{"kind":"movie","tmdb_id":6,"multi":true,"titles":[{"lang":"zh-Hant","type":"official","title":"燈塔"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Read(strings.NewReader(text))
		if err != nil {
			return
		}
		fake, err := tmdbfake.New(tmdbfake.Config{Catalogue: c})
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range all(c) {
			for i := range w.Seasons {
				es := w.Seasons[i].Episodes()
				if len(es) == 0 || len(es) != w.Seasons[i].Count() {
					t.Fatalf("%s %d season %d: %d episodes, Count %d", w.Kind, w.ID, w.Seasons[i].Number, len(es),
						w.Seasons[i].Count())
				}
				if !slices.IsSortedFunc(es, func(a, b tmdbfake.Episode) int { return a.Number - b.Number }) || es[0].Number < 1 {
					t.Fatalf("%s %d season %d: %v", w.Kind, w.ID, w.Seasons[i].Number, es)
				}
			}
			rec := httptest.NewRecorder()
			req := httptest.NewRequest(http.MethodGet, fmt.Sprintf("/3/%s/%d?language=ko-KR", w.Kind, w.ID), http.NoBody)
			req.Header.Set("Authorization", "Bearer a.read.token")
			if fake.ServeHTTP(rec, req); rec.Code != http.StatusOK {
				t.Fatalf("%s %d: %d %s", w.Kind, w.ID, rec.Code, rec.Body)
			}
			for _, title := range titlesOf(w) {
				if len(tmdbfake.Tokens(title)) == 0 {
					continue
				}
				if !slices.Contains(c.Search(w.Kind, title, tmdbfake.Filter{}, tmdbfake.RankMixed, 1), w) {
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
	f, err := os.Open(filepath.Join("..", "..", "..", "..", "shared", "eval", "catalog_dev.jsonl"))
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
	c, err := Read(openCatalogue(t))
	if err != nil {
		t.Fatal(err)
	}
	if c.Len() < 5_000 {
		t.Fatalf("%d works", c.Len())
	}
	lost := 0
	for _, w := range all(c) {
		for i := range w.Seasons {
			if w.Seasons[i].Count() == 0 {
				t.Errorf("%s %d season %d is empty", w.Kind, w.ID, w.Seasons[i].Number)
			}
		}
		for _, title := range []string{w.Name, w.Original} {
			if len(tmdbfake.Tokens(title)) > 0 &&
				!slices.Contains(c.Search(w.Kind, title, tmdbfake.Filter{}, tmdbfake.RankMixed, 1), w) {
				lost++
				t.Logf("%s %d is not found by %q", w.Kind, w.ID, title)
			}
		}
	}
	if lost > 0 {
		t.Errorf("%d titles do not find their work", lost)
	}
}

func BenchmarkRead(b *testing.B) {
	f := openCatalogue(b)
	for b.Loop() {
		if _, err := f.Seek(0, 0); err != nil {
			b.Fatal(err)
		}
		if _, err := Read(f); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSearch(b *testing.B) {
	c, err := Read(openCatalogue(b))
	if err != nil {
		b.Fatal(err)
	}
	works := c.Works(tmdbfake.TV)
	i := 0
	for b.Loop() {
		c.Search(tmdbfake.TV, works[i%len(works)].Name, tmdbfake.Filter{}, tmdbfake.RankMixed, 1)
		i++
	}
}

func TestSpecialsCarryTheTitlesTheyWereReleasedUnder(t *testing.T) {
	const line = `{"kind":"tv","tmdb_id":9100001,"year":2011,
"titles":[{"lang":"x-jat","type":"main","title":"Hoshizora","anidb":1,"season":1},
{"lang":"en","type":"official","title":"Starlit","anidb":1,"season":1},
{"lang":"x-jat","type":"main","title":"Hoshizora OVA","anidb":2,"season":0},
{"lang":"en","type":"official","title":"Starlit: The Lost Summer","anidb":2,"season":0},
{"lang":"x-jat","type":"main","title":"Hoshizora Mini","anidb":3,"season":0}],
"seasons":[{"season":0,"cours":[{"anidb":2,"offset":0,"episodes":1,"year":2012},
{"anidb":3,"offset":1,"episodes":2,"year":2013}]},
{"season":1,"cours":[{"anidb":1,"offset":0,"episodes":12,"year":2011}]}]}`
	cat, err := Read(strings.NewReader(strings.ReplaceAll(line, "\n", "")))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range cat.Get(tmdbfake.TV, 9100001).Seasons[0].Episodes() {
		got = append(got, e.Title)
	}
	want := []string{"Starlit: The Lost Summer", "Hoshizora Mini 1", "Hoshizora Mini 2"}
	if !slices.Equal(got, want) {
		t.Errorf("specials are called %q, want %q", got, want)
	}
}
