package fsx

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// Some file systems do not say in a folder what its entries are.
func TestAnEntryOfUnknownKindIsAskedAbout(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("file", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	var d Dir
	if err := d.Open(dir); err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var b []byte
	for _, name := range []string{".", "folder", "file", "link", "gone meanwhile"} {
		one := make([]byte, (19+len(name)+8)/8*8)
		binary.NativeEndian.PutUint64(one, 1)
		binary.NativeEndian.PutUint16(one[16:], uint16(len(one))) //nolint:gosec // a name is short
		copy(one[19:], name)
		b = append(b, one...)
	}
	got := map[string]fs.FileMode{}
	eachDirent(d.fd, b, func(name []byte, kind fs.FileMode) { got[string(name)] = kind })
	want := map[string]fs.FileMode{"folder": fs.ModeDir, "file": 0, "link": fs.ModeSymlink}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	eachDirent(d.fd, b[:30], func(name []byte, _ fs.FileMode) {
		if string(name) != "." {
			t.Errorf("half an entry is taken for %q", name)
		}
	})
}

// A kernel without statx(2) says the same, but for a birth.
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
