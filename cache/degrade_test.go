package cache

// What happens when the disk, the file system or the file is not as it should be.

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/anivault/anivault/cache/internal/store"
)

// heard collects warnings.
type heard struct {
	mu   sync.Mutex
	list []Warning
}

func (h *heard) hear(w Warning) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.list, w)
}

func (h *heard) kinds() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var names []string
	for _, w := range h.list {
		names = append(names, string(w.Kind))
	}
	return strings.Join(names, " ")
}

// filled makes a cache with forty answers.
func filled(t *testing.T) (dir, db string) {
	t.Helper()
	dir = t.TempDir()
	s, err := openStore(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		putAnswer(t, s, tvKey(fmt.Sprintf("db%d", i)), time.Now(), day, 5000)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, dbPath(s)
}

func TestADamagedDatabaseIsSetAside(t *testing.T) {
	rows := map[string]func(t *testing.T, path string){
		"garbage": func(t *testing.T, path string) {
			overwrite(t, path, bytes.Repeat([]byte("garbage "), 8000))
		},
		"a few bytes": func(t *testing.T, path string) { overwrite(t, path, []byte("hello")) },
		"cut in half": func(t *testing.T, path string) {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(path, info.Size()/8/4096*4096); err != nil {
				t.Fatal(err)
			}
		},
		"cut in the header": func(t *testing.T, path string) {
			if err := os.Truncate(path, 100); err != nil {
				t.Fatal(err)
			}
		},
		"both headers damaged": func(t *testing.T, path string) {
			patch(t, path, 0, []byte{0xff}, 16, 40)
			patch(t, path, int64(os.Getpagesize()), []byte{0xff}, 16, 40)
		},
		"tree pages overwritten": func(t *testing.T, path string) {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			page := int64(os.Getpagesize())
			patch(t, path, 2*page, bytes.Repeat([]byte{0xa5}, int(min(info.Size(), 80*page)-2*page)), 0)
		},
		"a bbolt file of another program": func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			db, err := bolt.Open(path, 0o600, nil)
			if err != nil {
				t.Fatal(err)
			}
			err = db.Update(func(tx *bolt.Tx) error { _, err := tx.CreateBucket([]byte("theirs")); return err })
			if err := errors.Join(err, db.Close()); err != nil {
				t.Fatal(err)
			}
		},
		"a directory": func(t *testing.T, path string) {
			if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, spoil := range rows {
		t.Run(name, func(t *testing.T) {
			dir, path := filled(t)
			spoil(t, path)
			var h heard
			s := open(t, dir, Options{OnWarning: h.hear})
			if _, ok, err := s.Get(t.Context(), tvKey("db3")); ok || err != nil {
				t.Errorf("%v %v", ok, err)
			}
			putAnswer(t, s, tvKey("new"), time.Now(), day, 10)
			if got := keysOf(t, s); !slices.Equal(got, []string{"new"}) {
				t.Errorf("afterwards there are %v", got)
			}
			aside, err := filepath.Glob(path + ".corrupt-*")
			if err != nil || len(aside) != 1 || h.kinds() != "corrupt" || h.list[0].Path != aside[0] {
				t.Errorf("set aside %v, warned %q", aside, h.list)
			}
		})
	}
}

func overwrite(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// patch writes b at off plus each of the places.
func patch(t *testing.T, path string, off int64, b []byte, places ...int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range places {
		if _, err := f.WriteAt(b, off+p); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOnlyTheNewestDamagedFilesAreKept(t *testing.T) {
	clk := newClock()
	dir := t.TempDir()
	for range 4 {
		clk.advance(time.Minute)
		overwrite(t, filepath.Join(dir, "cache-v2.db"), []byte("garbage"))
		s := open(t, dir, Options{Now: clk.Now})
		if _, _, err := s.Get(t.Context(), "k"); err != nil {
			t.Fatal(err)
		}
	}
	aside, err := filepath.Glob(filepath.Join(dir, "*.corrupt-*"))
	if err != nil || len(aside) != 2 {
		t.Errorf("%v %v", aside, err)
	}
}

func TestAnEmptyDatabaseFileIsNoDamage(t *testing.T) {
	dir := t.TempDir()
	overwrite(t, filepath.Join(dir, "cache-v2.db"), nil)
	var h heard
	s := open(t, dir, Options{OnWarning: h.hear})
	putAnswer(t, s, tvKey("1"), time.Now(), day, 10)
	if got := keysOf(t, s); len(got) != 1 || h.kinds() != "" {
		t.Errorf("%v, warned %q", got, h.kinds())
	}
}

func TestADamagedRecordIsIgnoredAndWrittenAnew(t *testing.T) {
	dir, path := filled(t)
	first := open(t, dir, Options{})
	if _, err := first.Compact(t.Context()); err != nil { // so that no older pages have the key
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(text, []byte(tvKey("db7")))
	// Elements lie in key order, so a value is behind its key.
	patch(t, path, int64(at+len(tvKey("db7"))+20), []byte{0xee, 0xee}, 2)
	var h heard
	s, err := openStore(dir, Options{OnWarning: h.hear})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok, err := s.Get(t.Context(), tvKey("db7")); ok || err != nil {
		t.Errorf("damaged: %v %v", ok, err)
	}
	if _, ok, err := s.Get(t.Context(), tvKey("db8")); !ok || err != nil {
		t.Errorf("its neighbour: %v %v", ok, err)
	}
	rep, err := s.Verify(t.Context())
	if err != nil || len(rep.Problems) != 1 || !strings.Contains(rep.Problems[0].String(), "db7") {
		t.Errorf("verify: %v %v", rep.Problems, err)
	}
	putAnswer(t, s, tvKey("db7"), time.Now(), day, 50)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if h.kinds() != "record" {
		t.Errorf("warned %q", h.kinds())
	}
	again := open(t, dir, Options{})
	if _, ok, err := again.Get(t.Context(), tvKey("db7")); !ok || err != nil {
		t.Errorf("written anew: %v %v", ok, err)
	}
}

func TestWithoutLocksTheCacheIsPrivate(t *testing.T) {
	dir, _ := filled(t)
	var h heard
	s, err := openStore(dir, Options{OnWarning: h.hear, testOptions: store.Options{NoLocks: true}})
	if err != nil {
		t.Fatal(err)
	}
	up := &upstream{serve: always(200, endedBody)}
	tr := &Transport{Store: s, Next: up}
	for i, want := range []string{"network", "fresh"} {
		if _, _, source := get(t, tr, tvURL); source != want {
			t.Errorf("%d: %s, want %s", i, source, want)
		}
	}
	if _, err := s.Prune(t.Context(), PruneOptions{}); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("prune: %v", err)
	}
	if err := s.Close(); err != nil || h.kinds() != "memory" {
		t.Errorf("close: %v, warned %q", err, h.kinds())
	}
	if got := keysOf(t, open(t, dir, Options{})); len(got) != 40 {
		t.Errorf("the directory has %d answers of 40", len(got))
	}
}

func TestAFileInThePlaceOfTheDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	overwrite(t, path, []byte("mine"))
	var h heard
	s, err := openStore(path, Options{OnWarning: h.hear})
	if err != nil {
		t.Fatal(err)
	}
	tr := &Transport{Store: s, Next: &upstream{serve: always(200, endedBody)}}
	for i, want := range []string{"network", "fresh"} {
		if _, _, source := get(t, tr, tvURL); source != want {
			t.Errorf("%d: %s, want %s", i, source, want)
		}
	}
	if err := s.Close(); err != nil || h.kinds() != "memory" {
		t.Errorf("close: %v, warned %q", err, h.kinds())
	}
}

// A newer format has another name, and is recognised under ours as well.
func TestANewerFormatIsLeftAlone(t *testing.T) {
	dir, path := filled(t)
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte("meta")).Put([]byte("cache"), []byte(`{"format":"anivault-cache","version":3}`))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var h heard
	s, err := openStore(dir, Options{OnWarning: h.hear})
	if err != nil {
		t.Fatal(err)
	}
	tr := &Transport{Store: s, Next: &upstream{serve: always(200, endedBody)}}
	for i, want := range []string{"network", "fresh"} {
		if _, _, source := get(t, tr, tvURL); source != want {
			t.Errorf("%d: %s, want %s", i, source, want)
		}
	}
	if err := s.Clear(t.Context()); err == nil {
		t.Error("it was cleared")
	}
	if err := s.Close(); err != nil || h.kinds() != "memory" || !strings.Contains(h.list[0].Error(), "newer") {
		t.Errorf("close: %v, warned %q", err, h.list)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the newer file was changed: %v", err)
	}
}

func TestAMissingDirectoryIsHarmless(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("open files can't be removed")
	}
	dir := filepath.Join(t.TempDir(), "cache")
	s := open(t, dir, Options{})
	up := &upstream{serve: always(200, endedBody)}
	tr := &Transport{Store: s, Next: up}
	get(t, tr, tvURL)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if _, _, source := get(t, tr, fmt.Sprintf("http://h/3/tv/%d", i)); source != "network" {
			t.Errorf("%d: %s", i, source)
		}
		if _, _, source := get(t, tr, fmt.Sprintf("http://h/3/tv/%d", i)); source != "fresh" {
			t.Errorf("%d again: %s", i, source)
		}
	}
}
