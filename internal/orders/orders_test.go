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
		want  Place
		known bool
	}{
		{all, TMDB, Place{2, []int{3}}, true},
		{all, Absolute, Place{1, []int{27}}, true},
		{all, TVDB, Place{0, []int{4}}, true},
		{all, AniDB, Place{1, []int{5}}, true},
		{special, AniDB, Place{0, []int{6}}, true},
		{special, TVDB, Place{}, false},
		{all, "group:DVD", Place{}, false},
		{nil, TMDB, Place{}, false},
	} {
		got, known := row.in.In(row.order)
		if diff := cmp.Diff(row.want, got); diff != "" || known != row.known {
			t.Errorf("%s: %v (-want +got):\n%s", row.order, known, diff)
		}
	}
}
