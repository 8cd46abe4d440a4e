package cache

// Sessions on the database file. A session is: take cache.lock, open, one transaction, close, release. bbolt's own lock
// then never has to be waited for; its timeout is a guard against strangers that have the file open.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterr "go.etcd.io/bbolt/errors"

	"github.com/anivault/anivault/internal/boltfile"
	"github.com/anivault/anivault/internal/lockfile"
)

const (
	guardTimeout = 5 * time.Second
	// guardFloor: bbolt fails at once with a timeout of 50 ms or less.
	guardFloor = 100 * time.Millisecond

	metaBucket = "meta"
	metaKey    = "cache"
	formatName = "anivault-cache"
	// formatVersion is in the name of the database.
	formatVersion = 2
)

// dbMeta is what the database says about itself.
type dbMeta struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	// Pruned is when expired records were last looked for, in Unix seconds.
	Pruned int64 `json:"pruned,omitempty"`
}

// errNoDB: there is no database yet. Nothing is wrong.
var errNoDB = errors.New("no database")

// newerError says that a newer version of the program wrote the database.
type newerError struct{ version int }

func (e *newerError) Error() string {
	return fmt.Sprintf("cache database has version %d, which is newer than this program", e.version)
}

func readMeta(tx *bolt.Tx) (m dbMeta, err error) {
	b := tx.Bucket([]byte(metaBucket))
	if b == nil {
		return m, &boltfile.Unsound{Cause: errors.New("it belongs to something else: no meta bucket")}
	}
	raw := b.Get([]byte(metaKey))
	if err := json.Unmarshal(raw, &m); err != nil || m.Format != formatName {
		return m, &boltfile.Unsound{Cause: fmt.Errorf("it belongs to something else: meta record %.40q", raw)}
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

// openCache opens the database and reads its meta record. The caller holds the lock.
func (s *Store) openCache(o bolt.Options, check boltfile.Check) (*boltfile.DB, dbMeta, error) {
	if o.Timeout == 0 {
		o.Timeout = guardTimeout
	}
	db, err := boltfile.Open(s.db, o, check)
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

// view runs fn in one read-only session; it does not where there is no database. ErrLocked when another process holds
// the lock. A damaged database is set aside, and there is none then.
func (s *Store) view(ctx context.Context, fn func(*bolt.Tx, dbMeta) error) error {
	return s.viewWith(ctx, bolt.Options{ReadOnly: true, Timeout: max(s.opts.LockWait, guardFloor)}, fn)
}

func (s *Store) viewWith(ctx context.Context, opts bolt.Options, fn func(*bolt.Tx, dbMeta) error) error {
	err := s.viewOnce(ctx, opts, boltfile.Head, fn)
	var damage *boltfile.DamageError
	switch {
	case errors.As(err, &damage):
		s.setAside(ctx, damage)
		return nil
	case errors.Is(err, errNoDB), errors.As(err, new(*newerError)):
		return nil
	}
	return err
}

// viewOnce is view without what it does about trouble.
func (s *Store) viewOnce(
	ctx context.Context, opts bolt.Options, check boltfile.Check, fn func(*bolt.Tx, dbMeta) error,
) error {
	if s.mode() == modeMemory {
		return errNoDB
	}
	release, died, err := s.beginReading(ctx)
	switch {
	case err == nil:
		defer release()
	case isReadOnly(err), errors.Is(err, fs.ErrNotExist):
		// Nobody can make a lock file here, so nobody writes here; against other users of the file bbolt's own lock
		// stands.
		died = true
	case isUnlockable(err):
		s.goPrivate(err)
		return errNoDB
	default:
		return err
	}
	if died {
		check = max(check, boltfile.Walk)
	}
	db, meta, err := s.openCache(opts, check)
	if errors.Is(err, fs.ErrPermission) {
		s.goPrivate(err)
		return errNoDB
	}
	if err != nil {
		return err
	}
	now := s.now()
	if isPruneDue(meta, now) {
		s.mu.Lock()
		s.pruneDue = true
		s.mu.Unlock()
	}
	err = db.View(func(tx *bolt.Tx) error { return fn(tx, meta) })
	if e := db.Close(); err == nil {
		err = e
	}
	return err
}

// beginReading takes the lock for a session that reads and marks it. died reports that an earlier session has not
// ended: then the lock is exclusive.
func (s *Store) beginReading(ctx context.Context) (release func(), died bool, err error) {
	unlock, err := s.lockDB(ctx, lockfile.Shared, s.opts.LockWait)
	if err != nil {
		return nil, false, err
	}
	was, err := s.dbLock.mark(true)
	if err != nil {
		return unlock, true, nil // nothing says what happened
	}
	if !was {
		return s.unmarking(unlock), false, nil
	}
	unlock() // either others are reading now, or one has died
	alone, err := s.exclusive(ctx, 0)
	if err == nil {
		return alone, s.died.Load(), nil
	}
	if !errors.Is(err, ErrLocked) {
		return nil, false, err
	}
	unlock, err = s.lockDB(ctx, lockfile.Shared, s.opts.LockWait)
	return unlock, false, err
}

// unmarking returns how a session ends that has set the mark.
func (s *Store) unmarking(unlock func()) func() {
	return func() {
		_, _ = s.dbLock.mark(false) // what stays marked is walked
		unlock()
	}
}

// lockDB takes the lock of the database.
func (s *Store) lockDB(ctx context.Context, kind lockfile.Kind, wait time.Duration) (release func(), err error) {
	if s.opts.noLocks {
		return nil, errors.ErrUnsupported
	}
	return s.dbLock.acquire(ctx, kind, wait)
}

// exclusive takes the lock for a transaction or an operation on the whole file.
func (s *Store) exclusive(ctx context.Context, wait time.Duration) (release func(), err error) {
	release, err = s.lockDB(ctx, lockfile.Exclusive, wait)
	switch {
	case err == nil:
		was, _ := s.dbLock.mark(true)
		s.died.Store(was)
		return s.unmarking(release), nil
	case errors.Is(err, ErrLocked):
	case isUnlockable(err):
		s.goPrivate(err)
	case isReadOnly(err):
		s.goReadOnly(err)
	}
	return nil, err
}

// openExclusive opens the database for writing, making it if there is none and setting it aside if it is damaged. The
// caller holds the exclusive lock.
func (s *Store) openExclusive(check boltfile.Check) (db *boltfile.DB, meta dbMeta, err error) {
	if s.died.Load() {
		check = max(check, boltfile.Walk)
	}
	for range 3 {
		db, meta, err = s.openCache(bolt.Options{NoSync: s.opts.noSync}, check)
		var damage *boltfile.DamageError
		switch {
		case errors.Is(err, errNoDB):
			err = s.replaceDB()
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

// inDatabase runs fn on the database, open for writing. The caller holds the exclusive lock.
func (s *Store) inDatabase(fn func(*boltfile.DB, dbMeta) error) error {
	db, meta, err := s.openExclusive(boltfile.Head)
	if err != nil {
		return err
	}
	err = fn(db, meta)
	if e := db.Close(); err == nil {
		err = e
	}
	return err
}

// replaceDB makes an empty database under another name and puts it in the place of the present one, so that nobody ever
// sees half of one. The caller holds the exclusive lock.
func (s *Store) replaceDB() error {
	temp := s.db + ".new"
	if err := os.RemoveAll(temp); err != nil {
		return err
	}
	db, err := bolt.Open(temp, 0o600, &bolt.Options{Timeout: guardTimeout, NoSync: s.opts.noSync})
	if err != nil {
		return errors.Join(err, os.RemoveAll(temp))
	}
	meta := dbMeta{Format: formatName, Version: formatVersion, Pruned: s.now().Unix()}
	err = db.Update(func(tx *bolt.Tx) error { return writeMeta(tx, meta) })
	if e := db.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(temp, s.db)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(temp))
	}
	return nil
}
