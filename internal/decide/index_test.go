package decide

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/index"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/orders"
	"github.com/anivault/anivault/internal/release"
)

type numbering = orders.Numbering

func placed(season, offset int) numbering { return numbering{Season: &season, Offset: offset} }

// A search is done without only where the index leaves few entries in question.
func TestFewEntriesAreEnough(t *testing.T) {
	tv := index.Candidate{Kind: match.TV, ID: 1, AniDBID: 10}
	other := index.Candidate{Kind: match.TV, ID: 2, AniDBID: 11}
	film := index.Candidate{Kind: match.Movie, ID: 3, AniDBID: 12}
	export := index.Candidate{Kind: match.TV, ID: 4}
	short := index.Candidate{Kind: match.TV, ID: 5, AniDBID: 13, Abbreviation: true}
	for _, c := range []struct {
		name   string
		found  []index.Candidate
		want   match.Want
		fansub bool
		ids    []int
	}{
		{"nothing", nil, match.WantTV, true, nil},
		{"the only one", []index.Candidate{tv}, match.WantTV, false, []int{1}},
		{"two series", []index.Candidate{tv, other}, match.WantTV, true, []int{1, 2}},
		{
			"four series",
			[]index.Candidate{tv, other, {Kind: match.TV, ID: 6, AniDBID: 14}, {Kind: match.TV, ID: 7, AniDBID: 15}},
			match.WantTV, true, nil,
		},
		{"a series and a film, wanted a series", []index.Candidate{tv, film}, match.WantTV, false, []int{1}},
		{"a series and a film, wanted a film", []index.Candidate{tv, film}, match.WantMovie, false, []int{3}},
		{"a series and a film, nothing said", []index.Candidate{tv, film}, match.WantAny, true, []int{1, 3}},
		{"a film, wanted a series", []index.Candidate{film}, match.WantTV, true, nil},
		{
			"a film and a namesake in the exports, wanted a series",
			[]index.Candidate{film, export},
			match.WantTV, true,
			[]int{4},
		},
		{"a namesake in the exports", []index.Candidate{tv, export}, match.WantTV, false, nil},
		{"a namesake in the exports, in a fansub's name", []index.Candidate{tv, export}, match.WantTV, true, []int{1}},
		{"the exports alone", []index.Candidate{export}, match.WantTV, false, []int{4}},
		{"an abbreviation", []index.Candidate{short}, match.WantTV, false, nil},
		{"an abbreviation in a fansub's name", []index.Candidate{short}, match.WantTV, true, []int{5}},
		{"an abbreviation and a title", []index.Candidate{short, tv}, match.WantTV, true, []int{1}},
		{"an abbreviation and a namesake", []index.Candidate{short, export}, match.WantTV, true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			said := indexResult{candidates: c.found}
			var got []int
			for _, c := range said.sufficientCandidates(match.Series{Want: c.want, FansubStyle: c.fansub}) {
				got = append(got, c.ID)
			}
			if diff := cmp.Diff(c.ids, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Without TMDB, a file gets an episode only if it can't belong to another anime of the series.
func TestEpisodesByTheListsAlone(t *testing.T) {
	at := func(anime, season, offset int) index.Candidate {
		return index.Candidate{Kind: match.TV, ID: 1, AniDBID: anime, Numbering: placed(season, offset)}
	}
	first, merged, second, specials := at(10, 1, 0), at(11, 1, 12), at(12, 2, 0), at(13, 0, 3)
	plain := index.Candidate{Kind: match.TV, ID: 1, AniDBID: 10} // a stated season takes the mapping away
	absolute := index.Candidate{Kind: match.TV, ID: 1, AniDBID: 10, Numbering: numbering{Absolute: true}}
	for _, c := range []struct {
		name, file string
		of         index.Candidate
		siblings   []index.Candidate
		want       string
	}{
		{"alone", "Title - 25.mkv", first, []index.Candidate{first}, "S1 [25]"},
		{"alone except for specials", "Title - 25.mkv", first, []index.Candidate{first, specials}, "S1 [25]"},
		{"before the next cour", "Title - 12.mkv", first, []index.Candidate{first, merged}, "S1 [12]"},
		{"into the next cour", "Title - 13.mkv", first, []index.Candidate{first, merged}, "none"},
		{"the next cour", "Title 2021 - 03.mkv", merged, []index.Candidate{first, merged}, "S1 [15]"},
		{"short seasons have so many", "Title - 12.mkv", first, []index.Candidate{first, second}, "S1 [12]"},
		{"perhaps the second season", "Title - 13.mkv", first, []index.Candidate{first, second}, "none"},
		{"several", "Title - 01-02.mkv", first, []index.Candidate{first}, "S1 [1 2]"},
		{"a special's list", "Title - 02.mkv", specials, []index.Candidate{first, specials}, "S0 [5]"},
		{"half an episode", "Title - 12.5.mkv", first, []index.Candidate{first}, "none"},
		{"no number", "Title.mkv", first, []index.Candidate{first}, "none"},
		{"counted over all seasons", "Title - 30.mkv", absolute, []index.Candidate{absolute}, "none"},
		{"a season that the lists know", "Title S02E03.mkv", plain, []index.Candidate{first, second}, "S2 [3]"},
		{"one that they do not", "Title S03E03.mkv", plain, []index.Candidate{first, second}, "none"},
		{"a stated special", "Title S00E03.mkv", plain, []index.Candidate{first, specials}, "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := placeOffline(
				match.Decision{Outcome: match.Outcome{Status: match.Matched}}, release.Parse(c.file), c.of, c.siblings,
			)
			got := "none"
			if d.Season != nil {
				got = fmt.Sprintf("S%d %v", *d.Season, d.Episodes)
			}
			if got != c.want || d.Reason == "" || d.Status != match.Matched {
				t.Errorf("%s is %s (%s), want %s", c.file, got, d.Reason, c.want)
			}
		})
	}
}

// Each reading is the seasons and episodes that are looked for, "special" where it may be only a special; the first
// that has a place counts.
func TestAYearBehindTheEntrysTitleIsNotPartOfIt(t *testing.T) {
	entry := &match.Entry{Title: "Iron Lantern (2014)", Year: 2014}
	m := indexMapping{index.Candidate{Text: "Iron Lantern", Numbering: placed(0, 0)}, entry, nil}
	if got := m.readings(release.Parse("Iron Lantern S01E05.mkv")); !m.isMainTitle() || len(got) != 1 {
		t.Errorf("got %v", got)
	}
}

func TestListsAreOtherReadingsOfAName(t *testing.T) {
	entry := &match.Entry{
		Kind: match.TV, Title: "Iron Lantern", Titles: []match.AltTitle{{Title: "등불", Language: "ko"}, {
			Title: "Lantern Mini",
		}},
		Seasons: []match.Season{
			numberedSeason(0, 1, 8), numberedSeason(1, 1, 12), numberedSeason(2, 13, 25), numberedSeason(3, 401, 420),
		},
	}
	at := func(text string, season, offset int) index.Candidate {
		return index.Candidate{Kind: match.TV, AniDBID: 10, Text: text, Numbering: placed(season, offset)}
	}
	ranged := index.Candidate{Numbering: numbering{Absolute: true, Ranges: []orders.Range{
		{Season: 1, Start: 1, End: 12}, {Season: 2, Start: 13, End: 25, Offset: -12}, {
			Season: 3, Start: 401, End: 430, Offset: -400,
		}, {Season: 9, Start: 500, End: 510},
	}}}
	rolling := index.Candidate{Numbering: numbering{
		Absolute: true, Ranges: []orders.Range{{Season: 3, Start: 401, End: 420}},
	}}
	mini := at("Lantern Mini", 0, 2)
	other := func(offset int) []index.Candidate {
		return []index.Candidate{mini, {Kind: match.TV, AniDBID: 11, Numbering: placed(0, offset)}}
	}
	for _, c := range []struct {
		name, file string
		of         index.Candidate
		siblings   []index.Candidate
		want       string
	}{
		{"no more than match.Mapping says", "Title - 03.mkv", at("Title", 2, 12), nil, "[] [3]"},
		{"inside a range", "Title - 14.mkv", ranged, nil, "[2] [14], [] [14]"},
		{"the list counts inside a season that TMDB numbers on", "Title - 412.mkv", ranged, nil, "[3] [412], [] [412]"},
		{"the list numbers on as TMDB does", "Title - 412.mkv", rolling, nil, "[3] [412], [] [412]"},
		{"a number that the season does not have", "Title - 425.mkv", ranged, nil, "[] [425]"},
		{"a season that TMDB does not have", "Title - 505.mkv", ranged, nil, "[] [505]"},
		{"outside all ranges", "Title - 300.mkv", ranged, nil, "[] [300]"},
		{"across two seasons", "Title - 12-13.mkv", ranged, nil, "[] [12 13]"},
		{"a stated season that has the number", "Title S01E05.mkv", ranged, nil, "[1] [5]"},
		{"another stated season", "Title S02E03.mkv", ranged, nil, "[2] [3]"},
		{"a stated season that only the lists have", "Title S04E14.mkv", ranged, nil, "[2] [14], [4] [14]"},
		{"the first season of the lists", "Title S01E14.mkv", ranged, nil, "[2] [14], [1] [14]"},
		{"a special's own title", "Lantern Mini - 02.mkv", mini, nil, "special [2], [0] [4]"},
		{"before another special", "Lantern Mini - 02.mkv", mini, other(4), "special [2], [0] [4]"},
		{"into another special", "Lantern Mini - 03.mkv", mini, other(4), "special [3]"},
		{"two specials in one place", "Lantern Mini - 02.mkv", mini, other(2), "special [2]"},
		{"more than there are specials", "Lantern Mini - 17.mkv", mini, nil, "special [17], [0] [19], [] [17]"},
		{"the only episode of a special", "Lantern Mini.mkv", mini, other(3), "special [], [0] [3]"},
		{"one of several episodes", "Lantern Mini.mkv", mini, other(5), "special []"},
		{"a special that bears the series' title", "Iron Lantern - 07.mkv", at("Iron Lantern", 0, 0), nil, "[] [7]"},
		{"the series' title in another language", "등불 7화.mkv", at("등불", 0, 0), nil, "[] [7]"},
		{"a special by the name itself", "Iron Lantern OVA - 02.mkv", at("Iron Lantern", 0, 0), nil, "special [2], [0] [2]"},
		{"TMDB's own number of a special", "Iron Lantern S00E05.mkv", at("Iron Lantern", 0, 2), nil, "[0] [5]"},
		{"season 1 of a special's title counts within it", "Lantern Mini S01E05.mkv", mini, nil, "special [5], [0] [7]"},
		{"another stated season beats the special", "Lantern Mini S02E05.mkv", mini, nil, "[2] [5]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := indexMapping{c.of, entry, c.siblings}
			var got []string
			for _, r := range m.readings(release.Parse(c.file)) {
				if isSpecial(r) && len(r.Seasons) == 0 {
					got = append(got, fmt.Sprint("special ", r.Episodes))
				} else {
					got = append(got, fmt.Sprint(r.Seasons, " ", r.Episodes))
				}
			}
			if diff := cmp.Diff(c.want, strings.Join(got, ", ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func numberedSeason(n, first, last int) match.Season {
	s := match.Season{Number: n}
	for e := first; e <= last; e++ {
		s.Episodes = append(s.Episodes, match.Episode{Number: e})
	}
	return s
}

// Of two anime of one entry the one among the specials gives way, unless the name says that it is one.
func TestASeriesIsPreferredToASpecial(t *testing.T) {
	special := index.Candidate{Kind: match.TV, ID: 1, AniDBID: 10, Numbering: numbering{Season: ptr(0)}}
	series := index.Candidate{Kind: match.TV, ID: 1, AniDBID: 11, Numbering: numbering{Season: ptr(1)}}
	for _, c := range []struct {
		name    string
		found   []index.Candidate
		regular bool
		anime   int
	}{
		{"the special first", []index.Candidate{special, series}, true, 11},
		{"the series first", []index.Candidate{series, special}, true, 11},
		{"a name that says special", []index.Candidate{special, series}, false, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			var said indexResult
			for _, f := range c.found {
				said.add(f, c.regular)
			}
			if len(said.candidates) != 1 || said.candidates[0].AniDBID != c.anime {
				t.Errorf("kept %+v, want anime %d", said.candidates, c.anime)
			}
		})
	}
}

// The lists count over all seasons only where they say so, and where the name states no later season.
func TestMappingOfTheLists(t *testing.T) {
	absolute := index.Candidate{Numbering: numbering{Absolute: true, Offset: 2}}
	ranged := index.Candidate{Numbering: numbering{Absolute: true, Ranges: []orders.Range{{Season: 1, Start: 1, End: 12}}}}
	for _, c := range []struct {
		name   string
		of     index.Candidate
		series match.Series
		want   *match.Mapping
	}{
		{"over all seasons", absolute, match.Series{}, &match.Mapping{Absolute: true, Offset: 2}},
		{
			"over all seasons, the first stated", absolute,
			match.Series{HasSeason: true, Season: 1},
			&match.Mapping{Absolute: true, Offset: 2},
		},
		{"over all seasons, a later one stated", absolute, match.Series{HasSeason: true, Season: 3}, nil},
		{"one by one", ranged, match.Series{}, nil},
		{"a season", index.Candidate{Numbering: placed(2, 12)}, match.Series{}, &match.Mapping{Season: 2, Offset: 12}},
		{"specials", index.Candidate{Numbering: placed(0, 0)}, match.Series{}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, indexMapping{Candidate: c.of}.mapping(c.series)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Names state the year of the release, or of another country.
func TestAYearMayBeOneOff(t *testing.T) {
	entry := &match.Entry{
		Year: 2011, Seasons: []match.Season{{Number: 1, AirDate: "2011-04-01"}, {Number: 2, AirDate: "2015-04-01"}},
	}
	for year, want := range map[int]bool{
		0: true, 2009: false, 2010: true, 2011: true, 2012: true, 2013: false, 2014: true, 2016: true,
	} {
		if got := hasYearNearby(entry, year); got != want {
			t.Errorf("%d: %v", year, got)
		}
	}
}

// A title with the year in which the entry began does not name a later season of it.
func TestAYearNamesTheBeginning(t *testing.T) {
	entry := &match.Entry{Year: 2011}
	for _, c := range []struct {
		name   string
		season int
		offset int
		year   int
		kept   bool
	}{
		{"a later season, of the entry's year", 2, 0, 2011, false},
		{"specials, of the entry's year", 0, 0, 2011, false},
		{"a later cour, of the entry's year", 1, 12, 2011, false},
		{"a later season, of its own year", 2, 0, 2013, true},
		{"a later season, no year", 2, 0, 0, true},
		{"the first season", 1, 0, 2011, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := indexMapping{index.Candidate{Numbering: placed(c.season, c.offset)}, entry, nil}.withoutLaterSeason(c.year)
			if kept := m.Season != nil; kept != c.kept {
				t.Errorf("the season is kept: %t, want %t", kept, c.kept)
			}
		})
	}
}

// What the lists say of "Title" says nothing of "Title +". A name may leave signs out, and a single mark is spelling.
func TestSignsThatTheListsLack(t *testing.T) {
	for _, c := range []struct {
		listed, text, first string
		lacks               bool
	}{
		{"Lantern Club", "Lantern Club", "Lantern Club", false},
		{"Lantern Club", "Lantern Club!", "Lantern Club!", false},
		{"Lantern Club", "Lantern Club +", "Lantern Club +", true},
		{"Lantern Club", "Lantern Club!!", "Lantern Club!!", true},
		{"Lantern Club!!", "Lantern Club！！", "Lantern Club！！", false},
		{"Lantern Club!!", "Lantern Club", "Lantern Club", false},
		{"ランタン", "ランタン", "ランタン Lantern Club +", true},
		{"ランタン", "ランタン", "Lantern Club +", false},
	} {
		t.Run(c.listed+", "+c.text+" of "+c.first, func(t *testing.T) {
			s := match.Series{Titles: []release.Title{{Text: c.first}, {Text: c.text}}}
			if got := lacksSequelMarks(index.Candidate{Text: c.listed}, c.text, s); got != c.lacks {
				t.Error(got)
			}
		})
	}
}

// The lists know one work by a title that TMDB gives another as well: where the listed one has no place for the files,
// or ended before their group began to release, the other counts.
func TestTheListsEntryNeedsAPlaceForTheFiles(t *testing.T) {
	seasons := func(last, year int) []match.Season {
		s := match.Season{Number: 1}
		for n := 1; n <= last; n++ {
			s.Episodes = append(s.Episodes, match.Episode{Number: n, AirDate: fmt.Sprintf("%d-04-%02d", year, n)})
		}
		return []match.Season{s}
	}
	listed := &match.Entry{
		Kind: match.TV, ID: 1, Title: "Night Bureau", Year: 2001, Genres: []int{16}, Seasons: seasons(12, 2001),
		EpisodeCount: 12,
	}
	remake := &match.Entry{
		Kind: match.TV, ID: 2, Title: "Night Bureau 1412", Year: 2019, Genres: []int{16},
		Seasons: seasons(24, 2019), EpisodeCount: 24, Titles: []match.AltTitle{{Title: "Night Bureau"}},
	}
	for _, c := range []struct {
		name, file string
		others     map[string]*match.Entry
		want       int
	}{
		{
			"the listed one has the number", "Night.Bureau.S01E05.1080p.WEB-DL-G.mkv",
			map[string]*match.Entry{"Night Bureau": remake},
			1,
		},
		{"only the other has", "Night.Bureau.S01E20.1080p.WEB-DL-G.mkv", map[string]*match.Entry{"Night Bureau": remake}, 2},
		{"neither has", "Night.Bureau.S01E40.1080p.WEB-DL-G.mkv", map[string]*match.Entry{"Night Bureau": remake}, 1},
		{"TMDB finds no other", "Night.Bureau.S01E20.1080p.WEB-DL-G.mkv", nil, 1},
		{
			"a group that began between the two", "[LoliHouse] Night Bureau - 05 [1080p].mkv",
			map[string]*match.Entry{"Night Bureau": remake},
			2,
		},
		{
			"a group of unknown age", "[Quiet] Night Bureau - 05 [1080p].mkv",
			map[string]*match.Entry{"Night Bureau": remake},
			1,
		},
		{
			"a group that is younger than both", "[ANi] Night Bureau - 05 [1080p].mkv",
			map[string]*match.Entry{"Night Bureau": remake},
			1,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := seriesOf(c.file)
			lists := match.Resolver{
				Source: &catalogue{entries: map[string]*match.Entry{"Night Bureau": listed}}, Options: match.DefaultOptions(),
			}
			d := &Deciders{resolver: match.Resolver{Source: &catalogue{entries: c.others}, Options: match.DefaultOptions()}}
			found := resolution{Resolution: lists.Resolve(t.Context(), s)}
			if got := d.tryNamesake(t.Context(), s, found, found.IsOlderThanGroup(s)); got.ID != c.want {
				t.Errorf("%s is %d, want %d: %s", c.file, got.ID, c.want, got.Reason)
			}
		})
	}
}
