package boltfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/anivault/anivault/internal/testing/boltdamage"
)

// manyPages makes a file with branch pages and two buckets, whose bytes are returned too.
func manyPages(t testing.TB) (path string, file []byte) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "many.db")
	db, err := bolt.Open(path, 0o600, &bolt.Options{NoSync: true, PageSize: boltdamage.PageSize})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		small, err := tx.CreateBucket([]byte("a"))
		if err == nil {
			err = small.Put([]byte("k"), []byte("v"))
		}
		if err != nil {
			return err
		}
		b, err := tx.CreateBucket([]byte("b"))
		for i := 0; i < 3000 && err == nil; i++ {
			err = b.Put(fmt.Appendf(nil, "key %04d", i), []byte(strings.Repeat("v", 100)))
		}
		return err
	})
	if err == nil { // some free pages
		err = db.Update(func(tx *bolt.Tx) error { return tx.Bucket([]byte("b")).Delete([]byte("key 0007")) })
	}
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	if file, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	return path, file
}

func overwrite(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestASoundFilePassesEveryCheck(t *testing.T) {
	path, _ := manyPages(t)
	for _, check := range []CheckLevel{CheckMeta, CheckFreelist, CheckTree, CheckLeaves} {
		db, err := Open(path, bolt.Options{ReadOnly: true}, check)
		if err != nil {
			t.Fatalf("check %d: %v", check, err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestDamagedPageReferencesAreAnErrorAndNoCrash(t *testing.T) {
	for name, spoil := range boltdamage.ReferenceDamages {
		t.Run(name, func(t *testing.T) {
			path, file := manyPages(t)
			spoil(t, file)
			overwrite(t, path, file)
			for _, check := range []CheckLevel{CheckTree, CheckLeaves} {
				db, err := Open(path, bolt.Options{ReadOnly: true}, check)
				if !errors.As(err, new(*DamageError)) {
					t.Fatalf("opened: %v", err)
				}
				if db != nil {
					t.Error("it is open")
				}
			}
		})
	}
}

func TestATruncatedFileIsDamaged(t *testing.T) {
	path, file := manyPages(t)
	overwrite(t, path, file[:4*boltdamage.PageSize])
	if _, err := Open(path, bolt.Options{ReadOnly: true}, CheckMeta); !errors.As(err, new(*DamageError)) {
		t.Errorf("got %v", err)
	}
}

func TestOpenMakesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	for _, o := range []bolt.Options{{}, {ReadOnly: true}} {
		if _, err := Open(path, o, CheckTree); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v", err)
		}
	}
	overwrite(t, path, nil)
	if _, err := Open(path, bolt.Options{}, CheckTree); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("empty: %v", err)
	}
}

func TestAFaultWhileReadingIsDamageAndNoCrash(t *testing.T) {
	path, _ := manyPages(t)
	db, err := Open(path, bolt.Options{ReadOnly: true}, CheckTree)
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
	if !errors.As(err, new(*DamageError)) {
		t.Errorf("got %v", err)
	}
	if err := db.Close(); err != nil { // it must not wait for locks that the fault left taken
		t.Error(err)
	}
}

func TestContentThatACallerRejectsIsDamage(t *testing.T) {
	path, _ := manyPages(t)
	db, err := Open(path, bolt.Options{ReadOnly: true}, CheckMeta)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	cause := errors.New("not ours")
	err = db.View(func(*bolt.Tx) error { return &ContentError{cause} })
	info, statErr := os.Stat(path)
	damage, ok := errors.AsType[*DamageError](err)
	if !ok || !errors.Is(err, cause) || statErr != nil || !damage.MayConcern(info) {
		t.Errorf("got %v, %v", err, statErr)
	}
}

// FuzzDatabasePages: whatever a file is made of, looking at it ends.
func FuzzDatabasePages(f *testing.F) {
	_, good := manyPages(f)
	for _, n := range []int{len(good), 3 * boltdamage.PageSize, 2 * boltdamage.PageSize, pageHeaderSize + metaSize, 0} {
		f.Add(good[:n], true)
	}
	f.Add(good[boltdamage.PageSize:], false)
	f.Fuzz(func(_ *testing.T, file []byte, leaves bool) {
		check := CheckTree
		if leaves {
			check = CheckLeaves
		}
		_ = checkPages(strings.NewReader(string(file)), int64(len(file)), check)
	})
}
