package tmdbfake

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// date is shorthand for MakeDay.
func date(year, month, day int) Day { return MakeDay(year, time.Month(month), day) }

// invented returns a Japanese series without seasons.
func invented(id int, name, original string, popularity float64, first Day) Work {
	return Work{
		Kind: TV, ID: id, Name: name, Original: original, Language: "ja", Country: "JP", Date: first,
		Popularity: popularity, Votes: int(popularity * 12), Genres: []int{16, 10765}, Status: "Ended",
		Type: "Scripted", Runtime: 24,
	}
}

func authored(t testing.TB) *Catalogue {
	t.Helper()
	c, err := Authored()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func ids(ws []*Work) []int {
	out := []int{}
	for _, w := range ws {
		out = append(out, w.ID)
	}
	return out
}

func TestPhraseAndColl(t *testing.T) {
	for _, row := range []struct{ in, phrase, coll string }{
		{"Re:Null −Start−", "re null start", "renullstart"},
		{"Ｋ－ＯＦＦ！！", "k off", "koff"},
		{"C³", "c3", "c3"},
		{"Nausicaä of the Valley", "nausicaa of the valley", "nausicaaofthevalley"},
		{"ブリキの庭 上巻", "ブリキの庭 上巻", "ブリキの庭上巻"},
		{"モブサイコ100", "モブサイコ 100", "モブサイコ100"},
		{"ｶﾞﾝﾀﾞﾑ", "ガンダム", "ガンダム"},
		{"Straße", "strasse", "strasse"},
		{"--- !!", "", ""},
	} {
		t.Run(row.in, func(t *testing.T) {
			if p, c := strings.Join(Tokens(row.in), " "), strings.Join(Tokens(row.in), ""); p != row.phrase || c != row.coll {
				t.Errorf("%q: phrase %q, coll %q; want %q, %q", row.in, p, c, row.phrase, row.coll)
			}
		})
	}
}

func TestSearchFindsAsTMDBDoes(t *testing.T) {
	c := authored(t)
	for _, row := range []struct {
		name, query string
		kind        Kind
		filter      Filter
		want        []int
	}{
		{"whole words, any order", "harbor lantern", TV, Filter{}, []int{9_000_001}},
		{"beginning of a word", "lant harb", TV, Filter{}, []int{9_000_001}},
		{"every word must be there", "lantern harbor nothing", TV, Filter{}, []int{}},
		{"no typing errors forgiven", "lanetrn harbor", TV, Filter{}, []int{}},
		{"case and width do not matter", "ＬＡＮＴＥＲＮ harbor", TV, Filter{}, []int{9_000_001}},
		{"run together", "lanternharbor", TV, Filter{}, []int{9_000_001}},
		{"romaji as alternative title", "akariminato no mirie", TV, Filter{}, []int{9_000_001}},
		{"original script", "灯り港のミリエ", TV, Filter{}, []int{9_000_001}},
		{"part of a CJK run", "港のミ", TV, Filter{}, []int{9_000_001}},
		{"two characters of one", "鉄潮", TV, Filter{}, []int{9_000_024}},
		{"translation", "등불 항구의 미리에", TV, Filter{}, []int{9_000_001}},
		{"a season word finds nothing", "glass orbit season 2", TV, Filter{}, []int{}},
		{"J is not to be found in Latin letters", "muteki no yuubinkyoku", TV, Filter{}, []int{}},
		{"J in its own", "霧笛の郵便局", TV, Filter{}, []int{9_000_021}},
		{"I by its romaji", "mofumofu tenki yohou", TV, Filter{}, []int{9_000_020}},
		{"signs set apart", "k-off", TV, Filter{}, []int{9_000_011, 9_000_012}},
		{"a number alone", "96", TV, Filter{}, []int{9_000_014}},
		{"namesakes, popular first", "night parade bureau", TV, Filter{}, []int{9_000_007, 9_000_006}},
		{"namesakes by first year", "night parade bureau", TV, Filter{FirstYear: 1998}, []int{9_000_006}},
		{"year of a later episode", "glass orbit", TV, Filter{Year: 2021}, []int{9_000_002}},
		{"first year does not see it", "glass orbit", TV, Filter{FirstYear: 2021}, []int{}},
		{"no date, no year", "cartographers", TV, Filter{Year: 2026}, []int{}},
		{"adult is hidden", "velvet undertow", TV, Filter{}, []int{}},
		{"adult is shown", "velvet undertow", TV, Filter{Adult: true}, []int{9_000_025}},
		{"an apostrophe does not matter", "the clockmakers winter", TV, Filter{}, []int{9_000_008}},
		{"film of a series' title", "clockmaker winter", Movie, Filter{}, []int{9_000_101, 9_000_104}},
		{"OVA as two films", "tin garden", Movie, Filter{}, []int{9_000_102, 9_000_103}},
		{"nothing asked", " -- ", TV, Filter{}, []int{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := ids(c.Search(row.kind, row.query, row.filter, RankMixed, 1))
			if d := cmp.Diff(row.want, got); d != "" {
				t.Errorf("%q (-want +got):\n%s", row.query, d)
			}
		})
	}
}

func TestRankModes(t *testing.T) {
	mk := func(id int, name string, popularity float64) Work {
		return invented(9_200_000+id, name, "", popularity, date(2001, 1, 1))
	}
	c, err := NewCatalogue([]Work{
		mk(1, "Iron Tide", 0.5),
		mk(2, "Iron Tide Rising", 400),
		mk(3, "The Iron Tide Chronicle", 30),
		mk(4, "Tide of Iron", 3000),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		rank Rank
		want []int
	}{
		{RankMixed, []int{2, 4, 1, 3}},
		{RankPopularity, []int{4, 2, 3, 1}},
		{RankText, []int{1, 2, 3, 4}},
		{RankDecoy, []int{2, MaxID + 2, 4, 1, 3}},
	} {
		t.Run(string(row.rank), func(t *testing.T) {
			got := ids(c.Search(TV, "iron tide", Filter{}, row.rank, 1))
			for i := range got {
				got[i] -= 9_200_000
			}
			if d := cmp.Diff(row.want, got); d != "" {
				t.Errorf("%s (-want +got):\n%s", row.rank, d)
			}
		})
	}
}

func TestShuffledKeepsTiersAndDependsOnTheSeedOnly(t *testing.T) {
	var ws []Work
	for i := range 12 {
		ws = append(ws, invented(9_300_000+i, "Iron Tide", fmt.Sprint(i), float64(i), date(2001, 1, 1)))
	}
	ws = append(ws, invented(9_300_100, "Tide of Iron", "", 9000, date(2001, 1, 1)))
	c, err := NewCatalogue(ws)
	if err != nil {
		t.Fatal(err)
	}
	list := func(seed uint64) []int { return ids(c.Search(TV, "iron tide", Filter{}, RankShuffled, seed)) }
	one, two := list(1), list(2)
	if !slices.Equal(one, list(1)) {
		t.Error("the same seed gives two orders")
	}
	if slices.Equal(one, two) {
		t.Error("two seeds give one order")
	}
	for _, l := range [][]int{one, two} {
		if l[len(l)-1] != 9_300_100 {
			t.Errorf("%v: the weakest tier is not last", l)
		}
	}
}

func TestDecoyCanBeAskedForDetails(t *testing.T) {
	s := start(t, newFake(t, Config{Model: Model{Rank: RankDecoy}}))
	r, err := ask(clientOf(t, s), fmt.Sprintf("%s/3/tv/%d", s.URL(), MaxID+9_000_001))
	if err != nil {
		t.Fatal(err)
	}
	if o := decode(t, r.body); r.StatusCode != http.StatusOK || o["name"] != "Lantern Harbor" ||
		o["first_air_date"] != "2006-03-04" {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
}

// TestIndexFindsWhatAScanFinds compares the index with the rule itself.
func TestIndexFindsWhatAScanFinds(t *testing.T) {
	c := authored(t)
	x := c.index[TV]
	var titles []string
	for _, w := range c.Works(TV) {
		titles = append(titles, w.searchTitles()...)
	}
	rapid.Check(t, func(t *rapid.T) {
		title := []rune(rapid.SampledFrom(titles).Draw(t, "title"))
		from := rapid.IntRange(0, len(title)).Draw(t, "from")
		to := rapid.IntRange(from, len(title)).Draw(t, "to")
		q := Tokens(string(title[from:to]))
		var got, want []*field
		x.candidates(q, func(f *field) { got = append(got, f) })
		for i := range x.fields {
			if scan(&x.fields[i], q) {
				want = append(want, &x.fields[i])
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("query %q: the index finds %d titles, a scan %d", q, len(got), len(want))
		}
	})
}

// scan is the rule of the search model, word for word.
func scan(f *field, q []string) bool {
	if len(q) == 0 {
		return false
	}
	joined := ""
	for _, t := range q {
		joined += t
	}
	if len([]rune(joined)) >= 4 && contains(f.coll, joined) {
		return true
	}
	for _, t := range q {
		found := false
		for _, have := range f.tokens {
			if len(have) >= len(t) && have[:len(t)] == t || isCJK(t) && contains(have, t) {
				found = true
			}
		}
		if !found {
			return false
		}
	}
	return true
}

func contains(s, part string) bool {
	for i := 0; i+len(part) <= len(s); i++ {
		if s[i:i+len(part)] == part {
			return true
		}
	}
	return false
}
