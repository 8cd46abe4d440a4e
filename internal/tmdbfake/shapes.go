package tmdbfake

import (
	"fmt"
	"time"
)

// romaji returns an alternative title in Latin letters.
func romaji(title string) AltTitle { return AltTitle{Country: "JP", Title: title, Type: "Romaji"} }

// alt returns an alternative title without a type, as most are.
func alt(country, title string) AltTitle { return AltTitle{Country: country, Title: title} }

// tr returns a translation.
func tr(language, country, name, overview string) Translation {
	return Translation{Language: language, Country: country, Name: name, Overview: overview}
}

// run returns a run of weekly episodes.
func run(first, last int, start Day) Run { return Run{First: first, Last: last, Start: start} }

// one returns a season of one run from episode 1.
func one(number, episodes int, start Day) Season {
	return Season{Number: number, Runs: []Run{run(1, episodes, start)}}
}

// invented returns a Japanese series without seasons.
func invented(id int, name, original string, popularity float64, first Day) Work {
	return Work{
		Kind: TV, ID: id, Name: name, Original: original, Language: "ja", Country: "JP", Date: first, Popularity: popularity,
		Votes: int(popularity * 12), Genres: []int{16, 10765}, Status: "Ended", Type: "Scripted", Runtime: 24,
	}
}

// film returns a Japanese film.
func film(id int, name, original string, popularity float64, release Day) Work {
	return Work{
		Kind: Movie, ID: id, Name: name, Original: original, Language: "ja", Country: "JP", Date: release, Popularity: popularity,
		Votes: int(popularity * 20), Genres: []int{16, 14}, Status: "Released", Runtime: 104,
	}
}

// Authored returns the catalogue that is written in code: the shapes that anime
// takes on TMDB, as invented works with ids from 9,000,000, and a few dozen
// well-known works with their real ids.
func Authored() (*Catalogue, error) { return NewCatalogue(append(shapes(), known()...)) }

// date is shorthand for MakeDay.
func date(year, month, day int) Day { return MakeDay(year, time.Month(month), day) }

// shapes returns the invented works, A to P: one for each shape. Their ids can't be
// taken for facts.
func shapes() []Work {
	ws := []Work{mergedCours(), splitSeasons(), rollingNumbers(), giantSeason(), manySpecials()}
	ws = append(ws, namesakes()...)
	ws = append(ws, filmAndSeries()...)
	ws = append(ws, punctuation()...)
	return append(ws, oddShapes()...)
}

// mergedCours is A: one season that fans count as two.
func mergedCours() Work {
	w := invented(9_000_001, "Lantern Harbor", "灯り港のミリエ", 41.7, date(2023, 9, 29))
	w.Overview = "A lamplighter outlives her city and walks back along every harbour she once kept lit."
	w.Alt = []AltTitle{romaji("Akariminato no Mirie"), alt("US", "Lantern Harbor Season 2"), alt("JP", "灯り港のミリエ 第2期")}
	w.Trans = []Translation{
		tr("ko", "KR", "등불 항구의 미리에", "등불지기는 자신의 도시보다 오래 살아남았다."),
		tr("de", "DE", "Der Laternenhafen", "Eine Laternenwärterin überlebt ihre Stadt."),
		tr("zh", "CN", "灯港的米莉耶", ""),
	}
	w.Seasons = []Season{
		{Number: 1, Runs: []Run{run(1, 28, date(2023, 9, 29)), run(29, 38, date(2026, 1, 16))}, Titles: map[int]string{
			1: "The Last Lamp", 2: "Oil and Salt", 3: "A Harbour Without Ships", 28: "Where the Light Went", 29: "The Second Walk",
		}},
		one(0, 4, date(2023, 10, 6)),
	}
	w.External = External{IMDb: "tt99000001", TVDB: 99_000_001, Wikidata: "Q999000001"}
	w.Status = "Returning Series"
	return w
}

// splitSeasons is B: two seasons of twelve, the second with its own title.
func splitSeasons() Work {
	w := invented(9_000_002, "Glass Orbit", "硝子の軌道", 23.9, date(2019, 4, 7))
	w.Overview = "Six cadets keep a greenhouse turning above a world that has stopped answering."
	w.Alt = []AltTitle{romaji("Garasu no Kidou"), alt("US", "Glass Orbit: Perihelion"), romaji("Garasu no Kidou: Kinjitsuten")}
	w.Trans = []Translation{tr("ko", "KR", "유리 궤도", ""), tr("fr", "FR", "L'Orbite de verre", "")}
	second := one(2, 12, date(2021, 4, 4))
	second.Name = "Perihelion"
	w.Seasons = []Season{one(1, 12, date(2019, 4, 7)), second}
	return w
}

// rollingNumbers is C: episode numbers run on through the seasons, most of which
// have no dates.
func rollingNumbers() Work {
	w := invented(9_000_003, "Salt Road Rovers", "塩の道の渡り手", 66.2, date(1999, 10, 20))
	w.Alt = []AltTitle{romaji("Shio no Michi no Watarite")}
	w.Trans = []Translation{tr("ko", "KR", "소금길의 방랑자들", "")}
	w.Seasons = []Season{
		one(1, 61, date(1999, 10, 20)),
		{Number: 2, Runs: []Run{run(62, 77, NoDay)}},
		{Number: 3, Runs: []Run{run(78, 92, NoDay)}},
		{Number: 4, Runs: []Run{run(93, 130, NoDay)}},
		{Number: 5, Runs: []Run{run(131, 143, NoDay)}, Undate: true},
		{Number: 6, Runs: []Run{run(144, 195, date(2003, 6, 1))}},
	}
	w.Groups = []Group{
		wholeGroup(&w, "9000000000000000000c0002", "Absolute"),
		{ID: "9000000000000000000c0006", Name: "Seasons", Description: "As the makers count", Type: 6, Parts: []GroupPart{
			{Name: "Season 1", Order: 1, Episodes: refs(1, 1, 61)},
			{Name: "Season 2", Order: 2, Episodes: append(refs(2, 62, 77), refs(3, 78, 92)...)},
		}},
	}
	return w
}

// giantSeason is D: 366 episodes and only one season.
func giantSeason() Work {
	w := invented(9_000_004, "Paper Sentinels", "紙の番兵", 58.1, date(2004, 10, 5))
	w.Alt = []AltTitle{romaji("Kami no Banpei")}
	w.Trans = []Translation{tr("ko", "KR", "종이 파수꾼", ""), tr("pt", "BR", "Sentinelas de Papel", "")}
	w.Seasons = []Season{one(1, 366, date(2004, 10, 5))}
	return w
}

// manySpecials is E: 43 specials, two of which were broadcast between
// episodes of season 1.
func manySpecials() Work {
	w := invented(9_000_005, "Quartermaster of Rain", "雨の補給長", 12.4, date(2016, 1, 8))
	w.Alt = []AltTitle{romaji("Ame no Hokyuuchou")}
	w.Seasons = []Season{
		{Number: 0, Runs: []Run{run(1, 41, date(2016, 12, 2)), run(42, 43, date(2016, 2, 10))}, Titles: map[int]string{
			1: "Picture Drama: The Dry Week", 2: "Picture Drama: Umbrellas", 42: "Recap: So Far, So Wet", 43: "Behind the Clouds",
		}},
		one(1, 24, date(2016, 1, 8)),
	}
	return w
}

// namesakes is F: an original and its remake under one English name.
func namesakes() []Work {
	old := invented(9_000_006, "Night Parade Bureau", "夜行局", 8.3, date(1998, 4, 6))
	old.Alt = []AltTitle{romaji("Yakoukyoku")}
	old.Seasons = []Season{one(1, 26, date(1998, 4, 6))}
	remake := invented(9_000_007, "Night Parade Bureau", "夜行局 -再始動-", 29.5, date(2021, 7, 3))
	remake.Alt = []AltTitle{romaji("Yakoukyoku: Saishidou"), romaji("Yakoukyoku (2021)")}
	remake.Seasons = []Season{one(1, 13, date(2021, 7, 3))}
	return []Work{old, remake}
}

// filmAndSeries is G: a film and a series of one title, and a season that retells a
// film.
func filmAndSeries() []Work {
	s := invented(9_000_008, "The Clockmaker's Winter", "時計師の冬", 17.7, date(2015, 10, 4))
	s.Alt = []AltTitle{romaji("Tokeishi no Fuyu")}
	arc := one(2, 7, date(2021, 10, 10))
	arc.Name = "Midnight Train Arc"
	s.Seasons = []Season{one(1, 12, date(2015, 10, 4)), arc}
	m := film(9_000_101, "The Clockmaker's Winter", "時計師の冬", 21.3, date(2013, 12, 14))
	m.Alt = []AltTitle{romaji("Tokeishi no Fuyu")}
	m.Overview = "Before the war of the hours, a repairman hears a watch that runs on tomorrow."
	arcFilm := film(9_000_104, "The Clockmaker's Winter: Midnight Train", "劇場版 時計師の冬 真夜中列車", 35.8, date(2020, 10, 16))
	arcFilm.Alt = []AltTitle{romaji("Gekijouban Tokeishi no Fuyu: Mayonaka Ressha")}
	arcFilm.Trans = []Translation{tr("ko", "KR", "극장판 시계공의 겨울: 한밤의 열차", "")}
	return []Work{s, m, arcFilm}
}

// punctuation is H: titles whose punctuation distinguishes them.
func punctuation() []Work {
	var ws []Work
	for i, t := range []struct {
		name, original, romaji string
		episodes               int
	}{
		{"Re:Null −Start−", "Re:ヌル −スタート−", "Re:Null Start", 25},
		{"K-Off!", "けいおふ!", "K-Off", 13},
		{"K-Off!!", "けいおふ!!", "Keiofu!!", 26},
		{".hex//ROOT", ".hex//ROOT", "dot hex root", 26},
		{"96", "96-クロク-", "96 Kuroku", 23},
		{"Bounty × Bounty", "バウンティ×バウンティ", "Bounty x Bounty", 62},
		{"C³", "シーキューブ", "C Cube", 12},
	} {
		w := invented(9_000_010+i, t.name, t.original, 30-float64(3*i), date(2008+i, 4, 3+i))
		w.Alt = []AltTitle{romaji(t.romaji)}
		w.Seasons = []Season{one(1, t.episodes, date(2008+i, 4, 3+i))}
		ws = append(ws, w)
	}
	return ws
}

// refs returns the episodes first to last of a season.
func refs(season, first, last int) []EpisodeRef {
	var out []EpisodeRef
	for n := first; n <= last; n++ {
		out = append(out, EpisodeRef{Season: season, Number: n})
	}
	return out
}

// wholeGroup returns an absolute order of all regular episodes.
func wholeGroup(w *Work, id, name string) Group {
	g := AbsoluteGroup(w)
	g.ID, g.Name, g.Description = id, name, fmt.Sprintf("%d episodes, counted through", len(g.Parts[0].Episodes))
	return g
}
