package match

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/anivault/anivault/internal/release"
)

// decideFolder decides the numbers of one title in one folder and says where each is, or would be: "S01E03", "S01E03?",
// "-".
func decideFolder(w *world, r release.Release, numbers ...float64) (places []string, all []Decision) {
	var files []File
	for _, n := range numbers {
		one := r
		one.Name, one.Episodes = fmt.Sprintf("%s - %v.mkv", r.Name, n), []float64{n}
		one.Path = "folder/" + one.Name
		files = append(files, File{Release: one})
	}
	res := &Resolver{Source: w, Options: DefaultOptions()}
	for _, s := range Group(files) {
		all = append(all, res.Place(context.Background(), s.Files, res.Resolve(context.Background(), s))...)
	}
	for _, d := range all {
		_, perhaps, unsure := strings.Cut(d.Reason.String(), "; perhaps ")
		switch place, _, _ := strings.Cut(perhaps, ","); {
		case unsure:
			places = append(places, place+"?")
		case d.Season == nil:
			places = append(places, "-")
		default:
			places = append(places, fmt.Sprintf("S%02dE%02d", *d.Season, d.Episodes[0]))
		}
	}
	return places, all
}

func TestFilesOfAFolderHaveOneNumbering(t *testing.T) {
	for _, row := range []struct {
		name    string
		rel     release.Release
		numbers []float64
		want    string
	}{
		{"within the first season", rel("Salt Harbor"), []float64{1, 2, 12}, "S01E01 S01E02 S01E12"},
		{"the last number counts on", rel("Salt Harbor"), []float64{1, 13, 24}, "S01E01 S02E01 S02E12"},
		{"within the season of the name", rel("Salt Harbor", inSeason(2)), []float64{1, 12}, "S02E01 S02E12"},
		{"counted on from the first season", rel("Salt Harbor", inSeason(2)), []float64{13, 24}, "S02E01 S02E12"},
		{"one number of a season, one of the show", rel("Salt Harbor", inSeason(3)), []float64{1, 25}, "S03E01? S03E01?"},
		{"a number that is nowhere", rel("Salt Harbor", inSeason(2)), []float64{1, 60}, "S02E01 -"},
		{
			"numbers that begin with the folder's season", rel("Clockwork Isle", inFolderOf(1)),
			[]float64{101, 103},
			"S01E01 S01E03",
		},
		{"numbers that begin with another season", rel("Clockwork Isle", inFolderOf(2)), []float64{101, 103}, "- -"},
		{
			"numbers on both sides of 100", rel("Endless Tide", inFolderOf(1)),
			[]float64{1, 61, 101},
			"S01E01? S01E61? S01E01?",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, all := decideFolder(shapes(), row.rel, row.numbers...)
			if text := strings.Join(got, " "); text != row.want {
				t.Errorf("got %s, want %s\n%s", text, row.want, all[0].Reason)
			}
		})
	}
}

// The folder's last number tells how all of its numbers count, also those that would count otherwise on their own.
func TestTheLastNumberOfAFolderDecides(t *testing.T) {
	long := &world{entries: []*Entry{series(30, "Lantern Club", "ランタンクラブ", 2009,
		season(1, "1-12@2009-04-03"), season(2, "1-26@2010-04-07"))}}
	cours := &world{entries: []*Entry{series(31, "Moth Court", "蛾の宮廷", 2020, season(1, "1-11@2020-10-11",
		"12-24@2021-04-04"))}}
	for _, row := range []struct {
		name    string
		w       *world
		rel     release.Release
		numbers []float64
		want    string
	}{
		{"counted on", long, rel("Lantern Club", inSeason(2)), []float64{13, 14, 38}, "S02E01 S02E02 S02E26"},
		{"counted anew", long, rel("Lantern Club", inSeason(2)), []float64{1, 13, 26}, "S02E01 S02E13 S02E26"},
		{"it decides nothing", long, rel("Lantern Club", inSeason(2)), []float64{13, 26}, "S02E13 S02E26"},
		{"a part counted on", cours, rel("Moth Court", inPart(2)), []float64{12, 13, 24}, "S01E12 S01E13 S01E24"},
		{"a part counted anew", cours, rel("Moth Court", inPart(2)), []float64{1, 12, 13}, "S01E12 S01E23 S01E24"},
		{"a run counted on", cours, rel("Moth Court", inSeason(2)), []float64{12, 13, 24}, "S01E12 S01E13 S01E24"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, all := decideFolder(row.w, row.rel, row.numbers...)
			if text := strings.Join(got, " "); text != row.want {
				t.Errorf("got %s, want %s\n%s", text, row.want, all[0].Reason)
			}
		})
	}
}

// Numbers that restart in each hundred are season and episode, or nobody knows; they never surely count on.
func TestNumbersThatRestartInEachHundred(t *testing.T) {
	w := shapes()
	for _, row := range []struct {
		name, title string
		numbers     []float64
		want        string
	}{
		{
			"as long as the seasons", "Salt Harbor",
			[]float64{101, 112, 201, 202, 301, 313},
			"S01E01 S01E12 S02E01 S02E02 S03E01 S03E13",
		},
		{"longer than a season", "Salt Harbor", []float64{101, 112, 201, 213}, "S01E01 S01E12 S02E01 -"},
		{
			"TMDB has one season, which is long enough", "Ten Thousand Steps",
			[]float64{101, 122, 201, 222, 301},
			"S01E101? S01E122? S01E201? S01E222? S01E301?",
		},
		{"numbers of one hundred", "Ten Thousand Steps", []float64{101, 102, 126}, "S01E101 S01E102 S01E126"},
		{
			"a hundred to its end", "Ten Thousand Steps",
			[]float64{101, 150, 200, 201, 222},
			"S01E101 S01E150 S01E200 S01E201 S01E222",
		},
		{"a number below 100", "Ten Thousand Steps", []float64{99, 101, 122, 201}, "S01E99 S01E101 S01E122 S01E201"},
		{"a hundred that begins later", "Ten Thousand Steps", []float64{101, 122, 205}, "S01E101 S01E122 S01E205"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, all := decideFolder(w, rel(row.title), row.numbers...)
			if text := strings.Join(got, " "); text != row.want {
				t.Errorf("got %s, want %s\n%s", text, row.want, all[0].Reason)
			}
		})
	}
}

// A stated season 1 may be that of a sequel or of a later run, which the title or the year means.
func TestTheFirstSeasonOfWhatBeganLater(t *testing.T) {
	split := &world{entries: []*Entry{series(30, "Lantern Club", "ランタンクラブ", 2009, season(1, "1-12@2009-04-03"),
		season(2, "1-26@2010-04-07")).alt("Lantern Club Z")}}
	runs := &world{entries: []*Entry{series(31, "Moth Court", "蛾の宮廷", 2023, season(1, "1-4@2023-12-01",
		"5-8@2025-09-01"))}}
	for _, row := range []struct {
		name   string
		w      *world
		rel    release.Release
		number float64
		want   string
	}{
		{"a long season that TMDB splits", split, rel("Lantern Club", inSeason(1)), 20, "S02E08"},
		{"the long season of a sequel", split, rel("Lantern Club Z", inSeason(1)), 20, "S02E08?"},
		{"the year of a later run", runs, rel("Moth Court", inSeason(1), of(2025)), 2, "S01E02?"},
		{"a number that this run has", runs, rel("Moth Court", inSeason(1), of(2025)), 6, "S01E06"},
		{"the year of the show", runs, rel("Moth Court", inSeason(1), of(2023)), 2, "S01E02"},
		{"a special of no number in a season", runs, rel("Moth Court Extra", inSeason(0)), 2, "-"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got, all := decideFolder(row.w, row.rel, row.number); got[0] != row.want {
				t.Errorf("got %s, want %s: %s %v", got[0], row.want, all[0].Reason, all[0].Steps)
			}
		})
	}
}

func TestATitleThatMayBeAnotherPartsIsDoubted(t *testing.T) {
	titled := func(alt ...string) *world {
		plain := series(30, "Lantern Club", "ランタンクラブ", 2009, season(0, "1-3@2010-08-01"), season(1,
			"1-12@2009-04-03"),
			season(2, "1-26@2010-04-07"))
		return &world{entries: []*Entry{plain.alt(alt...)}}
	}
	part := func(own string, alt ...string) *world {
		return &world{entries: []*Entry{series(30, own, "灯島", 2009, season(1, "1-12@2009-04-03"),
			season(2, "1-26@2010-04-07")).alt(alt...)}}
	}
	for _, row := range []struct {
		name  string
		w     *world
		title release.Release
		want  string
	}{
		{"the show's own title", titled(), rel("Lantern Club"), "S01E03"},
		{"how its original title is read", titled("Rantan Kurabu"), rel("Rantan Kurabu"), "S01E03"},
		{
			"the show's own title, and how its original title is read", titled("Rantan Kurabu"),
			rel("Lantern Club Rantan Kurabu"), "S01E03",
		},
		{"a title that others go on from", titled("Light Circle", "Light Circle 2nd Season"), rel("Light Circle"), "S01E03"},
		{"a title of nobody knows which season", titled("Light Circle Forever"), rel("Light Circle Forever"), "S01E03?"},
		{
			"the first season of another subtitle than the show's", part("Lantern Tale: First Dawn", "Lantern Tale: Far Voyage"),
			rel("Lantern Tale Far Voyage", inSeason(1)), "S01E03?",
		},
		{
			"the first season of what has another word than the show", part("Fruit of the Lantern", "Maze of the Lantern"),
			rel("Maze of the Lantern", inSeason(1)), "S01E03?",
		},
		{
			"the first season of what begins like another title",
			part("Lantern Tale", "Touka Monogatari: First Dawn", "Touka Monogatari: Far Voyage"),
			rel("Touka Monogatari: Far Voyage", inSeason(1)), "S01E03?",
		},
		{
			"the first season of what has a word of the show's own title",
			part("The Paper Girl", "Touka wa Paper Girl no Yume", "Touka wa Glass Boat no Yume"),
			rel("Touka wa Paper Girl no Yume", inSeason(1)), "S01E03",
		},
		{
			"the first season of what has other words", part("The Paper Girl", "Touka wa Paper Girl no Yume",
				"Touka wa Glass Boat no Yume"), rel("Touka wa Glass Boat no Yume", inSeason(1)), "S01E03?",
		},
		{
			"the first season of a sequel to the first part", part("Lantern Club I", "Lantern Club II"),
			rel("Lantern Club II", inSeason(1)), "S01E03?",
		},
		{
			"the first season under another spelling", part("Lantern wa Harbour", "Lantern to Harbour"),
			rel("Lantern to Harbour", inSeason(1)), "S01E03",
		},
		{"the season of the name", titled("Light Circle Forever"), rel("Light Circle Forever", inSeason(1)), "S01E03"},
		{"the first season of a part", titled("Lantern Club Z"), rel("Lantern Club Z", inSeason(1)), "S01E03?"},
		{"the first season of a sequel", titled("Lantern Club II"), rel("Lantern Club II", inSeason(1)), "S01E03?"},
		{"the first season of what has more marks", titled("Lantern Club!!"), rel("Lantern Club!!", inSeason(1)), "S01E03?"},
		{
			"the first season of a part that has a title of its own", titled("Lantern Club Far Voyage", "Far Voyage"),
			rel("Lantern Club Far Voyage", inSeason(1)), "S01E03?",
		},
		{
			"the first season of a part of several seasons", titled("Lantern Club Z", "Lantern Club Z 2nd Season"),
			rel("Lantern Club Z", inSeason(1)), "S01E03?",
		},
		{
			"the first season of the whole show", titled("Lantern Club The Animation"),
			rel("Lantern Club The Animation", inSeason(1)), "S01E03",
		},
		{"in the year of the show", titled("Lantern Club Z"), rel("Lantern Club Z", inSeason(1), of(2009)), "S01E03"},
		{
			"the subtitle of the show itself", &world{entries: []*Entry{series(30, "Lantern Club: Dawn Choir", "灯島", 2009,
				season(1, "1-12@2009-04-03"), season(2, "1-26@2010-04-07")).alt("Lantern", "Lantern Story: Dawn Choir")}},
			rel("Lantern Story Dawn Choir", inSeason(1)), "S01E03",
		},
		{"an arc alone in a bracket", titled(), rel("ランタンクラブ", also("游郭篇")), "S01E03?"},
		{"the show's first season", titled("Lantern Club II"), rel("Lantern Club", inSeason(1)), "S01E03"},
		{"a first season in the year of the second", titled(), rel("Lantern Club", inSeason(1), of(2010)), "S01E03?"},
		{"a year of the season", titled("Light Circle Forever"), rel("Light Circle Forever", of(2009)), "S01E03"},
		{"a star at the end", titled("Lantern Club*"), rel("Lantern Club*"), "S01E03?"},
		{"two question marks", titled("Lantern Club??"), rel("Lantern Club??"), "S01E03?"},
		{"one title is another with a numeral", titled(), rel("Lantern Club", also("灯会 Lantern Club II")), "S02E03"},
		{"more marks than the show has", titled("Lantern Club!!"), rel("Lantern Club!!"), "S01E03?"},
		{"an apostrophe at the end", titled("Lantern Club'"), rel("Lantern Club'"), "S01E03?"},
		{"a single mark is spelling", titled("Lantern Club!"), rel("Lantern Club!"), "S01E03"},
		{"a part that no season is called", titled("Lantern Club Z"), rel("Lantern Club Z"), "S01E03?"},
		{
			"a word before the title as it is read", &world{entries: []*Entry{series(30, "Beacon Club",
				"灯台クラブものがたり",
				2009, season(1, "1-12@2009-04-03"), season(2, "1-26@2010-04-07")).
				alt("Toudai Kurabu Monogatari", "Shin Toudai Kurabu Monogatari")}}, rel("Shin Toudai Kurabu Monogatari"), "S01E03?",
		},
		{
			"two titles, both of nobody knows which season", titled("Light Circle Forever", "光之环 永远"),
			rel("Light Circle Forever", also("光之环 永远")), "S01E03?",
		},
		{
			"two titles, one of them the show's", titled("Light Circle Forever"),
			rel("Light Circle Forever", also("ランタンクラブ")), "S01E03",
		},
		{
			"Latin letters right behind the title", titled("ランタンクラブNEXT"),
			rel("ランタンクラブ", also("ランタンクラブNEXT")), "S01E03?",
		},
		{"an arc that continues with a number of its own", &world{entries: []*Entry{series(30, "Lantern Club",
			"ランタンクラブ",
			2009, season(1, "1-12@2009-04-03"), season(2, "1-26@2010-04-07"), season(3, "1-12@2012-04-07")).
			alt("Light Circle", "Light Circle 2nd Season")}}, rel("Light Circle"), "S01E03?"},
		{"a series in place of an OVA", titled("Lantern Club TV"), rel("Lantern Club TV"), "S01E03?"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got, all := decideFolder(row.w, row.title, 3); got[0] != row.want {
				t.Errorf("got %s, want %s: %s %v", got[0], row.want, all[0].Reason, all[0].Steps)
			}
		})
	}
}

// A group releases what is on air, so seasons that ended before its first year are not what it means.
func TestTheGroupsFirstYearSelectsTheSeasonOfASubtitle(t *testing.T) {
	gull := func(specials Season, opts ...func(*release.Release)) (*world, release.Release) {
		show := series(30, "Salt Gull", "塩鴎", 2012, specials, season(1, "1-12@2012-04-07"), season(2, "1-12@2015-04-04"),
			season(3, "1-12@2021-04-03")).alt("Salt Gull Homeward")
		return &world{entries: []*Entry{show}}, rel("Salt Gull Homeward", opts...)
	}
	by := func(group string) func(*release.Release) { return func(r *release.Release) { r.Group = group } }
	old := func(r *release.Release) { r.Name = "★老番★" + r.Name }
	stream := func(r *release.Release) { r.Name += " (B-Global 1920x1080 HEVC AAC MKV)" }
	disc := func(r *release.Release) { r.Source = "BluRay" }
	none, some := season(0, "1-2@2013-08-01"), season(0, "1-4@2021-08-01")
	for _, row := range []struct {
		name     string
		specials Season
		opts     []func(*release.Release)
		want     string
	}{
		{"a group of 2017", none, []func(*release.Release){by("LoliHouse")}, "S03E03"},
		{"with a group of unknown age", none, []func(*release.Release){by("Quiet&LoliHouse")}, "S03E03"},
		{"a group of unknown age", none, []func(*release.Release){by("Quiet")}, "S01E03?"},
		{"a stream", none, []func(*release.Release){by("Quiet"), stream}, "S03E03"},
		{"a disc may be older", none, []func(*release.Release){by("LoliHouse"), disc}, "S01E03?"},
		{"a work whose name says that it is old", none, []func(*release.Release){by("LoliHouse"), old}, "S01E03?"},
		{"the season of the name", none, []func(*release.Release){by("LoliHouse"), inSeason(2)}, "S02E03"},
		{"as many specials since then", some, []func(*release.Release){by("LoliHouse")}, "S01E03?"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w, name := gull(row.specials, row.opts...)
			if got, all := decideFolder(w, name, 3); got[0] != row.want {
				t.Errorf("got %s, want %s: %s %v", got[0], row.want, all[0].Reason, all[0].Steps)
			}
		})
	}
	two := series(30, "Salt Gull", "塩鴎", 2012, season(1, "1-12@2012-04-07"), season(2, "1-12@2018-04-07"),
		season(3, "1-12@2021-04-03")).alt("Salt Gull Homeward")
	got, _ := decideFolder(&world{entries: []*Entry{two}}, rel("Salt Gull Homeward", by("LoliHouse")), 3)
	if got[0] != "S01E03?" {
		t.Errorf("two seasons since then: %s", got[0])
	}
	older := series(30, "Salt Gull", "塩鴎", 2010, season(1, "1-12@2010-04-07"), season(2, "1-24@2012-04-07"),
		season(3, "1-12@2013-04-06")).alt("Salt Gull Homeward")
	if got, _ = decideFolder(&world{entries: []*Entry{older}}, rel("Salt Gull Homeward", by("LoliHouse")), 14); got[0] !=
		"S02E14" {
		t.Errorf("a show that is older than the group: %s", got[0])
	}
}

// What seasons, films and specials are called after is the show's own title. Where there are as many specials, it may
// be theirs.
func TestTitlesThatOthersExtendAreTheShows(t *testing.T) {
	for _, row := range []struct {
		name   string
		alt    []string
		title  string
		number float64
		want   string
	}{
		{"the show's own goes on from it", []string{"Lantern"}, "Lantern", 5, "S01E05"},
		{"it is written with other spaces", []string{"LanternClub"}, "Lanternclub", 5, "S01E05"},
		{"how the original title is read, in hangul", []string{"란탄구라부"}, "란탄구라부", 5, "S01E05"},
		{"several go on from it", []string{"Light Circle", "Light Circle R", "Light Circle S"}, "Light Circle", 5, "S01E05"},
		{"as many specials", []string{"Light Circle", "Light Circle R", "Light Circle S"}, "Light Circle", 3, "S01E03?"},
		{"only one does", []string{"Light Circle", "Light Circle R"}, "Light Circle", 5, "S01E05?"},
		{
			"only its film and OVA do",
			[]string{"Light Circle", "Light Circle the Movie", "Light Circle OVA"},
			"Light Circle",
			5, "S01E05?",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			club := series(30, "Lantern Club", "ランタンクラブ", 2009, season(0, "1-3@2010-08-01"), season(1,
				"1-12@2009-04-03"),
				season(2, "1-26@2010-04-07"))
			got, all := decideFolder(&world{entries: []*Entry{club.alt(row.alt...)}}, rel(row.title), row.number)
			if got[0] != row.want {
				t.Errorf("got %s, want %s: %s %v", got[0], row.want, all[0].Reason, all[0].Steps)
			}
		})
	}
}

// Where another place is as likely by what the name says, no place is certain.
func TestPlacesThatAreNotTheOnlyOnesAreDoubted(t *testing.T) {
	first, second := season(1, "1-12@2009-04-03"), season(2, "1-26@2010-04-07")
	club := func(seasons ...Season) *Entry {
		return series(30, "Lantern Club", "ランタンクラブ", 2009, seasons...)
	}
	read := func(r release.Release, texts ...string) release.Release {
		for _, text := range texts {
			r.Titles = append(r.Titles, release.Title{Text: text})
		}
		return r
	}
	for _, row := range []struct {
		name   string
		entry  *Entry
		title  release.Release
		number float64
		want   string
	}{
		{"specials of another name", club(season(0, "1-3").titled("Lantern Lake"), first), rel("Lantern Club"), 1, "S01E01"},
		{
			"a special is called as the show", club(season(0, "1-3").titled("Lantern Club"), first), rel("Lantern Club"), 1,
			"S01E01?",
		},
		{
			"so is one with a year", club(season(0, "1-3").titled("Lantern Club (2007)"), first), rel("Lantern Club"), 1,
			"S01E01?",
		},
		{
			"the title says a film", club(season(0, "1-3"), first).alt("Lantern Club Movie"), rel("Lantern Club Movie"), 4,
			"S01E04?",
		},
		{
			"so does what the show is called", series(31, "Lantern Movie", "ランタンムービー", 2009, first),
			rel("Lantern Movie"), 4,
			"S01E04",
		},
		{
			"and a show whose name has another sign", series(31, "Tide & Lantern Movie", "ランタンムービー", 2009, first),
			rel("Tide and Lantern Movie"), 4, "S01E04",
		},
		{
			"a title of its year, and two cours began in it",
			club(season(1, "1-12@2009-04-03", "13-24@2009-10-02")).alt("Lantern Club (2009)"), rel("Lantern Club", of(2009)), 4,
			"S01E04?",
		},
		{"one cour began in it", club(first).alt("Lantern Club (2009)"), rel("Lantern Club", of(2009)), 4, "S01E04"},
		{
			"a word of a season's name, and of a special's",
			club(season(0, "1-4").titled("Minami Lights", "Minami Nights", "Minami Days", "Minami Years"), first,
				season(2, "1-26@2010-04-07").named("Lantern Club: Battle of Minami")).alt("Rantan Kurabu",
				"Rantan Kurabu Minami Hen"), rel("Rantan Kurabu Minami Hen"), 3, "S02E03?",
		},
		{"fewer specials than that", club(season(0, "1-3").titled("Lantern Club"), first), rel("Lantern Club"), 4, "S01E04"},
		{"a year, and specials of unknown ones", club(season(0, "1-3"), first), rel("Lantern Club", of(2009)), 1, "S01E01?"},
		{
			"a year that the specials don't have", club(season(0, "1-3@2012-01-05"), first), rel("Lantern Club", of(2009)), 1,
			"S01E01",
		},
		{
			"a year in which a special aired", club(season(0, "1-3@2010-01-05"), first, second), rel("Lantern Club", of(2010)),
			1, "S02E01?",
		},
		{
			"a year of two seasons", club(season(1, "1-12@2009-01-03"), season(2, "1-26@2009-08-07")).alt("Light"),
			rel("Light", of(2009)), 1, "S01E01?",
		},
		{
			"an alternative title in kana", club(first, second).alt("らんたんくらぶ 永遠"),
			rel("らんたんくらぶ 永遠"), 1, "S01E01?",
		},
		{"counted from the first season", club(first, second), rel("Lantern Club"), 14, "S02E02"},
		{"or a number of the second", club(first, second).alt("Light"), rel("Light"), 14, "S02E02?"},
		{"a part of the show", club(first, second), rel("Lantern Club Part 2", inPart(2)), 3, "S02E03"},
		{
			"a number counted over all parts of the only season", club(season(1, "1-12@2009-04-03", "13-24@2009-10-02")),
			rel("Lantern Club Part 2", inPart(2)), 14, "S01E14",
		},
		{
			"of one of two, and the name states its season",
			club(season(1, "1-6@2009-04-03"), season(2, "1-12@2010-04-07", "13-24@2010-10-06")),
			rel("Lantern Club", inSeason(2), inPart(2)), 14, "S02E14",
		},
		{
			"of one of two, and it may count over both",
			club(season(1, "1-12@2009-04-03", "13-24@2009-10-06"), season(2, "1-12@2010-04-07")).alt("Lantern Club Part 2"),
			rel("Lantern Club Part 2"), 14, "S01E14",
		},
		{
			"a part of nobody knows what", club(first, second).alt("Light", "Light Song Part 2", "Light Song"),
			rel("Light Song Part 2"), 3, "S02E03?",
		},
		{
			"counted on into the next season", club(season(1, "1-12@2009-04-03"), season(2, "1-12@2009-10-02")),
			rel("Lantern Club", inSeason(1)), 14, "S02E02",
		},
		{
			"which came years later", club(season(1, "1-12@2009-04-03"), season(2, "1-12@2012-04-07")),
			rel("Lantern Club", inSeason(1)), 14, "S02E02?",
		},
		{
			"a third season that came a year after the second",
			club(first, season(2, "1-12@2010-04-07"), season(3, "1-12@2011-04-07")), rel("Lantern Club", inSeason(2)), 14,
			"S02E02",
		},
		{
			"counted on from the second, and the third came a year later",
			club(first, season(2, "1-13@2010-04-07"), season(3, "1-25@2011-04-07")), rel("Lantern Club", inSeason(2)), 27,
			"S03E14?",
		},
		{
			"the same, of a sequel that the title counts",
			club(first, season(2, "1-12@2010-04-07"), season(3, "1-12@2011-12-07")).alt("Lantern Club II"),
			rel("Lantern Club II"), 14, "S02E02",
		},
		{
			"a number over all seasons, in another than the title counts",
			club(first, season(2, "1-12@2010-04-07"), season(3, "1-12@2011-04-07")).alt("Lantern Club III"),
			rel("Lantern Club III"), 13, "-",
		},
		{
			"the second part of the final season", club(first, second, season(3, "1-12@2012-04-07", "13-24@2013-01-06")).alt(
				"Lantern Club: The Final Season", "Lantern Club: The Final Season Part 2"),
			rel("Lantern Club The Final Season Part 2"), 3, "S03E15",
		},
		{
			"a third season that the second holds after a pause", club(first, season(2, "1-12@2010-04-07", "13-24@2011-04-06")),
			rel("Lantern Club", inSeason(3)), 7, "S02E19",
		},
		{
			"a third season that TMDB has as the fourth", club(first, second, season(4, "1-12@2011-04-06")),
			rel("Lantern Club", inSeason(3)), 7, "S04E07?",
		},
		{
			"a second season of a part", club(first, second, season(3, "1-12@2012-04-07")).alt("Lantern Club Act II"),
			rel("Lantern Club Act II", inSeason(2)), 3, "S02E03?",
		},
		{
			"a second season, and the title counts it too", club(first, second).alt("Light", "Light II"),
			rel("Light II", inSeason(2)), 3, "S02E03",
		},
		{
			"a title that reads like the show's, and another reads exactly like it",
			series(31, "Beacon Hill", "灯守山 星屑たちの夜", 2009, first,
				second).alt("Toumoriyama: Hoshikuzu-tachi no Yoru",
				"Toumoriyama: Inochi no Tani"), rel("Toumoriyama: Inochi no Tani"), 3, "S01E03?",
		},
		{
			"a title that reads like the show's, and no other does",
			series(31, "Beacon Hill", "灯守山 星屑たちの夜", 2009, first,
				second).alt("Toumoriyama: Hoshikuzutachi no Yoru"),
			rel("Toumoriyama: Hoshikuzutachi no Yoru"), 3, "S01E03",
		},
		{
			"a subtitle behind a whole title, and another title has one",
			series(31, "Beacon Club Shines", "ビーコンクラブ", 2009, first, second).alt("Beacon Club", "Biikon Kurabu",
				"Biikon Kurabu Double"),
			rel("Biikon Kurabu Double"), 3, "S02E03",
		},
		{
			"a subtitle behind a title that has one", series(31, "Beacon Club Shines", "灯台部", 2009, first, second).alt(
				"Beacon Club", "Beacon Club Double"), rel("Beacon Club Double"), 3, "S01E03?",
		},
		{
			"a subtitle, and the second season has two cours",
			club(first, season(2, "1-12@2010-04-07", "13-24@2010-10-06")).alt("Lantern Club Double"),
			rel("Lantern Club Double"), 3, "S01E03?",
		},
		{
			"a subtitle in place of the show's own", series(31, "Beacon Isle: First Choir", "灯島 はじめの合唱",
				2009, first,
				second).alt("Beacon Isle: Long Nights"), rel("Beacon Isle: Long Nights"), 3, "S02E03",
		},
		{
			"a reading with loanwords, in place of the translated subtitle", series(31, "Lord Beacon: Louis of the Choir",
				"ロードビーコン 合唱のルイス", 2009, first, second).alt("Lord Beacon: Gasshou no Louis"),
			rel("Lord Beacon - Gasshou no Louis"), 3, "S01E03?",
		},
		{
			"a word in place of one of the show's", series(31, "Beacon Dusk Tales", "灯島", 2009, first, second).alt(
				"Beacon Morning Tales"), rel("Beacon Morning Tales"), 3, "S02E03",
		},
		{
			"another spelling of a word of the show's", series(31, "Beacon Morning Tales", "灯島", 2009, first, second).alt(
				"Beacon Mornings Tales"), rel("Beacon Mornings Tales"), 3, "S01E03?",
		},
		{
			"a word in place of one, and the title is counted", series(31, "Beacon Dusk Tales", "灯島", 2009, first,
				second).alt(
				"Beacon Morning Tales", "Beacon Morning Tales 2"), rel("Beacon Morning Tales"), 3, "S01E03",
		},
		{
			"more behind the show's title, without its punctuation", series(31, "灯島，合唱团。", "灯島合唱",
				2009, first, second).alt(
				"灯島合唱团[DOUBLE]"), rel("灯島合唱团[DOUBLE]"), 3, "S02E03",
		},
		{
			"a part's subtitle and its number", club(first, second, season(3, "1-12@2012-04-07", "13-24@2012-10-06")).alt(
				"Lantern Club Double"), rel("Lantern Club Double", inPart(2)), 3, "S03E15",
		},
		{
			"the same where two seasons have parts", club(season(1, "1-12@2009-04-07", "13-24@2009-10-06"), second,
				season(3, "1-12@2012-04-07", "13-24@2012-10-06")).alt("Lantern Club Double"),
			rel("Lantern Club Double", inPart(2)), 3, "-",
		},
		{
			"the subtitle of the show's own title", series(31, "Lantern Club: Dawn Choir", "灯島", 2009, first, second).alt(
				"Akari Kurabu", "Akari Kurabu: Dawn Choir"), rel("Akari Kurabu: Dawn Choir"), 3, "S01E03",
		},
		{
			"a sequel's title that is counted too", club(first, second).alt("Lantern Club 2", "Lantern Club Forever",
				"Lantern Club Forever 2"), rel("Lantern Club Forever"), 3, "S01E03?",
		},
		{
			"a title in two by a slash", club(first, second).alt("Lantern Club Light R2"),
			rel("Light R2", func(r *release.Release) {
				r.Titles = append(r.Titles, release.Title{Text: "Lantern Club", From: release.FromFolder})
			}), 3, "S02E03",
		},
		{
			"a word that only the folder has", club(first, second), rel("Lantern Club", func(r *release.Release) {
				r.Titles = append(r.Titles, release.Title{Text: "Lantern Club Netflix", From: release.FromFolder})
			}), 3, "S01E03?",
		},
		{
			"a year after the first season, and nobody knows when the second aired", club(first, season(2, "1-12")),
			rel("Lantern Club", of(2010)), 3, "S01E03?",
		},
		{
			"a year before the show's", club(first, season(2, "1-12")), rel("Lantern Club", of(2008)), 3, "S01E03",
		},
		{
			"the first year of the show, and the episode aired in the next", club(season(1, "1-12@2009-12-04"),
				season(2, "1-12@2015-04-04")).alt("Light"), rel("Light", of(2009)), 6, "S01E06",
		},
		{
			"the year in which the episode aired", club(season(1, "1-12@2009-12-04"), season(2, "1-12@2015-04-04")),
			rel("Lantern Club", of(2010)), 6, "S01E06",
		},
		{
			"of two subtitles, the one that reads less like the show's",
			series(31, "Beacon Hill", "ビーコン 風舞高校弓道部", 2009, first, second).alt(
				"Biikon: Kazemai Koukou Kyuudoubu", "Biikon: Yamabuki no Shiro"),
			rel("Biikon: Yamabuki no Shiro"), 3, "S01E03?",
		},
		{
			"and the one that reads more like it", series(31, "Beacon Hill", "ビーコン 風舞高校弓道部",
				2009, first, second).alt("Biikon: Kazemai Koukou Kyuudoubu", "Biikon: Yamabuki no Shiro"),
			rel("Biikon: Kazemai Koukou Kyuudoubu"), 3, "S01E03",
		},
		{
			"a second season after several that no pause divides", club(season(1, "1-96@2009-04-03", "97-108@2012-04-06")),
			rel("Lantern Club", inSeason(2)), 3, "S01E99?",
		},
		{
			"a second season after two cours", club(season(1, "1-26@2009-04-03", "27-38@2012-04-06")),
			rel("Lantern Club", inSeason(2)), 3, "S01E29",
		},
		{
			"the show's title without its x", series(31, "Shima x Tides", "島", 2009, first, second).alt("Shima Tides"),
			rel("Shima Tides"), 3, "S01E03",
		},
		{
			"marks that the show's own title has", series(31, "Ah My Beacon!!", "ああビーコンっ!!", 2009, first,
				second).alt("Aa Biikon", "Aa Biikon!!"), rel("Aa Biikon!!"), 3, "S01E03",
		},
		{"the film's title beside it", club(first), read(rel("Lantern Club"), "剧场版 Lantern Club"), 1, "S01E01?"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got, all := decideFolder(&world{entries: []*Entry{row.entry}}, row.title, row.number); got[0] != row.want {
				t.Errorf("got %s, want %s: %s %v", got[0], row.want, all[0].Reason, all[0].Steps)
			}
		})
	}
}

// The name of a season with a word of the title is less certain where there are as many specials, which may have that
// word too.
func TestAWordOfASeasonsNameIsDoubtedBesideSpecials(t *testing.T) {
	for _, row := range []struct {
		specials string
		want     string
	}{{"1-3", "S02E05"}, {"1-9", "S02E05?"}} {
		club := series(30, "Lantern Club", "ランタンクラブ", 2009, season(0, row.specials), season(1, "1-12"),
			season(2, "1-26").named("Lantern Club: Battle of Minami"))
		if got, all := decideFolder(&world{entries: []*Entry{club.alt("Lantern Club Minami Hen")}},
			rel("Lantern Club Minami Hen"), 5); got[0] != row.want {
			t.Errorf("%s specials: got %s, want %s: %s %v", row.specials, got[0], row.want, all[0].Reason, all[0].Steps)
		}
	}
}

// A folder with more files than there are specials is none of specials, and so is none of its first files.
func TestADoubtAppliesToTheWholeFolder(t *testing.T) {
	club := series(30, "Lantern Club", "ランタンクラブ", 2009, season(0, "1-3").titled("Lantern Club"),
		season(1, "1-12@2009-04-03"))
	for _, row := range []struct {
		numbers []float64
		want    string
	}{
		{[]float64{1, 2, 3}, "S01E01? S01E02? S01E03?"},
		{[]float64{1, 2, 3, 4}, "S01E01 S01E02 S01E03 S01E04"},
	} {
		got, all := decideFolder(&world{entries: []*Entry{club}}, rel("Lantern Club"), row.numbers...)
		if text := strings.Join(got, " "); text != row.want {
			t.Errorf("got %s, want %s: %s %v", text, row.want, all[0].Reason, all[0].Steps)
		}
	}
}

// With more marks than the show has, the number of files tells the season.
func TestTheLengthOfAFolderSelectsItsSeason(t *testing.T) {
	club := series(30, "Lantern Club!", "ランタンクラブ！", 2009, season(1, "1-12@2009-04-03"), season(2,
		"1-26@2010-04-07"))
	got, _ := decideFolder(&world{entries: []*Entry{club.alt("Lantern Club!!")}}, rel("Lantern Club!!"), 1, 2, 26)
	if text := strings.Join(got, " "); text != "S02E01 S02E02 S02E26" {
		t.Error(text)
	}
}

func TestALeastConfidenceOfZeroKeepsTheLikeliest(t *testing.T) {
	res := &Resolver{Source: shapes(), Options: DefaultOptions()}
	s := Group([]File{{Release: rel("Paper Owls Silver Wing", eps(2))}})[0]
	d := res.Place(t.Context(), s.Files, res.Resolve(t.Context(), s))[0]
	if d.Season != nil || *d.EpisodeConfidence >= 0.9 ||
		!strings.HasSuffix(d.Reason.String(), fmt.Sprintf("; perhaps S01E02, %d %%", int(100**d.EpisodeConfidence))) {
		t.Errorf("%+v", d)
	}
	res.Options.MinEpisodeConfidence = 0
	if d := res.Place(t.Context(), s.Files, res.Resolve(t.Context(), s))[0]; d.Season == nil ||
		*d.EpisodeConfidence >= 0.9 {
		t.Errorf("%+v", d)
	}
}

func TestOneButIsEnoughForSeveralDoubts(t *testing.T) {
	all := doubts
	defer func() { doubts = all }()
	doubts = slices.Clone(doubts[:2])
	for i := range doubts {
		doubts[i].factor, doubts[i].applies = 0.5, func(*placer, placement) bool { return true }
	}
	p := &placer{numbers: []int{1}}
	at := p.applyDoubts(placement{ok: true, trust: 1, reason: "season 1 has the number"})
	const want = "season 1 has the number, but the title may belong to another season, " +
		"and the title may belong to a later cour"
	if at.reason.String() != want || at.trust != 0.25 {
		t.Errorf("%q with %v, want %q", at.reason, at.trust, want)
	}
}

// Two contenders are called equal only where both may be right: of two that are most unlikely none is near.
func TestDoubtNamesWhatItIs(t *testing.T) {
	contenderOf := func(title string, score, sim float64) scoredContender {
		c := scoredContender{score: score}
		c.hit.Title, c.match.title.text, c.match.sim = title, title, sim
		return c
	}
	for _, row := range []struct {
		name     string
		contends []scoredContender
		want     string
	}{
		{
			"two that are right by title",
			[]scoredContender{contenderOf("Home", 1.05, 1), contenderOf("Home 2", 1.05, 1)},
			"fit about equally",
		},
		{
			"two that are not",
			[]scoredContender{contenderOf("Road to Ninja", 0.5, 0.5), contenderOf("The Lost Tower", 0.5, 0.5)},
			`"Road to Ninja", is not close enough`,
		},
		{
			"one far ahead of another",
			[]scoredContender{contenderOf("Home", 1.05, 1), contenderOf("Home 2", 0.8, 0.9)},
			`the title fits "Home" on TMDB, but that is not enough`,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := doubtReason(rankContenders(row.contends)); !strings.Contains(got.String(), row.want) {
				t.Errorf("%q, want %q", got, row.want)
			}
		})
	}
}

// A show of one season without specials on TMDB has extras, too. A subtitle may be its own.
func TestAnExtraIsNoRegularEpisode(t *testing.T) {
	for title, want := range map[string]string{
		"Moth Parade":                      "S01E02",
		"Moth Parade The Animation":        "S01E02",
		"Moth Parade Omake":                "S01E02?",
		"Moth Parade Recap":                "S01E02?",
		"Moth Parade Mini Anime":           "S01E02?",
		"Moth Parade ONA":                  "S01E02?",
		"Moth Parade Live Event":           "S01E02?",
		"Moth Parade Character Commentary": "S01E02?",
		"Moth Parade Silver Wing":          "S01E02",
		"Moth Parade Live Wire":            "S01E02",
	} {
		one := series(90, "Moth Parade", "蛾行列", 2021, season(1, "1-12@2021-01-09"))
		r := rel(title)
		r.IDs = []release.ID{{Source: "tmdb", Kind: "tv", Value: "90"}}
		if got, all := decideFolder(&world{entries: []*Entry{one}}, r, 2); got[0] != want {
			t.Errorf("%s is %s, want %s: %s", title, got[0], want, all[0].Reason)
		}
	}
}
