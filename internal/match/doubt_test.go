package match

import (
	"testing"

	"github.com/anivault/anivault/internal/release"
)

// An entry that the name does not quite fit is believed less than enough, because the right one may be missing.
func TestWhatFitsNowhereIsBelievedLess(t *testing.T) {
	w := &world{entries: []*Entry{
		series(40, "Harbor Bells", "港の鐘", 2012, season(1, "1-12@2012-04-05")),
		film(41, "Harbor Bells: Night Ferry", "港の鐘 夜の渡し", 2013),
	}}
	for _, row := range []struct {
		name string
		rel  release.Release
		sure bool
	}{
		{"an episode that it has", rel("Harbor Bells", eps(3)), true},
		{"an episode that it lacks", rel("Harbor Bells", eps(40)), false},
		{"a season that it lacks", rel("Harbor Bells", inSeason(3), eps(3)), false},
		{"a part that it lacks", rel("Harbor Bells Silver Tide", eps(3), also("Harbor Bells")), false},
		{"a film's name", rel("Harbor Bells", as(release.Movie), of(2012)), false},
		{"half an episode, which no entry has", rel("Harbor Bells", eps(3.5)), true},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := decideOne(w, row.rel)
			if sure := d.Confidence >= Convincing; d.ID != 40 || d.Status != Matched || sure != row.sure {
				t.Errorf("%s with %.3f: %s", outcome(d), d.Confidence, d.Reason)
			}
		})
	}
}

// A title's own row does not end the search: another entry may bear it as an alternative title.
func TestRivalsAreLookedAtBeforeANamesakeIsBelieved(t *testing.T) {
	older := series(50, "Hashi no Akari", "橋の明かり", 1994, season(1, "1-2@1994-03-04"))
	meant := series(51, "Bridge Lights", "橋の明かり2", 2021, season(1, "1-12@2021-04-04")).alt("Hashi no Akari")
	w := &world{entries: []*Entry{older, meant}}
	web := func(r *release.Release) { r.Source = "WEB-DL" }
	for _, row := range []struct {
		name string
		rel  release.Release
		want string
	}{
		{"an episode that both have", rel("Hashi no Akari", eps(2)), "ambiguous"},
		{"a year", rel("Hashi no Akari", eps(2), of(1994)), "tv 50 S01E02"},
		{"an episode that one has", rel("Hashi no Akari", eps(9)), "tv 51 S01E09"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w.asked = nil
			if d := decideOne(w, row.rel); outcome(d) != row.want {
				t.Errorf("%s, want %s: %s", outcome(d), row.want, d.Reason)
			}
			if len(w.asked) > 4 {
				t.Errorf("asked %q", w.asked)
			}
		})
	}
	likelier := func(r release.Release) int { return decideOne(w, r).Candidates[0].ID }
	if got := likelier(rel("Hashi no Akari", eps(2), web)); got != 51 {
		t.Errorf("a stream of today is likelier of %d", got)
	}
}
