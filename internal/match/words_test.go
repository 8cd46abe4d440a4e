package match

import (
	"testing"

	"github.com/anivault/anivault/internal/release"
)

// What is said to a person is said in words: no list of Go's, no number that stands for "unknown".
func TestWords(t *testing.T) {
	title := []release.Title{{Text: "Toradora!"}}
	for got, want := range map[string]string{
		numbers([]int{3}):             "3",
		numbers([]int{101, 102}):      "101 and 102",
		numbers([]int{1, 2, 3, 7}):    "1-3 and 7",
		numbers([]int{1, 2, 5, 7, 8}): "1, 2, 5, 7 and 8",
		numbers(nil):                  "",
		(&placer{season: 1, eps: []int{101, 102}}).refusal():                                                    "season 1 episodes 101 and 102 fit nowhere in TMDB's seasons",
		(&placer{eps: []int{7}}).refusal():                                                                      "episode 7 fits nowhere in TMDB's seasons",
		groupText(Series{Titles: title, Files: make([]File, 1)}):                                                `1 file as "Toradora!", wanted: any`,
		groupText(Series{Titles: title, Files: make([]File, 2), HasSeason: true}):                               `2 files as "Toradora!", season 0, wanted: any`,
		groupText(Series{Titles: title, Files: make([]File, 2), Year: 2008}):                                    `2 files as "Toradora!", year 2008, wanted: any`,
		queryText(Query{Kind: TV, Text: "toradora!"}):                                                           `tv "toradora!"`,
		queryText(Query{Kind: Movie, Text: "dune", Year: 1984, Page: 2}):                                        `movie "dune" of 1984, page 2`,
		detailOf("title", score(ask(Series{Titles: title}), contender{hit: Hit{Kind: TV, Title: "Toradora!"}})): `"Toradora!" is one of its titles`,
		detailOf("title", score(ask(Series{Titles: title}), contender{hit: Hit{Kind: TV, Title: "Toradora"}})):  `"Toradora!" is like "Toradora"`,
	} {
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// detailOf is what a score says of one of its reasons.
func detailOf(name string, s scored) string {
	for _, r := range s.reasons {
		if r.Name == name {
			return r.Detail
		}
	}
	return ""
}
