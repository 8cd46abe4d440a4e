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

// What is surely not the entry is counted, not named, beside what may be.
func TestWhatItCouldBe(t *testing.T) {
	of := func(confidences ...float64) (list []Candidate) {
		for i, c := range confidences {
			list = append(list, Candidate{Kind: "tv", TMDBID: i + 1, Title: "T", Confidence: c})
		}
		return list
	}
	for want, candidates := range map[string][]Candidate{
		"could be T tv/1 40 %, T tv/2 39 %":                     of(0.4, 0.39),
		"could be T tv/1":                                       of(0.71),
		"could be T tv/1 30 %, T tv/2 20 %, T tv/3 9 %, 1 more": of(0.3, 0.2, 0.09, 0.08),
	} {
		t.Run(want, func(t *testing.T) {
			if got := (Record{Status: Ambiguous, Candidates: candidates}).Why(); got.String() != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// The table has the confidence of an ambiguous file in front of its name, so what it could be has no other one.
func TestAnAmbiguousFileHasOneConfidenceAndItsReason(t *testing.T) {
	film := Candidate{Kind: "tv", TMDBID: 44163, Title: "Break Blade", Year: 2014, Confidence: 0.99}
	r := Record{Status: Ambiguous, Confidence: ptr(0.5), Candidates: []Candidate{film}, Reason: "TMDB found a series"}
	if got, want := r.Why().String(), "could be Break Blade (2014) tv/44163; TMDB found a series"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestPercentNeverRoundsUp(t *testing.T) {
	for c, want := range map[float64]string{
		0: "0 %", 0.799: "79 %", 0.8: "80 %", 0.29: "29 %", 0.57: "57 %", 0.9999: "99 %",
		1: "100 %",
	} {
		t.Run(want, func(t *testing.T) {
			if got := Percent(c); got != want {
				t.Errorf("%v is %s, want %s", c, got, want)
			}
		})
	}
}
