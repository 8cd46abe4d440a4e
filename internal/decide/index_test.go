package decide

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/index"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/release"
)

// A search is done without only where the index leaves one entry in question.
func TestOnlyOneEntryIsCertain(t *testing.T) {
	tv := index.Candidate{Kind: match.TV, ID: 1, Anime: 10}
	other := index.Candidate{Kind: match.TV, ID: 2, Anime: 11}
	film := index.Candidate{Kind: match.Movie, ID: 3, Anime: 12}
	export := index.Candidate{Kind: match.TV, ID: 4}
	short := index.Candidate{Kind: match.TV, ID: 5, Anime: 13, Short: true}
	for _, c := range []struct {
		name   string
		found  []index.Candidate
		want   match.Want
		fansub bool
		id     int
	}{
		{"nothing", nil, match.WantTV, true, 0},
		{"the only one", []index.Candidate{tv}, match.WantTV, false, 1},
		{"two series", []index.Candidate{tv, other}, match.WantTV, true, 0},
		{"a series and a film, wanted a series", []index.Candidate{tv, film}, match.WantTV, false, 1},
		{"a series and a film, wanted a film", []index.Candidate{tv, film}, match.WantMovie, false, 3},
		{"a series and a film, nothing said", []index.Candidate{tv, film}, match.WantAny, true, 0},
		{"a film, wanted a series", []index.Candidate{film}, match.WantTV, true, 0},
		{"a namesake in the exports", []index.Candidate{tv, export}, match.WantTV, false, 0},
		{"a namesake in the exports, in a fansub's name", []index.Candidate{tv, export}, match.WantTV, true, 1},
		{"the exports alone", []index.Candidate{export}, match.WantTV, false, 4},
		{"an abbreviation", []index.Candidate{short}, match.WantTV, false, 0},
		{"an abbreviation in a fansub's name", []index.Candidate{short}, match.WantTV, true, 5},
		{"an abbreviation and a title", []index.Candidate{short, tv}, match.WantTV, true, 1},
		{"an abbreviation and a namesake", []index.Candidate{short, export}, match.WantTV, true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			said := indexed{candidates: c.found}
			if got, ok := said.certain(match.Series{Want: c.want, Fansub: c.fansub}); got.ID != c.id || ok != (c.id != 0) {
				t.Errorf("%d is certain, want %d", got.ID, c.id)
			}
		})
	}
}

// Without TMDB, an episode is said only where no other anime of the series can be meant.
func TestEpisodesByTheListsAlone(t *testing.T) {
	at := func(anime, season, offset int) index.Candidate {
		return index.Candidate{Kind: match.TV, ID: 1, Anime: anime, Season: ptr(season), Offset: offset}
	}
	first, merged, second, specials := at(10, 1, 0), at(11, 1, 12), at(12, 2, 0), at(13, 0, 3)
	plain := index.Candidate{Kind: match.TV, ID: 1, Anime: 10} // a stated season takes the mapping away
	absolute := index.Candidate{Kind: match.TV, ID: 1, Anime: 10, Absolute: true}
	for _, c := range []struct {
		name, file string
		of         index.Candidate
		siblings   []index.Candidate
		want       string
	}{
		{"alone", "Title - 25.mkv", first, []index.Candidate{first}, "S1 [25]"},
		{"alone but for specials", "Title - 25.mkv", first, []index.Candidate{first, specials}, "S1 [25]"},
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
			d := placeUnasked(match.Decision{Outcome: match.Outcome{Status: match.Matched}}, release.Parse(c.file), c.of, c.siblings)
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

func TestListsCorrectTheReadingOfAName(t *testing.T) {
	ranged := index.Candidate{Season: ptr(1), Ranges: []index.Range{{Season: 2, Start: 14, End: 26, Offset: -13}}}
	for _, c := range []struct {
		name, file string
		of         index.Candidate
		seasons    []int
		episodes   []float64
	}{
		{"no more than match.Mapping says", "Title - 03.mkv", index.Candidate{Season: ptr(2), Offset: 12}, nil, []float64{3}},
		{"specials", "Title - 03.mkv", index.Candidate{Season: ptr(0), Offset: 2}, []int{0}, []float64{5}},
		{"inside a range", "Title - 14.mkv", ranged, []int{2}, []float64{1}},
		{"outside it", "Title - 13.mkv", ranged, []int{1}, []float64{13}},
		{"across it", "Title - 13-14.mkv", ranged, nil, []float64{13, 14}},
		{"against another season", "Title S02E14.mkv", ranged, []int{2}, []float64{14}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := mappedRelease(release.Parse(c.file), c.of)
			if diff := cmp.Diff(c.seasons, r.Seasons) + cmp.Diff(c.episodes, r.Episodes); diff != "" {
				t.Error(diff)
			}
		})
	}
}
