package decide

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/orders"
	"github.com/anivault/anivault/internal/pins"
	"github.com/anivault/anivault/internal/release"
)

// Names below a folder whose pin says absolute are read so, also those without a season: TMDB's season 1 may have gaps.
func TestNamesAreReadInTheOrderOfTheirPin(t *testing.T) {
	first := numberedSeason(1, 1, 12)
	first.Episodes = append(first.Episodes[:4:4], first.Episodes[6:]...) // without 5 and 6
	entry := &match.Entry{Kind: match.TV, ID: 1, Seasons: []match.Season{
		numberedSeason(0, 1, 2), first, numberedSeason(2, 1, 3),
	}}
	for name, want := range map[string]string{
		"Show - 04.mkv":     "1 [4]",
		"Show - 08.mkv":     "1 [10]",
		"Show - 11.mkv":     "2 [1]",
		"Show S01E11.mkv":   "2 [1]",
		"Show - 10-11.mkv":  "[] [10 11]", // in two seasons
		"Show - 99.mkv":     "[] [99]",
		"Show OVA - 02.mkv": "[] [2]",
		"Show S00E02.mkv":   "0 [2]",
	} {
		t.Run(name, func(t *testing.T) {
			res := resolution{Resolution: match.Resolution{
				Outcome: match.Outcome{Status: match.Matched, Kind: match.TV, ID: 1}, Entry: entry,
			}}
			pin := &pins.Pin{Path: "/anime/Show", Kind: match.TV, ID: 1, Order: orders.Absolute}
			new(Deciders).readInOrder(context.Background(), &series{pin: pin}, &res)
			r := res.readings(release.Parse(name))[0]
			got := fmt.Sprint(r.Seasons, " ", r.Episodes)
			if season, one := r.Season(); one {
				got = fmt.Sprint(season, " ", r.Episodes)
			}
			if got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}

func TestAMissingGroupIsReported(t *testing.T) {
	entry := &match.Entry{Kind: match.TV, ID: 1}
	for i, name := range []string{"Twice", "Once", "twice", "4", "5", "6", "7"} {
		entry.Groups = append(entry.Groups, match.GroupRef{ID: fmt.Sprint("id", i), Name: name})
	}
	d := &Deciders{source: &source{}}
	d.resolver.Source = d.source
	d.source.memo.answers = map[string]memoizedAnswer{"entry/tv/1": {value: entry}, "entry/tv/2": {value: &match.Entry{}}}
	const all = "group:id0, group:Once, group:id2, group:4, group:5, group:6, ..."
	for _, c := range []struct {
		tv         int
		name, want string
	}{
		{1, "None", "tv/1 has no episode group None: choose one of " + all},
		{1, "TWICE", "tv/1 has several episode groups called TWICE: choose one of " + all},
		{2, "None", "tv/2 has no episode groups: choose another order"},
	} {
		if _, err := d.Group(t.Context(), c.tv, c.name); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// AniDB's numbers that nothing converts are not TMDB's, except in a series of one season.
func TestNumbersOfAniDBAreDoubtedWithoutAnIndex(t *testing.T) {
	one := []match.Season{numberedSeason(0, 1, 2), numberedSeason(1, 1, 12)}
	two := append(one[:2:2], numberedSeason(2, 1, 12))
	for _, c := range []struct {
		name, folder string
		seasons      []match.Season
		sure         bool
	}{
		{"S01E01", "[anidbid-12]", two, false},
		{"S00E01", "[anidbid-12]", one, false},
		{"S01E01", "[anidbid-12]", one, true},
		{"S02E01", "[anidbid-12]", two, true}, // AniDB has no seasons
		{"S01E01", "[tvdbid-12]", two, true},
	} {
		t.Run(c.folder+c.name, func(t *testing.T) {
			entry := &match.Entry{Kind: match.TV, ID: 1, Title: "Night Bureau", Genres: []int{16}, Seasons: c.seasons}
			lib := &catalogue{entries: map[string]*match.Entry{"Night Bureau": entry}}
			d := &Deciders{
				resolver: match.Resolver{Source: lib, Options: match.DefaultOptions()}, known: new(knownTitles), pins: choicesOf(t),
				config: Config{Reserve: func(ctx context.Context) (context.Context, func()) { return ctx, func() {} }},
			}
			path := fmt.Sprintf("lib/Night Bureau %s/Season %s/Night Bureau %s.mkv", c.folder, c.name[1:3], c.name)
			d.Decide(t.Context(), seriesOf(path), func(_ match.File, out match.Decision) {
				named := strings.Contains(out.Reason.String(), "anivault index update")
				if sure := out.Season != nil; out.Status != match.Matched || sure != c.sure || named == c.sure {
					t.Errorf("%s, sure: %t, want %t: %s", out.Status, sure, c.sure, out.Reason)
				}
			})
		})
	}
}
