package cache

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
	"pgregory.net/rapid"

	"github.com/anivault/anivault/internal/testing/boltdamage"
)

// manyPages makes a database with branch pages, whose bytes are returned too: the same ones each time for one date.
func manyPages(t testing.TB, now time.Time) (path string, file []byte) {
	t.Helper()
	dir := t.TempDir()
	s, err := openStore(dir, Options{Now: func() time.Time { return now }, testOptions: noSync})
	if err != nil {
		t.Fatal(err)
	}
	var items []Item
	var keys []string
	for i := range 3000 {
		e := Entry{Key: tvKey(fmt.Sprint(i)), Status: 200, Body: []byte(endedBody), FetchedAt: now, ExpiresAt: now.Add(day)}
		items, keys = append(items, e.toItem()), append(keys, e.Key)
	}
	if err := errors.Join(s.answers.Put(t.Context(), items...), s.Close()); err != nil {
		t.Fatal(err)
	}
	from, err := bolt.Open(dbPath(s), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "many.db")
	db, err := bolt.Open(path, 0o600, &bolt.Options{NoSync: true, PageSize: boltdamage.PageSize})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		return from.View(func(src *bolt.Tx) error {
			return errors.Join(copyKeys(tx, src, "meta", "cache"), copyKeys(tx, src, "responses", keys...))
		})
	})
	err = errors.Join(err, from.Close())
	if err == nil { // some free pages
		err = db.Update(func(tx *bolt.Tx) error { return tx.Bucket([]byte("responses")).Delete([]byte(tvKey("7"))) })
	}
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	if file, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	return path, file
}

// copyKeys copies values in the order of keys, which decides how the pages come to lie.
func copyKeys(to, from *bolt.Tx, bucket string, keys ...string) error {
	b, err := to.CreateBucket([]byte(bucket))
	for _, k := range keys {
		if err == nil {
			err = b.Put([]byte(k), from.Bucket([]byte(bucket)).Get([]byte(k)))
		}
	}
	return err
}

// died leaves the lock file as a process does that dies in a session.
func died(t interface{ Fatal(...any) }, s *Store) {
	if err := os.WriteFile(lockPath(s), []byte{0, 1}, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A store keeps working after any of its operations has met damage that an earlier session has died of.
func TestADatabaseWithDamagedPagesIsSetAside(t *testing.T) {
	operations := map[string]func(*testing.T, *Store) error{
		"get": func(t *testing.T, s *Store) error {
			_, _, err := s.Get(t.Context(), tvKey("500"))
			return err
		},
		"range":   func(t *testing.T, s *Store) error { return s.Range(t.Context(), func(*Entry) error { return nil }) },
		"stats":   func(t *testing.T, s *Store) error { _, err := s.Stats(t.Context()); return err },
		"compact": func(t *testing.T, s *Store) error { _, err := s.Compact(t.Context()); return err },
		"prune":   func(t *testing.T, s *Store) error { _, err := s.Prune(t.Context(), PruneOptions{}); return err },
	}
	for name, spoil := range boltdamage.ReferenceDamages {
		t.Run(name, func(t *testing.T) {
			_, file := manyPages(t, time.Now())
			spoil(t, file)
			for name, run := range operations {
				t.Run(name, func(t *testing.T) {
					var h heard
					s := open(t, t.TempDir(), Options{OnWarning: h.hear, testOptions: noSync})
					overwrite(t, dbPath(s), file)
					rep, err := s.Verify(t.Context())
					died(t, s)
					if err != nil || len(rep.Problems) != 1 || h.kinds() != "" {
						t.Errorf("verify: %v, %v, warned %q", rep.Problems, err, h.kinds())
					}
					if err := run(t, s); err != nil {
						t.Error(err)
					}
					if h.kinds() != "corrupt" {
						t.Errorf("warned %q", h.kinds())
					}
				})
			}
		})
	}
}

// Whatever a database is made of, no operation on it ends the process or hangs, and what is written is there.
func TestRandomDamageEndsNoRun(t *testing.T) {
	clk := newClock()
	_, good := manyPages(t, clk.Now())
	rapid.Check(t, func(rt *rapid.T) {
		file := append([]byte(nil), good...)
		for range rapid.IntRange(1, 8).Draw(rt, "changes") {
			n := rapid.IntRange(1, 8).Draw(rt, "bytes")
			page := rapid.IntRange(0, len(file)/boltdamage.PageSize-1).Draw(rt, "page") * boltdamage.PageSize
			at := page + rapid.OneOf(rapid.IntRange(0, 80), rapid.IntRange(0, boltdamage.PageSize-9)).Draw(rt, "at")
			copy(file[at:at+n], rapid.SliceOfN(rapid.Byte(), n, n).Draw(rt, "to"))
		}
		dir, err := os.MkdirTemp("", "cache-damage-")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(dir)
		var h heard
		s, err := openStore(dir, Options{Now: clk.Now, OnWarning: h.hear, testOptions: noSync})
		if err != nil {
			rt.Fatal(err)
		}
		if err := os.WriteFile(dbPath(s), file, 0o600); err != nil {
			rt.Fatal(err)
		}
		died(rt, s)
		_, _ = s.Verify(t.Context())
		_ = s.Range(t.Context(), func(*Entry) error { return nil })
		now := clk.Now()
		e := &Entry{Key: tvKey("new"), Status: 200, Body: []byte(endedBody), FetchedAt: now, ExpiresAt: now.Add(day)}
		kept := false
		for i := 0; i < 2 && !kept; i++ {
			if err := s.Put(t.Context(), e); err != nil {
				rt.Fatal(err)
			}
			if _, kept, err = s.Get(t.Context(), e.Key); err != nil {
				rt.Fatal(err)
			}
			// bbolt may read past the end of a damaged page, so whether a key is found can change. Then the store drops the
			// record or the file with a warning and keeps the next answer.
			if !kept && h.kinds() == "" {
				rt.Fatal("the answer is lost without a warning")
			}
		}
		if !kept {
			rt.Fatal("the second answer is not found")
		}
		if err := s.Close(); err != nil {
			rt.Fatal(err)
		}
	})
}

func TestAWalkOverKeysInDisorderEnds(t *testing.T) {
	for name, flags := range map[string]uint16{"branch": boltdamage.Branch, "leaf": boltdamage.Leaf} {
		t.Run(name, func(t *testing.T) {
			_, file := manyPages(t, time.Now())
			boltdamage.MisplaceKeys(t, file, flags, tvKey(""))
			dir := t.TempDir()
			s, err := openStore(dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			overwrite(t, dbPath(s), file)
			n := 0
			err = s.answers.Range(t.Context(), func(Item) error {
				if n++; n > 3000 {
					return errors.New("it goes in circles")
				}
				return nil
			})
			if err := errors.Join(err, s.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

// bbolt would write to the page in the free list: far behind the end of the file, or not at all.
func TestAWriteDoesNotTrustADamagedFreeList(t *testing.T) {
	_, file := manyPages(t, time.Now())
	boltdamage.FreePageOutside(t, file)
	var h heard
	s := open(t, t.TempDir(), Options{OnWarning: h.hear, testOptions: noSync})
	overwrite(t, dbPath(s), file)
	e := &Entry{Key: tvKey("new"), Status: 200, Body: []byte(endedBody), FetchedAt: time.Now()}
	e.ExpiresAt = e.FetchedAt.Add(day)
	if err := s.Put(t.Context(), e); err != nil || h.kinds() != "corrupt" {
		t.Errorf("put: %v, warned %q", err, h.kinds())
	}
}

// What was written behind keys in disorder may lie where nobody finds it.
func TestRecordsThatCannotBeReadBackGoIntoANewFile(t *testing.T) {
	for name, flags := range map[string]uint16{"branch": boltdamage.Branch, "leaf": boltdamage.Leaf} {
		t.Run(name, func(t *testing.T) {
			_, file := manyPages(t, time.Now())
			boltdamage.MisplaceKeys(t, file, flags, tvKey(""))
			var h heard
			s := open(t, t.TempDir(), Options{OnWarning: h.hear, testOptions: noSync})
			overwrite(t, dbPath(s), file)
			now := time.Now()
			for i := range 50 {
				e := &Entry{Key: tvKey(fmt.Sprint(60*i, "x")), Status: 200, Body: []byte(endedBody)}
				e.FetchedAt, e.ExpiresAt = now, now.Add(day)
				if err := s.Put(t.Context(), e); err != nil {
					t.Fatal(err)
				}
			}
			for i := range 50 {
				if _, ok, err := s.Get(t.Context(), tvKey(fmt.Sprint(60*i, "x"))); !ok || err != nil {
					t.Errorf("answer %d: %v %v", i, ok, err)
				}
			}
			if h.kinds() != "corrupt" {
				t.Errorf("warned %q", h.kinds())
			}
		})
	}
}
