package decide

import (
	"context"
	"fmt"
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
