package apply

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The outcome lists the entries' folders that have changed: those that files have entered, and those that they have
// left within the library.
func TestChangedFoldersAreReported(t *testing.T) {
	for name, row := range map[string]struct {
		target, layout, files, plan string
		want                        []string
	}{
		"into a library": {
			"/lib", "jellyfin", "a b c", "a > Show/Season_01/a;b = Show/Season_02/b;c > Film/c",
			[]string{"/lib/Film", "/lib/Show"},
		},
		"within one":          {"/src", "jellyfin", "Old/a", "Old/a > New/Season_01/a", []string{"/src/New", "/src/Old"}},
		"with own templates":  {"/lib", "custom", "a", "a > Anime/S/Show/a", []string{"/lib/Anime/S/Show"}},
		"beside the folders":  {"/lib", "jellyfin", "a", "a > a", []string{"/lib"}},
		"none of what failed": {"/lib", "jellyfin", "a b", "a > x;b > x/y", []string{"/lib"}},
	} {
		t.Run(name, func(t *testing.T) {
			sc := drawn(traits{}, row.target, row.files, row.plan)
			sc.plan.Layout = row.layout
			apply, _, _ := sc.actions()
			out, err := apply.do(sc.sim)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, out.ChangedFolders); diff != "" {
				t.Errorf("(-want +got):\n%s\n%+v", diff, out)
			}
		})
	}
}
