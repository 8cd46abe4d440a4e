package match

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/anivault/anivault/internal/release"
)

// kin is a world of confusable works.
func kin() *world {
	old := series(21, "Iron Nightingale", "鉄の小夜啼鳥", 1998, season(1, "1-26@1998-04-03"))
	remake := series(22, "Iron Nightingale", "鉄の小夜啼鳥", 2021, season(1, "1-12@2021-04-03"))
	movie := film(23, "Iron Nightingale", "劇場版 鉄の小夜啼鳥", 2000)
	live := series(24, "Harvest Gate", "収穫の門", 2015, season(1, "1-10@2015-01-05"))
	live.Genres, live.Popularity = []int{18}, 90
	drawn := series(25, "Harvest Gate", "収穫の門", 2014, season(1, "1-12@2014-01-05"))
	drawn.Popularity = 3
	romaji := series(26, "The Baker of Stars", "星のパン屋", 2020, season(1, "1-12@2020-01-05")).alt("Hoshi no Panya")
	romajiMovie := film(27, "The Baker of Stars the Movie", "劇場版 星のパン屋", 2022).alt("Gekijouban Hoshi no Panya")
	ovaOne := film(28, "Two Lanterns: Dusk", "二つの灯 宵", 2011).alt("Two Lanterns")
	two := series(29, "Corner Store 2", "角の店2", 2017, season(1, "1-12@2017-01-05"))
	one := series(30, "Corner Store", "角の店", 2013, season(1, "1-12@2013-01-05"))
	dusk := film(31, "Night Garden", "夜の庭", 2007).alt("Gekijouban Yoru no Niwa")
	dawn := film(32, "Night Garden", "夜の庭 二", 2007).alt("Gekijouban Yoru no Niwa")
	port := series(34, "Lantern Port", "灯の港", 2016, season(1, "1-12@2016-01-05")).alt("Lantern Port Extra")
	port.Titles = append(port.Titles, AltTitle{Title: "Laternenhafen", Language: "de"})
	days := series(35, "Days of Foam", "泡", 2016, season(1, "1-12@2016-01-05")).alt("Tide")
	days.Popularity = 60
	tide := series(36, "Tide: An Ordinary Sea", "潮の日々", 2016, season(1, "1-12@2016-01-05")).alt("Tide")
	ebb := series(37, "Ebb", "引き潮", 2016, season(1, "1-12@2016-01-05"))
	played := series(38, "Days of Salt", "塩", 2016, season(1, "1-12@2016-01-05")).alt("Ebb")
	played.Genres = []int{18}
	return &world{entries: []*Entry{
		old, remake, movie, live, drawn, romaji, romajiMovie, ovaOne, two, one, dusk, dawn,
		port, days, tide, ebb, played,
	}}
}

// A film is not its series: a series that is all there is of its title is a candidate.
func TestAFilmIsNotTakenForItsSeries(t *testing.T) {
	for _, row := range []struct {
		name string
		rel  release.Release
		want string
	}{
		{"nobody says that it is a film", rel("Salt Harbor"), "tv 3 -"},
		{"the name does", rel("Salt Harbor", as(release.Movie)), "ambiguous"},
		{"a special has that name", rel("Salt Harbor: Night Boat", as(release.Movie)), "tv 3 S00E01"},
	} {
		t.Run(row.name, func(t *testing.T) {
			harbor := series(3, "Salt Harbor", "塩港", 2018, season(0, "1-1@2019-08-01").titled("Salt Harbor: Night Boat"),
				season(1, "1-12@2018-04-07"))
			if d := decideOne(&world{entries: []*Entry{harbor.alt("Salt Harbor: Night Boat")}},
				row.rel); outcome(d) != row.want || d.Status == Ambiguous && len(d.Candidates) == 0 {
				t.Errorf("%s, want %s: %s %v", outcome(d), row.want, d.Reason, d.Steps)
			}
		})
	}
}

func TestResolveDistinguishesSimilarWorks(t *testing.T) {
	for _, row := range []struct {
		name string
		rel  release.Release
		want string
	}{
		{"the year picks the remake", rel("Iron Nightingale", of(2021), eps(3)), "tv 22 S01E03"},
		{"the year picks the first", rel("Iron Nightingale", of(1998), eps(3)), "tv 21 S01E03"},
		{"the number picks the one that has it", rel("Iron Nightingale", eps(20)), "tv 21 S01E20"},
		{"two that fit equally are not guessed", rel("Iron Nightingale", eps(3)), "ambiguous"},
		{"a film by its kind", rel("Iron Nightingale", as(release.Movie)), "movie 23"},
		{"animation for a fansub's style", rel("Harvest Gate", eps(3)), "tv 25 S01E03"},
		{"romaji that only an alternative title holds", rel("Hoshi no Panya", eps(3)), "tv 26 S01E03"},
		{"kana of another spelling of width", rel("星のパン屋", eps(3)), "tv 26 S01E03"},
		{"a film with its word for film", rel("Gekijouban Hoshi no Panya", as(release.Movie)), "movie 27"},
		{"two readings, one known", rel("Laternenladen", also("Hoshi no Panya"), eps(3)), "tv 26 S01E03"},
		{"an OVA that TMDB holds as a film", rel("Two Lanterns", special("OVA"), eps(1)), "movie 28"},
		{"a number is part of the title", rel("Corner Store 2", eps(3)), "tv 29 S01E03"},
		{"no number is not number two", rel("Corner Store", eps(3)), "tv 30 S01E03"},
		{
			"two titles one after the other", rel("Hoshi no Panya The Baker of Stars", also("Hoshi no Panya"), eps(3)),
			"tv 26 S01E03",
		},
		{"more of the name is a title too", rel("Corner Store", also("Corner Store 2"), eps(3)), "tv 29 S01E03"},
		{"a special long after its series", rel("Hoshi no Panya Special", special("OVA"), of(2040)), "tv 26 -"},
		{
			"films of one name that share a hidden title", rel("Gekijouban Yoru no Niwa", as(release.Movie), of(2007)),
			"ambiguous",
		},
		{"nothing at all", rel("Completely Unknown Words", eps(3)), "unmatched"},
		{"no title", release.Release{Name: "03.mkv", Kind: release.Episode, Episodes: []float64{3}}, "unmatched"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := decideOne(kin(), row.rel)
			if outcome(got) != row.want {
				t.Errorf("got %s (%s, confidence %.2f), want %s\nsteps %v\ncandidates %+v", outcome(got), got.Reason,
					got.Confidence, row.want, got.Steps, got.Candidates)
			}
			if got.Status == Ambiguous && len(got.Candidates) < 2 {
				t.Errorf("ambiguous between %+v", got.Candidates)
			}
		})
	}
}

// A title's shortest namesake is not the one looked for where something speaks against it: its spin-offs are not the
// end.
func TestBesideADoubtedNamesakeMoreThanTwoSpinOffsAreLookedAt(t *testing.T) {
	w := &world{entries: []*Entry{
		series(41, "Salt Quay", "塩", 2016, season(1, "1-2@2016-01-05")),
		series(42, "Salt Quay: Dusk", "塩 宵", 2017, season(1, "1-3@2017-01-05")),
		series(43, "Salt Quay: Dawn", "塩 暁", 2018, season(1, "1-3@2018-01-05")),
		series(44, "Salt Quay the Animation", "塩の埠頭アニメーション", 2019, season(1, "1-12@2019-01-05")).alt("Salt Quay"),
	}}
	if got := decideOne(w, rel("Salt Quay", eps(11))); outcome(got) != "tv 44 S01E11" {
		t.Errorf("got %s: %v", outcome(got), got.Steps)
	}
}

// "video.mp4" in a folder of a common word is no question worth asking; a number in the name makes it one.
func TestAFoldersTitleAloneIsTrustedLess(t *testing.T) {
	w := &world{entries: []*Entry{series(51, "Broken Blade", "ブレイク", 2014, season(1, "1-6@2014-04-05"))}}
	for _, row := range []struct {
		name string
		rel  release.Release
		want string
	}{
		{"a file that says nothing", rel("broken", as(release.Unknown)), "unmatched"},
		{"a file with a number", rel("broken", eps(1)), "ambiguous"},
		{"the whole title", rel("Broken Blade", as(release.Unknown)), "tv 51 -"},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.rel.Titles[0].From = release.FromFolder
			if got := decideOne(w, row.rel); outcome(got) != row.want {
				t.Errorf("got %s (%s, %.2f), want %s: %v", outcome(got), got.Reason, got.Confidence, row.want, got.Steps)
			}
		})
	}
}

func TestResolveIgnoresTheOrderOfRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := kin()
		seed := rapid.Uint64().Draw(t, "seed")
		w.order = func(h []Hit) {
			rand.New(rand.NewPCG(seed, 1)).Shuffle(len(h), func(i, j int) { h[i], h[j] = h[j], h[i] })
		}
		r := rapid.SampledFrom([]release.Release{
			rel("Iron Nightingale", eps(3)), rel("Iron Nightingale", of(2021), eps(3)), rel("Harvest Gate", eps(3)),
			rel("Hoshi no Panya"), rel("Corner Store", eps(1)),
		}).Draw(t, "name")
		got, want := decideOne(w, r), decideOne(kin(), r)
		if diff := cmp.Diff(want.Candidates, got.Candidates); diff != "" || outcome(got) != outcome(want) {
			t.Fatalf("%s became %s\n%s", outcome(want), outcome(got), diff)
		}
	})
}

func TestResolveSavesRequests(t *testing.T) {
	for _, row := range []struct {
		name string
		rel  release.Release
		want []string
	}{
		{
			"a series: one search, one entry", rel("Corner Store 2", eps(3)),
			[]string{`search tv "Corner Store 2" 0`, "entry tv 29"},
		},
		{
			"a film whose row says it: one search", rel("Iron Nightingale", as(release.Movie)),
			[]string{`search movie "Iron Nightingale" 0`},
		},
		{
			"a title that rows do not show: its entry", rel("Hoshi no Panya", eps(3)),
			[]string{`search tv "Hoshi no Panya" 0`, "entry tv 26"},
		},
		{
			"namesakes: both entries", rel("Iron Nightingale", eps(3)),
			[]string{`search tv "Iron Nightingale" 0`, "entry tv 21", "entry tv 22"},
		},
		{
			"a year narrows", rel("Iron Nightingale", of(2021), eps(3)),
			[]string{`search tv "Iron Nightingale" 2021`, "entry tv 22"},
		},
		{"an id in the path: no search", rel("Hoshi no Panya", func(r *release.Release) {
			r.IDs = []release.ID{{Source: "tmdb", Value: "26"}}
		}, eps(3)), []string{"entry tv 26"}},
		{"an extra: nothing", rel("Corner Store 2", as(release.Extra)), nil},
		{
			"kind unknown, the only row hides a translation: its entry", rel("Laternenhafen", as(release.Unknown)),
			[]string{`search tv "Laternenhafen" 0`, "entry tv 34"},
		},
		{
			"kind unknown, the only row hides a title that may be a special's: the other kind too",
			rel("Lantern Port Extra", as(release.Unknown)),
			[]string{
				`search tv "Lantern Port Extra" 0`, "entry tv 34", `search movie "Lantern Port Extra" 0`,
			},
		},
		{
			"kind unknown, a film may be the only row: its titles are its own",
			rel("Gekijouban Hoshi no Panya", as(release.Unknown), func(r *release.Release) { r.Extension = "mkv" }),
			[]string{
				`search movie "Gekijouban Hoshi no Panya" 0`, "entry movie 27",
			},
		},
		{"a rival that could not win: not at all", rel("Ebb", eps(3)), []string{`search tv "Ebb" 0`, "entry tv 37"}},
		{
			"the row that begins with the title, then one that may hide it", rel("Tide", eps(3)),
			[]string{`search tv "Tide" 0`, "entry tv 36", "entry tv 35"},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := kin()
			decideOne(w, row.rel)
			got := slices.DeleteFunc(slices.Clone(w.asked), func(s string) bool {
				return strings.HasPrefix(s, "search") && !slices.Contains(row.want, s) && len(row.want) > 2
			})
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestResolveAsksAtMostSixTimesForAnUnknownTitle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := kin()
		words := rapid.SliceOfN(rapid.SampledFrom([]string{
			"zebra", "水の", "Iron", "2nd Season", "Harvest", ":", "(2011)",
			"~x~", "movie",
		}), 1, 9)
		r := rel(strings.Join(words.Draw(t, "words"), " "), of(rapid.SampledFrom([]int{0, 2011}).Draw(t, "year")),
			as(release.Kind(rapid.IntRange(0, 5).Draw(t, "kind"))))
		r.Titles = append(r.Titles, release.Title{Text: strings.Join(words.Draw(t, "more"), " ")})
		decideOne(w, r)
		searches := 0
		for _, a := range w.asked {
			if strings.HasPrefix(a, "search") {
				searches++
			}
		}
		if limit := DefaultOptions(); searches > limit.MaxSearches || len(w.asked)-searches > limit.MaxEntries+1 {
			t.Fatalf("%d requests: %q", len(w.asked), w.asked)
		}
		seen := map[string]bool{}
		for _, a := range w.asked {
			if seen[strings.ToLower(a)] {
				t.Fatalf("asked twice: %s", a)
			}
			seen[strings.ToLower(a)] = true
		}
	})
}

func TestResolveHandsOnTheSourcesError(t *testing.T) {
	boom := errors.New("blocked")
	for _, what := range []string{"search", "entry"} {
		w := kin()
		w.fail = func(s string) error {
			if strings.HasPrefix(s, what) {
				return boom
			}
			return nil
		}
		got := decideOne(w, rel("Corner Store 2", eps(3)))
		if got.Status != Pending || !errors.Is(got.Err, boom) || got.ID != 0 {
			t.Errorf("%s fails: got %+v", what, got)
		}
		if len(w.asked) > 2 {
			t.Errorf("%s fails, and it continued to ask: %q", what, w.asked)
		}
	}
}

func TestResolveDropsAnEntryThatIsGone(t *testing.T) {
	w := kin()
	w.fail = func(s string) error {
		if s == "entry tv 21" {
			return fmt.Errorf("deleted: %w", ErrNoEntry)
		}
		return nil
	}
	if got := decideOne(w, rel("Iron Nightingale", eps(3))); outcome(got) != "tv 22 S01E03" {
		t.Errorf("got %s, %s", outcome(got), got.Reason)
	}
}

func TestResolveReportsTheLeastFreshOrigin(t *testing.T) {
	got := decideOne(kin(), rel("Corner Store 2", eps(3)))
	if want := (Origin{Freshness: FromCache, FetchedAt: time.Unix(1000, 0)}); got.Origin != want {
		t.Errorf("got %+v, want the cached entry's %+v", got.Origin, want)
	}
}

// Two answers are as fresh as the less fresh one and as old as the older one, whichever comes first.
func TestOriginsOfSeveralAnswers(t *testing.T) {
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	network := Origin{ReadAt: at(50)}
	fresh := Origin{Freshness: FromCache, FetchedAt: at(10), ReadAt: at(40)}
	stale := Origin{Freshness: FromStale, FetchedAt: at(20), ReadAt: at(30)}
	for _, row := range []struct {
		name string
		a, b Origin
		want Origin
	}{
		{"nothing yet", Origin{}, fresh, fresh},
		{"network and cache", network, fresh, Origin{Freshness: FromCache, FetchedAt: at(10), ReadAt: at(50)}},
		{"stale, though another is older", fresh, stale, Origin{Freshness: FromStale, FetchedAt: at(10), ReadAt: at(40)}},
		{"network and stale", network, stale, Origin{Freshness: FromStale, FetchedAt: at(20), ReadAt: at(50)}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if diff := cmp.Diff(row.want, row.a.CombinedWith(row.b)) +
				cmp.Diff(row.want, row.b.CombinedWith(row.a)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAnIDIsTakenAsGiven(t *testing.T) {
	w := kin()
	r := &Resolver{Source: w, Options: DefaultOptions()}
	s := Group([]File{{Release: rel("Completely Unknown Words", eps(3))}})[0]
	d := r.Place(context.Background(), s.Files[:1], r.ResolveID(context.Background(), s, TV, 26))[0]
	if outcome(d) != "tv 26 S01E03" || d.Confidence != 1 {
		t.Errorf("got %s from %s with %v", outcome(d), d.Origin.Freshness, d.Confidence)
	}
	if diff := cmp.Diff([]string{"entry tv 26"}, w.asked); diff != "" {
		t.Error(diff)
	}
}

// What two titles of a show have in common is no subtitle of another season.
func TestTheBeginningOfSeveralTitlesNamesTheWholeShow(t *testing.T) {
	show := series(31, "Iron Vow: Lantern of the Rebellion", "鉄の誓い 反逆のランタン", 2006,
		season(1, "1-25@2006-10-05"), season(2, "1-25@2008-04-06")).alt("Iron Vow: Hangyaku no Lantern")
	r := &Resolver{Source: &world{entries: []*Entry{show}}, Options: DefaultOptions()}
	for name, want := range map[string]string{
		"Iron Vow": "tv 31 S01E03", "Iron Vow: Hangyaku no Lantern": "tv 31 S02E03", "Something Else": "tv 31 S01E03",
	} {
		s := Group([]File{{Release: rel(name, eps(3))}})[0]
		d := r.Place(context.Background(), s.Files[:1], r.ResolveID(context.Background(), s, TV, 31))[0]
		if outcome(d) != want {
			t.Errorf("%s: %s, want %s: %v", name, outcome(d), want, d.Reason)
		}
	}
}

// TestAListedExtraIsMatchedToItsWork is about names that somebody listed as media: they get their work's id and never
// an episode, and stay skipped where the work is not certain.
func TestAListedExtraIsMatchedToItsWork(t *testing.T) {
	for _, row := range []struct {
		name string
		rel  release.Release
		want string
	}{
		{"of a series", rel("Hoshi no Panya", as(release.Extra), eps(2)), "tv 26 -"},
		{"of a film", rel("Gekijouban Hoshi no Panya", as(release.Extra)), "movie 27"},
		{"one of two namesakes", rel("Iron Nightingale", as(release.Extra)), "skipped"},
		{"of nothing known", rel("Completely Unknown Words", as(release.Extra)), "skipped"},
	} {
		t.Run(row.name, func(t *testing.T) {
			res := &Resolver{Source: kin(), Options: DefaultOptions()}
			s := Group([]File{{Release: row.rel, MatchExtra: true}})[0]
			got := res.Place(t.Context(), s.Files[:1], res.Resolve(t.Context(), s))[0]
			if outcome(got) != row.want || got.Reason == "" {
				t.Errorf("got %s (%s), want %s", outcome(got), got.Reason, row.want)
			}
			if got := decideOne(kin(), row.rel); got.Status != Skipped {
				t.Errorf("found by a walk: %s, want it skipped", outcome(got))
			}
		})
	}
}

func TestAFilmIsDoubtedForANameWithASeason(t *testing.T) {
	for _, r := range []release.Release{rel("Two Lanterns", inSeason(2), eps(10)), rel("Two Lanterns", eps(4))} {
		if got := decideOne(kin(), r); got.Status != Ambiguous || got.Confidence > 0.8 {
			t.Errorf("%v: got %s with confidence %.2f, want it ambiguous", r.Episodes, outcome(got), got.Confidence)
		}
	}
	if got := decideOne(kin(), rel("Two Lanterns", eps(1))); outcome(got) != "movie 28" {
		t.Errorf("a first episode: got %s, want the film", outcome(got))
	}
}

// An id in the path is the user's word: a number or another title in the name doesn't make it less certain.
func TestAnIDInThePathIsCertain(t *testing.T) {
	for _, id := range []release.ID{{Source: "tmdb", Value: "23"}, {Source: "imdb", Value: "tt1"}} {
		w := kin()
		w.ids = map[string][]int{"imdb tt1": {23}}
		r := release.Parse("Iron Nightingale 2 (2000).mkv")
		r.IDs = []release.ID{id}
		if d := decideOne(w, r); outcome(d) != "movie 23" || d.Confidence != 1 {
			t.Errorf("%v: %s with confidence %v", id, outcome(d), d.Confidence)
		}
	}
}

// A folder's id does not say whether it is a film's or a series'. A video without a number takes the entry with the
// folder's title, and never another work that has the number by chance.
func TestAnIDIsOfTheKindThatIsCalledSo(t *testing.T) {
	moths := series(40, "Paper Moths", "紙の蛾", 2018, season(1, "1-4@2018-04-01"))
	lullaby := film(40, "Iron Lullaby", "鉄の子守唄", 1999)
	alone := series(41, "Glass Orbit", "硝子の軌道", 2019, season(1, "1-4@2019-04-01"))
	harbour := series(43, "Quiet Harbour", "静かな港", 2011, season(1, "1-13@2011-04-01"))
	flight, probe := film(43, "Comet 13", "彗星13号", 1995), film(42, "Comet 14", "彗星14号", 1999)
	for _, row := range []struct{ path, want string }{
		{"Paper Moths (2018) [tmdbid-40]/Making Of the Moths.mkv", "tv 40 -"},
		{"Paper Moths (2018) [tmdbid-40]/Paper Moths Movie.mkv", "tv 40 -"},
		{"Paper Moths (2018) [tmdbid-40]/Paper Moths S01E02.mkv", "tv 40 S01E02"},
		{"Iron Lullaby (1999) [tmdbid-40]/Iron Lullaby (1999).mkv", "movie 40"},
		{"Wiegenlied [tmdbid-40]/Wiegenlied.mkv", "movie 40"},
		{"Mothman [tmdbid-40]/Mothman.mkv", "movie 40"},
		{"Paper Cut [tmdbid-40]/Paper Cut.mkv", "movie 40"},
		{"Paper Moths (2018) [tmdb-movie-40]/Making Of the Moths.mkv", "movie 40"},
		{"Glass Orbit (2019) [tmdbid-41]/my film.mkv", "tv 41 -"},
		{"Comet 13 (1995) {tmdb-43}/Comet 13.mkv", "movie 43"},
		{"Comet 14 (1999) {tmdb-42}/Comet 14.mkv", "movie 42"},
		{"Comet 14 {tmdb-42}.mkv", "movie 42"},
		{"Quiet Harbour {tmdb-43}/Quiet Harbour - 03.mkv", "tv 43 S01E03"},
		{"Harbour at Night {tmdb-43}/Harbour at Night - 03.mkv", "tv 43 S01E03"},
		{"Comet 13 {tmdb-43}/Comet 13 - S01E03.mkv", "tv 43 S01E03"},
	} {
		d := decideOne(&world{entries: []*Entry{moths, lullaby, alone, harbour, flight, probe}}, release.Parse(row.path))
		if got := outcome(d); got != row.want {
			t.Errorf("%s: got %s, want %s", row.path, got, row.want)
		}
	}
}

func TestResolveTakesOtherSitesIDs(t *testing.T) {
	for _, row := range []struct {
		name  string
		ids   []release.ID
		rel   release.Release
		want  string
		asked []string
	}{
		{
			"a series",
			[]release.ID{{Source: "tvdb", Value: "7"}},
			rel("Iron Nightingale", eps(3)), "tv 22 S01E03",
			[]string{"find tvdb 7", "entry tv 22"},
		},
		{
			"a film",
			[]release.ID{{Source: "imdb", Value: "tt1"}},
			rel("Anything", as(release.Movie)), "movie 23",
			[]string{"find imdb tt1", "entry movie 23"},
		},
		{
			"both kinds under one id: as the name says",
			[]release.ID{{Source: "imdb", Value: "tt2"}},
			rel("Anything", eps(2)),
			"tv 21 S01E02",
			[]string{"find imdb tt2", "entry tv 21"},
		},
		{
			"the second id is known",
			[]release.ID{{Source: "tvdb", Value: "8"}, {Source: "imdb", Value: "tt1"}},
			rel("Anything", as(release.Movie)), "movie 23",
			[]string{"find tvdb 8", "find imdb tt1", "entry movie 23"},
		},
		{
			"a TMDB id needs no other",
			[]release.ID{{Source: "imdb", Value: "tt1"}, {Source: "tmdb", Value: "22"}},
			rel("Iron Nightingale", eps(3)), "tv 22 S01E03",
			[]string{"entry tv 22"},
		},
		{
			"an id that TMDB does not know",
			[]release.ID{{Source: "imdb", Value: "tt9"}},
			rel("Corner Store 2", eps(3)),
			"tv 29 S01E03",
			[]string{"find imdb tt9", "search tv \"Corner Store 2\" 0", "entry tv 29"},
		},
		{
			"an id of a site that TMDB does not ask",
			[]release.ID{{Source: "anidb", Value: "5"}},
			rel("Corner Store 2", eps(3)),
			"tv 29 S01E03",
			[]string{"search tv \"Corner Store 2\" 0", "entry tv 29"},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := kin()
			w.ids = map[string][]int{"tvdb 7": {22}, "imdb tt1": {23}, "imdb tt2": {23, 21}}
			row.rel.IDs = row.ids
			got := decideOne(w, row.rel)
			if outcome(got) != row.want || got.Reason == "" {
				t.Errorf("got %s (%s), want %s", outcome(got), got.Reason, row.want)
			}
			if d := cmp.Diff(row.asked, w.asked); d != "" {
				t.Errorf("asked (-want +got):\n%s", d)
			}
		})
	}
	w := kin()
	boom := errors.New("limiter sleeps")
	w.fail = func(string) error { return boom }
	r := rel("Corner Store 2", eps(3))
	r.IDs = []release.ID{{Source: "imdb", Value: "tt1"}}
	if got := decideOne(w, r); got.Status != Pending || !errors.Is(got.Err, boom) || len(w.asked) != 1 {
		t.Errorf("an id that cannot be looked up: %+v after %v, want it pending without a search", got, w.asked)
	}
}

func TestUmlautsAndAmpersandsMayBeSpelledOut(t *testing.T) {
	for _, row := range []struct{ atTMDB, inName string }{
		{"Gate & Harbor", "Gate and Harbor"},
		{"Gate & Harbor", "Gate And Harbor"},
		{"Gate and Harbor", "Gate & Harbor"},
		{"Märchen der Küste", "Maerchen der Kueste"},
		{"Maerchen der Kueste", "Märchen der Küste"},
		{"Märchen der Küste", "Marchen der Kuste"},
	} {
		w := &world{entries: []*Entry{series(3, row.atTMDB, "海岸のメルヘン", 2018, season(1, "1-12@2018-04-07"))}}
		res := &Resolver{Source: w, Options: DefaultOptions()}
		s := Group([]File{{Release: rel(row.inName, eps(3))}})[0]
		if d := res.Resolve(t.Context(), s); d.ID != 3 || d.Confidence < 0.95 {
			t.Errorf("%s for %s: %s with confidence %.3f", row.inName, row.atTMDB, d.Status, d.Confidence)
		}
	}
}

func TestALiveActionNamesakeIsARival(t *testing.T) {
	drawn := series(25, "Harvest Gate", "収穫の門", 2014, season(1, "1-12@2014-01-05"))
	live := series(24, "Harvest Gate", "収穫の門", 2015, season(1, "1-10@2015-01-05"))
	live.Genres = []int{18}
	plain := rel("Harvest Gate", eps(3))
	plain.Name = plain.Title
	var confidences []float64
	for _, r := range []release.Release{rel("Harvest Gate", eps(3)), plain} {
		res := &Resolver{Source: &world{entries: []*Entry{live, drawn}}, Options: DefaultOptions()}
		d := res.Resolve(t.Context(), Group([]File{{Release: r}})[0])
		if confidences = append(confidences, d.Confidence); len(d.Candidates) != 2 || d.ID != 25 {
			t.Errorf("%s: %s %d, candidates %v", r.Name, d.Status, d.ID, d.Candidates)
		}
	}
	if confidences[0] <= confidences[1] {
		t.Errorf("a fansub name is no more certain than a plain one: %v", confidences)
	}
}
