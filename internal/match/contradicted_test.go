package match

import (
	"testing"

	"github.com/anivault/anivault/internal/release"
)

// Of a name in two scripts both titles are a work's. Where one is but a word, or a piece of the name, that a work has, and the other is
// none of its titles, another work may be meant.
func TestTitlesThatDisagreeAreDoubted(t *testing.T) {
	dragon := series(60, "Dragon Raja", "龙族", 2022, season(1, "1-16"))
	keeper := series(61, "Keeper of Lamps", "守燈之人", 2020, season(1, "1-16"))
	for _, row := range []struct {
		name  string
		rel   release.Release
		doubt bool
	}{
		{"a word, and another title", rel("Puzzle Beasts", also("龙族"), eps(3)), true},
		{"a word, and a title of it", rel("Dragon Raja", also("龙族"), eps(3)), false},
		{"a word alone", rel("龙族", eps(3)), false},
		{"more than a word, and another title", rel("Lantern Folk", also("守燈之人"), eps(3)), false},
		{"a piece, and another title", rel("守燈之人Z", also("Z"), also("守燈之人"), eps(3)), true},
		{"a word, and a title in the same script", rel("守燈", also("龙族"), eps(3)), false},
		{"a word, and a folder of another title", rel("龙族", eps(3), func(r *release.Release) {
			r.Titles = append(r.Titles, release.Title{Text: "New Shows", From: release.FromFolder})
		}), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := decideOne(&world{entries: []*Entry{dragon, keeper}}, row.rel)
			if d.Status != Matched || d.Confidence <= doubtful != row.doubt {
				t.Errorf("%s with %.2f: %s %v", outcome(d), d.Confidence, d.Reason, d.Steps)
			}
		})
	}
}
