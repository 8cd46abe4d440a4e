package cache

// Sessions on the database file. A session is: take cache.lock, open, one
// transaction, close, release. bbolt's own lock then never has to be waited
// for; its timeout is a guard against strangers that have the file open.

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterr "go.etcd.io/bbolt/errors"
)

const (
	guardTimeout = 5 * time.Second
	metaBucket   = "meta"
	metaKey      = "cache"
	formatName   = "anivault-cache"
)

// dbMeta is what the database says about itself.
type dbMeta struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	// Cleared is the stamp at which everything was cleared: older records that
	// still lie in somebody's journal don't count.
	Cleared uint64 `json:"cleared,omitempty"`
	// Pruned is when expired records were last looked for, in Unix seconds.
	Pruned int64 `json:"pruned,omitempty"`

	state dbState // which committed state this was read from
}

// errNoDB: there is no database yet. Nothing is wrong.
var errNoDB = errors.New("no database")

// corruptError says that the database can't be used; file is the one that was
// looked at, so that of two processes that find it out only one acts.
type corruptError struct {
	file  fs.FileInfo
	cause error
}

func (e *corruptError) Error() string { return "cache database is damaged: " + e.cause.Error() }
func (e *corruptError) Unwrap() error { return e.cause }

// newerError says that a newer version of the program wrote the database.
type newerError struct{ version int }

func (e *newerError) Error() string {
	return fmt.Sprintf("cache database has version %d, which is newer than this program", e.version)
}

// openDB opens the file and reads its meta record. The caller holds the lock.
// Everything that happens to a file that is not what it should be, faults in
// mapped memory included, comes back as a corruptError.
func openDB(path string, opts bolt.Options) (db *database, meta dbMeta, err error) {
	state, err := fileState(path)
	if err != nil {
		return nil, meta, err
	}
	if state == (dbState{}) {
		return nil, meta, errNoDB
	}
	db = &database{}
	opts.OpenFile = func(name string, flag int, perm os.FileMode) (*os.File, error) {
		f, err := os.OpenFile(name, flag, perm)
		db.file = f
		return f, err
	}
	if opts.Timeout == 0 {
		opts.Timeout = guardTimeout
	}
	opts.Logger = nil
	err = guarded(func() error {
		var err error
		db.DB, err = bolt.Open(path, 0o600, &opts)
		return err
	})
	switch {
	case err == nil:
	case errors.Is(err, bolterr.ErrTimeout):
		return nil, meta, ErrLocked
	case isDamage(err):
		var info fs.FileInfo
		if db.file != nil {
			info, _ = db.file.Stat()
			_ = db.file.Close() // after a panic bbolt leaves it open, and locked
		}
		return nil, meta, &corruptError{info, err}
	default:
		return nil, meta, err
	}
	err = db.view(func(tx *bolt.Tx) error {
		meta, err = readMeta(tx)
		meta.state = state
		return err
	})
	if err != nil {
		_ = db.close()
		return nil, meta, err
	}
	return db, meta, nil
}

// foreignError: a sound bbolt file, but not one of ours.
type foreignError struct{ what string }

func (e *foreignError) Error() string { return "it belongs to something else: " + e.what }

func readMeta(tx *bolt.Tx) (dbMeta, error) {
	var m dbMeta
	b := tx.Bucket([]byte(metaBucket))
	if b == nil {
		return m, &foreignError{"no meta bucket"}
	}
	raw := b.Get([]byte(metaKey))
	if err := json.Unmarshal(raw, &m); err != nil || m.Format != formatName {
		return m, &foreignError{fmt.Sprintf("meta record %.40q", raw)}
	}
	return m, nil
}

func writeMeta(tx *bolt.Tx, m dbMeta) error {
	raw, err := json.Marshal(m)
	if err != nil {
		return err
	}
	b, err := tx.CreateBucketIfNotExists([]byte(metaBucket))
	if err != nil {
		return err
	}
	return b.Put([]byte(metaKey), raw)
}

// view runs fn in one read-only session. errNoDB when there is no database,
// ErrLocked when the lock is not to be had. A damaged database is set aside,
// and there is none then.
func (s *Store) view(ctx context.Context, fn func(*bolt.Tx, dbMeta) error) error {
	return s.viewWith(ctx, bolt.Options{ReadOnly: true, Timeout: max(s.opts.LockWait, guardFloor)}, fn)
}

// guardFloor: bbolt fails at once with a timeout of 50 ms or less.
const guardFloor = 100 * time.Millisecond

func (s *Store) viewWith(ctx context.Context, opts bolt.Options, fn func(*bolt.Tx, dbMeta) error) error {
	if s.mode() == modeMemory {
		return errNoDB
	}
	err := s.viewOnce(ctx, opts, fn)
	var corrupt *corruptError
	switch {
	case errors.Is(err, errNoDB) && s.hasOlder():
		if s.migrateOlder(ctx) == nil {
			err = s.viewOnce(ctx, opts, fn)
		}
	case errors.As(err, &corrupt):
		s.setAside(ctx, corrupt)
		return errNoDB
	}
	return err
}

func (s *Store) viewOnce(ctx context.Context, opts bolt.Options, fn func(*bolt.Tx, dbMeta) error) error {
	release, err := s.dbGate.acquire(ctx, false, s.opts.LockWait)
	switch {
	case err == nil:
		defer release()
	case isReadOnly(err), errors.Is(err, fs.ErrNotExist):
		// Nobody can make a lock file here, so nobody merges here; against
		// other users of the file bbolt's own lock stands.
	case errors.Is(err, errNoLocks):
		s.goPrivate(err)
		return errNoDB
	default:
		return err
	}
	db, meta, err := openDB(s.dbPath(), opts)
	if err != nil {
		return err
	}
	if meta.Version > s.format.version {
		_ = db.close()
		err := &newerError{meta.Version}
		s.goPrivate(err)
		return errNoDB
	}
	err = db.view(func(tx *bolt.Tx) error { return fn(tx, meta) })
	if e := db.close(); err == nil {
		err = e
	}
	return err
}

// exclusive takes the lock for a merge or an operation on the whole file.
func (s *Store) exclusive(ctx context.Context, wait time.Duration) (release func(), err error) {
	unlock, err := s.dbGate.acquire(ctx, true, wait)
	switch {
	case errors.Is(err, errNoLocks):
		s.goPrivate(err)
	case isReadOnly(err):
		s.goReadOnly(err)
	}
	if err != nil {
		return nil, err
	}
	stop := pulse(s.dbGate.path)
	return func() {
		stop()
		unlock()
	}, nil
}

// openExclusive opens the database for writing, making or migrating it if
// there is none and setting it aside if it is damaged. The caller holds the
// exclusive lock.
func (s *Store) openExclusive() (*database, dbMeta, error) {
	for range 2 {
		db, meta, err := openDB(s.dbPath(), bolt.Options{NoSync: s.opts.noSync})
		var corrupt *corruptError
		switch {
		case errors.Is(err, errNoDB):
			if err := s.createDB(); err != nil {
				return nil, meta, err
			}
		case errors.As(err, &corrupt):
			if err := s.setAsideLocked(corrupt); err != nil {
				return nil, meta, err
			}
		case err != nil:
			return nil, meta, err
		case meta.Version > s.format.version:
			_ = db.close()
			err := &newerError{meta.Version}
			s.goPrivate(err)
			return nil, meta, err
		default:
			return db, meta, nil
		}
	}
	return openDB(s.dbPath(), bolt.Options{NoSync: s.opts.noSync})
}

// createDB makes an empty database under another name and then gives it its
// own, so that nobody ever sees half of one.
func (s *Store) createDB() error {
	return s.replaceDB(dbMeta{Format: formatName, Version: s.format.version, Pruned: s.now().Unix()}, s.migrateInto)
}

// replaceDB makes a new database, lets fill write to it, and puts it in the
// place of the present one. The caller holds the exclusive lock.
func (s *Store) replaceDB(meta dbMeta, fill func(*bolt.DB) error) error {
	path := s.dbPath()
	temp := path + ".new"
	if err := os.RemoveAll(temp); err != nil {
		return err
	}
	db, err := bolt.Open(temp, 0o600, &bolt.Options{Timeout: guardTimeout, NoSync: s.opts.noSync})
	if err != nil {
		return errors.Join(err, os.RemoveAll(temp))
	}
	err = db.Update(func(tx *bolt.Tx) error { return writeMeta(tx, meta) })
	if err == nil && fill != nil {
		err = fill(db)
	}
	if e := db.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(temp))
	}
	return nil
}

// stampOf is the stamp in a value's head, 0 if it has none.
func stampOf(value []byte) uint64 {
	if len(value) < recordHead {
		return 0
	}
	return binary.BigEndian.Uint64(value[5:])
}
