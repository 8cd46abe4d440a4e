package fsx

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// A kernel without statx(2) says the same, except the birth time.
func TestTheOlderCallSaysTheSame(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("text"), 0o640); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{dir, filepath.Join(dir, "file"), filepath.Join(dir, "none")} {
		today, err := Statx(unix.AT_FDCWD, name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_STATX_FORCE_SYNC)
		older, olderErr := fstatat(unix.AT_FDCWD, name, unix.AT_SYMLINK_NOFOLLOW)
		today.BirthTime, today.Mount = time.Time{}, 0
		if diff := cmp.Diff(today, older); diff != "" || errors.Is(err, fs.ErrNotExist) != errors.Is(olderErr,
			fs.ErrNotExist) {
			t.Errorf("%s: %v, %v\n%s", name, err, olderErr, diff)
		}
	}
}

// That files can't share blocks is known without a trace in the folder.
func TestCantReflink(t *testing.T) {
	const shm = "/dev/shm" // of a file system that never can
	for _, above := range []string{t.TempDir(), shm} {
		if above == shm {
			if _, err := os.Stat(shm); err != nil {
				t.Skip("there is none: ", err)
			}
		}
		dir, err := os.MkdirTemp(above, "")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		a, b := openAt(t, filepath.Join(dir, "a")), openAt(t, filepath.Join(dir, "b"))
		if _, err := a.Write(make([]byte, 4096)); err != nil {
			t.Fatal(err)
		}
		can := unix.IoctlFileClone(int(b.Fd()), int(a.Fd())) == nil
		before, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		cant := CantReflink(dir)
		after, err := os.Stat(dir)
		if err != nil || !after.ModTime().Equal(before.ModTime()) {
			t.Errorf("%s has changed: %v", dir, err)
		}
		if can && cant || above == shm && !cant {
			t.Errorf("%s: reflinks are made: %v; can't be: %v", dir, can, cant)
		}
	}
}

func openAt(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
