package decide

import (
	"testing"

	"github.com/anivault/anivault/internal/index"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/orders"
)

// A file has the one anime that holds its season and episodes; where it could be two, none.
func TestTheAnimeThatHoldsAFile(t *testing.T) {
	series := &match.Entry{Kind: match.TV, Seasons: []match.Season{
		numberedSeason(0, 1, 6), numberedSeason(1, 1, 24), numberedSeason(2, 25, 36), numberedSeason(3, 401, 420),
	}}
	at := func(anime, season, offset int) index.Candidate {
		return index.Candidate{Kind: match.TV, AniDBID: anime, Numbering: placed(season, offset)}
	}
	cours := []index.Candidate{at(10, 1, 0), at(11, 1, 12), at(12, 2, 0)}
	specials := []index.Candidate{at(10, 1, 0), at(20, 0, 0), at(21, 0, 2)}
	whole := []index.Candidate{{AniDBID: 40, Numbering: numbering{Absolute: true}}}
	ranged := []index.Candidate{
		{
			AniDBID: 30, Numbering: numbering{Absolute: true, Ranges: []orders.Range{
				{Season: 1, Start: 1, End: 24}, {Season: 3, Start: 401, End: 420, Offset: -400},
			}},
		},
	}
	for _, c := range []struct {
		name     string
		siblings []index.Candidate
		season   int
		episodes []int
		want     int
	}{
		{"the first cour", cours, 1, []int{12}, 10},
		{"the second", cours, 1, []int{13}, 11},
		{"over both", cours, 1, []int{12, 13}, 0},
		{"numbers that go on", cours, 2, []int{27}, 12},
		{"an episode that TMDB lacks", cours, 1, []int{40}, 0},
		{"a season of two", cours, 1, nil, 0},
		{"a season of one", cours, 2, nil, 12},
		{"a season that no list has", cours, 3, []int{405}, 0},
		{"two at one place", []index.Candidate{at(10, 1, 0), at(11, 1, 0)}, 1, []int{3}, 0},
		{"one that TMDB has folded", []index.Candidate{at(10, 1, 0), at(11, 7, 0)}, 1, []int{20}, 0},
		{"a special's first episode", specials, 0, []int{1}, 20},
		{"perhaps no longer that special", specials, 0, []int{2}, 0},
		{"the last special's first episode", specials, 0, []int{3}, 21},
		{"perhaps no longer the last special", specials, 0, []int{4}, 0},
		{"one by one, numbers that go on", ranged, 3, []int{412}, 30},
		{"one by one, a season that it leaves out", ranged, 2, []int{30}, 0},
		{"over all seasons", whole, 2, []int{30}, 40},
		{"over all seasons, a special", whole, 0, []int{3}, 0},
		{"nothing", nil, 1, []int{3}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := animeOfEntry{indexMapping{entry: series}, c.siblings}
			d := match.Decision{Season: &c.season, Episodes: c.episodes}
			if got := h.forDecision(d, counter(series, c.siblings)); got != c.want {
				t.Errorf("anime %d holds it, want %d", got, c.want)
			}
		})
	}
	for _, c := range []struct {
		name     string
		siblings []index.Candidate
		entry    *match.Entry
		want     int
	}{
		{"over all seasons", []index.Candidate{{AniDBID: 40, Numbering: numbering{Absolute: true}}}, series, 40},
		{"of one season of three", cours[2:], series, 0},
		{"two cours", cours[:2], &match.Entry{Kind: match.TV, Seasons: series.Seasons[:2]}, 0},
		{"the only season", cours[:1], &match.Entry{Kind: match.TV, Seasons: series.Seasons[:2]}, 10},
		{"from its middle", cours[1:2], &match.Entry{Kind: match.TV, Seasons: series.Seasons[:2]}, 0},
		{"a film", []index.Candidate{{Kind: match.Movie, AniDBID: 50}}, &match.Entry{Kind: match.Movie}, 50},
		{"nothing", nil, series, 0},
	} {
		t.Run("whole: "+c.name, func(t *testing.T) {
			if got := (animeOfEntry{indexMapping{entry: c.entry}, c.siblings}).onlyAnime(); got != c.want {
				t.Errorf("anime %d is all of it, want %d", got, c.want)
			}
		})
	}
	t.Run("without a place", func(t *testing.T) {
		if got := (animeOfEntry{indexMapping{entry: series}, cours[2:]}).forDecision(match.Decision{}, nil); got != 0 {
			t.Errorf("anime %d holds it, want none", got)
		}
	})
	film := &match.Entry{Kind: match.Movie}
	for n, want := range []int{0, 50, 0} {
		two := []index.Candidate{{AniDBID: 50}, {AniDBID: 51}}
		if got := (animeOfEntry{indexMapping{entry: film}, two[:n]}).forDecision(match.Decision{}, nil); got != want {
			t.Errorf("of %d anime of a film it is %d, want %d", n, got, want)
		}
	}
}

func counter(e *match.Entry, siblings []index.Candidate) func() *orders.Series {
	return func() *orders.Series { return ordersOf(e, siblings) }
}
