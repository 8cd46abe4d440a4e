package match

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/anivault/anivault/internal/release"
)

// The shapes that TMDB gives to anime, each under its own name.
var (
	merged = series(1, "Lantern Keepers", "灯守", 2019,
		season(1, "1-12@2019-04-06", "13-24@2020-07-04", "25-36@2022-01-08"))
	cours = series(2, "Moth Parade", "蛾行列", 2021, season(1, "1-12@2021-01-09", "13-24@2021-07-03"))
	split = series(3, "Salt Harbor", "塩港", 2018, season(1, "1-12@2018-04-07"), season(2, "1-12@2019-04-06"),
		season(3, "1-13@2020-04-04"))
	roll  = series(4, "Endless Tide", "果てなき潮", 2000, season(1, "1-61"), season(2, "62-77"), season(3, "78-92"))
	giant = series(5, "Ten Thousand Steps", "一万歩", 2004, season(1, "1-366@2004-10-05"))
	arcs  = series(6, "Ember Blade", "残り火の剣", 2019, season(1, "1-26@2019-04-06"),
		season(2, "1-7@2021-10-10").named("Night Ferry Arc"), season(3, "1-11@2021-12-05").named("Lantern Quarter Arc"))
	extras = series(7, "Paper Owls", "紙梟", 2016,
		season(0, "1-1@2017-03-01", "2-2@2018-08-01", "3-3@2018-09-01").titled("Paper Owls: The Lost Letter", "Summer Fair",
			"Winter Fair"), season(1, "1-12@2016-07-02")).alt("Paper Owls Silver Wing")
	dateOVA = series(8, "Quiet Engine", "静かな機関", 2011, season(0, "1-1@2012-12-24").titled("Prologue Zero"),
		season(1, "1-13@2011-01-08"))
	planned = series(9, "Not Yet Aired", "未放送", 0)
	grouped = series(10, "Long March", "長い行進", 2002, season(1, "1-20@2002-10-03"), season(2, "1-20"),
		season(3, "1-10"))
	second = series(11, "Second Bloom 2", "再び咲く2", 2015, season(1, "1-12@2015-04-04"))
	wharf  = series(13, "Copper Wharf", "銅の波止場", 2014,
		season(0, "1-3@2015-03-01").titled("Copper Wharf OAD 1", "Copper Wharf OAD 2", "Dockside Tales"),
		season(1, "1-12@2014-01-05"),
		season(2, "1-12@2016-01-05").named("The Copper Wharf: The Tide of Iron")).alt("Dockside Tales", "Copper Wharf 3",
		"Copper Wharf Tide of Iron")
	mixed = series(14, "Reed Archive", "葦の書庫", 2019,
		season(1, "1-14@2019-04-02", "15-26@2020-04-07", "27-36@2022-01-04"), season(2, "1-24@2026-01-08"))
	comet = series(17, "Tin Comet OVA", "スズ彗星", 2015, season(0, "1-2"), season(1, "1-2@2015-01-01"),
		season(2, "1-3@2016-01-01"))
	planks = series(18, "Missing Planks", "欠けた板", 2014, season(1, "1-3@2014-01-01", "7-9@2014-06-01"),
		season(2, "1-6@2015-01-01"))
	diary = series(16, "Salt Diary (2016)", "塩の日記 (2016)", 2016,
		season(0, "1-2@2014-03-01").titled("Salt Diary 1", "Salt Diary 2"), season(1, "1-12@2016-04-05"))
	ferry = series(20, "Ferry Nine", "九番船", 2012, season(0, "1-2").titled("First Bell", "Storm Bell"),
		season(1, "1-6@2012-01-05").titled("First Bell"), season(2, "1-6@2013-01-05").titled("Storm Bell"))
	call  = series(19, "Harbor Call 1988", "港の声 1988", 2015, season(1, "1-20@2015-11-06"))
	siege = series(15, "Violet Moat", "菫の堀", 2019, season(1, "1-12@2019-01-05"), season(2, "1-12@2020-01-05"),
		season(3, "1-12@2021-01-05", "13-24@2021-07-05").named("Siege Hall")).alt("Violet Moat Siege Hall")
	parts = series(12, "Clockwork Isle", "歯車島", 2021, season(1, "1-11@2021-01-11", "12-23@2021-10-04"),
		season(2, "1-12@2023-07-03", "13-24@2024-04-08"))
)

func shapes() *world {
	grouped.Groups = []GroupRef{
		{ID: "stale", Type: groupTypeAbsolute, Episodes: 12},
		{ID: "abs", Name: "Absolute", Type: groupTypeAbsolute, Episodes: 50},
		{ID: "seasons", Name: "Seasons", Type: groupTypeProduction, Episodes: 50},
	}
	abs := &EpisodeGroup{Name: "Absolute", Groups: []GroupPart{{Order: 1}}}
	byYear := &EpisodeGroup{Name: "Seasons", Groups: make([]GroupPart, 5)}
	n := 0
	for _, s := range regularSlots(grouped) {
		e := GroupEpisode{Season: s.season, Number: s.episode.Number, Order: n}
		abs.Groups[0].Episodes = append(abs.Groups[0].Episodes, e)
		byYear.Groups[n/10].Order = n/10 + 1
		byYear.Groups[n/10].Episodes = append(byYear.Groups[n/10].Episodes, e)
		n++
	}
	// The absolute group of this show leaves out its third episode, which was a recap: it knows better than the position.
	abs.Groups[0].Episodes = slices.Delete(abs.Groups[0].Episodes, 2, 3)
	return &world{
		entries: []*Entry{
			merged, cours, split, roll, giant, arcs, extras, dateOVA, planned, grouped, second, parts, wharf,
			mixed, siege, diary, comet, planks, call, ferry,
		},
		groups: map[string]*EpisodeGroup{"abs": abs, "seasons": byYear},
	}
}

func TestPlaceFollowsTheFetchedEpisodes(t *testing.T) {
	for _, row := range []struct {
		name string
		rel  release.Release
		want string
	}{
		{"plain number", rel("Salt Harbor", eps(3)), "tv 3 S01E03"},
		{"explicit season", rel("Salt Harbor", inSeason(2), eps(3)), "tv 3 S02E03"},
		{"number beyond season 1 counts on", rel("Salt Harbor", eps(15)), "tv 3 S02E03"},
		{"number beyond two seasons", rel("Salt Harbor", eps(37)), "tv 3 S03E13"},
		{"number beyond all", rel("Salt Harbor", eps(38)), "tv 3 -"},
		{"season counted on from the first", rel("Salt Harbor", inSeason(2), eps(15)), "tv 3 S02E03"},
		{"season beyond the last", rel("Salt Harbor", inSeason(4), eps(1)), "tv 3 -"},
		{"explicit number that does not exist", rel("Salt Harbor", inSeason(3), eps(40)), "tv 3 -"},
		{"range over one season", rel("Salt Harbor", eps(11, 12)), "tv 3 S01E11E12"},
		{"range over two seasons", rel("Salt Harbor", eps(12, 13)), "tv 3 -"},
		{"second season merged into the first", rel("Lantern Keepers", inSeason(2), eps(1)), "tv 1 S01E13"},
		{"third season merged", rel("Lantern Keepers", inSeason(3), eps(12)), "tv 1 S01E36"},
		{"merged season, counted on", rel("Lantern Keepers", inSeason(2), eps(14)), "tv 1 S01E14"},
		{"merged season, too far", rel("Lantern Keepers", inSeason(2), eps(30)), "tv 1 -"},
		{"merged season that is not there", rel("Lantern Keepers", inSeason(4), eps(1)), "tv 1 -"},
		{"season words inside the title", rel("Lantern Keepers 2nd Season", eps(2)), "tv 1 S01E14"},
		{"roman number inside the title", rel("Salt Harbor II", eps(2)), "tv 3 S02E02"},
		{"year of a later run", rel("Lantern Keepers", of(2022), eps(2)), "tv 1 S01E26"},
		{"year of a later season", rel("Salt Harbor", of(2019), eps(2)), "tv 3 S02E02"},
		{"first year says nothing", rel("Salt Harbor", of(2018), eps(14)), "tv 3 S02E02"},
		{"second cour after a short pause", rel("Moth Parade", inPart(2), eps(3)), "tv 2 S01E15"},
		{"second season that was a second cour", rel("Moth Parade", inSeason(2), eps(3)), "tv 2 S01E15"},
		{"part of a later season", rel("Clockwork Isle", inSeason(2), inPart(2), eps(6)), "tv 12 S02E18"},
		{"part of the first season", rel("Clockwork Isle", inPart(2), eps(1)), "tv 12 S01E12"},
		{"part counted on", rel("Clockwork Isle", inSeason(2), inPart(2), eps(18)), "tv 12 S02E18"},
		{"a part that is a season", rel("Endless Tide", inPart(3), eps(80)), "tv 4 S03E80"},
		{"no such part", rel("Clockwork Isle", inSeason(1), inPart(3), eps(1)), "tv 12 -"},
		{"a part of an episode", rel("Clockwork Isle", inSeason(2), inPart(2), ofEpisode, eps(6)), "tv 12 S02E06"},
		{"rolling number", rel("Endless Tide", eps(70)), "tv 4 S02E70"},
		{"rolling, explicit", rel("Endless Tide", inSeason(2), eps(70)), "tv 4 S02E70"},
		{"rolling, position in the season", rel("Endless Tide", inSeason(2), eps(2)), "tv 4 S02E63"},
		{"giant season", rel("Ten Thousand Steps", eps(225)), "tv 5 S01E225"},
		{"arc by the season's name", rel("Ember Blade Night Ferry Arc", eps(3)), "tv 6 S02E03"},
		{"absolute group before position", rel("Long March", eps(22)), "tv 10 S02E03"},
		{"group of seasons", rel("Long March", inSeason(4), eps(5)), "tv 10 S02E15"},
		{"a title that ends in a number", rel("Second Bloom 2", eps(2)), "tv 11 S01E02"},
		{"half episode", rel("Salt Harbor", eps(5.5)), "tv 3 -"},
		{"half episode of a season", rel("Paper Owls", inSeason(1), eps(5.5)), "tv 7 -"},
		{"special without a name", rel("Paper Owls", special("SP"), eps(2)), "tv 7 -"},
		{"special by number", rel("Paper Owls", inSeason(0), eps(2)), "tv 7 S00E02"},
		{"special by a number that is not there", rel("Paper Owls", inSeason(0), eps(9)), "tv 7 -"},
		{"a title that contradicts the number", rel("Paper Owls", inSeason(0), about("Winter Fair"), eps(1)), "tv 7 S00E03"},
		{"a title without the number", rel("Paper Owls", inSeason(0), about("Winter Fair"), eps(9)), "tv 7 S00E03"},
		{"a title that no special has", rel("Paper Owls", inSeason(0), about("Winter"), eps(2)), "tv 7 S00E02"},
		{"special by its title", rel("Paper Owls", special("SP"), about("Summer Fair")), "tv 7 S00E02"},
		{"special by the whole title", rel("Paper Owls The Lost Letter", as(release.Unknown)), "tv 7 S00E01"},
		{"special by its year", rel("Quiet Engine", of(2012), eps(1)), "tv 8 S00E01"},
		{"special of a year with several", rel("Paper Owls", special("OVA"), of(2018), eps(3)), "tv 7 -"},
		{"special by title, word and number", rel("Copper Wharf", special("OAD"), eps(2)), "tv 13 S00E02"},
		{"special under a title of its own", rel("Dockside Tales", eps(1)), "tv 13 S00E03"},
		{"no special for a stated season", rel("Dockside Tales", inSeason(1), eps(1)), "tv 13 S01E01"},
		{"season by its name without articles", rel("Copper Wharf Tide of Iron", eps(3)), "tv 13 S02E03"},
		{"a number in the title that is no season", rel("Copper Wharf 3", eps(1)), "tv 13 -"},
		{"a year in which the first season did not air", rel("Copper Wharf", of(2017), eps(3)), "tv 13 -"},
		{"a year that is part of the title", rel("Harbor Call 1988", of(1988), eps(20)), "tv 19 S01E20"},
		{"a part of the show: only one season is long enough", rel("Paper Owls Silver Wing", eps(9)), "tv 7 S01E09"},
		{"a part of the show that may be the specials", rel("Paper Owls Silver Wing", eps(2)), "tv 7 -"},
		{
			"a number over all seasons beside the season's", rel("Salt Harbor", inSeason(2), eps(3), overall(15)),
			"tv 3 S02E03",
		},
		{"it tells that a season is merged", rel("Reed Archive", inSeason(2), eps(3), overall(17)), "tv 14 S01E17"},
		{"it tells the season where the seasons differ", rel("Ember Blade", inSeason(2), eps(3), overall(36)), "tv 6 S03E03"},
		{"it counts otherwise within the season", rel("Salt Harbor", inSeason(2), eps(3), overall(16)), "tv 3 S02E03"},
		{"a recap that one of the catalogues counts", rel("Salt Harbor", inSeason(2), eps(1), overall(12)), "tv 3 S02E01"},
		{"the season's own number again", rel("Missing Planks", inSeason(1), eps(9), overall(9)), "tv 18 S01E09"},
		{
			"a special's word in the entry's title, and a season", rel("Tin Comet OVA", inSeason(2), eps(2), special("OVA")),
			"tv 17 S02E02",
		},
		{"it is beyond all", rel("Salt Harbor", inSeason(2), eps(3), overall(99)), "tv 3 S02E03"},
		{"the final season's part", rel("Clockwork Isle Final Season", inPart(2), eps(6)), "tv 12 S02E18"},
		{"the final season of a show whose last it may be", rel("Salt Harbor Final Season", eps(3)), "tv 3 S03E03"},
		{"the final season of a show that has one", rel("Moth Parade Final Season", eps(3)), "tv 2 -"},
		{"a part of the final season, which is not there", rel("Moth Parade Final Season", inPart(2), eps(3)), "tv 2 -"},
		{"part in words after the season", rel("Clockwork Isle 2nd Season - Sono Ni", eps(6)), "tv 12 S02E18"},
		{"year of a season's later cour", rel("Clockwork Isle II", of(2024), eps(2)), "tv 12 S02E14"},
		{"season with a year and a part", rel("Clockwork Isle", of(2023), inPart(2), eps(2)), "tv 12 S02E14"},
		{"merged third season, counted on, before another", rel("Reed Archive", inSeason(3), eps(31)), "tv 14 S01E31"},
		{"second part of an arc", rel("Violet Moat Siege Hall", inSeason(2), eps(3)), "tv 15 S03E15"},
		{"arc without its parts", rel("Violet Moat Siege Hall", eps(3)), "tv 15 S03E03"},
		{"no special that is called like the show without its year", rel("Salt Diary", of(2016), eps(2)), "tv 16 S01E02"},
		{"no episodes yet", rel("Not Yet Aired", eps(1)), "tv 9 -"},
		{"batch of the only season", rel("Moth Parade", as(release.Batch)), "tv 2 S01"},
		{"batch of a stated season", rel("Salt Harbor", as(release.Batch), inSeason(2)), "tv 3 S02"},
		{"batch of several seasons", rel("Salt Harbor", as(release.Batch)), "tv 3 -"},
		{"batch with its numbers", rel("Quiet Engine", as(release.Batch), eps(1, 2, 3)), "tv 8 S01E01E02E03"},
		{"extra", rel("Salt Harbor", as(release.Extra)), "skipped"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := decideOne(shapes(), row.rel)
			if outcome(got) != row.want {
				t.Errorf("got %s (%s), want %s\nsteps: %v", outcome(got), got.Reason, row.want, got.Steps)
			}
			if got.Reason == "" {
				t.Error("a decision without a reason")
			}
		})
	}
}

func TestPlaceUsesAnImportedMapping(t *testing.T) {
	res := Resolution{Outcome: Outcome{Status: Matched, Kind: TV, ID: 1, Confidence: 1}, Entry: merged}
	r := &Resolver{Source: shapes(), Options: DefaultOptions()}
	for _, row := range []struct {
		m    Mapping
		rel  release.Release
		want string
	}{
		{Mapping{Season: 1, Offset: 12}, rel("Tomori", eps(3)), "tv 1 S01E15"},
		{Mapping{Absolute: true, Offset: 24}, rel("Tomori", eps(1)), "tv 1 S01E25"},
		{Mapping{Season: 1, Offset: 30}, rel("Tomori", eps(3)), "tv 1 S01E33"},
		{Mapping{Season: 1, Offset: 12}, rel("Tomori", inSeason(1), eps(3)), "tv 1 S01E03"},
		{Mapping{Season: 2}, rel("Tomori", inSeason(1), eps(3)), "tv 1 S02E03"},
		{Mapping{Season: 2}, rel("Tomori", inSeason(3), eps(3)), "tv 1 S03E03"},
	} {
		if res.Entry = merged; row.m.Season == 2 {
			res.Entry = split
		}
		res.Mapping = &row.m
		if got := r.Place(context.Background(), []File{{Release: row.rel}}, res)[0]; outcome(got) != row.want {
			t.Errorf("%+v: got %s (%s), want %s", row.m, outcome(got), got.Reason, row.want)
		}
	}
	res.Entry, res.Hint, res.Mapping = split, Hint{Remainder: "z"}, &Mapping{Season: 2}
	got := r.Place(t.Context(), []File{{Release: rel("Salt Harbor Z", inSeason(1), eps(3))}}, res)[0]
	if outcome(got) != "tv 1 S02E03" {
		t.Errorf("the first season of a sequel: got %s (%s)", outcome(got), got.Reason)
	}
}

func TestPlaceReportsAGroupThatCannotBeAsked(t *testing.T) {
	w := shapes()
	boom := fmt.Errorf("limiter sleeps")
	w.fail = func(what string) error {
		if what == "group abs" {
			return boom
		}
		return nil
	}
	got := decideOne(w, rel("Long March", eps(22)))
	if got.Status != Pending || !errors.Is(got.Err, boom) || got.ID != 10 {
		t.Errorf("got %+v, want pending with the cause and the id", got)
	}
}

// Files of one folder are judged together, by ways that no list of names without folders takes.
func TestAnyFolderIsDecided(t *testing.T) {
	w := shapes()
	var titles []string
	for _, e := range w.entries {
		titles = append(titles, e.Title, e.OriginalTitle)
	}
	words := rapid.SampledFrom([]string{
		"[Kumo]", "OVA", "OAD", "SP1", "Special", "Movie", "NCOP1", "Trailer", "S01E02", "S02", "S2 - 03", "- 03", "- 14v2",
		"- 7.5", "- 01-12", "E05", "(2016)", "(2019)", "2nd Season", "Final Season", "II", "Part 2", "Arc", "TV",
		"第3話", "第2期", "3화", "2기", "극장판", "#12", "101", "1080p", "end",
	})
	folders := rapid.SampledFrom([]string{
		"", "Season 1/", "Season 2/", "Season 0/", "OVA/", "Specials/", "Movies/", "Disc 1/",
	})
	rapid.Check(t, func(t *rapid.T) {
		show := rapid.SampledFrom(titles).Draw(t, "show")
		var files []File
		for range rapid.IntRange(1, 6).Draw(t, "files") {
			title := rapid.SampledFrom([]string{show, show, show, ""}).Draw(t, "title")
			rest := strings.Join(rapid.SliceOfN(words, 1, 4).Draw(t, "words"), " ")
			path := show + "/" + folders.Draw(t, "folder") + title + " " + rest + ".mkv"
			files = append(files, File{Release: release.Parse(path)})
		}
		decided := 0
		res := &Resolver{Source: w, Options: DefaultOptions()}
		for _, s := range Group(files) {
			for _, d := range res.Place(context.Background(), s.Files, res.Resolve(context.Background(), s)) {
				if decided++; d.Status == "" || d.Season != nil && d.Status != Matched {
					t.Fatalf("%+v", d)
				}
			}
		}
		if decided != len(files) {
			t.Fatalf("%d of %d files are decided", decided, len(files))
		}
	})
}

// Whatever the name says and whatever TMDB holds, only fetched episodes come out, and never a regular one for a half
// episode, an extra or a special.
func TestPlaceInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawEntry(t)
		r := drawRelease(t)
		hint := Hint{
			Season: rapid.IntRange(0, 4).Draw(t, "hint"), Part: rapid.IntRange(0, 3).Draw(t, "part"),
			Year:      rapid.SampledFrom([]int{0, 2019, 2020}).Draw(t, "year"),
			Remainder: rapid.SampledFrom([]string{"", "episode name 2", "arc 1"}).Draw(t, "rest"),
		}
		if hint.Remainder != "" {
			hint.Arcs = []ArcTitle{{Title: "x " + hint.Remainder, Remainder: hint.Remainder}}
		}
		res := Resolution{Outcome: Outcome{Status: Matched, Kind: TV, ID: 1}, Entry: e, Hint: hint}
		d := (&Resolver{Source: &world{}, Options: DefaultOptions()}).Place(context.Background(), []File{{Release: r}},
			res)[0]
		if r.Kind == release.Extra || r.Extra {
			if d.Status != Skipped || d.ID != 0 {
				t.Fatalf("extra came out as %+v", d)
			}
			return
		}
		if d.Season == nil {
			if len(d.Episodes) > 0 || d.Reason == "" {
				t.Fatalf("no season, yet %+v", d)
			}
			return
		}
		s, ok := e.season(*d.Season)
		if !ok {
			t.Fatalf("season %d does not exist", *d.Season)
		}
		for _, n := range d.Episodes {
			if !slices.ContainsFunc(s.Episodes, func(ep Episode) bool { return ep.Number == n }) {
				t.Fatalf("S%02dE%02d does not exist", *d.Season, n)
			}
		}
		half := slices.ContainsFunc(r.Episodes, func(x float64) bool { return x != math.Trunc(x) })
		if (half || r.Kind == release.Special) && *d.Season > 0 && len(d.Episodes) > 0 {
			t.Fatalf("%+v came out as S%02dE%v", r, *d.Season, d.Episodes)
		}
	})
}

func drawEntry(t *rapid.T) *Entry {
	e := &Entry{Kind: TV, ID: 1, Title: "Show", Year: 2019}
	for n := range rapid.IntRange(0, 4).Draw(t, "seasons") {
		s := Season{Number: n, Name: rapid.SampledFrom([]string{"Season 1", "arc 1", ""}).Draw(t, "name")}
		at := rapid.IntRange(1, 70).Draw(t, "first")
		day := time.Date(2019, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, rapid.IntRange(0, 30).Draw(t, "month"), 0)
		for range rapid.IntRange(0, 20).Draw(t, "count") {
			ep := Episode{Number: at, Name: fmt.Sprintf("episode name %d", at)}
			if rapid.Bool().Draw(t, "dated") {
				ep.AirDate = day.Format("2006-01-02")
			}
			s.Episodes = append(s.Episodes, ep)
			at += rapid.SampledFrom([]int{1, 1, 1, 2}).Draw(t, "step")
			day = day.AddDate(0, 0, rapid.SampledFrom([]int{7, 7, 7, 100, 300}).Draw(t, "pause"))
		}
		e.Seasons = append(e.Seasons, s)
	}
	return e
}

func drawRelease(t *rapid.T) release.Release {
	r := release.Release{Title: "Show", Kind: release.Kind(rapid.IntRange(0, 5).Draw(t, "kind"))}
	for range rapid.IntRange(0, 3).Draw(t, "numbers") {
		r.Episodes = append(r.Episodes, float64(rapid.IntRange(0, 160).Draw(t, "number"))/2)
	}
	if rapid.Bool().Draw(t, "hasSeason") {
		r.Seasons = []int{rapid.IntRange(0, 5).Draw(t, "season")}
	}
	r.Part = rapid.IntRange(0, 3).Draw(t, "relPart")
	r.Extra = rapid.IntRange(0, 9).Draw(t, "extra") == 0
	r.EpisodeTitle = rapid.SampledFrom([]string{"", "episode name 3"}).Draw(t, "title")
	return r
}

// japanese is a world whose seasons have other names in Japanese.
type japanese struct {
	*world
	names map[int]string
}

func (j japanese) SeasonNames(_ context.Context, _ int, language string) (map[int]string, Origin, error) {
	if language != "ja-JP" {
		return map[int]string{}, Origin{}, nil
	}
	return j.names, Origin{}, nil
}

// english is a world that was asked in Korean, whose seasons have names in English.
type english struct{ *world }

func (e english) SeasonNames(_ context.Context, _ int, language string) (map[int]string, Origin, error) {
	if language != "en-US" {
		return map[int]string{}, Origin{}, nil
	}
	return map[int]string{1: "Season 1", 2: "Winter Letters", 3: "Northern Lights", 4: "Season 4"}, Origin{}, nil
}

// What is decided does not depend on the language in which TMDB is asked.
func TestSeasonsOfAKoreanRunAreFoundByTheirEnglishNames(t *testing.T) {
	for name, row := range map[string]struct {
		rel  release.Release
		want string
	}{
		"a season's name":                         {rel("Salt Harbor Northern Lights", eps(3)), "tv 3 S03E03"},
		"and the number of a part of it":          {rel("Salt Harbor Winter Letters", inSeason(2), eps(3)), "tv 3 S02E03"},
		"an alternative title is a season's name": {rel("Northern Lights", eps(3)), "tv 3 S03E03"},
		"and has a second season":                 {rel("Northern Lights", inSeason(2), eps(3)), "tv 3 S04E03"},
		"no season has that name":                 {rel("Salt Harbor Summer Letters", eps(3)), "tv 3 -"},
		"a number is no name of a season":         {rel("Salt Harbor", inSeason(2), eps(3)), "tv 3 S02E03"},
	} {
		t.Run(name, func(t *testing.T) {
			harbor := series(3, "소금항", "塩港", 2018, season(1, "1-12@2018-04-07"), season(2, "1-12@2019-04-06"),
				season(3, "1-13@2020-04-04"), season(4, "1-7@2021-04-04")).alt("Salt Harbor").alt(row.rel.Title)
			for i := range harbor.Seasons {
				harbor.Seasons[i].Name = fmt.Sprintf("시즌 %d", i+1)
			}
			res := &Resolver{Source: english{&world{entries: []*Entry{harbor}}}, Options: DefaultOptions()}
			s := Group([]File{{Release: row.rel}})[0]
			if d := res.Place(t.Context(), s.Files, res.Resolve(t.Context(), s))[0]; outcome(d) != row.want {
				t.Errorf("%s, want %s: %s", outcome(d), row.want, d.Reason)
			}
		})
	}
}

func TestSeasonsAreFoundByHowTheirJapaneseNamesAreRead(t *testing.T) {
	for _, row := range []struct {
		name  string
		names map[int]string
		title string
		want  string
		alt   []string
	}{
		{
			"kana and Han",
			map[int]string{2: "塩港 霧の灯台編", 3: "塩港 北への帰り道"},
			"Salt Harbor Kiri no Toudai-hen",
			"tv 3 S02E03", nil,
		},
		{
			"both may be read so",
			map[int]string{2: "塩港 霧の灯台編", 3: "塩港 嵐の航路編"},
			"Salt Harbor Kiri no Toudai-hen", "tv 3 -",
			nil,
		},
		{
			"a character that is read twice",
			map[int]string{2: "塩港 星々の灯台", 3: "塩港 嵐夜の航路"},
			"Salt Harbor Hoshiboshi no Toudai",
			"tv 3 S02E03", nil,
		},
		{
			"one has as many characters as the reading has room for",
			map[int]string{2: "塩港 灯台編", 3: "塩港 北海燈台島編"},
			"Salt Harbor Toudai-hen", "tv 3 S02E03", nil,
		},
		{
			"neither may",
			map[int]string{2: "塩港 霧の灯台編", 3: "シーズン3"},
			"Salt Harbor Winter Letters",
			"tv 3 -", nil,
		},
		{
			"a title of no season fits better",
			map[int]string{2: "塩港 大灯台の章", 3: "シーズン3"},
			"Salt Harbor Kita no Shou", "tv 3 -",
			[]string{"塩港 北の章"},
		},
		{
			"the other title of the name is Chinese, and no season has that name",
			map[int]string{2: "塩港 霧の灯台編", 3: "シーズン3"},
			"Salt Harbor Kiri no Toudai-hen", "tv 3 S02E03",
			[]string{"盐港 雾灯篇"},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			harbor := series(3, "Salt Harbor", "塩港", 2018, season(1, "1-12@2018-04-07").named("Salt Harbor: Ebb"),
				season(2, "1-12@2019-04-06"), season(3, "1-13@2020-04-04"))
			w := japanese{&world{entries: []*Entry{harbor.alt(row.title).alt(row.alt...)}}, row.names}
			res := &Resolver{Source: w, Options: DefaultOptions()}
			r := rel(row.title, eps(3))
			for _, a := range row.alt {
				also(a)(&r)
			}
			s := Group([]File{{Release: r}})[0]
			if d := res.Place(t.Context(), s.Files, res.Resolve(t.Context(), s))[0]; outcome(d) != row.want {
				t.Errorf("%s, want %s: %s", outcome(d), row.want, d.Reason)
			}
		})
	}
}

// inLanguages is a world whose series has other season names in each language.
type inLanguages struct {
	*world
	names map[string]map[int]string
}

func (w inLanguages) SeasonNames(_ context.Context, _ int, language string) (map[int]string, Origin, error) {
	return w.names[language], Origin{}, nil
}

func TestTheDisplayLanguageDoesNotChangeTheEvidence(t *testing.T) {
	names := map[string]map[int]string{
		"en-US": {1: "Season 1", 2: "Lantern Train Arc", 3: "Wharf Village Arc"},
		"ko-KR": {1: "시즌 1", 2: "등불열차편", 3: "부두마을편"},
	}
	var got []string
	for _, display := range []string{"en-US", "ko-KR"} {
		club := series(30, "Lantern Blade", "灯滅の刃", 2019, season(1, "1-26@2019-04-06"), season(2, "1-7@2021-10-10"),
			season(3, "1-11@2023-04-09")).alt("등불의 칼날")
		for i := range club.Seasons {
			club.Seasons[i].Name = names[display][i+1]
		}
		res := &Resolver{Source: inLanguages{&world{entries: []*Entry{club}}, names}, Options: DefaultOptions()}
		s := Group([]File{{Release: rel("등불의 칼날 부두마을편", eps(3))}})[0]
		d := res.Place(t.Context(), s.Files, res.ResolveAmong(t.Context(), s, []Hit{club.Hit()}))[0]
		got = append(got, fmt.Sprintf("%s %.3f", outcome(d), d.Confidence))
	}
	if got[0] != got[1] || !strings.HasPrefix(got[0], "tv 30 S03E03") {
		t.Errorf("in English %s, in Korean %s", got[0], got[1])
	}
}
