package orders_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/anivault/anivault/internal/index"
	"github.com/anivault/anivault/internal/orders"
)

func season(number, first, last int) orders.Place {
	p := orders.Place{Season: number}
	for n := first; n <= last; n++ {
		p.Episodes = append(p.Episodes, n)
	}
	return p
}

func say(o *orders.Orders) string {
	var out []string
	if o.Absolute != nil {
		out = append(out, fmt.Sprintf("absolute %v", o.Absolute))
	}
	if o.TVDB != nil {
		out = append(out, fmt.Sprintf("tvdb S%d %v", o.TVDB.Season, o.TVDB.Episodes))
	}
	if o.AniDB != nil {
		special := map[bool]string{true: " special"}[o.AniDB.Special]
		out = append(out, fmt.Sprintf("anidb %d%s %v", o.AniDB.ID, special, o.AniDB.Episodes))
	}
	return strings.Join(out, ", ")
}

// Every form that Anime-Lists has maps an episode rightly or not at all, and whatever is mapped leads back.
func TestTheListsFormsAreRightOrRefused(t *testing.T) {
	dir := t.TempDir()
	if _, err := index.Import(context.Background(), dir, "testdata/anime-list.xml"); err != nil {
		t.Fatal(err)
	}
	x, err := index.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for tv, c := range map[int]struct {
		seasons []orders.Place
		want    map[string]string // TMDB's season and episodes, and what they are in the other orders
	}{
		901: {[]orders.Place{season(0, 1, 8), season(1, 1, 24)}, map[string]string{
			"1 [1]":     "absolute [1], tvdb S1 [1], anidb 11 [1]",
			"1 [12]":    "absolute [12], tvdb S1 [12], anidb 11 [12]",
			"1 [13]":    "absolute [13], tvdb S2 [1], anidb 12 [1]",
			"1 [24]":    "absolute [24], tvdb S2 [12], anidb 12 [12]",
			"1 [12 13]": "absolute [12 13]",
			"1 [13 14]": "absolute [13 14], tvdb S2 [1 2], anidb 12 [1 2]",
			"1 [25]":    "",
			"0 [1]":     "",
			"0 [2]":     "tvdb S0 [2], anidb 13 [1]",
			"0 [3]":     "tvdb S0 [5], anidb 11 special [1]",
			"0 [4]":     "tvdb S0 [6], anidb 11 special [2]",
			"0 [5]":     "", // claimed twice
			"0 [6]":     "anidb 11 special [4]",
			"0 [7]":     "", // how many episodes a special has is not known
		}},
		902: {[]orders.Place{season(1, 1, 12), season(2, 1, 12)}, map[string]string{
			"1 [12]":  "absolute [12], tvdb S1 [12], anidb 21 [12]",
			"2 [1]":   "absolute [13], tvdb S1 [13], anidb 21 [13]",
			"2 [1 2]": "absolute [13 14], tvdb S1 [13 14], anidb 21 [13 14]",
			"3 [1]":   "",
		}},
		903: {[]orders.Place{season(1, 1, 10), season(2, 11, 20), season(3, 21, 30), season(4, 1, 5)}, map[string]string{
			"1 [8 9]": "absolute [8 9], anidb 31 [8 9]",
			"1 [8]":   "absolute [8], tvdb S1 [8], anidb 31 [8]",
			"2 [11]":  "absolute [11], tvdb S2 [3], anidb 31 [11]",
			"2 [1]":   "",
			"3 [30]":  "absolute [30], tvdb S2 [22], anidb 31 [30]",
			"4 [2]":   "absolute [32], tvdb S3 [2], anidb 32 [2]",
		}},
		904: {[]orders.Place{season(0, 1, 1), season(1, 1, 9)}, map[string]string{
			"1 [1]":   "absolute [1]",
			"1 [1 2]": "absolute [1 2], tvdb S1 [1], anidb 41 [1]",
			"1 [3]":   "absolute [3], anidb 41 [2]", // TVDB's 2 and 3 are also those of the third
			"1 [4]":   "absolute [4], anidb 41 [3 4]",
			"1 [3 4]": "absolute [3 4], tvdb S1 [2 3 4], anidb 41 [2 3 4]",
			"1 [5]":   "absolute [5], tvdb S1 [6], anidb 41 [6]",
			"1 [6]":   "absolute [6], tvdb S0 [1], anidb 41 [7]",
			"1 [7]":   "absolute [7], tvdb S1 [7], anidb 41 [8]",
			"1 [5 6]": "absolute [5 6], anidb 41 [6 7]",
			"1 [9]":   "absolute [9]",
		}},
		905: {[]orders.Place{season(1, 1, 12), season(2, 13, 40)}, map[string]string{
			"1 [1]":  "absolute [1], anidb 51 [1]",
			"2 [13]": "absolute [13]",
			"2 [25]": "absolute [25]",
		}},
		906: {[]orders.Place{season(1, 1, 13), season(2, 1, 12)}, map[string]string{
			"1 [12]": "absolute [12], tvdb S1 [12], anidb 61 [12]",
			"1 [13]": "absolute [13]", // according to TVDB, AniDB's first ends before it
			"2 [1]":  "absolute [14], tvdb S1 [13], anidb 62 [1]",
		}},
		907: {[]orders.Place{season(1, 1, 10), season(2, 1, 12)}, map[string]string{
			"1 [9]":  "absolute [9]", // nobody knows which two TMDB has elsewhere
			"2 [1]":  "absolute [11], tvdb S2 [1], anidb 72 [1]",
			"2 [4]":  "absolute [14], tvdb S0 [3], anidb 72 [4]",
			"2 [12]": "absolute [22], tvdb S2 [11], anidb 72 [12]",
		}},
		908: {[]orders.Place{season(1, 1, 24)}, map[string]string{
			"1 [20]": "absolute [20]", // perhaps the season that TMDB lacks
		}},
		909: {[]orders.Place{
			season(1, 1, 12), season(1, 13, 13), season(1, 14, 14), season(2, 1, 12), season(2, 13, 24),
		}, map[string]string{
			"1 [12]":    "absolute [12], tvdb S1 [12], anidb 91 [12]",
			"1 [13]":    "absolute [13]",                              // nobody knows whether AniDB has one more
			"2 [13]":    "absolute [27], tvdb S2 [13], anidb 92 [13]", // the lists name it
			"2 [12 13]": "absolute [26 27], tvdb S2 [12 13], anidb 92 [12 13]",
		}},
		910: {[]orders.Place{season(1, 1, 12), season(1, 13, 24), season(1, 25, 36), season(1, 37, 48)}, map[string]string{
			"1 [13]": "absolute [13], anidb 93 [13]", // another one begins behind it
			"1 [36]": "absolute [36], anidb 94 [12]",
			"1 [37]": "absolute [37]",
		}},
	} {
		siblings, err := x.Siblings(tv)
		if err != nil {
			t.Fatal(err)
		}
		var anime []orders.Anime
		for _, c := range siblings {
			anime = append(anime, orders.Anime{ID: c.AniDBID, TMDB: c.Numbering, TVDBID: c.TVDBID, TVDB: c.TVDB})
		}
		s := orders.NewSeries(c.seasons, 5000+tv, anime)
		for place, want := range c.want {
			t.Run(fmt.Sprint(tv, " S", place), func(t *testing.T) {
				var p orders.Place
				for i, n := range strings.Fields(strings.NewReplacer("[", "", "]", "").Replace(place)) {
					var number int
					fmt.Sscan(n, &number)
					if p.Episodes = append(p.Episodes, number); i == 0 {
						p = orders.Place{Season: number}
					}
				}
				if got := say(s.Orders(p)); got != want {
					t.Errorf("%q, want %q", got, want)
				}
				leadsBack(t, s, p)
			})
		}
	}
}

type failer interface{ Fatalf(string, ...any) }

func leadsBack(t failer, s *orders.Series, p orders.Place) {
	o := s.Orders(p)
	for _, order := range []string{orders.Absolute, orders.TVDB, orders.AniDB} {
		there, anime := o.In(order), 0
		if there == nil {
			continue
		}
		if order == orders.AniDB {
			anime = o.AniDB.ID
		}
		if back := s.ToTMDB(order, anime, *there); !cmp.Equal(back, &p) {
			t.Fatalf("%v is %v in the order %s, which is %v at TMDB", p, *there, order, back)
		}
	}
}

// Whatever the lists say, contradictions and all: what an order calls an episode, it calls no other one.
func TestEveryOrderLeadsBackToTMDB(t *testing.T) {
	numbers := func(t *rapid.T, label string) []orders.Range {
		var out []orders.Range
		for range rapid.IntRange(0, 2).Draw(t, label) {
			r := orders.Range{Season: rapid.IntRange(0, 3).Draw(t, "season"), Start: rapid.IntRange(0, 12).Draw(t, "start")}
			r.End = max(0, r.Start+rapid.IntRange(-1, 8).Draw(t, "length"))
			r.Offset = rapid.IntRange(-6, 6).Draw(t, "offset")
			r.Pairs = rapid.MapOfN(rapid.IntRange(1, 8), rapid.SliceOfN(rapid.IntRange(1, 8), 0, 2), 0, 3).Draw(t, "pairs")
			out = append(out, r)
		}
		return out
	}
	numbering := func(t *rapid.T) orders.Numbering {
		x := orders.Numbering{Offset: rapid.IntRange(-3, 14).Draw(t, "offset"), Ranges: numbers(t, "ranges")}
		x.Specials = numbers(t, "specials")
		if n := rapid.IntRange(-2, 3).Draw(t, "season"); n >= 0 {
			x.Season = &n
		} else {
			x.Absolute = n == -1
		}
		return x
	}
	rapid.Check(t, func(t *rapid.T) {
		var seasons []orders.Place
		for n := range rapid.IntRange(1, 4).Draw(t, "seasons") {
			first := rapid.SampledFrom([]int{1, 1, 0, 5, 14}).Draw(t, "first")
			last := first + rapid.IntRange(0, 14).Draw(t, "length")
			seasons = append(seasons, season(n, first, last))
			for range rapid.IntRange(0, 2).Draw(t, "further parts") {
				first, last = last+1, last+1+rapid.IntRange(0, 4).Draw(t, "length of a part")
				seasons = append(seasons, season(n, first, last))
			}
		}
		var anime []orders.Anime
		for n := range rapid.IntRange(0, 4).Draw(t, "anime") {
			a := orders.Anime{ID: n + 1, TVDBID: rapid.IntRange(0, 1).Draw(t, "tvdb"), TMDB: numbering(t), TVDB: numbering(t)}
			anime = append(anime, a)
		}
		s := orders.NewSeries(seasons, 1, anime)
		of := rapid.SampledFrom(seasons).Draw(t, "of")
		for _, n := range of.Episodes {
			leadsBack(t, s, orders.Place{Season: of.Season, Episodes: []int{n}})
		}
		some := rapid.SliceOfNDistinct(rapid.SampledFrom(of.Episodes), 1, min(4, len(of.Episodes)), rapid.ID).Draw(t, "some")
		slices.Sort(some)
		leadsBack(t, s, orders.Place{Season: of.Season, Episodes: some})
		// The same from the other side: what is read as an episode of TMDB is called by the numbers that were read.
		first := rapid.IntRange(1, 16).Draw(t, "number")
		there := season(rapid.IntRange(0, 3).Draw(t, "season there"), first, first+rapid.IntRange(0, 2).Draw(t, "more"))
		for _, order := range []string{orders.Absolute, orders.TVDB, orders.AniDB} {
			id := rapid.IntRange(1, 4).Draw(t, "id")
			at := s.ToTMDB(order, id, there)
			if at == nil {
				continue
			}
			all := s.Orders(*at)
			if back := all.In(order); !cmp.Equal(back, &there) || order == orders.AniDB && all.AniDB.ID != id {
				t.Fatalf("%v in the order %s is %v at TMDB, which is %v there", there, order, *at, back)
			}
		}
	})
}

// Whatever a group has, twice or not at all: what it calls an episode leads back to it.
func TestAGroupLeadsBackToTMDB(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var g orders.Group
		for range rapid.IntRange(0, 20).Draw(t, "episodes") {
			number := func(what string, most int) int { return rapid.IntRange(0, most).Draw(t, what) }
			g.Add(number("season", 2), number("episode", 6), number("part", 2), number("n", 6))
		}
		for of := range 3 {
			for first := range 7 {
				for last := first; last < min(first+3, 7); last++ {
					p := season(of, first, last)
					if at := g.Place(p); at != nil && !cmp.Equal(g.ToTMDB(*at), &p) {
						t.Fatalf("%v is %v in the group, which is %v at TMDB", p, *at, g.ToTMDB(*at))
					}
				}
			}
		}
	})
}

func TestAGroupHasPartsAsSeasons(t *testing.T) {
	var g orders.Group
	g.Add(1, 1, 1, 1)
	g.Add(1, 2, 1, 2)
	g.Add(2, 1, 2, 1)
	g.Add(0, 3, 0, 1)
	g.Add(1, 9, 1, 3) // in two parts
	g.Add(1, 9, 2, 2)
	g.Add(1, 7, 1, 4) // twice in one part
	g.Add(1, 7, 1, 8)
	for _, c := range []struct {
		in   orders.Place
		want *orders.Place
	}{
		{orders.Place{Season: 1, Episodes: []int{1, 2}}, &orders.Place{Season: 1, Episodes: []int{1, 2}}},
		{orders.Place{Season: 2, Episodes: []int{1}}, &orders.Place{Season: 2, Episodes: []int{1}}},
		{orders.Place{Season: 0, Episodes: []int{3}}, &orders.Place{Season: 0, Episodes: []int{1}}},
		{orders.Place{Season: 1, Episodes: []int{9}}, nil},
		{orders.Place{Season: 1, Episodes: []int{3}}, nil},
		{orders.Place{Season: 1, Episodes: []int{7}}, nil},
		{orders.Place{Season: 1}, nil},
	} {
		if got := g.Place(c.in); !cmp.Equal(got, c.want) {
			t.Errorf("%v is %v, want %v", c.in, got, c.want)
		}
	}
}
