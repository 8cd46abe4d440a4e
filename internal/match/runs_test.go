package match

import (
	"fmt"
	"testing"
	"time"
)

// A season ends in parts at a finale and at a pause of a cour, but not where its episodes are released singly.
func TestASeasonHasParts(t *testing.T) {
	for name, c := range map[string]struct {
		days   []int // from the first episode to each
		finale int   // the number of an episode, 0 for none
		want   string
	}{
		"weekly":                  {[]int{0, 7, 14, 21, 28}, 5, "[[1 2 3 4 5]]"},
		"one more behind the end": {[]int{0, 7, 14, 21, 28}, 4, "[[1 2 3 4] [5]]"},
		"a pause of a cour":       {[]int{0, 7, 14, 21, 119, 126}, 0, "[[1 2 3 4] [5 6]]"},
		"one more much later":     {[]int{0, 7, 14, 21, 180}, 0, "[[1 2 3 4] [5]]"},
		"a shorter pause":         {[]int{0, 7, 14, 21, 91}, 0, "[[1 2 3 4 5]]"},
		"released singly":         {[]int{0, 120, 240, 360, 480, 600}, 6, "[[1 2 3 4 5 6]]"},
		"released in pairs":       {[]int{0, 0, 120, 120, 240, 240}, 0, "[[1 2 3 4 5 6]]"},
		"no episodes":             {nil, 0, "[]"},
	} {
		var s Season
		for i, day := range c.days {
			aired := time.Date(2020, 1, 1+day, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
			s.Episodes = append(s.Episodes, Episode{Number: i + 1, AirDate: aired, Finale: i+1 == c.finale})
		}
		if got := fmt.Sprint(s.Parts()); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestRegularSeasonsHaveCours(t *testing.T) {
	season := func(number int, days ...int) Season {
		s := Season{Number: number}
		for i, day := range days {
			aired := time.Date(2020, 1, 1+day, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
			s.Episodes = append(s.Episodes, Episode{Number: i + 1, AirDate: aired})
		}
		return s
	}
	e := Entry{Seasons: []Season{season(2, 0, 7, 98, 105, 112), season(1, 0, 7), season(0, 0)}}
	if got := fmt.Sprint(e.Cours()); got != "map[1:[[1 2]] 2:[[1 2] [3 4 5]]]" {
		t.Error(got)
	}
}
