package cache

// When a process was stopped while it holds the exclusive lock, the database
// can't be opened; what cannot be asked of the network either is then read from
// a private copy. A copy that was taken while somebody wrote is worth nothing:
// it is noticed by the transaction number, and every record has its checksum
// besides.

import (
	"io"
	"os"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"
)

// snapshotRetry is how long a copy that failed is not tried again.
const snapshotRetry = 5 * time.Second

// snapshot is a private copy of the database, opened; db is nil when it could
// not be made.
type snapshot struct {
	dir   string
	db    *database
	meta  dbMeta
	taken time.Time
}

func (sn *snapshot) close() {
	if sn.db != nil {
		_ = sn.db.close()
	}
	if sn.dir != "" {
		_ = os.RemoveAll(sn.dir)
	}
}

// fromSnapshot reads an answer without the lock; nil when there is none.
func (s *Store) fromSnapshot(key string) *Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.how == modeMemory {
		return nil
	}
	if sn := s.snapshot; sn == nil || (sn.db == nil && time.Since(sn.taken) > snapshotRetry) {
		if sn != nil {
			sn.close()
		}
		s.snapshot = s.takeSnapshot()
	}
	sn := s.snapshot
	if sn.db == nil {
		return nil
	}
	var e *Entry
	err := sn.db.view(func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte(responses))
		if b == nil {
			return nil
		}
		if r, err := decodeRecord(responses, key, b.Get([]byte(key))); err == nil && !r.deleted && r.stamp > sn.meta.Cleared {
			e, err = entryOf(key, r)
			return err
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return e
}

// takeSnapshot copies the database into the folder for temporary files.
func (s *Store) takeSnapshot() *snapshot {
	sn := &snapshot{taken: time.Now()}
	before, err := fileState(s.dbPath())
	if err != nil || before == (dbState{}) {
		return sn
	}
	if sn.dir, err = os.MkdirTemp("", "anivault-cache-"); err != nil {
		sn.dir = ""
		return sn
	}
	path := filepath.Join(sn.dir, "snapshot.db")
	if copyFile(s.dbPath(), path) != nil {
		return sn
	}
	if after, err := fileState(s.dbPath()); err != nil || after != before {
		return sn
	}
	db, meta, err := openDB(path, bolt.Options{ReadOnly: true})
	if err == nil {
		sn.db, sn.meta = db, meta
	}
	return sn
}

func copyFile(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	if e := dst.Close(); err == nil {
		err = e
	}
	return err
}
