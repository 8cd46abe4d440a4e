package cache

// Sessions on the database file. A session is: take cache.lock, open, one transaction, close, release. bbolt's own lock
// then never has to be waited for; its timeout is a guard against strangers that have the file open.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterr "go.etcd.io/bbolt/errors"

	"github.com/anivault/anivault/internal/lockfile"
)

const guardTimeout = 5 * time.Second

// errNoDB: there is no database yet. Nothing is wrong.
var errNoDB = errors.New("no database")

// newerError says that a newer version of the program wrote the database.
type newerError struct{ version int }

func (e *newerError) Error() string {
	return fmt.Sprintf("cache database has version %d, which is newer than this program", e.version)
}

// openCache opens the database and reads its meta record. The caller holds the lock.
func (s *Store) openCache(o bolt.Options, check func(*os.File, fs.FileInfo) error) (*DB, dbMeta, error) {
	if o.Timeout == 0 {
		o.Timeout = guardTimeout
	}
	db, err := openDB(s.dbPath(), o, check)
	switch {
	case errors.Is(err, bolterr.ErrTimeout):
		return nil, dbMeta{}, ErrLocked
	case errors.Is(err, fs.ErrNotExist):
		return nil, dbMeta{}, errNoDB
	case err != nil:
		return nil, dbMeta{}, err
	}
	var meta dbMeta
	err = db.View(func(tx *bolt.Tx) (err error) {
		meta, err = readMeta(tx)
		return err
	})
	if info, e := db.file.Stat(); e == nil {
		meta.state = stateOf(info)
	}
	if err == nil && meta.Version > formatVersion {
		err = &newerError{meta.Version}
		s.goPrivate(err)
	}
	if err != nil {
		_ = db.Close()
		return nil, meta, err
	}
	return db, meta, nil
}

// view runs fn in one read-only session. errNoDB when there is no database, ErrLocked when another process holds the
// lock. A damaged database is set aside, and there is none then.
func (s *Store) view(ctx context.Context, fn func(*bolt.Tx, dbMeta) error) error {
	return s.viewWith(ctx, bolt.Options{ReadOnly: true, Timeout: max(s.opts.LockWait, guardFloor)}, fn)
}

// guardFloor: bbolt fails at once with a timeout of 50 ms or less.
const guardFloor = 100 * time.Millisecond

func (s *Store) viewWith(ctx context.Context, opts bolt.Options, fn func(*bolt.Tx, dbMeta) error) error {
	if s.mode() == modeMemory {
		return errNoDB
	}
	err := s.viewOnce(ctx, opts, s.pages.check, fn)
	var damage *DamageError
	var newer *newerError
	switch {
	case errors.As(err, &damage):
		s.setAside(ctx, damage)
		return errNoDB
	case errors.As(err, &newer):
		return errNoDB
	}
	return err
}

func (s *Store) viewOnce(ctx context.Context, opts bolt.Options, check func(*os.File, fs.FileInfo) error, fn func(*bolt.Tx, dbMeta) error) error {
	release, err := s.lockDB(ctx, lockfile.Shared, s.opts.LockWait)
	switch {
	case err == nil:
		defer release()
	case isReadOnly(err), errors.Is(err, fs.ErrNotExist):
		// Nobody can make a lock file here, so nobody merges here; against other users of the file bbolt's own lock
		// stands.
	case isUnlockable(err):
		s.goPrivate(err)
		return errNoDB
	default:
		return err
	}
	db, meta, err := s.openCache(opts, check)
	if errors.Is(err, fs.ErrPermission) {
		s.goPrivate(err)
		return errNoDB
	}
	if err != nil {
		return err
	}
	err = db.View(func(tx *bolt.Tx) error { return fn(tx, meta) })
	if e := db.Close(); err == nil {
		err = e
	}
	return err
}

// lockDB takes the lock of the database.
func (s *Store) lockDB(ctx context.Context, kind lockfile.Kind, wait time.Duration) (release func(), err error) {
	if s.opts.noLocks {
		return nil, errors.ErrUnsupported
	}
	return s.dbLock.acquire(ctx, kind, wait)
}

// exclusive takes the lock for a merge or an operation on the whole file.
func (s *Store) exclusive(ctx context.Context, wait time.Duration) (release func(), err error) {
	release, err = s.lockDB(ctx, lockfile.Exclusive, wait)
	switch {
	case err == nil, errors.Is(err, ErrLocked):
	case isUnlockable(err):
		s.goPrivate(err)
	case isReadOnly(err):
		s.goReadOnly(err)
	}
	return release, err
}

// openExclusive opens the database for writing, making it if there is none and setting it aside if it is damaged. The
// caller holds the exclusive lock.
func (s *Store) openExclusive() (db *DB, meta dbMeta, err error) {
	for range 3 {
		db, meta, err = s.openCache(bolt.Options{NoSync: s.opts.noSync}, s.pages.check)
		var damage *DamageError
		switch {
		case errors.Is(err, errNoDB):
			err = s.replaceDB(dbMeta{Format: formatName, Version: formatVersion, Pruned: s.now().Unix()})
		case errors.As(err, &damage):
			err = s.setAsideLocked(damage)
		default:
			return db, meta, err
		}
		if err != nil {
			return nil, meta, err
		}
	}
	return nil, meta, errors.New("open the database: it is damaged again and again")
}

// inDatabase runs fn on the database, open for writing. The caller holds the exclusive lock. What is written through
// bbolt refers to sound pages again, so they are not looked through once more.
func (s *Store) inDatabase(fn func(*DB, dbMeta) error) error {
	db, meta, err := s.openExclusive()
	if err != nil {
		return err
	}
	if err = fn(db, meta); err == nil {
		s.pages.trust(db.file)
	}
	if e := db.Close(); err == nil {
		err = e
	}
	return err
}

// replaceDB makes an empty database under another name and puts it in the place of the present one, so that nobody ever
// sees half of one. The caller holds the exclusive lock.
func (s *Store) replaceDB(meta dbMeta) error {
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
