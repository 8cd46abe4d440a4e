package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestWriteReplacesWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	for _, content := range []string{"first", "second, longer", ""} {
		if err := Write(path, 0o600, text(content)); err != nil {
			t.Fatal(err)
		}
		if got := read(t, path); got != content {
			t.Errorf("file holds %q, want %q", got, content)
		}
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestAFailedWriteChangesNothingAndLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	if err := Write(path, 0o600, text("old")); err != nil {
		t.Fatal(err)
	}
	full := errors.New("disk is full")
	err := Write(path, 0o600, func(w io.Writer) error {
		if err := text("half")(w); err != nil {
			return err
		}
		return full
	})
	if where, ok := errors.AsType[*fs.PathError](err); !ok || where.Path != path || !errors.Is(err, full) {
		t.Errorf("error %v does not say where, or why", err) // the hint for a full disk needs both
	}
	if got := read(t, path); got != "old" {
		t.Errorf("file holds %q after a failed write", got)
	}
	err = Write(path, 0o600, func(w io.Writer) error {
		_ = w.(*os.File).Close()
		return text("half")(w)
	})
	if want := "write " + path + ": file already closed"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if err := Write(filepath.Join(dir, "missing", "out"), 0o600, text("x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing folder gives %v", err)
	}
}

func TestLinksAndDevicesAreKept(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links need a privilege on Windows")
	}
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	if err := Write(target, 0o600, text("old")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	if err := Write(link, 0o600, text("new")); err != nil {
		t.Fatal(err)
	}
	if got := read(t, target); got != "new" {
		t.Errorf("the link's target holds %q", got)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
	if err := Write(os.DevNull, 0o600, text("x")); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Errorf("%s was replaced: %v, %v", os.DevNull, info, err)
	}
}

func TestANewFileNeverReplacesOne(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	meanwhile := func(w io.Writer) error {
		if err := os.WriteFile(path, []byte("another's"), 0o600); err != nil {
			return err
		}
		return text("ours")(w)
	}
	for _, fill := range []func(io.Writer) error{meanwhile, text("ours")} {
		if err := WriteNew(path, 0o600, fill); !errors.Is(err, fs.ErrExist) || read(t, path) != "another's" {
			t.Errorf("%v, and the file holds %q", err, read(t, path))
		}
	}
	fresh := filepath.Join(dir, "fresh")
	if err := WriteNew(fresh, 0o600, text("ours")); err != nil || read(t, fresh) != "ours" {
		t.Errorf("%v", err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 2 {
		t.Errorf("%d files, %v", len(files), err)
	}
}
