package orders

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestInNumbersEpisodesAsFileNamesDo(t *testing.T) {
	all := &Orders{
		TMDB: &Place{2, []int{3}}, Absolute: []int{27}, TVDB: &Place{0, []int{4}},
		AniDB: &AniDBPlace{ID: 9, Episodes: []int{5}},
	}
	special := &Orders{AniDB: &AniDBPlace{ID: 9, Special: true, Episodes: []int{6}}}
	for _, row := range []struct {
		in    *Orders
		order string
		want  *Place
	}{
		{all, TMDB, &Place{2, []int{3}}},
		{all, Absolute, &Place{1, []int{27}}},
		{all, TVDB, &Place{0, []int{4}}},
		{all, AniDB, &Place{1, []int{5}}},
		{special, AniDB, &Place{0, []int{6}}},
		{special, TVDB, nil},
		{all, "group:DVD", nil},
		{nil, TMDB, nil},
	} {
		if diff := cmp.Diff(row.want, row.in.In(row.order)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.order, diff)
		}
	}
}
