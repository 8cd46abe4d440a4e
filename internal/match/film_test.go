package match

import (
	"testing"

	"github.com/anivault/anivault/internal/release"
)

// A film's name may count it, and call it otherwise than TMDB does: what stands before the word for a film is told by the year, and
// a part of it that no title has leaves it likely.
func TestFilmsAreFoundAroundTheWordForAFilm(t *testing.T) {
	boat := film(50, "Silver Road: Secret of the Boat", "銀の道 船の秘密", 1994).alt("Silver Road Movie 02")
	train := film(51, "Silver Road: The Last Train", "銀の道 終電", 1995)
	photo := film(52, "Tide: Graduation Day", "潮 卒業の日", 2015)
	for _, row := range []struct {
		name string
		with []*Entry
		rel  release.Release
		want string
	}{
		{"another subtitle, and the year", nil, rel("Silver Road Movie 2 The Boat's Treasure", as(release.Movie), of(1994)), "movie 50"},
		{"two of that year", []*Entry{film(53, "Silver Road: Night", "銀の道 夜", 1994)}, rel("Silver Road Movie 2 The Boat's Treasure", as(release.Movie), of(1994)), "ambiguous"},
		{"none of that year", nil, rel("Silver Road Movie 2 The Boat's Treasure", as(release.Movie), of(1998)), "unmatched"},
		{"a part of it", nil, rel("Tide ~Graduation Day~ Movie Part 1", as(release.Movie), inPart(1)), "movie 52"},
		{"a second film of it", nil, rel("Tide ~Graduation Day~ Movie 2", as(release.Movie)), "ambiguous"},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := decideOne(&world{entries: append([]*Entry{boat, train, photo}, row.with...)}, row.rel)
			if outcome(d) != row.want || d.Confidence > doubtful {
				t.Errorf("%s with %.2f, want %s: %s %v", outcome(d), d.Confidence, row.want, d.Reason, d.Steps)
			}
		})
	}
}
