package cache

// Versions. The version of the format is in the names of the database and the
// journals, so programs of different versions keep out of each other's way. A
// database of an older version is carried over when there is none of this one
// yet; a newer one is left alone.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"
)

// upgrade turns a value of one version into one of the next; keep says
// whether it lives on.
type upgrade func(bucket, key string, value []byte) (out []byte, keep bool)

// format is the version that a store writes, and how to get there from the
// older ones: upgrades[n] makes n+1 of n.
type format struct {
	version  int
	upgrades map[int]upgrade
}

// currentFormat is the first one: there is nothing older to carry over.
var currentFormat = format{version: 1}

// older finds the newest older database that can be carried over.
func (s *Store) older() (path string, version int, ok bool) {
	for v := s.format.version - 1; v > 0; v-- {
		if s.format.upgrades[v] == nil {
			return "", 0, false
		}
		path := filepath.Join(s.dir, fmt.Sprintf("cache-v%d.db", v))
		if _, err := os.Stat(path); err == nil {
			return path, v, true
		}
	}
	return "", 0, false
}

func (s *Store) hasOlder() bool {
	_, _, ok := s.older()
	return ok && s.mode() == modeShared
}

// migrateOlder makes the database out of the older one.
func (s *Store) migrateOlder(ctx context.Context) error {
	release, err := s.exclusive(ctx, s.opts.LockWait)
	if err != nil {
		return err
	}
	defer release()
	db, _, err := s.openExclusive()
	if err != nil {
		return err
	}
	return db.close()
}

// migrateInto copies an older database into a new one, value by value, and
// removes it. Journals of the older version that its processes have not merged
// are theirs, and are left. A damaged older database is worth nothing.
func (s *Store) migrateInto(dst *bolt.DB) error {
	path, version, ok := s.older()
	if !ok {
		return nil
	}
	src, meta, err := openDB(path, bolt.Options{ReadOnly: true})
	var corrupt *corruptError
	if errors.As(err, &corrupt) || errors.Is(err, errNoDB) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the older database: %w", err)
	}
	err = src.view(func(from *bolt.Tx) error {
		return dst.Update(func(to *bolt.Tx) error {
			m := dbMeta{Format: formatName, Version: s.format.version, Cleared: meta.Cleared, Pruned: meta.Pruned}
			if err := writeMeta(to, m); err != nil {
				return err
			}
			return s.copyUp(from, to, version)
		})
	})
	if e := src.close(); err == nil {
		err = e
	}
	if errors.As(err, &corrupt) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("carry over the older database: %w", err)
	}
	return os.Remove(path)
}

func (s *Store) copyUp(from, to *bolt.Tx, version int) error {
	return from.ForEach(func(name []byte, b *bolt.Bucket) error {
		if string(name) == metaBucket {
			return nil
		}
		dst, err := to.CreateBucketIfNotExists(name)
		if err != nil {
			return err
		}
		return b.ForEach(func(k, v []byte) error {
			keep := v != nil
			for n := version; n < s.format.version && keep; n++ {
				v, keep = s.format.upgrades[n](string(name), string(k), v)
			}
			if !keep {
				return nil
			}
			return dst.Put(k, v)
		})
	})
}
