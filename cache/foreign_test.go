//go:build unix

package cache

import (
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Whatever lies in the place of a file of ours: no operation hangs, and a run has its answers.
func TestOnlyRegularFilesAreOpened(t *testing.T) {
	kinds := map[string]func(path string) error{
		"a pipe":         func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a folder":       func(path string) error { return os.Mkdir(path, 0o700) },
		"a device":       func(path string) error { return os.Symlink("/dev/full", path) },
		"a dead link":    func(path string) error { return os.Symlink("/nowhere/at/all", path) },
		"a socket":       func(path string) error { return syscall.Mknod(path, syscall.S_IFSOCK|0o600, 0) },
		"a stranger's":   func(path string) error { return os.WriteFile(path, []byte("mine"), 0o600) },
		"an empty file":  func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"a file of ours": nil,
	}
	sum := fnv.New64a()
	_, _ = io.WriteString(sum, KeyOf("GET", mustURL(t, tvURL)))
	claim := fmt.Sprintf("claim-%016x", sum.Sum64())
	places := []string{"cache-v2.db", "cache.lock", "journals", "locks", "CACHEDIR.TAG", "locks/" + claim}
	for kind, put := range kinds {
		t.Run(kind, func(t *testing.T) {
			for _, place := range places {
				t.Run(place, func(t *testing.T) {
					dir, _ := filled(t)
					if path := filepath.Join(dir, place); put != nil {
						if err := os.RemoveAll(path); err != nil {
							t.Fatal(err)
						}
						if err := put(path); err != nil {
							t.Skip(err)
						}
					}
					s, err := openStore(dir, Options{LockWait: time.Millisecond})
					if err != nil {
						t.Fatal(err)
					}
					tr := &Transport{Store: s, Next: &upstream{serve: always(200, endedBody)}}
					for _, want := range []string{"network", "fresh"} {
						if _, _, source := get(t, tr, tvURL); source != want {
							t.Errorf("answered from %s, want %s", source, want)
						}
					}
					_, _ = s.Verify(t.Context())
					_, _ = s.Stats(t.Context())
					_, _ = s.Compact(t.Context())
					_ = s.Clear(t.Context())
					if err := s.Close(); err != nil {
						t.Error(err)
					}
				})
			}
		})
	}
}

// A user who can write into the folder decides everybody's answers, so the store warns once.
func TestAFolderThatOthersMayWriteToIsOneWarning(t *testing.T) {
	rows := map[string]struct {
		change func(dir string) error
		want   string
	}{
		"ours alone":          {func(string) error { return nil }, ""},
		"readable by all":     {func(dir string) error { return os.Chmod(dir, 0o755) }, ""},
		"writable by a group": {func(dir string) error { return os.Chmod(dir, 0o770) }, "shared"},
		"writable by all":     {func(dir string) error { return os.Chmod(dir, 0o777) }, "shared"},
		"another's folder":    {func(dir string) error { return os.Chown(dir, 1234, -1) }, "shared"},
		"another's database": {
			func(dir string) error { return os.Chown(filepath.Join(dir, "cache-v2.db"), 1234, -1) }, "shared",
		},
	}
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			dir, _ := filled(t)
			if err := r.change(dir); err != nil {
				t.Skip(err) // only root can give files away
			}
			var h heard
			s := open(t, dir, Options{OnWarning: h.hear})
			if _, ok, err := s.Get(t.Context(), tvKey("db1")); !ok || err != nil {
				t.Error(ok, err)
			}
			if h.kinds() != r.want {
				t.Errorf("warned %q", h.kinds())
			}
		})
	}
}
