package match

import "testing"

func TestCandidatesWithOneTitleAreDistinguished(t *testing.T) {
	home := Hit{Kind: TV, ID: 7, Title: "Home", Year: 2008}
	for name, row := range map[string]struct {
		other         Hit
		first, second string
	}{
		"by their titles": {Hit{Kind: TV, ID: 8, Title: "Home 2", Year: 2008}, "Home", "Home 2"},
		"by their years":  {Hit{Kind: TV, ID: 8, Title: "Home", Year: 2015}, "Home (2008)", "Home (2015)"},
		"by their ids":    {Hit{Kind: Movie, ID: 8, Title: "Home", Year: 2008}, "Home, tv/7", "Home, movie/8"},
	} {
		t.Run(name, func(t *testing.T) {
			if first, second := distinctNames(home, row.other); first != row.first || second != row.second {
				t.Errorf("%q and %q", first, second)
			}
		})
	}
}
