package match

import "testing"

func TestSeasonsAreFoundByAWordOfTheirNames(t *testing.T) {
	// A show whose seasons have names in English, and titles in Japanese that TMDB lists without saying of which season.
	harbor := func(name, second, third string, alt ...string) *world {
		e := series(3, name, "塩港", 2018, season(1, "1-12@2018-04-07"), season(2, "1-12@2019-04-06").named(second), season(3, "1-13@2020-04-04").named(third))
		return &world{entries: []*Entry{e.alt(alt...)}}
	}
	for _, row := range []struct {
		name  string
		w     *world
		title string
		want  string
	}{
		{"the name of a place stays in a translation", harbor("Salt Harbor", "Salt Harbor: Battle of Yokohama", "Salt Harbor: North Wind", "Shio no Minato", "Shio no Minato: Yokohama Hen"), "Shio no Minato Yokohama Hen", "tv 3 S02E03"},
		{"a loanword does", harbor("Salt Harbor", "Salt Harbor: Summer*Love Song", "Salt Harbor: North Wind", "Shio no Minato", "Shio no Minato: Natsu Love Song"), "Shio no Minato Natsu Love Song", "tv 3 S02E03"},
		{"another spelling of the show's title", harbor("Salt Harbor", "Siono Minato San", "Siono Minato Shichi", "Shio no Minato", "Shio no Minato Shichi"), "Shio no Minato Shichi", "tv 3 S03E03"},
		{"a sign that is spelt out", harbor("Salt Harbor", "Salt Harbor Plus", "Salt Harbor: North Wind", "Salt Harbor +"), "Salt Harbor +", "tv 3 S02E03"},
		{"a word before the show's title", harbor("Salt Harbor", "Hello Salt Harbor", "Salt Harbor: North Wind", "Shio no Minato", "Hello Shio no Minato"), "Hello Shio no Minato", "tv 3 S02E03"},
		{"the show's own subtitle", harbor("Salt Harbor: Sylvan Episode", "Salt Harbor: Tether Episode", "Salt Harbor: North Wind", "Salt Harbor", "Salt Harbor: Sylvan Hen"), "Salt Harbor Sylvan Hen", "tv 3 S01E03"},
		{"words of two seasons", harbor("Salt Harbor", "Salt Harbor: Battle of Yokohama", "Salt Harbor: Nagasaki Wind", "Shio no Minato", "Shio no Minato: Yokohama Nagasaki"), "Shio no Minato Yokohama Nagasaki", "tv 3 -"},
		{"a word of a shorter title of the show", harbor("Salt Harbor", "Salt Harbor: Dawn of the Kitan", "Salt Harbor: North Wind", "Shio no Minato", "Shio no Minato: Kitan", "Shio no Minato: Aoi Kitan"), "Shio no Minato Aoi Kitan", "tv 3 -"},
		{"a translation of it that is shorter", harbor("Salt Harbor", "Salt Harbor: Yokohama Saga", "Salt Harbor: North Wind", "Shio no Minato", "Salt Harbor: Yokohama Saga", "Shio no Minato: Yokohama Fujouou Hen"), "Shio no Minato Yokohama Fujouou Hen", "tv 3 S02E03"},
		{"a shorter title with a word in another script", harbor("Salt Harbor", "Salt Harbor: Summer*Love Song", "Salt Harbor: North Wind", "Salt Harbor 夏 Love Song", "Shio no Minato", "Shio no Minato: Natsu Love Song"), "Shio no Minato Natsu Love Song", "tv 3 S02E03"},
		{"how the show's title is read", &world{entries: []*Entry{series(4, "Magical Lamp", "おひさまランプ", 2018, season(1, "1-51@2018-04-07"), season(2, "1-49@2019-04-06").named("Motto! Ohisama Lamp")).alt("Ohisama Ranpu")}}, "Ohisama Ranpu", "tv 4 S01E03"},
		{"the show's title alone", harbor("Salt Harbor", "Shio no Minato Next", "Shio no Minato Last", "Shio no Minato"), "Shio no Minato", "tv 3 -"},
		{"a number of another season", harbor("Salt Harbor 2199", "Salt Harbor 2202", "Salt Harbor: Ship of Yokohama 2205", "Ship of Yokohama 2199"), "Ship of Yokohama 2199", "tv 3 -"},
		{"seasons without names", harbor("Salt Harbor", "Season 2", "Season 3", "Shio no Minato", "Shio no Minato: Season Hen"), "Shio no Minato Season Hen", "tv 3 -"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if d := decideOne(row.w, rel(row.title, eps(3))); outcome(d) != row.want {
				t.Errorf("%s, want %s: %s %v", outcome(d), row.want, d.Reason, d.Steps)
			}
		})
	}
}
