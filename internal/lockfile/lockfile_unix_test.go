//go:build unix && !illumos && !solaris

package lockfile

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// Opening a pipe that nobody else has open waits for ever, and SIGTERM doesn't end it.
func TestPipesAndSocketsAreRefusedAtOnce(t *testing.T) {
	dir := t.TempDir()
	pipe, socket := filepath.Join(dir, "pipe"), filepath.Join(dir, "socket")
	must(t, syscall.Mkfifo(pipe, 0o600))
	l, err := net.Listen("unix", socket)
	must(t, err)
	defer l.Close()
	for path, kind := range map[string]string{pipe: "a named pipe", socket: "a socket", "/dev/null": "a device"} {
		t.Run(kind, func(t *testing.T) {
			for _, flag := range []int{os.O_RDONLY, os.O_WRONLY, os.O_RDWR | os.O_CREATE} {
				wantNotRegular(t, kind, func() error { _, err := Open(path, flag, 0o600); return err })
			}
			wantNotRegular(t, kind, func() error { return New(path, Options{}).Lock(t.Context(), Exclusive, 0) })
			wantNotRegular(t, kind, func() error { _, err := takeOver(path); return err })
			if IsOwnerAlive(path) {
				t.Error("lives")
			}
		})
	}
}

// What lies there may change between the look and the opening.
func TestPipeThatAppearsBeforeTheOpeningIsRefused(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	must(t, syscall.Mkfifo(pipe, 0o600))
	notYet := func(string) (os.FileInfo, error) { return nil, os.ErrNotExist }
	for _, flag := range []int{os.O_RDONLY, os.O_RDWR} {
		wantNotRegular(t, "a named pipe", func() error { _, err := open(pipe, flag, 0, notYet); return err })
	}
	if _, err := open(pipe, os.O_WRONLY, 0, notYet); !errors.Is(err, syscall.ENXIO) {
		t.Errorf("write to a pipe without a reader: %v", err)
	}
}

func TestStoppedProcessCostsPatienceOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	child := startChild(t, "lock", path)
	must(t, child.Process.Signal(syscall.SIGSTOP))
	l := New(path, Options{})
	if err := l.Lock(t.Context(), Exclusive, 1); !errors.Is(err, ErrBusy) {
		t.Fatal(err)
	}
	if err := l.Lock(t.Context(), Exclusive, long); !errors.Is(err, ErrBusy) {
		t.Fatal(err)
	}
	kill(child)
	eventually(t, "it is free", func() bool { return l.Lock(t.Context(), Exclusive, long) == nil })
}

// Others clear away what the dead have left. One that is slow, or takes the file again and again, may do so with a file
// that is about to be locked: the process proves its liveness anyway.
func TestAliveIsMadeBesideThoseWhoClearAway(t *testing.T) {
	for name, clearing := range map[string]func(temp string) (over func()){
		"one holds it": func(temp string) func() {
			held, err := OpenNoFollow(temp, os.O_RDWR|os.O_CREATE, 0o600)
			must(t, err)
			if free, err := tryLockFile(held.File, Shared); !free {
				t.Fatal(err)
			}
			return func() { held.Close() }
		},
		"one holds it and removes it": func(temp string) func() {
			must(t, os.WriteFile(temp, nil, 0o600))
			held, err := takeOver(temp)
			must(t, err)
			return held.Close
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "alive")
			synctest.Test(t, func(t *testing.T) {
				a := NewLivenessFile(path, 0o600)
				over := clearing(a.TempPath())
				go func() {
					time.Sleep(200 * time.Millisecond)
					over()
				}()
				must(t, a.Ensure())
				if !IsOwnerAlive(path) {
					t.Error("it counts as dead")
				}
				a.Close()
			})
		})
	}
}

// What root makes in another user's folder is that user's, but a link there gives the user nothing of root's.
func TestRootMakesFilesForTheOwnerOfTheFolder(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root makes files for others")
	}
	const user = 65534
	wantOwner := func(path string, want uint32) {
		t.Helper()
		info, err := os.Stat(path)
		must(t, err)
		if got := info.Sys().(*syscall.Stat_t).Uid; got != want {
			t.Errorf("%s belongs to user %d, not %d", path, got, want)
		}
	}
	home, ofRoot := t.TempDir(), t.TempDir()
	must(t, os.Chown(home, user, user))

	deep := filepath.Join(home, "a", "b")
	must(t, MkdirAll(deep))
	must(t, MkdirAll(deep))
	f, err := OpenNoFollow(filepath.Join(deep, "new"), os.O_RDWR|os.O_CREATE, 0o600)
	must(t, err)
	f.Close()
	for _, path := range []string{"a", "a/b", "a/b/new"} {
		wantOwner(filepath.Join(home, path), user)
	}

	secret, linked := filepath.Join(ofRoot, "secret"), filepath.Join(ofRoot, "linked")
	must(t, os.WriteFile(secret, nil, 0o600))
	must(t, os.WriteFile(linked, nil, 0o600))
	must(t, os.Symlink(secret, filepath.Join(home, "link")))
	must(t, os.Link(linked, filepath.Join(home, "hardlink")))
	must(t, os.Symlink(ofRoot, filepath.Join(home, "folder")))
	for _, name := range []string{"link", "hardlink", "folder/new"} {
		f, err := Open(filepath.Join(home, name), os.O_RDWR|os.O_CREATE, 0o600)
		must(t, err)
		f.Close()
	}
	for _, path := range []string{secret, linked, filepath.Join(ofRoot, "new"), ofRoot} {
		wantOwner(path, 0)
	}
}
