package match

import (
	"testing"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/release"
)

// Of a name in two scripts both titles are a work's. Where one is but a word, or a piece of the name, that a work has,
// and the other is none of its titles, another work may be meant.
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
			if d.Status != Matched || d.Confidence <= maxDoubtfulConfidence != row.doubt {
				t.Errorf("%s with %.2f: %s %v", outcome(d), d.Confidence, d.Reason, d.Steps)
			}
		})
	}
}

// A bracket behind the title is a part of it, unless it is another title of the show.
func TestAnotherTitleInBracketsIsNoArc(t *testing.T) {
	one := series(62, "Lantern Folk", "守燈之人", 2020, season(1, "1-12")).alt("Tourou no Hito")
	two := series(63, "Silver Road", "銀の道", 2020, season(1, "1-12"), season(2, "1-12")).alt("Gin no Michi Zoku")
	for name, doubt := range map[string]bool{
		"Lantern Folk (Tourou no Hito) - 03.mkv":   false,
		"Lantern Folk (Live Action) - 03.mkv":      true,
		"Lantern Folk (Live Action)/03.mkv":        true,
		"Lantern Folk (Dual Audio)/03.mkv":         false,
		"Silver Road (Gin no Michi Zoku) - 03.mkv": true, // the second season's
	} {
		d := decideOne(&world{entries: []*Entry{one, two}}, release.Parse(name))
		if d.Status != Matched || d.Confidence <= maxDoubtfulConfidence != doubt {
			t.Errorf("%s: %s with %.2f: %s %v", name, outcome(d), d.Confidence, d.Reason, d.Steps)
		}
	}
}

// A film's name may count it, and call it otherwise than TMDB does: what stands before the word for a film is told by
// the year, and a part of it that no title has leaves it likely.
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
		{
			"another subtitle, and the year", nil, rel("Silver Road Movie 2 The Boat's Treasure", as(release.Movie), of(1994)),
			"movie 50",
		},
		{
			"two of that year",
			[]*Entry{film(53, "Silver Road: Night", "銀の道 夜", 1994)},
			rel("Silver Road Movie 2 The Boat's Treasure", as(release.Movie), of(1994)), "ambiguous",
		},
		{"none of that year", nil, rel("Silver Road Movie 2 The Boat's Treasure", as(release.Movie), of(1998)), "unmatched"},
		{"a part of it", nil, rel("Tide ~Graduation Day~ Movie Part 1", as(release.Movie), inPart(1)), "movie 52"},
		{"a second film of it", nil, rel("Tide ~Graduation Day~ Movie 2", as(release.Movie)), "ambiguous"},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := decideOne(&world{entries: append([]*Entry{boat, train, photo}, row.with...)}, row.rel)
			if outcome(d) != row.want || d.Confidence > maxDoubtfulConfidence {
				t.Errorf("%s with %.2f, want %s: %s %v", outcome(d), d.Confidence, row.want, d.Reason, d.Steps)
			}
		})
	}
}

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
		{
			"the only season besides the first", alone(two("Silver Road", first, second).alt("Silver Road Revenge")),
			rel("Silver Road Revenge", eps(3)), "tv 5 S02E03",
		},
		{
			"there are three", alone(two("Silver Road", first, second, season(3, "1-12@2020-04-04")).alt("Silver Road Revenge")),
			rel("Silver Road Revenge", eps(3)), "tv 5 -",
		},
		{
			"as many specials", alone(two("Silver Road", season(0, "1-4"), first, second).alt("Silver Road Revenge")),
			rel("Silver Road Revenge", eps(3)), "tv 5 -",
		},
		{
			"the first has a later cour",
			alone(two("Silver Road", season(1, "1-12@2018-04-07", "13-24@2018-10-06"), second).alt("Silver Road Revenge")),
			rel("Silver Road Revenge", eps(3)), "tv 5 -",
		},
		{
			"the show is called by a part itself",
			alone(two("Silver Road: First Light", first, second).alt("Silver Road", "Silver Road Revenge")),
			rel("Silver Road Revenge", eps(3)), "tv 5 -",
		},
		{
			"after a short form of the title", alone(two("Silver Road", first, second).alt("Road", "Road Hikari")),
			rel("Road Hikari", eps(3)), "tv 5 -",
		},
		{
			"the second has another name after the same title",
			alone(two("Silver Road", first, second.named("Gin no Michi Sora")).alt("Gin no Michi", "Gin no Michi Umi")),
			rel("Gin no Michi Umi", eps(3)), "tv 5 -",
		},
		{
			"the second has another name",
			alone(two("Silver Road", first, second.named("Silver Road: Blue Sky")).alt("Silver Road Revenge")),
			rel("Silver Road Revenge", eps(3)), "tv 5 -",
		},
		{
			"a second season of a season with a name",
			alone(two("Silver Road", first, second, season(3, "1-12@2020-04-04").named("Silver Road: Act II"),
				season(4, "1-12@2021-04-03"))), rel("Silver Road - Act II", inSeason(2), eps(3)), "tv 5 S04E03",
		},
		{
			"the only special, without an episode",
			alone(two("Silver Road", season(0, "1-1"), first).alt("Silver Road Winter Night")),
			rel("Silver Road Winter Night", file), "tv 5 S00E01",
		},
		{
			"the only special, and the file is the first",
			alone(two("Silver Road", season(0, "1-1"), first).alt("Silver Road Winter Night")),
			rel("Silver Road Winter Night", eps(1)), "tv 5 S00E01",
		},
		{
			"the only special, and the file is the second",
			alone(two("Silver Road", season(0, "1-1"), first).alt("Silver Road Winter Night")),
			rel("Silver Road Winter Night", eps(2)), "tv 5 -",
		},
		{
			"the only special, and the file is the seventh",
			alone(two("Silver Road", season(0, "1-1"), first).alt("Silver Road Winter Night")),
			rel("Silver Road Winter Night", eps(7)), "tv 5 S01E07",
		},
		{
			"a special of a date",
			alone(two("Silver Road", season(0, "1-3@2020-07-01"), first)), rel("Silver Road", special("OVA"), on("2020-07-08")),
			"tv 5 S00E02",
		},
		{
			"a date of a special alone",
			alone(two("Silver Road", season(0, "1-3@2020-07-01"), first)), rel("Silver Road", on("2020-07-15"), file),
			"tv 5 S00E03",
		},
		{
			"a date that no special has",
			alone(two("Silver Road", season(0, "1-3@2020-07-01"), first)), rel("Silver Road", special("OVA"), on("2020-07-09")),
			"tv 5 -",
		},
		{
			"a date of two specials",
			alone(two("Silver Road", season(0, "1-1@2020-07-01", "2-2@2020-07-01"), first)),
			rel("Silver Road", special("OVA"), on("2020-07-01")), "tv 5 -",
		},
		{
			"a date of a special and of an episode",
			alone(two("Silver Road", season(0, "1-3@2020-07-01"), season(1, "1-12@2020-07-01"))),
			rel("Silver Road", on("2020-07-08"), file), "tv 5 -",
		},
		{
			"the first of two specials", alone(two("Silver Road", season(0, "1-2"), first).alt("Silver Road Winter Night")),
			rel("Silver Road Winter Night", eps(1)), "tv 5 -",
		},
		{
			"the only special, and two seasons",
			alone(two("Silver Road", season(0, "1-1"), first, second).alt("Silver Road Winter Night")),
			rel("Silver Road Winter Night", eps(1)), "tv 5 -",
		},
		{
			"the only special, and the subtitle may be the show's",
			alone(two("Silver Road: First Light", season(0, "1-1"), first).alt("Silver Road", "Silver Road Winter Night")),
			rel("Silver Road Winter Night", eps(1)), "tv 5 -",
		},
		{
			"one of two specials", alone(two("Silver Road", season(0, "1-2"), first).alt("Silver Road Winter Night")),
			rel("Silver Road Winter Night", file), "tv 5 -",
		},
		{
			"the only special, and the title is what it is called elsewhere",
			alone(two("Silver Road: First Light", season(0, "1-1").titled("Blue Night"), first).alt("Silver Road",
				"Silver Road Winter Night")), rel("Silver Road Winter Night", file), "tv 5 S00E01",
		},
		{
			"the season may have that name",
			alone(two("Silver Road: First Light", season(0, "1-1").titled("Blue Night"), first).alt("Silver Road",
				"Silver Road TV")), rel("Silver Road TV", file), "tv 5 -",
		},
		{
			"and so may one of two seasons",
			alone(two("Silver Road: First Light", season(0, "1-1").titled("Blue Night"), first, second).alt("Silver Road",
				"Silver Road Winter Night")), rel("Silver Road Winter Night", file), "tv 5 -",
		},
		{
			"a special that has the part after another title",
			alone(two("Silver Road", season(0, "1-2").titled("Silver Road: Winter Night", "Blue Night"),
				first).alt("Gin no Michi", "Gin no Michi Winter Night")), rel("Gin no Michi Winter Night", eps(1)), "tv 5 S00E01",
		},
		{
			"numbered specials that have it",
			alone(two("Silver Road",
				season(0, "1-3").titled("Silver Road: Winter Night 1", "Silver Road: Winter Night 2", "Blue Night"),
				first).alt("Gin no Michi", "Gin no Michi Winter Night")), rel("Gin no Michi Winter Night", eps(2)), "tv 5 S00E02",
		},
		{
			"so has a season",
			alone(two("Silver Road", season(0, "1-2").titled("Silver Road: Winter Night", "Blue Night"), first,
				second.named("Silver Road: Winter Night")).alt("Gin no Michi", "Gin no Michi Winter Night")),
			rel("Gin no Michi Winter Night", eps(1)), "tv 5 S02E01",
		},
		{
			"a number after the title, without an episode", alone(two("Silver Road", season(0, "1-2"), first)),
			rel("Silver Road 2", file), "tv 5 S01E02",
		},
		{"there is a second season", alone(two("Silver Road", first, second)), rel("Silver Road 2", file), "tv 5 -"},
		{
			"there is a second cour", alone(two("Silver Road", season(1, "1-12@2018-04-07", "13-24@2018-10-06"))),
			rel("Silver Road 2", file), "tv 5 -",
		},
		{
			"the show has titles of a second season", alone(two("Silver Road", first).alt("Gin no Michi 2nd Season")),
			rel("Silver Road 2", file), "tv 5 -",
		},
		{
			"a special has the number",
			alone(two("Silver Road", season(0, "1-2").titled("Silver Road 1", "Silver Road 2"), first)),
			rel("Silver Road 2", file), "tv 5 -",
		},
		{"a number that is no episode's", alone(two("Silver Road", first)), rel("Silver Road 20", file), "tv 5 -"},
		{
			"specials that are parts of one work",
			alone(two("Silver Road", season(0, "1-3").titled("Blue Night 1", "Blue Night 2", "Blue Night 3"),
				first).alt("Silver Road Winter Night")), rel("Silver Road Winter Night", eps(2)), "tv 5 S00E02",
		},
		{
			"specials of several works",
			alone(two("Silver Road", season(0, "1-3").titled("Blue Night 1", "Blue Night 2", "Red Night 3"),
				first).alt("Silver Road Winter Night")), rel("Silver Road Winter Night", eps(2)), "tv 5 -",
		},
		{
			"a special that its year identifies",
			alone(two("Silver Road", season(0, "1-2@2021-03-06").titled("Silver Road (2021) 1", "Silver Road (2021) 2"), first)),
			rel("Silver Road", of(2021), eps(2)), "tv 5 S00E02",
		},
		{
			"a year in which episodes aired", alone(two("Silver Road", season(0, "1-2@2021-03-06"), first, second)),
			rel("Silver Road", of(2019), eps(2)), "tv 5 S02E02",
		},
		{
			"a year in which both may have aired",
			alone(two("Silver Road", season(0, "1-2").titled("Silver Road (2019) 1", "Silver Road (2019) 2"), first, second)),
			rel("Silver Road", of(2019), eps(2)), "tv 5 -",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			if d := decideOne(row.w, row.rel); outcome(d) != row.want {
				t.Errorf("%s, want %s: %s %v", outcome(d), row.want, d.Reason, d.Steps)
			}
		})
	}
}

// Messages for people are in words: no Go list, no number that stands for "unknown".
func TestWords(t *testing.T) {
	title := []release.Title{{Text: "Toradora!"}}
	for got, want := range map[lang.Text]string{
		numberListText([]int{3}):             "3",
		numberListText([]int{101, 102}):      "101 and 102",
		numberListText([]int{1, 2, 3, 7}):    "1-3 and 7",
		numberListText([]int{1, 2, 5, 7, 8}): "1, 2, 5, 7 and 8",
		numberListText(nil):                  "",
		(&placer{
			season: 1,
			numbers: []int{
				101,
				102,
			},
		}).notFoundReason(): "nothing in TMDB's seasons fits season 1, " +
			"episodes 101 and 102",
		(&placer{numbers: []int{7}}).notFoundReason():                     "nothing in TMDB's seasons fits episode 7",
		(&placer{season: 4, part: 2, numbers: []int{5}}).notFoundReason(): "TMDB's season 4 has no part 2 with number 5",
		seriesText(Series{
			Titles: title,
			Files:  make([]File, 1),
		}): `1 file as "Toradora!", wanted: any`,
		seriesText(Series{
			Titles: title, Files: make([]File, 2),
			HasSeason: true,
		}): `2 files as "Toradora!", season 0, wanted: any`,
		seriesText(Series{
			Titles: title, Files: make([]File, 2),
			Year: 2008,
		}): `2 files as "Toradora!", year 2008, wanted: any`,
		queryText(Query{
			Kind: TV,
			Text: "toradora!",
		}): `tv "toradora!"`,
		queryText(Query{
			Kind: Movie, Text: "dune", Year: 1984,
			Page: 2,
		}): `movie "dune" of 1984, page 2`,
		detailOf("title",
			scoreContender(prepareSeries(Series{Titles: title}),
				contender{hit: Hit{Kind: TV, Title: "Toradora!"}})): `"Toradora!" is one of its titles`,
		detailOf("title",
			scoreContender(prepareSeries(Series{Titles: title}),
				contender{hit: Hit{Kind: TV, Title: "Toradora"}})): `"Toradora!" is like "Toradora"`,
	} {
		if got.String() != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// detailOf is what a score says of one of its reasons.
func detailOf(name string, s scoredContender) lang.Text {
	for _, r := range s.reasons {
		if r.Name == name {
			return r.Detail
		}
	}
	return ""
}

// What a piece of a name says is not what the name says.
func TestWholeNames(t *testing.T) {
	lantern := &Entry{
		Kind: TV, ID: 1, Title: "Lantern Keepers", OriginalTitle: "灯守の町",
		Titles: []AltTitle{{Title: "Toumori no Machi"}, {Title: "Lantern Keepers 2nd Season"}},
	}
	for _, c := range []struct {
		what, name string
		also       []string
		want       bool
	}{
		{"the title", "Lantern Keepers", nil, true},
		{"in another script", "灯守の町", nil, true},
		{"with a sequel's number", "Lantern Keepers II", nil, true},
		{"spelt otherwise", "Tōmori no Machi", nil, true},
		{"with a remark", "Lantern Keepers (Uncut)", nil, true},
		{"two of its titles", "Toumori no Machi Lantern Keepers", []string{"Lantern Keepers"}, true},
		{"two readings, one of them known", "Strange Spelling", []string{"灯守の町"}, true},
		{"a piece of the name", "Lantern Keepers Gaiden", []string{"Lantern Keepers"}, false},
		{
			"a piece in another script", "Lantern Keepers -灯守の町- 疾風",
			[]string{"灯守の町- 疾風", "Lantern Keepers"},
			false,
		},
		{"something else", "Night Bureau", nil, false},
	} {
		r := rel(c.name)
		for _, a := range c.also {
			also(a)(&r)
		}
		if got := NamesWholeEntry(Group([]File{{Release: r}})[0], lantern); got != c.want {
			t.Errorf("%s: %q is %v", c.what, c.name, got)
		}
	}
}
