package match

import "testing"

func TestSeasonsNamesAreComparedInOneChinese(t *testing.T) {
	e := series(1, "Lantern Keepers", "灯守の町", 2019, season(1, "1-12"), season(2, "1-12"), season(3, "1-12"))
	e.Titles = append(e.Titles, AltTitle{Title: "守灯人", Region: "CN"}, AltTitle{Title: "守燈人", Region: "TW"})
	e.Seasons[1].Name, e.Seasons[2].Name = "守灯人 阵营编", "守灯人 游郭篇"
	titles := entryTitles(e)
	for text, want := range map[string]int{"守燈人 陣營編": 2, "守燈人 陣營篇": 2, "守灯人 游郭篇": 3, "守燈人 遊廓篇": 0, "守燈人": 0} {
		arc := ArcTitle{Title: text, Remainder: textAfterTitle(text, titles)}
		if got := seasonNamedIn(e, titles, arc.Title, arc.Title, arc.Remainder); got != want {
			t.Errorf("%s is season %d, want %d", text, got, want)
		}
	}
}

func TestSeasonsNamesAreAskedForInOneChinese(t *testing.T) {
	for _, row := range []struct {
		name    string
		regions []string
		want    string
	}{
		{"China before Taiwan", []string{"TW", "CN"}, "zh-CN"},
		{"Taiwan before Hong Kong", []string{"HK", "TW"}, "zh-TW"},
		{"Hong Kong", []string{"US", "HK"}, "zh-HK"},
		{"no land", []string{"US"}, "zh-CN"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var titles []entryTitle
			for _, region := range row.regions {
				titles = append(titles, entryTitle{alt: AltTitle{Region: region}})
			}
			if _, got := foreignArcTitle([]ArcTitle{{Title: "守燈人 陣營篇", Remainder: "陣營篇"}}, titles); got != row.want {
				t.Errorf("asked in %s, want %s", got, row.want)
			}
		})
	}
}

func TestASeasonThatIsCountedWithinAPartOfTheShow(t *testing.T) {
	dress := func(names ...string) *Entry {
		seasons := []Season{season(1, "1-25@2021-04-03"), season(2, "1-13@2022-01-04")}
		for i, name := range names {
			seasons = append(seasons, season(3+i, "1-13@2023-01-04").named(name))
		}
		return series(40, "Paper Duel Over", "紙の決闘", 2021, seasons...).alt("Paper Duel: Will", "Paper Duel: Star", "かみ闘 星",
			"かみ闘 意志")
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
		{"it has that name", dress(arcs...), nil, "Paper Duel Will", "", 3, "tv 40 S04E06"},
		{
			"it has that name in the language of the title", dress(arcs...),
			map[int]string{4: "かみ闘 意志 第3期"},
			"かみ闘 意志", "", 3,
			"tv 40 S04E06",
		},
		{
			"no other is called by the number", dress("Paper Duel: Will", "Paper Duel: Star"), nil, "Paper Duel Will", "", 3,
			"tv 40 S03E06",
		},
		{
			"another title is the season's whole name", dress(arcs...), nil, "かみ闘 星", "Paper Duel: Star Winter Arc", 5,
			"tv 40 S06E06",
		},
		{"which is that of the season of the number", dress(arcs...), nil, "かみ闘 星", "Paper Duel: Star", 5, "tv 40 S05E06"},
		{
			"the season of the number may be called anything",
			dress("Paper Duel: Will", "Season 4", "Season 5", "Paper Duel: Star Winter Arc"), nil, "かみ闘 星",
			"Paper Duel: Star Winter Arc", 5, "tv 40 S05E06",
		},
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

func TestSeasonsAreFoundByAWordOfTheirNames(t *testing.T) {
	// A show whose seasons have names in English, and titles in Japanese that TMDB lists without saying of which season.
	harbor := func(name, second, third string, alt ...string) *world {
		e := series(3, name, "塩港", 2018, season(1, "1-12@2018-04-07"), season(2, "1-12@2019-04-06").named(second),
			season(3, "1-13@2020-04-04").named(third))
		return &world{entries: []*Entry{e.alt(alt...)}}
	}
	for _, row := range []struct {
		name  string
		w     *world
		title string
		want  string
	}{
		{
			"the name of a place stays in a translation",
			harbor("Salt Harbor", "Salt Harbor: Battle of Yokohama", "Salt Harbor: North Wind", "Shio no Minato",
				"Shio no Minato: Yokohama Hen"), "Shio no Minato Yokohama Hen", "tv 3 S02E03",
		},
		{
			"a loanword does",
			harbor("Salt Harbor", "Salt Harbor: Summer*Love Song", "Salt Harbor: North Wind", "Shio no Minato",
				"Shio no Minato: Natsu Love Song"), "Shio no Minato Natsu Love Song", "tv 3 S02E03",
		},
		{
			"another spelling of the show's title",
			harbor("Salt Harbor", "Siono Minato San", "Siono Minato Shichi", "Shio no Minato", "Shio no Minato Shichi"),
			"Shio no Minato Shichi", "tv 3 S03E03",
		},
		{
			"a sign that is spelt out", harbor("Salt Harbor", "Salt Harbor Plus", "Salt Harbor: North Wind", "Salt Harbor +"),
			"Salt Harbor +", "tv 3 S02E03",
		},
		{
			"a word before the show's title",
			harbor("Salt Harbor", "Hello Salt Harbor", "Salt Harbor: North Wind", "Shio no Minato", "Hello Shio no Minato"),
			"Hello Shio no Minato", "tv 3 S02E03",
		},
		{
			"the show's own subtitle",
			harbor("Salt Harbor: Sylvan Episode", "Salt Harbor: Tether Episode", "Salt Harbor: North Wind", "Salt Harbor",
				"Salt Harbor: Sylvan Hen"), "Salt Harbor Sylvan Hen", "tv 3 S01E03",
		},
		{
			"words of two seasons",
			harbor("Salt Harbor", "Salt Harbor: Battle of Yokohama", "Salt Harbor: Nagasaki Wind", "Shio no Minato",
				"Shio no Minato: Yokohama Nagasaki"), "Shio no Minato Yokohama Nagasaki", "tv 3 -",
		},
		{
			"a word of a shorter title of the show",
			harbor("Salt Harbor", "Salt Harbor: Dawn of the Kitan", "Salt Harbor: North Wind", "Shio no Minato",
				"Shio no Minato: Kitan", "Shio no Minato: Aoi Kitan"), "Shio no Minato Aoi Kitan", "tv 3 -",
		},
		{
			"a translation of it that is shorter",
			harbor("Salt Harbor", "Salt Harbor: Yokohama Saga", "Salt Harbor: North Wind", "Shio no Minato",
				"Salt Harbor: Yokohama Saga", "Shio no Minato: Yokohama Fujouou Hen"), "Shio no Minato Yokohama Fujouou Hen",
			"tv 3 S02E03",
		},
		{
			"a shorter title with a word in another script",
			harbor("Salt Harbor", "Salt Harbor: Summer*Love Song", "Salt Harbor: North Wind", "Salt Harbor 夏 Love Song",
				"Shio no Minato", "Shio no Minato: Natsu Love Song"), "Shio no Minato Natsu Love Song", "tv 3 S02E03",
		},
		{
			"how the show's title is read",
			&world{entries: []*Entry{series(4, "Magical Lamp", "おひさまランプ", 2018, season(1, "1-51@2018-04-07"),
				season(2, "1-49@2019-04-06").named("Motto! Ohisama Lamp")).alt("Ohisama Ranpu")}}, "Ohisama Ranpu", "tv 4 S01E03",
		},
		{
			"the show's title alone", harbor("Salt Harbor", "Shio no Minato Next", "Shio no Minato Last", "Shio no Minato"),
			"Shio no Minato", "tv 3 -",
		},
		{
			"a number of another season",
			harbor("Salt Harbor 2199", "Salt Harbor 2202", "Salt Harbor: Ship of Yokohama 2205", "Ship of Yokohama 2199"),
			"Ship of Yokohama 2199", "tv 3 -",
		},
		{
			"seasons without names",
			harbor("Salt Harbor", "Season 2", "Season 3", "Shio no Minato", "Shio no Minato: Season Hen"),
			"Shio no Minato Season Hen", "tv 3 -",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			if d := decideOne(row.w, rel(row.title, eps(3))); outcome(d) != row.want {
				t.Errorf("%s, want %s: %s %v", outcome(d), row.want, d.Reason, d.Steps)
			}
		})
	}
}
