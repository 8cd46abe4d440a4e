package watch

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/organize"
)

// A disk that was mounted when the last watch ended and is not when the next one begins is waited for: its empty mount
// point is not the folder.
func TestTheEmptyMountPointOfADiskIsNotTheFolder(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "state.json")
	for _, name := range []string{"disk", "filled/Show", "plain"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	root := func(path string) organize.Root {
		tree, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		return tree.Root
	}
	mounted := func(name string) organize.Root {
		return organize.Root{Type: "nfs", Inode: 2, Path: filepath.ToSlash(filepath.Join(dir, name))}
	}
	before := NewState("test")
	before.Mounts = []organize.Root{mounted("disk"), mounted("filled")}
	before.Folders["A"] = Processed{Fingerprint: "1"}
	if err := before.Write(file); err != nil {
		t.Fatal(err)
	}

	now := []organize.Root{
		root(filepath.Join(dir, "disk")), root(filepath.Join(dir, "filled")), root(filepath.Join(dir, "plain")),
		root("/proc"),
	}
	want := []organize.Root{mounted("disk"), now[1], now[2], now[3]}
	asked := ""
	state, err := ReadState(file, now, func(now []organize.Root) string {
		text, _ := json.Marshal(now)
		asked = string(text)
		return "test"
	})
	if err != nil || len(state.Folders) != 1 {
		t.Errorf("%+v, %v", state, err)
	}
	if diff := cmp.Diff(want, now); diff != "" {
		t.Error(diff)
	}
	if text, _ := json.Marshal(want); asked != string(text) {
		t.Error("the options are those of other folders:", asked)
	}
	if diff := cmp.Diff([]organize.Root{mounted("disk"), root("/proc")}, state.Mounts); diff != "" {
		t.Error(diff)
	}
	if err := CheckSame(now[0]); err == nil {
		t.Error("the mount point counts as the disk")
	}
}
