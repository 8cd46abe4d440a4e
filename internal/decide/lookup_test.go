package decide

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/match"
)

const (
	cachedShow = `{"id":7,"name":"Trigun","original_name":"トライガン","first_air_date":"1998-04-01","number_of_episodes":26,
		"seasons":[{"season_number":0},{"season_number":1}],
		"translations":{"translations":[{"iso_639_1":"ko","iso_3166_1":"KR","data":{"name":"트라이건"}}]}}`
	cachedKorean = `{"id":7,"name":"트라이건","original_name":"トライガン","first_air_date":"1998-04-01"}`
	cachedFilm   = `{"id":9,"title":"Trigun: Badlands Rumble","release_date":"2010-04-24"}`
	cachedRows   = `{"page":1,"total_pages":1,"total_results":1,"results":[
		{"id":7,"name":"Trigun","first_air_date":"1998-04-01"},
		{"id":8,"name":"Trigun Stampede","first_air_date":"2023-01-07"}]}`
)

func TestCachedAnswersAreFoundByTheirTitles(t *testing.T) {
	answers := [][3]string{
		{"tv/7", "append_to_response=translations&language=en-US", cachedShow},
		{"tv/7", "language=ko-KR", cachedKorean},
		{"movie/9", "language=en-US", cachedFilm},
		{"search/tv", "language=en-US&query=trigun", cachedRows},
		{"tv/7/season/1", "", `{"id":7,"name":"Trigun"}`},
		{"tv/x", "", cachedShow},
		{"tv/5", "", cachedShow},
		{"movie/9", "", "garbage"},
		{"search/tv", "", "garbage"},
	}
	for _, row := range []struct {
		name   string
		wanted TitleSearch
		want   []string
	}{
		{
			"a word",
			TitleSearch{Text: "trigun"},
			[]string{"tv/7 1 Trigun", "movie/9 0 Trigun: Badlands Rumble", "tv/8 0 Trigun Stampede"},
		},
		{"several words, in any order", TitleSearch{Text: "rumble TRIGUN"}, []string{"movie/9 0 Trigun: Badlands Rumble"}},
		{"a translation", TitleSearch{Text: "트라이건"}, []string{"tv/7 1 Trigun"}},
		{"a kind", TitleSearch{Text: "trigun", Kind: match.Movie}, []string{"movie/9 0 Trigun: Badlands Rumble"}},
		{"a year", TitleSearch{Text: "trigun", Year: 2023}, []string{"tv/8 0 Trigun Stampede"}},
		{"no word at all", TitleSearch{Text: "!"}, nil},
		{"another word", TitleSearch{Text: "gungrave"}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, backwards := range []bool{false, true} {
				c := NewCachedSearch(row.wanted, []string{"en-US"}, nil)
				for i := range answers {
					if backwards {
						i = len(answers) - 1 - i
					}
					c.Add(answers[i][0], answers[i][1], []byte(answers[i][2]), match.Origin{})
				}
				var got []string
				found, more := c.Results()
				for _, f := range found {
					seasons, _ := f.SeasonAndEpisodeCount()
					got = append(got, fmt.Sprintf("%s/%d %d %s", f.Hit.Kind, f.Hit.ID, seasons, f.Hit.Title))
				}
				if diff := cmp.Diff(row.want, got); diff != "" || more {
					t.Error(more, diff)
				}
			}
		})
	}
}

func TestNoMoreIsFoundThanIsShown(t *testing.T) {
	c := NewCachedSearch(TitleSearch{Text: "trigun"}, []string{"en-US"}, nil)
	for id := range maxResults + 1 {
		c.Add(fmt.Sprintf("movie/%d", id+1), "", []byte(fmt.Sprintf(`{"id":%d,"title":"Trigun"}`, id+1)), match.Origin{})
	}
	if found, more := c.Results(); len(found) != maxResults || !more {
		t.Error(len(found), more)
	}
}
