package apply

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What came since planning and differs from a target in case or normal form alone is in its way, also where the file
// system has both.
func TestNamesThatDifferInCaseAloneAreInTheWay(t *testing.T) {
	for _, row := range []struct {
		name, target, files, plan string
		there                     []string
		want                      string
	}{
		{
			"a file", "/lib", "a b", "a = Show/x.mkv; b = Show/y.mkv",
			[]string{"/lib/Show/X.mkv"},
			"a refused exists, b planned",
		},
		{"a folder", "/lib", "a b", "a > Show/x.mkv; b > Film/y.mkv", []string{"/lib/SHOW/z"}, "a refused exists, b planned"},
		{
			"the folder of several", "/lib", "a b c", "a = S/1/x; b = S/1/y; c = T/z",
			[]string{"/lib/s/z"},
			"a refused exists, b refused exists, c planned",
		},
		{"another normal form", "/lib", "a", "a : \u00e9.mkv", []string{"/lib/e\u0301.mkv"}, "a refused exists"},
		{"of a symbolic link", "/lib", "a", "a @ x.mkv", []string{"/lib/X.mkv"}, "a refused exists"},
		{"a move of the plan takes it away", "/src", "a X.mkv", "a > x.mkv; X.mkv > y.mkv", nil, "X.mkv planned, a planned"},
		{
			"a move that can't be carried out does not", "/src", "a X.mkv y.mkv", "a > x.mkv; X.mkv > y.mkv", nil,
			"X.mkv refused exists, a refused exists",
		},
		{"it is the file itself", "/src", "X.mkv", "X.mkv > x.mkv", nil, "X.mkv planned"},
		{"it is the folder that the file leaves", "/src", "SHOW/x", "SHOW/x > Show/x", nil, "x planned"},
		{"both are there", "/lib", "a", "a = S/x", []string{"/lib/S/y", "/lib/s/y"}, "a planned"},
		{
			"what is written is left, if it is about something else", "/lib", "a", "a = S/x, ! S/tvshow.nfo",
			[]string{"/lib/S/TVShow.nfo"},
			"a planned, tvshow.nfo left foreign_nfo",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			sc := drawn(traits{}, row.target, row.files, row.plan)
			for _, name := range row.there {
				sc.add(name, "theirs")
			}
			out, err := engineOf(sc.sim).Apply(context.Background(), sc.plan, Options{DryRun: true})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, said(out)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
