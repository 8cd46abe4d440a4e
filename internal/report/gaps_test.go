package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/match"
)

// fileOf is a matched file of series 7.
func fileOf(path string, season int, episodes ...int) Record {
	return Record{
		Path: path, Status: Matched, Kind: "tv", TMDBID: 7, Title: "Trigun", Year: 1998, Season: &season,
		Episodes: episodes,
	}
}

// seasonOf has episodes with these dates, from number 1 on; "" is not known.
func seasonOf(number int, dates ...string) match.Season {
	s := match.Season{Number: number, Episodes: []match.Episode{}}
	for i, d := range dates {
		s.Episodes = append(s.Episodes, match.Episode{Number: i + 1, AirDate: d})
	}
	return s
}

func TestGaps(t *testing.T) {
	const before, today, after = "2020-01-01", "2026-11-22", "2026-11-23"
	gap := func(season, aired, here int, missing ...MissingEpisode) Gap {
		return Gap{TMDBID: 7, Title: "Trigun", Year: 1998, Season: &season, Aired: aired, Present: here, Missing: missing}
	}
	with := func(g Gap, change func(*Gap)) Gap {
		change(&g)
		return g
	}
	three := []match.Season{seasonOf(1, before, before, before)}
	for _, row := range []struct {
		name    string
		records []Record
		seasons []match.Season
		want    []Gap
	}{
		{"complete", []Record{fileOf("a", 1, 1, 2), fileOf("b", 1, 3)}, three, nil},
		{
			"two missing",
			[]Record{fileOf("a", 1, 2)},
			three,
			[]Gap{gap(1, 3, 1, MissingEpisode{1, "", before}, MissingEpisode{3, "", before})},
		},
		{
			"a whole season",
			[]Record{fileOf("a", 1, 1, 2, 3)},
			append(three, seasonOf(2, before)),
			[]Gap{gap(2, 1, 0, MissingEpisode{1, "", before})},
		},
		{
			"what airs today has aired, what airs tomorrow has not",
			[]Record{fileOf("a", 1, 1)},
			[]match.Season{seasonOf(1, before, today, after)},
			[]Gap{gap(1, 2, 1, MissingEpisode{2, "", today})},
		},
		{
			"a season that has not begun",
			[]Record{fileOf("a", 1, 1)},
			[]match.Season{seasonOf(1, before), seasonOf(2, after, "")},
			nil,
		},
		{
			"without a date, before one that has aired",
			[]Record{fileOf("a", 1, 2)},
			[]match.Season{seasonOf(1, "", before, "")},
			[]Gap{gap(1, 2, 1, MissingEpisode{1, "", ""})},
		},
		{"there before its time", []Record{fileOf("a", 1, 1, 2)}, []match.Season{seasonOf(1, before, after)}, nil},
		{
			"twice, by files of several episodes",
			[]Record{fileOf("a", 1, 1, 2), fileOf("b", 1, 2, 3), fileOf("c", 1, 2)},
			three,
			[]Gap{with(gap(1, 3, 3), func(g *Gap) {
				g.Duplicates = []EpisodeFile{{2, "a", ""}, {2, "b", ""}, {2, "c", ""}}
			})},
		},
		{"specials are not missing", []Record{fileOf("a", 1, 1, 2, 3)}, append(three, seasonOf(0, before, before)), nil},
		{
			"specials may be there twice",
			[]Record{fileOf("a", 1, 1, 2, 3), fileOf("b", 0, 1), fileOf("c", 0, 1)},
			append(three, seasonOf(0, before, before)),
			[]Gap{with(gap(0, 2, 1), func(g *Gap) { g.Duplicates = []EpisodeFile{{1, "b", ""}, {1, "c", ""}} })},
		},
		{
			"twice in a season that TMDB no longer lists",
			[]Record{fileOf("a", 1, 1, 2, 3), fileOf("b", 4, 1), fileOf("c", 4, 1)},
			three,
			[]Gap{with(gap(4, 0, 0), func(g *Gap) { g.Duplicates = []EpisodeFile{{1, "b", ""}, {1, "c", ""}} })},
		},
		{
			"a season that could not be asked for",
			[]Record{fileOf("a", 2, 1)},
			[]match.Season{{Number: 2}},
			[]Gap{with(gap(2, 0, 0), func(g *Gap) { g.Unknown = true })},
		},
		{
			"nothing could be asked for",
			[]Record{fileOf("a", 2, 1)},
			nil,
			[]Gap{{TMDBID: 7, Title: "Trigun", Year: 1998, Unknown: true}},
		},
		{
			"files without an episode may be what is missing",
			[]Record{
				fileOf("a", 1, 2, 3),
				{Path: "b", Status: Matched, Kind: "tv", TMDBID: 7},
				{Path: "c", Status: Matched, Kind: "tv", TMDBID: 7, Parsed: &Parsed{Kind: "special"}},
			},
			three,
			[]Gap{with(gap(1, 3, 2, MissingEpisode{1, "", before}), func(g *Gap) { g.Unplaced = 1 })},
		},
		{
			"films and what was not matched are nobody's episodes",
			[]Record{
				fileOf("a", 1, 1, 2, 3),
				{Path: "b", Status: Matched, Kind: "movie", TMDBID: 7},
				{Path: "c", Status: Pending, Kind: "tv", TMDBID: 7},
			},
			three, nil,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			var h Holdings
			for _, r := range row.records {
				h.Add(&r)
			}
			if diff := cmp.Diff([]int{7}, h.Series()); diff != "" {
				t.Fatal(diff)
			}
			got := h.Gaps(7, row.seasons, today)
			if diff := cmp.Diff(row.want, got, cmp.AllowUnexported(Gap{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestASeriesThatWasNotMatchedHasNoGaps(t *testing.T) {
	var h Holdings
	if got := h.Gaps(7, nil, "2026-11-22"); got != nil {
		t.Error(got)
	}
}

func TestTheSummaryCountsGaps(t *testing.T) {
	season := 1
	var s GapSummary
	for _, gaps := range [][]Gap{
		nil,
		{
			{Season: &season, Aired: 3, Present: 2, Missing: []MissingEpisode{{Episode: 3}}, Unplaced: 2},
			{Season: &season, Aired: 2, Missing: []MissingEpisode{{Episode: 1}, {Episode: 2}}, Unplaced: 2},
		},
		{{
			Season: &season, Aired: 2, Present: 2,
			Duplicates: []EpisodeFile{{1, "a", ""}, {1, "b", ""}, {2, "c", ""}, {2, "d", ""}},
		}},
		{{Unknown: true}},
	} {
		s.Add(gaps)
	}
	want := GapSummary{Series: 4, Complete: 2, Missing: 1, AbsentSeasons: 1, Duplicates: 2, Unplaced: 2, Unknown: 1}
	if diff := cmp.Diff(want, s, cmp.AllowUnexported(GapSummary{})); diff != "" {
		t.Error(diff)
	}
}

// A library that has only an OVA of a series is no complete series.
func TestASeriesWithoutARegularEpisodeIsNotComplete(t *testing.T) {
	ova := Record{Path: "a", Status: Matched, Kind: "tv", TMDBID: 7, Parsed: &Parsed{Kind: "special"}}
	for _, r := range []Record{ova, fileOf("b", 0, 1)} {
		var h Holdings
		var s GapSummary
		h.Add(&r)
		s.Add(h.Gaps(7, []match.Season{seasonOf(1, "2020-01-01")}, "2026-11-22"))
		if s.Complete != 0 || s.AbsentSeasons != 1 {
			t.Errorf("%s: counted %+v", r.Path, s)
		}
	}
}

// What can be filled comes first, the newest hole on top; seasons nobody has begun come last and are no gaps.
func TestGapsOfSeasonsWithFilesComeFirst(t *testing.T) {
	gap := func(id, season, here int, date string) Gap {
		return Gap{TMDBID: id, Season: &season, Present: here, Missing: []MissingEpisode{{Episode: 1, AirDate: date}}}
	}
	series := [][]Gap{
		{gap(1, 1, 3, "2001-01-01"), gap(1, 2, 0, "2026-01-01")},
		nil,
		{gap(2, 1, 0, "2026-02-02")},
		{gap(3, 1, 1, "2003-01-01"), gap(3, 2, 1, "2004-01-01")},
		{{TMDBID: 4, Unknown: true}},
	}
	var summary GapSummary
	for _, gaps := range series {
		summary.Add(gaps)
	}
	if want := (GapSummary{Series: 5, Complete: 2, Missing: 3, AbsentSeasons: 2, Unknown: 1}); summary != want {
		t.Errorf("counted %+v, want %+v", summary, want)
	}
	var got [][2]int
	for _, gaps := range SortGaps(series) {
		for _, g := range gaps {
			season := 0
			if g.Season != nil {
				season = *g.Season
			}
			got = append(got, [2]int{g.TMDBID, season})
		}
	}
	if diff := cmp.Diff([][2]int{{3, 2}, {3, 1}, {1, 1}, {4, 0}, {1, 2}, {2, 1}}, got); diff != "" {
		t.Error(diff)
	}
}
