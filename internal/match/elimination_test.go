package match

import (
	"testing"

	"github.com/anivault/anivault/internal/release"
)

// Where no season has the name of the part that a title says, what else there is may tell.
func TestAPartThatNoSeasonIsCalled(t *testing.T) {
	alone := func(e *Entry) *world { return &world{entries: []*Entry{e}} }
	two := func(name string, seasons ...Season) *Entry { return series(5, name, "銀の道", 2018, seasons...) }
	first, second := season(1, "1-12@2018-04-07"), season(2, "1-12@2019-04-06")
	file := func(r *release.Release) { r.Extension, r.Kind = "mkv", release.Unknown }
	for _, row := range []struct {
		name string
		w    *world
		rel  release.Release
		want string
	}{
		{"the only season besides the first", alone(two("Silver Road", first, second).alt("Silver Road Revenge")), rel("Silver Road Revenge", eps(3)), "tv 5 S02E03"},
		{"there are three", alone(two("Silver Road", first, second, season(3, "1-12@2020-04-04")).alt("Silver Road Revenge")), rel("Silver Road Revenge", eps(3)), "tv 5 -"},
		{"as many specials", alone(two("Silver Road", season(0, "1-4"), first, second).alt("Silver Road Revenge")), rel("Silver Road Revenge", eps(3)), "tv 5 -"},
		{"the first has a later cour", alone(two("Silver Road", season(1, "1-12@2018-04-07", "13-24@2018-10-06"), second).alt("Silver Road Revenge")), rel("Silver Road Revenge", eps(3)), "tv 5 -"},
		{"the show is called by a part itself", alone(two("Silver Road: First Light", first, second).alt("Silver Road", "Silver Road Revenge")), rel("Silver Road Revenge", eps(3)), "tv 5 -"},
		{"behind a short form of the title", alone(two("Silver Road", first, second).alt("Road", "Road Hikari")), rel("Road Hikari", eps(3)), "tv 5 -"},
		{"the second has another name after the same title", alone(two("Silver Road", first, second.named("Gin no Michi Sora")).alt("Gin no Michi", "Gin no Michi Umi")), rel("Gin no Michi Umi", eps(3)), "tv 5 -"},
		{"the second has another name", alone(two("Silver Road", first, second.named("Silver Road: Blue Sky")).alt("Silver Road Revenge")), rel("Silver Road Revenge", eps(3)), "tv 5 -"},
		{"a second season of a season with a name", alone(two("Silver Road", first, second, season(3, "1-12@2020-04-04").named("Silver Road: Act II"), season(4, "1-12@2021-04-03"))), rel("Silver Road - Act II", inSeason(2), eps(3)), "tv 5 S04E03"},
		{"the only special, without an episode", alone(two("Silver Road", season(0, "1-1"), first).alt("Silver Road Winter Night")), rel("Silver Road Winter Night", file), "tv 5 S00E01"},
		{"one of two specials", alone(two("Silver Road", season(0, "1-2"), first).alt("Silver Road Winter Night")), rel("Silver Road Winter Night", file), "tv 5 -"},
		{"the only special, and the title is what it is called elsewhere", alone(two("Silver Road: First Light", season(0, "1-1").titled("Blue Night"), first).alt("Silver Road", "Silver Road Winter Night")), rel("Silver Road Winter Night", file), "tv 5 S00E01"},
		{"the season may be called so", alone(two("Silver Road: First Light", season(0, "1-1").titled("Blue Night"), first).alt("Silver Road", "Silver Road TV")), rel("Silver Road TV", file), "tv 5 -"},
		{"and so may one of two seasons", alone(two("Silver Road: First Light", season(0, "1-1").titled("Blue Night"), first, second).alt("Silver Road", "Silver Road Winter Night")), rel("Silver Road Winter Night", file), "tv 5 -"},
		{"a special that has the part behind another title", alone(two("Silver Road", season(0, "1-2").titled("Silver Road: Winter Night", "Blue Night"), first).alt("Gin no Michi", "Gin no Michi Winter Night")), rel("Gin no Michi Winter Night", eps(1)), "tv 5 S00E01"},
		{"numbered specials that have it", alone(two("Silver Road", season(0, "1-3").titled("Silver Road: Winter Night 1", "Silver Road: Winter Night 2", "Blue Night"), first).alt("Gin no Michi", "Gin no Michi Winter Night")), rel("Gin no Michi Winter Night", eps(2)), "tv 5 S00E02"},
		{"so has a season", alone(two("Silver Road", season(0, "1-2").titled("Silver Road: Winter Night", "Blue Night"), first, second.named("Silver Road: Winter Night")).alt("Gin no Michi", "Gin no Michi Winter Night")), rel("Gin no Michi Winter Night", eps(1)), "tv 5 S02E01"},
		{"a number behind the title, without an episode", alone(two("Silver Road", season(0, "1-2"), first)), rel("Silver Road 2", file), "tv 5 S01E02"},
		{"there is a second season", alone(two("Silver Road", first, second)), rel("Silver Road 2", file), "tv 5 -"},
		{"there is a second cour", alone(two("Silver Road", season(1, "1-12@2018-04-07", "13-24@2018-10-06"))), rel("Silver Road 2", file), "tv 5 -"},
		{"the show has titles of a second season", alone(two("Silver Road", first).alt("Gin no Michi 2nd Season")), rel("Silver Road 2", file), "tv 5 -"},
		{"a special has the number", alone(two("Silver Road", season(0, "1-2").titled("Silver Road 1", "Silver Road 2"), first)), rel("Silver Road 2", file), "tv 5 -"},
		{"a number that is no episode's", alone(two("Silver Road", first)), rel("Silver Road 20", file), "tv 5 -"},
		{"specials that are parts of one work", alone(two("Silver Road", season(0, "1-3").titled("Blue Night 1", "Blue Night 2", "Blue Night 3"), first).alt("Silver Road Winter Night")), rel("Silver Road Winter Night", eps(2)), "tv 5 S00E02"},
		{"specials of several works", alone(two("Silver Road", season(0, "1-3").titled("Blue Night 1", "Blue Night 2", "Red Night 3"), first).alt("Silver Road Winter Night")), rel("Silver Road Winter Night", eps(2)), "tv 5 -"},
		{"a special that is told by its year", alone(two("Silver Road", season(0, "1-2@2021-03-06").titled("Silver Road (2021) 1", "Silver Road (2021) 2"), first)), rel("Silver Road", of(2021), eps(2)), "tv 5 S00E02"},
		{"a year in which episodes aired", alone(two("Silver Road", season(0, "1-2@2021-03-06"), first, second)), rel("Silver Road", of(2019), eps(2)), "tv 5 S02E02"},
		{"a year in which both may have aired", alone(two("Silver Road", season(0, "1-2").titled("Silver Road (2019) 1", "Silver Road (2019) 2"), first, second)), rel("Silver Road", of(2019), eps(2)), "tv 5 -"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if d := decideOne(row.w, row.rel); outcome(d) != row.want {
				t.Errorf("%s, want %s: %s %v", outcome(d), row.want, d.Reason, d.Steps)
			}
		})
	}
}
