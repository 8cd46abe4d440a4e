package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
	"pgregory.net/rapid"
)

// pageSize is that of the databases here: the same on all machines, so that a seed stands for the same damage.
const pageSize = 4096

// manyPages makes a database with branch pages, whose bytes are returned too: the same ones each time for one date.
func manyPages(t testing.TB, now time.Time) (path string, file []byte) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "many.db")
	db, err := bolt.Open(path, 0o600, &bolt.Options{NoSync: true, PageSize: pageSize})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		err := writeMeta(tx, dbMeta{Format: formatName, Version: formatVersion})
		if err != nil {
			return err
		}
		b, err := tx.CreateBucket([]byte(responses))
		for i := 0; i < 3000 && err == nil; i++ {
			key := tvKey(fmt.Sprint(i))
			e := Entry{Key: key, Status: 200, Body: []byte(endedBody)}
			r := record{stamp: 1, fetched: now, expires: now.Add(day), payload: e.payload()}
			err = b.Put([]byte(key), r.encode(nil, responses, key))
		}
		return err
	})
	if err == nil { // some free pages
		err = db.Update(func(tx *bolt.Tx) error { return tx.Bucket([]byte(responses)).Delete([]byte(tvKey("7"))) })
	}
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	if file, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	return path, file
}

// eachPage calls fn for the pages that are in use and have these flags.
func eachPage(t testing.TB, file []byte, flags uint16, fn func(id uint64, page []byte)) {
	t.Helper()
	n := 0
	for off := 2 * pageSize; off < len(file); off += pageSize {
		page := file[off : off+pageSize]
		if id := order.Uint64(page); id == uint64(off/pageSize) && order.Uint16(page[8:]) == flags && order.Uint16(page[10:]) > 0 {
			fn(id, page)
			n++
		}
	}
	if n == 0 {
		t.Fatalf("no page has flags %#x", flags)
	}
}

// spoiledPages are ways of damaging page references; each is one field.
var spoiledPages = map[string]func(t testing.TB, file []byte){
	"branch pages refer to themselves": func(t testing.TB, file []byte) {
		eachPage(t, file, flagBranch, func(id uint64, page []byte) {
			for i := range int(order.Uint16(page[10:])) {
				order.PutUint64(page[pageHead+elementSize*i+8:], id)
			}
		})
	},
	"one reference leads to its own page": func(t testing.TB, file []byte) {
		eachPage(t, file, flagBranch, func(id uint64, page []byte) { order.PutUint64(page[pageHead+elementSize+8:], id) })
	},
	"two references lead to one page": func(t testing.TB, file []byte) {
		eachPage(t, file, flagBranch, func(_ uint64, page []byte) {
			copy(page[pageHead+elementSize+8:pageHead+2*elementSize], page[pageHead+8:pageHead+elementSize])
		})
	},
	"a reference leads out of the file": func(t testing.TB, file []byte) {
		eachPage(t, file, flagBranch, func(_ uint64, page []byte) { order.PutUint64(page[pageHead+8:], 1<<40) })
	},
	"a leaf says that it is a branch": func(t testing.TB, file []byte) {
		eachPage(t, file, flagLeaf, func(_ uint64, page []byte) { order.PutUint16(page[8:], flagBranch) })
	},
	"a page in use counts as free": func(t testing.TB, file []byte) {
		var used uint64
		eachPage(t, file, flagBranch, func(_ uint64, page []byte) { used = order.Uint64(page[pageHead+8:]) })
		eachPage(t, file, flagFreelist, func(_ uint64, page []byte) { order.PutUint64(page[pageHead:], used) })
	},
	"the list of buckets leads to itself": func(t testing.TB, file []byte) {
		m, err := currentMeta(strings.NewReader(string(file)), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		page := file[int64(m.root)*m.pageSize:]
		at := pageHead + elementSize // the second bucket; the first one is inline
		from := at + int(order.Uint32(page[at+4:])+order.Uint32(page[at+8:]))
		order.PutUint64(page[from:], m.root)
	},
}

func TestDamagedPageReferencesAreAnErrorAndNoCrash(t *testing.T) {
	for name, spoil := range spoiledPages {
		t.Run(name, func(t *testing.T) {
			path, file := manyPages(t, time.Now())
			spoil(t, file)
			overwrite(t, path, file)
			db, err := OpenDB(path, bolt.Options{ReadOnly: true})
			var damage *DamageError
			if !errors.As(err, &damage) {
				t.Fatalf("opened: %v", err)
			}
			if db != nil {
				t.Error("it is open")
			}
		})
	}
}

// A store goes on after any of its operations has met the damage.
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
	for name, spoil := range spoiledPages {
		t.Run(name, func(t *testing.T) {
			_, file := manyPages(t, time.Now())
			spoil(t, file)
			for name, run := range operations {
				t.Run(name, func(t *testing.T) {
					var h heard
					s := open(t, t.TempDir(), Options{OnWarning: h.hear, noSync: true})
					overwrite(t, s.dbPath(), file)
					rep, err := s.Verify(t.Context())
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

// A walk that knows most pages from an earlier one sees what has changed since.
func TestALaterWalkSeesWhatIsNew(t *testing.T) {
	_, file := manyPages(t, time.Now())
	known, err := walkPages(strings.NewReader(string(file)), int64(len(file)), nil, false)
	if err != nil || len(known) == 0 {
		t.Fatal(known, err)
	}
	if _, err := walkPages(strings.NewReader(string(file)), int64(len(file)), known, false); err != nil {
		t.Error(err)
	}
	spoiledPages["one reference leads to its own page"](t, file)
	if _, err := walkPages(strings.NewReader(string(file)), int64(len(file)), known, false); err == nil {
		t.Error("the damage was not seen")
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
			page := rapid.IntRange(0, len(file)/pageSize-1).Draw(rt, "page") * pageSize
			at := page + rapid.OneOf(rapid.IntRange(0, 80), rapid.IntRange(0, pageSize-9)).Draw(rt, "at")
			copy(file[at:at+n], rapid.SliceOfN(rapid.Byte(), n, n).Draw(rt, "to"))
		}
		dir, err := os.MkdirTemp("", "cache-damage-")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(dir)
		s, err := Open(dir, Options{Now: clk.Now, MergeEvery: time.Hour, noSync: true})
		if err != nil {
			rt.Fatal(err)
		}
		if err := os.WriteFile(s.dbPath(), file, 0o600); err != nil {
			rt.Fatal(err)
		}
		_, _ = s.Verify(t.Context())
		_ = s.Range(t.Context(), func(*Entry) error { return nil })
		now := clk.Now()
		e := &Entry{Key: tvKey("new"), Status: 200, Body: []byte(endedBody), FetchedAt: now, ExpiresAt: now.Add(day)}
		if err := s.Put(t.Context(), e); err != nil {
			rt.Fatal(err)
		}
		if _, err := s.Merge(t.Context()); err != nil {
			rt.Fatal(err)
		}
		if _, ok, err := s.Get(t.Context(), e.Key); !ok || err != nil {
			rt.Fatalf("what was written: %v %v", ok, err)
		}
		if err := s.Close(); err != nil {
			rt.Fatal(err)
		}
	})
}

// disorder puts every third key of the pages with these flags in the wrong place.
func disorder(t testing.TB, file []byte, flags uint16) {
	t.Helper()
	eachPage(t, file, flags, func(_ uint64, page []byte) {
		for i := 0; i < int(order.Uint16(page[10:])); i += 3 {
			at := pageHead + elementSize*i
			head := page[at:] // branch: position, key's length; leaf: flags, position, key's length
			if flags == flagLeaf {
				head = page[at+4:]
			}
			key := page[at+int(order.Uint32(head)):][:order.Uint32(head[4:])]
			if n := len(tvKey("")); len(key) > n { // not a bucket's name
				key[n] = '~'
			}
		}
	})
}

func TestAWalkOverKeysInDisorderEnds(t *testing.T) {
	for name, flags := range map[string]uint16{"branch": flagBranch, "leaf": flagLeaf} {
		t.Run(name, func(t *testing.T) {
			_, file := manyPages(t, time.Now())
			disorder(t, file, flags)
			dir := t.TempDir()
			s, err := Open(dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			overwrite(t, s.dbPath(), file)
			n := 0
			err = s.walk(t.Context(), responses, func(string, record) error {
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

// What was merged behind keys in disorder may lie where nobody finds it.
func TestWhatAMergeDoesNotFindAgainIsWrittenElsewhere(t *testing.T) {
	for name, flags := range map[string]uint16{"branch": flagBranch, "leaf": flagLeaf} {
		t.Run(name, func(t *testing.T) {
			_, file := manyPages(t, time.Now())
			disorder(t, file, flags)
			var h heard
			s := open(t, t.TempDir(), Options{OnWarning: h.hear, MergeEvery: time.Hour, noSync: true})
			overwrite(t, s.dbPath(), file)
			now := time.Now()
			for i := range 50 {
				e := &Entry{Key: tvKey(fmt.Sprint(60*i, "x")), Status: 200, Body: []byte(endedBody), FetchedAt: now, ExpiresAt: now.Add(day)}
				if err := s.Put(t.Context(), e); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := s.Merge(t.Context()); err != nil {
				t.Fatal(err)
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

func TestATruncatedFileIsDamaged(t *testing.T) {
	_, path := filled(t)
	if err := os.Truncate(path, 4*int64(os.Getpagesize())); err != nil {
		t.Fatal(err)
	}
	var damage *DamageError
	if _, err := OpenDB(path, bolt.Options{ReadOnly: true}); !errors.As(err, &damage) {
		t.Errorf("got %v", err)
	}
}

func TestOpenDBMakesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	for _, o := range []bolt.Options{{}, {ReadOnly: true}} {
		if _, err := OpenDB(path, o); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v", err)
		}
	}
	overwrite(t, path, nil)
	if _, err := OpenDB(path, bolt.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("empty: %v", err)
	}
}

func TestAFaultWhileReadingIsDamageAndNoCrash(t *testing.T) {
	_, path := filled(t)
	db, err := OpenDB(path, bolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	// The file shrinks under the mapping: reading what was there is a fault.
	if err := os.Truncate(path, 0); err != nil {
		t.Skipf("a mapped file can't be cut here: %v", err)
	}
	err = db.View(func(tx *bolt.Tx) error {
		return tx.ForEach(func(_ []byte, b *bolt.Bucket) error {
			return b.ForEach(func(_, _ []byte) error { return nil })
		})
	})
	var damage *DamageError
	if !errors.As(err, &damage) {
		t.Errorf("got %v", err)
	}
	if err := db.Close(); err != nil { // it must not wait for locks that the fault left taken
		t.Error(err)
	}
}

func FuzzDatabasePages(f *testing.F) {
	_, good := manyPages(f, time.Now())
	for _, n := range []int{len(good), 3 * pageSize, 2 * pageSize, pageHead + metaSize, 0} {
		f.Add(good[:n], true)
	}
	f.Add(good[pageSize:], false)
	f.Fuzz(func(t *testing.T, file []byte, deep bool) {
		known, err := walkPages(strings.NewReader(string(file)), int64(len(file)), nil, deep)
		if err != nil {
			return
		}
		if _, err := walkPages(strings.NewReader(string(file)), int64(len(file)), known, deep); err != nil {
			t.Fatalf("sound only the first time: %v", err)
		}
	})
}
