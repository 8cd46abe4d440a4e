package apply

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a file system can do is tried out, and nothing stays of the trial: no name, and not the folder's time.
func TestCapabilitiesAreProbed(t *testing.T) {
	for name, row := range map[string]struct {
		world traits
		want  Capabilities
	}{
		"all": {traits{}, Capabilities{RenameMethod: "rename", HardLinks: true, Reflinks: true, StableInodes: true}},
		"no rename": {
			traits{noRename: true},
			Capabilities{RenameMethod: "link", HardLinks: true, Reflinks: true, StableInodes: true},
		},
		"it takes the flag": {
			traits{replaces: true},
			Capabilities{RenameMethod: "link", HardLinks: true, Reflinks: true, StableInodes: true},
		},
		"neither": {
			traits{noRename: true, noLinks: true},
			Capabilities{RenameMethod: "none", Reflinks: true, StableInodes: true},
		},
		"no links, no clones": {
			traits{noLinks: true, noClones: true}, Capabilities{RenameMethod: "rename", StableInodes: true},
		},
		"folding, new inodes": {
			traits{fold: true, loose: true},
			Capabilities{RenameMethod: "rename", HardLinks: true, Reflinks: true, FoldsCase: true},
		},
		"as on a Mac, coarse": {
			traits{nfd: true, fold: true, coarse: true},
			Capabilities{RenameMethod: "rename", HardLinks: true, Reflinks: true, FoldsCase: true, StableInodes: true},
		},
		"names of an old disk": {traits{nameMax: 64}, Capabilities{
			RenameMethod: "rename", HardLinks: true, Reflinks: true,
			StableInodes: true,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSim()
			s.traits = row.world
			target := "/lib"
			s.add(target+"/Show/1.mkv", "x")
			before := s.tree(target, true)
			got, err := ProbeCapabilities(s, target, "20261122-020431-k3f9")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, s.tree(target, true)); diff != "" {
				t.Errorf("what stays (-before +after):\n%s", diff)
			}
		})
	}
}

// A run that has ended is unfinished again when somebody has begun to put it back.
func TestUnfinishedRunsAreFoundAgain(t *testing.T) {
	sc := drawn(traits{}, "/lib", "a b", "a > x;b > y")
	s := sc.clone()
	apply, _, undo := sc.actions()
	if _, err := apply.do(s); err != nil {
		t.Fatal(err)
	}
	e := engineOf(s)
	if runs, _, err := e.Unfinished(); len(runs) > 0 || err != nil {
		t.Fatal(runs, err)
	}
	s.killAt = s.effects + 5
	if !dies(func() { _, _ = undo.do(s) }) {
		t.Fatal("nobody was killed")
	}
	s.killAt = 0
	if runs, _, err := e.Unfinished(); len(runs) != 1 || runs[0].Stage != StageUndoing || err != nil {
		t.Error(runs, err)
	}
}
