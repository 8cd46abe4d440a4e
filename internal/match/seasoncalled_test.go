package match

import "testing"

func TestASeasonThatIsCountedWithinAPartOfTheShow(t *testing.T) {
	dress := func(names ...string) *Entry {
		seasons := []Season{season(1, "1-25@2021-04-03"), season(2, "1-13@2022-01-04")}
		for i, name := range names {
			seasons = append(seasons, season(3+i, "1-13@2023-01-04").named(name))
		}
		return series(40, "Paper Duel Over", "紙の決闘", 2021, seasons...).alt("Paper Duel: Will", "Paper Duel: Star", "かみ闘 星", "かみ闘 意志")
	}
	arcs := []string{"Paper Duel: Will", "Paper Duel Will Season 3", "Paper Duel: Star", "Paper Duel: Star Winter Arc"}
	for _, row := range []struct {
		name  string
		entry *Entry
		in    map[int]string
		title string
		also  string
		n     int
		want  string
	}{
		{"it is called so", dress(arcs...), nil, "Paper Duel Will", "", 3, "tv 40 S04E06"},
		{"it is called so in the language of the title", dress(arcs...), map[int]string{4: "かみ闘 意志 第3期"}, "かみ闘 意志", "", 3, "tv 40 S04E06"},
		{"no other is called by the number", dress("Paper Duel: Will", "Paper Duel: Star"), nil, "Paper Duel Will", "", 3, "tv 40 S03E06"},
		{"another title is the season's whole name", dress(arcs...), nil, "かみ闘 星", "Paper Duel: Star Winter Arc", 5, "tv 40 S06E06"},
		{"which is that of the season of the number", dress(arcs...), nil, "かみ闘 星", "Paper Duel: Star", 5, "tv 40 S05E06"},
		{"the season of the number may be called anything", dress("Paper Duel: Will", "Season 4", "Season 5", "Paper Duel: Star Winter Arc"), nil, "かみ闘 星", "Paper Duel: Star Winter Arc", 5, "tv 40 S05E06"},
		{"the number is the title's own", dress(arcs...), nil, "Paper Duel: Star Winter Arc", "", 5, "tv 40 S05E06"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := rel(row.title, inSeason(row.n), eps(6))
			if row.also != "" {
				also(row.also)(&r)
			}
			res := &Resolver{Source: japanese{&world{entries: []*Entry{row.entry}}, row.in}, Options: DefaultOptions()}
			g := Group([]File{{Release: r}})[0]
			if d := res.Place(t.Context(), g.Files, res.Resolve(t.Context(), g))[0]; outcome(d) != row.want {
				t.Errorf("%s, want %s: %s %v", outcome(d), row.want, d.Reason, d.Steps)
			}
		})
	}
}
