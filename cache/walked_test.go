package cache

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
)

// walkedDir makes a cache directory that a process has left behind, with a database of many pages.
func walkedDir(t *testing.T, now func() time.Time) (s *Store, file []byte) {
	t.Helper()
	_, file = manyPages(t, now())
	s, err := Open(t.TempDir(), Options{noSync: true, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	overwrite(t, s.dbPath(), file)
	readOne(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.pages.path); err != nil {
		t.Skip("this system does not tell one state of a file from the next")
	}
	return s, file
}

func readOne(t *testing.T, s *Store) {
	t.Helper()
	if _, _, err := s.Get(t.Context(), tvKey("500")); err != nil {
		t.Fatal(err)
	}
}

// walks reports whether the next process looks through the pages, and what it warns of.
func walks(t *testing.T, dir string, now func() time.Time) (walked bool, warned string) {
	t.Helper()
	var h heard
	s, err := Open(dir, Options{noSync: true, Now: now, OnWarning: h.hear})
	if err != nil {
		t.Fatal(err)
	}
	readOne(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return s.pages.sound != nil, h.kinds()
}

func TestAStateThatTheLastProcessKnewIsNotWalkedAgain(t *testing.T) {
	clock := newClock()
	s, _ := walkedDir(t, clock.Now)
	info, err := os.Stat(s.pages.path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for range 2 {
		if walked, _ := walks(t, s.dir, clock.Now); walked {
			t.Error("walked")
		}
	}
	// What bbolt writes upon it is known too.
	next := open(t, s.dir, Options{noSync: true, Now: clock.Now})
	e := Entry{Key: tvKey("9999"), Status: 200, Body: []byte(endedBody), FetchedAt: clock.Now(), ExpiresAt: clock.Now().Add(day)}
	if err := next.Put(t.Context(), &e); err != nil {
		t.Fatal(err)
	}
	if n, err := next.Merge(t.Context()); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if err := next.Close(); err != nil {
		t.Fatal(err)
	}
	if walked, _ := walks(t, s.dir, clock.Now); walked {
		t.Error("walked after a merge")
	}
	clock.advance(day)
	if walked, _ := walks(t, s.dir, clock.Now); !walked {
		t.Error("not walked for more than a day")
	}
}

func TestWhatIsNotKnownIsWalked(t *testing.T) {
	note := func(change func(string) string) func(*testing.T, *Store) {
		return func(t *testing.T, s *Store) {
			b, err := os.ReadFile(s.pages.path)
			if err != nil {
				t.Fatal(err)
			}
			overwrite(t, s.pages.path, []byte(change(string(b))))
		}
	}
	replaced := func(put func(path string) error) func(*testing.T, *Store) {
		return func(t *testing.T, s *Store) {
			if err := errors.Join(os.Remove(s.pages.path), put(s.pages.path)); err != nil {
				t.Skip(err)
			}
		}
	}
	for name, change := range map[string]func(*testing.T, *Store){
		"no note":         replaced(func(string) error { return nil }),
		"a folder":        replaced(func(path string) error { return os.Mkdir(path, 0o700) }),
		"a link":          replaced(func(path string) error { return os.Symlink("/dev/zero", path) }),
		"an empty note":   note(func(string) string { return "" }),
		"one that is cut": note(func(s string) string { return s[:len(s)-1] }),
		"one with more":   note(func(s string) string { return s + "\n" }),
		"a later version": note(func(s string) string { return strings.Replace(s, " 1:", " 2:", 1) }),
		"another state's": note(func(s string) string { return strings.Replace(s, "transaction ", "transaction 1", 1) }),
		"long nonsense":   note(func(string) string { return strings.Repeat("x", 1<<20) }),
		"yesterday's":     note(func(s string) string { return strings.Replace(s, "2026-11-21", "2026-11-20", 1) }),
		"a process that believed it was killed": func(t *testing.T, s *Store) {
			killed, err := Open(s.dir, Options{noSync: true, Now: s.opts.Now})
			if err != nil {
				t.Fatal(err)
			}
			readOne(t, killed) // and no Close
		},
		"a byte was changed, and the time set back": func(t *testing.T, s *Store) {
			info, err := os.Stat(s.dbPath())
			if err != nil {
				t.Fatal(err)
			}
			f, err := os.OpenFile(s.dbPath(), os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			_, err = f.WriteAt([]byte{0}, info.Size()-1)
			if err := errors.Join(err, f.Close(), os.Chtimes(s.dbPath(), time.Time{}, info.ModTime())); err != nil {
				t.Fatal(err)
			}
		},
		"another file in its place": func(t *testing.T, s *Store) {
			b, err := os.ReadFile(s.dbPath())
			if err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(s.dbPath())
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(s.dbPath()); err != nil {
				t.Fatal(err)
			}
			overwrite(t, s.dbPath(), b)
			if err := os.Chtimes(s.dbPath(), time.Time{}, info.ModTime()); err != nil {
				t.Fatal(err)
			}
		},
		"a program that knows nothing of it wrote": func(t *testing.T, s *Store) {
			db, err := bolt.Open(s.dbPath(), 0o600, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(db.Update(func(*bolt.Tx) error { return nil }), db.Close()); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			clock := newClock()
			s, _ := walkedDir(t, clock.Now)
			change(t, s)
			if walked, warned := walks(t, s.dir, clock.Now); !walked || warned != "" {
				t.Errorf("walked: %v, warned %q", walked, warned)
			}
		})
	}
}

// A page that is damaged without a trace may end the process that meets it. It must not end the next one.
func TestDamageThatLeavesNoTraceIsFoundByTheNextProcess(t *testing.T) {
	for name, spoil := range spoiledPages {
		t.Run(name, func(t *testing.T) {
			clock := newClock()
			s, file := walkedDir(t, clock.Now)
			spoil(t, file)
			overwrite(t, s.dbPath(), file)
			f, err := os.Open(s.dbPath())
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			info, err := f.Stat()
			if err != nil {
				t.Fatal(err)
			}
			met := &checkedPages{path: s.pages.path, now: clock.Now}
			overwrite(t, s.pages.path, []byte(noteOf(f, info, s.pages.day)))
			if err := met.check(f, info); err != nil {
				t.Fatalf("this damage leaves a trace: %v", err)
			}
			// That process dies.
			if walked, warned := walks(t, s.dir, clock.Now); walked || warned != "corrupt" {
				t.Errorf("walked to the end: %v, warned %q", walked, warned)
			}
			if aside, err := filepath.Glob(s.dbPath() + corruptMark + "*"); len(aside) != 1 || err != nil {
				t.Errorf("set aside: %v, %v", aside, err)
			}
		})
	}
}
