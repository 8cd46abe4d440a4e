package report

import "testing"

func TestPlace(t *testing.T) {
	for _, c := range []struct {
		r    Record
		want string
	}{
		{Record{Kind: "tv", Season: ptr(1), Episodes: []int{3}}, "S01E03"},
		{Record{Kind: "tv", Season: ptr(0), Episodes: []int{0}}, "S00E00"},
		{Record{Kind: "tv", Season: ptr(21), Episodes: []int{1064, 1065, 1070}}, "S21E1064-E1065,E1070"},
		{Record{Kind: "tv", Season: ptr(1)}, "S01"},
		{Record{Kind: "tv"}, ""},
		{Record{Kind: "movie", Season: ptr(1)}, "movie"},
	} {
		t.Run(c.want, func(t *testing.T) {
			if got := c.r.Place(); got != c.want {
				t.Errorf("%+v is at %q, want %q", c.r, got, c.want)
			}
		})
	}
}

func TestPercentNeverRoundsUp(t *testing.T) {
	for c, want := range map[float64]string{0: "0%", 0.799: "79%", 0.8: "80%", 0.29: "29%", 0.57: "57%", 0.9999: "99%", 1: "100%"} {
		t.Run(want, func(t *testing.T) {
			if got := Percent(c); got != want {
				t.Errorf("%v is %s, want %s", c, got, want)
			}
		})
	}
}
