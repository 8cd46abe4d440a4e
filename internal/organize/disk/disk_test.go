package disk

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/organize"
)

// What a walk has read says the same as asking again, and is believed once.
func TestAFolderThatAWalkHasReadIsAsItIs(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"b.mkv": "video", "a.mkv": "", "b.ass": "subtitle", "c.txt": "",
		"Subs/b.srt": "",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("b.mkv", filepath.Join(root, "link.mkv")); err != nil {
		t.Skip("no links here: ", err)
	}
	var asked, told Disk
	real, err := asked.RealPath(root)
	if err != nil {
		t.Fatal(err)
	}
	want, err := asked.List(real)
	if err != nil || len(want) != 6 {
		t.Fatal(want, err)
	}
	if err := library.Walk(context.Background(), []string{root}, library.Options{OnRead: told.AddWalked},
		func(library.Dir) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "b.mkv"), []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := told.List(real)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(organize.Item{})); diff != "" {
		t.Errorf("told by the walk: %s", diff)
	}
	if got, err = told.List(real); err != nil || got[3].Size != int64(len("another")) {
		t.Errorf("the second time it is asked: %v, %v", got, err)
	}
}

// What is listed ahead says the same as asking, and is believed once; a folder that is not there has nothing.
func TestFoldersThatAreListedAhead(t *testing.T) {
	root := t.TempDir()
	var dirs []string
	for i := range 50 {
		dir := filepath.Join(root, strconv.Itoa(i))
		dirs = append(dirs, filepath.ToSlash(dir))
		if i%10 == 9 {
			continue
		}
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "a.mkv"), []byte("a"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var asked, ahead Disk
	ahead.Prefetch(dirs)
	for _, dir := range dirs {
		want, err := asked.List(dir)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ahead.List(dir)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(organize.Item{})); diff != "" {
			t.Errorf("%s (-asked +ahead): %s", dir, diff)
		}
	}
	if err := os.WriteFile(filepath.Join(dirs[0], "b.mkv"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if again, err := ahead.List(dirs[0]); err != nil || len(again) != 2 {
		t.Error(again, err)
	}
}
