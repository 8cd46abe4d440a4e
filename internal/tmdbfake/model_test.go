package tmdbfake

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// found returns the ids of a search over HTTP, on all its pages.
func found(t *testing.T, m Model, query string) []int {
	t.Helper()
	s := start(t, newFake(t, Config{Model: m}))
	r, err := ask(clientOf(t, s), s.URL()+"/3/search/tv?query="+strings.ReplaceAll(query, " ", "+"))
	if err != nil {
		t.Fatal(err)
	}
	out := []int{}
	for _, row := range decode(t, r.body)["results"].([]any) {
		out = append(out, int(row.(map[string]any)["id"].(float64)))
	}
	return out
}

func TestModelsFindByDifferentTitles(t *testing.T) {
	const lantern = 9_000_001 // Lantern Harbor, 灯り港のミリエ; Akariminato no Mirie is an alternative title
	for _, row := range []struct {
		query string
		finds []Finds
	}{
		{"lantern harbor", []Finds{FindsAll, FindsShown, FindsPrefix}},
		{"lantern har", []Finds{FindsAll, FindsShown, FindsPrefix}},
		{"harbor", []Finds{FindsAll, FindsShown}},
		{"harbor lantern", []Finds{FindsAll, FindsShown}},
		{"灯り港のミリエ", []Finds{FindsAll, FindsShown, FindsPrefix}},
		{"akariminato no mirie", []Finds{FindsAll, FindsPrefix}},
		{"no mirie", []Finds{FindsAll}},
		{"등불 항구의 미리에", []Finds{FindsAll, FindsPrefix}},
	} {
		for _, how := range []Finds{FindsAll, FindsShown, FindsPrefix} {
			t.Run(fmt.Sprint(row.query, "/", how), func(t *testing.T) {
				if got, want := slices.Contains(found(t, Model{Finds: how}, row.query), lantern), slices.Contains(row.finds,
					how); got != want {
					t.Errorf("found: %t, want %t", got, want)
				}
			})
		}
	}
}

func TestShownNamesAreThoseOfTheLanguage(t *testing.T) {
	f := Filter{Finds: FindsShown, Language: "ko-KR"}
	if got := ids(authored(t).Search(TV, "등불 항구의 미리에", f, RankMixed, 1)); !slices.Contains(got, 9_000_001) {
		t.Errorf("found %v", got)
	}
}

func TestNeverMoreThanSoManyRows(t *testing.T) {
	var ws []Work
	for i := range 45 {
		ws = append(ws, invented(9_300_000+i, "Iron Tide", fmt.Sprint(i), float64(i), date(2001, 1, 1)))
	}
	c, err := NewCatalogue(ws)
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, newFake(t, Config{Catalogue: c, Model: Model{MaxRows: 20}}))
	for page, want := range map[int]int{1: 20, 2: 0} {
		r, err := ask(clientOf(t, s), fmt.Sprintf("%s/3/search/tv?query=iron+tide&page=%d", s.URL(), page))
		if err != nil {
			t.Fatal(err)
		}
		o := decode(t, r.body)
		if n := len(o["results"].([]any)); n != want || o["total_results"] != 20.0 || o["total_pages"] != 1.0 {
			t.Errorf("page %d has %d rows of %v on %v pages, want %d of 20 on 1", page, n, o["total_results"], o["total_pages"],
				want)
		}
	}
}

// The namesake has the titles under which the work is found, and takes the place of nothing.
func TestNamesakeStandsBesideEachWork(t *testing.T) {
	f := newFake(t, Config{Model: Model{Rank: RankNamesake}})
	c := f.Catalogue()
	if got, want := c.Len(), 2*authored(t).Len(); got != want {
		t.Errorf("%d works, want %d", got, want)
	}
	for _, query := range []string{"lantern harbor", "灯り港のミリエ", "akariminato no mirie"} {
		if got := ids(c.Search(TV, query, Filter{}, RankNamesake, 1)); !slices.Contains(got, 9_000_001) ||
			!slices.Contains(got, MaxID+9_000_001) {
			t.Errorf("%q finds %v", query, got)
		}
	}
	w, n := c.Get(TV, 9_000_001), c.Get(TV, MaxID+9_000_001)
	if n.Name != "Akariminato no Mirie" || n.Original != w.Original || n.Seasons[0].Count() != 2 ||
		!slices.Contains(n.Genres, 16) || n.Date >= w.Date {
		t.Errorf("the namesake is %+v", n)
	}
}

func TestNamesOfSeasonsAndSpecialsAreOneByOneLeftOut(t *testing.T) {
	w := invented(9_300_000, "Iron Tide", "鉄の潮", 1, date(2001, 1, 1))
	w.Seasons = []Season{
		{Number: 0, Titles: map[int]string{1: "The Lost Ship"}, Runs: []Run{{First: 1, Last: 1}}},
		{Number: 1, Titles: map[int]string{1: "Low Water"}, Runs: []Run{{First: 1, Last: 1}}},
		{Number: 2, Name: "Iron Tide: Storm", Runs: []Run{{First: 1, Last: 1}}},
	}
	for _, row := range []struct {
		model                Model
		season, special, one string
	}{
		{Model{}, "Iron Tide: Storm", "The Lost Ship", "Low Water"},
		{Model{PlainSeasons: true}, "Season 2", "The Lost Ship", "Low Water"},
		{Model{PlainSpecials: true}, "Iron Tide: Storm", "Episode 1", "Low Water"},
		{Model{PlainSeasons: true, PlainSpecials: true}, "Season 2", "Episode 1", "Low Water"},
	} {
		t.Run(fmt.Sprintf("%+v", row.model), func(t *testing.T) {
			c, err := NewCatalogue([]Work{w})
			if err != nil {
				t.Fatal(err)
			}
			s := start(t, newFake(t, Config{Catalogue: c, Model: row.model}))
			r, err := ask(clientOf(t, s), s.URL()+"/3/tv/9300000?append_to_response=season/0,season/1")
			if err != nil {
				t.Fatal(err)
			}
			o := decode(t, r.body)
			name := func(n int) any {
				return o[fmt.Sprint("season/", n)].(map[string]any)["episodes"].([]any)[0].(map[string]any)["name"]
			}
			got := []any{o["seasons"].([]any)[2].(map[string]any)["name"], name(0), name(1)}
			if d := cmp.Diff([]any{row.season, row.special, row.one}, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// Every work belongs to one share, and only its share is left out.
func TestSharesLeaveEachWorkOutOnce(t *testing.T) {
	all := authored(t)
	missing := 0
	for part := 1; part <= 4; part++ {
		f := newFake(t, Config{Model: Model{Without: Share{part, 4}}})
		missing += all.Len() - f.Catalogue().Len()
		for _, w := range all.works {
			if gone := f.Catalogue().Get(w.Kind, w.ID) == nil; gone != (Share{part, 4}).Has(w.Kind, w.ID) {
				t.Errorf("part %d: %s %d is gone: %t", part, w.Kind, w.ID, gone)
			}
		}
	}
	if missing != all.Len() {
		t.Errorf("%d works are left out, want each of %d once", missing, all.Len())
	}
}
