package filestore_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/anivault/anivault/ratelimit"
	"github.com/anivault/anivault/ratelimit/internal/filestore"
)

func aliveFiles(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, filestore.AlivePrefix+"*"))
	must(t, err)
	return found
}

// What a killed process leaves is a file that nobody holds, wherever it was killed.
func TestAliveFilesOfTheDeadAreClearedAway(t *testing.T) {
	for _, c := range []struct {
		name string
		left []string
	}{
		{"killed before their first update", []string{"00112233445566a1", "00112233445566a2"}},
		{"killed while they made it", []string{"00112233445566a3.new"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			first := openTest(t, dir, filestore.Options{})
			first.mark(1)
			leave := func() {
				for _, id := range c.left {
					must(t, os.WriteFile(filepath.Join(dir, filestore.AlivePrefix+id), nil, 0o600))
				}
			}
			leave()
			first.mark(2)
			if got := len(aliveFiles(t, dir)); got != 1+len(c.left) {
				t.Errorf("%d alive files, want %d: nobody has looked yet", got, 1+len(c.left))
			}
			openTest(t, dir, filestore.Options{}).mark(3) // one that starts
			if got := len(aliveFiles(t, dir)); got != 2 {
				t.Errorf("%d alive files, want 2: those of the living", got)
			}
			leave()
			first.clock.pass(filestore.SweepEvery)
			first.mark(4)
			if got := len(aliveFiles(t, dir)); got != 2 {
				t.Errorf("%d alive files after an hour, want 2", got)
			}
		})
	}
}

func TestAQuestionLeavesNothingInTheFolder(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, filestore.Options{})
	_, err := ratelimit.Operator{Store: s}.Status(t.Context(), ratelimit.Default())
	must(t, err)
	for _, name := range []string{filestore.StateName, filestore.AlivePrefix + s.Owner()} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			t.Errorf("made %s", name)
		}
	}
	s.mark(1)
	before, err := os.ReadFile(filepath.Join(dir, filestore.StateName))
	must(t, err)
	s.clock.pass(time.Second)
	_, err = ratelimit.Operator{Store: s}.Status(t.Context(), ratelimit.Default())
	must(t, err)
	after, err := os.ReadFile(filepath.Join(dir, filestore.StateName))
	must(t, err)
	if string(before) != string(after) {
		t.Error("wrote the state")
	}
}

func TestFoldersBelowASharedFolderAreShared(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("permissions are lists here")
	}
	shared := filepath.Join(t.TempDir(), "shared")
	must(t, os.Mkdir(shared, 0o700))
	must(t, os.Chmod(shared, 0o770|fs.ModeSetgid))
	if fi, err := os.Stat(shared); err != nil || fi.Mode()&fs.ModeSetgid == 0 {
		t.Skip("no setgid here")
	}
	dir := filepath.Join(shared, "http_localhost_8080", "below")
	s := openTest(t, dir, filestore.Options{})
	s.mark(1)
	for _, d := range []string{dir, filepath.Dir(dir)} {
		fi, err := os.Stat(d)
		must(t, err)
		if got, want := fi.Mode(), 0o770|fs.ModeSetgid|fs.ModeDir; got != want {
			t.Errorf("%s: %v, want %v", filepath.Base(d), got, want)
		}
	}
	for _, name := range []string{filestore.LockName, filestore.StateName, filestore.AlivePrefix + s.Owner()} {
		fi, err := os.Stat(filepath.Join(dir, name))
		must(t, err)
		if got := fi.Mode().Perm(); got != 0o660 {
			t.Errorf("%s: %v, want 0660", name, got)
		}
	}
}
