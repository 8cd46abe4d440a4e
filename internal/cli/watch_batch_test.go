package cli

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/watch"
)

// A download may begin while a batch waits for TMDB, before it has read the folder.
func TestAFolderThatChangedAfterItSettledIsNotOrganized(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		file := filepath.Join(dir, name)
		err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(content), 0o600))
		if err != nil {
			t.Fatal(err)
		}
	}
	write("As it was/1.mkv", "x")
	write("New/1.mkv", "x")
	write("Longer/1.mkv", "x")
	tree, err := watch.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	settled := map[string][]watch.Entry{}
	for _, name := range []string{"As it was", "New", "Longer"} {
		if settled[name], err = tree.Read(name); err != nil {
			t.Fatal(err)
		}
	}
	write("New/2.mkv", "x")
	write("Longer/1.mkv", "xx")
	w, o := watchRun{path: dir, tree: tree}, &organizeRun{}
	err = library.Walk(t.Context(), []string{dir}, library.Options{
		OnRead: func(real string, entries []library.Entry) { w.recordFolder(settled, o, real, entries) },
	}, func(library.Dir) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"As it was"}, slices.Sorted(maps.Keys(settled))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{filepath.Join(dir, "As it was")}, o.disk.WalkedFolders()); diff != "" {
		t.Error(diff)
	}
}
