//go:build unix

package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestReadFileOfAPipeOrDevice(t *testing.T) {
	defer func(d time.Duration) { pipeTimeout = d }(pipeTimeout)
	pipeTimeout = 200 * time.Millisecond
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := ReadFile(pipe); err == nil || !strings.Contains(err.Error(), "nothing was written into the pipe") {
		t.Errorf("a pipe without a writer: %v", err)
	}
	if _, err := ReadFile("/dev/zero"); err == nil || !strings.Contains(err.Error(), "more than 1048576 bytes") {
		t.Errorf("/dev/zero: %v", err)
	}
	pipeTimeout = time.Minute
	go func() { // a program such as pass, which opens the pipe when somebody reads
		_ = os.WriteFile(pipe, []byte("secret\nmore\n"), 0o600)
	}()
	if line, err := firstLine(pipe); err != nil || line != "secret" {
		t.Errorf("%q %v", line, err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	go func() {
		time.Sleep(10 * time.Millisecond)
		_, _ = w.WriteString("secret\n")
		w.Close()
	}()
	if line, err := firstLine(fmt.Sprint("/dev/fd/", r.Fd())); err != nil || line != "secret" {
		t.Errorf("%q %v", line, err)
	}
}

// Root may make the first client for a service user, whose home has none of the folders yet.
func TestTheFirstClientIsTheUsersWhoseHomeItIs(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root makes files for others")
	}
	const user = 65534
	home := t.TempDir()
	if err := os.Chown(home, user, user); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(home, ".local", "share", "anivault")
	keep := func(all []Client) ([]Client, error) { return all, nil }
	if err := EditClients(t.Context(), data, keep); err != nil {
		t.Fatal(err)
	}
	for path := ClientsFile(data); path != home; path = filepath.Dir(path) {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := info.Sys().(*syscall.Stat_t); !ok || s.Uid != user || s.Gid != user {
			t.Errorf("%s belongs to %v", path, info.Sys())
		}
	}
}

// A user may put a link where root makes a file. It does not give the user what it leads to.
func TestALinkInTheUsersFolderGivesNothingAway(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root makes files for others")
	}
	const user = 65534
	data, ofRoot := t.TempDir(), filepath.Join(t.TempDir(), "root")
	err := errors.Join(os.WriteFile(ofRoot, nil, 0o600), os.Chown(data, user, user),
		os.Symlink(ofRoot, filepath.Join(data, ".clients.lock")))
	if err != nil {
		t.Fatal(err)
	}
	keep := func(all []Client) ([]Client, error) { return all, nil }
	_ = EditClients(t.Context(), data, keep) // may refuse it
	info, err := os.Stat(ofRoot)
	if err != nil {
		t.Fatal(err)
	}
	if s, ok := info.Sys().(*syscall.Stat_t); !ok || s.Uid != 0 {
		t.Errorf("root's file belongs to %v", info.Sys())
	}
}

// A link that leads nowhere makes no file there either.
func TestALinkInTheUsersFolderMakesNoFileElsewhere(t *testing.T) {
	data, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "nologin")
	if err := os.Symlink(elsewhere, filepath.Join(data, ".clients.lock")); err != nil {
		t.Fatal(err)
	}
	keep := func(all []Client) ([]Client, error) { return all, nil }
	err := EditClients(t.Context(), data, keep)
	if _, statErr := os.Lstat(elsewhere); statErr == nil || err == nil {
		t.Errorf("the error is %v; looking at the file: %v", err, statErr)
	}
}
