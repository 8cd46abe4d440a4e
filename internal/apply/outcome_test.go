package apply

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/organize"
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

func TestAPlanIsOutdatedByRunsInItsLibraries(t *testing.T) {
	planned := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(ended time.Duration, target string) Run {
		return Run{StageBegun: planned.Add(ended), Targets: []string{"/other", target}}
	}
	p := &organize.Plan{Targets: []organize.Root{{Path: "/lib"}}}
	for name, row := range map[string]struct {
		run     Run
		planned time.Time
		want    bool
	}{
		"it ended before":         {at(-time.Second, "/lib"), planned, false},
		"it ended since":          {at(time.Second, "/lib"), planned, true},
		"in another library":      {at(time.Second, "/films"), planned, false},
		"the clock was set back":  {at(time.Hour, "/lib"), planned, false},
		"somebody read this plan": {at(time.Second, "/lib"), time.Time{}, false},
	} {
		opts := Options{PlannedAt: row.planned}
		if got := opts.isOutdated(p, []Run{row.run}, planned.Add(time.Minute)); got != row.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
