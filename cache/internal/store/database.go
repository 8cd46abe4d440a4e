package store

// In a session, a process takes cache.lock, opens the database, runs one transaction, closes the database, and releases
// the lock. So no other process of ours ever holds the lock of bbolt itself. The timeout for bbolt's lock only guards
// against other programs that have the file open.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterr "go.etcd.io/bbolt/errors"

	"github.com/anivault/anivault/internal/boltfile"
	"github.com/anivault/anivault/internal/lockfile"
)

const (
	boltTimeout = 5 * time.Second
	// minBoltTimeout is needed because bbolt fails immediately with a timeout of 50 ms or less.
	minBoltTimeout = 100 * time.Millisecond

	metaBucket = "meta"
	metaKey    = "cache"
	formatName = "anivault-cache"
	// formatVersion is part of the database's file name.
	formatVersion = 2
)

type dbMeta struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	// LastPrune is the time of the last prune in Unix seconds.
	LastPrune int64 `json:"pruned,omitempty"`
}

type diskMode uint8

const (
	modeReadWrite diskMode = iota // reads and writes the disk
	modeReadOnly                  // only reads the disk; changes stay in memory
	modeMemory                    // does not use the disk
)

type database struct {
	dir, path      string
	opts           Options
	lock           dbLock
	warnings       warningLog
	sessionCrashed atomic.Bool // a process died in an earlier session; valid while holding the exclusive lock
	pruneDue       atomic.Bool // the last prune was more than a day ago

	// The holder of the exclusive lock sets generation to the one that it began, and previousGeneration to the one before.
	previousGeneration, generation uint64

	mu          sync.Mutex
	currentMode diskMode
}

func newDatabase(dir string, o Options) *database {
	d := &database{dir: dir, opts: o, warnings: warningLog{callback: o.OnWarning}}
	d.path = filepath.Join(dir, fmt.Sprintf("cache-v%d.db", formatVersion))
	d.lock.lock = lockfile.New(filepath.Join(dir, "cache.lock"), lockfile.Options{})
	d.lock.holderActivity.limit = cmp.Or(o.InactivityLimit, o.LockWait)
	return d
}

func (d *database) now() time.Time { return d.opts.Now() }

func (d *database) mode() diskMode {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.currentMode
}

// stopUsingDisk makes the store keep everything in memory until the process ends.
func (d *database) stopUsingDisk(cause error) {
	d.mu.Lock()
	d.currentMode = modeMemory
	d.mu.Unlock()
	d.warnings.warn(Warning{Kind: WarnMemory, Path: d.dir, Err: cause})
}

func (d *database) stopWriting(cause error) {
	d.mu.Lock()
	d.currentMode = max(d.currentMode, modeReadOnly)
	d.mu.Unlock()
	d.warnings.warn(Warning{Kind: WarnReadOnly, Path: d.dir, Err: cause})
}

// errNoDB means that there is no database yet, which is normal.
var errNoDB = errors.New("no database")

type newerFormatError struct{ version int }

func (e *newerFormatError) Error() string {
	return fmt.Sprintf("cache database has version %d, which is newer than this program", e.version)
}

func readMeta(tx *bolt.Tx) (m dbMeta, err error) {
	b := tx.Bucket([]byte(metaBucket))
	if b == nil {
		return m, &boltfile.ContentError{Cause: errors.New("it belongs to something else: no meta bucket")}
	}
	raw := b.Get([]byte(metaKey))
	if err := json.Unmarshal(raw, &m); err != nil || m.Format != formatName {
		return m, &boltfile.ContentError{Cause: fmt.Errorf("it belongs to something else: meta record %.40q", raw)}
	}
	return m, nil
}

func writeMeta(tx *bolt.Tx, m dbMeta) error {
	raw, _ := json.Marshal(m) // it always has a JSON form
	b, err := tx.CreateBucketIfNotExists([]byte(metaBucket))
	if err != nil {
		return err
	}
	return b.Put([]byte(metaKey), raw)
}

// open opens the database and reads its meta record. The caller must hold the lock.
func (d *database) open(o bolt.Options, check boltfile.CheckLevel) (*boltfile.DB, dbMeta, error) {
	o.Timeout = cmp.Or(o.Timeout, boltTimeout)
	db, err := boltfile.Open(d.path, o, check)
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
		err = &newerFormatError{meta.Version}
		d.stopUsingDisk(err)
	}
	if err != nil {
		_ = db.Close()
		return nil, meta, err
	}
	return db, meta, nil
}

// view calls fn in one read-only session, or not at all if there is no database. It returns ErrLocked if another
// process holds the lock for too long. It renames a damaged database and then behaves as if there were none.
func (d *database) view(ctx context.Context, fn func(*bolt.Tx) error) error {
	return d.viewOptions(ctx, bolt.Options{ReadOnly: true, Timeout: max(d.opts.LockWait, minBoltTimeout)}, fn)
}

func (d *database) viewOptions(ctx context.Context, opts bolt.Options, fn func(*bolt.Tx) error) error {
	err := d.viewOnce(ctx, opts, boltfile.CheckMeta, fn)
	if damage, ok := errors.AsType[*boltfile.DamageError](err); ok {
		d.renameDamaged(ctx, damage)
	} else if !errors.Is(err, errNoDB) && !errors.As(err, new(*newerFormatError)) {
		return err
	}
	return nil
}

func (d *database) viewOnce(
	ctx context.Context, opts bolt.Options, check boltfile.CheckLevel, fn func(*bolt.Tx) error,
) error {
	if d.mode() == modeMemory {
		return errNoDB
	}
	release, died, err := d.beginReading(ctx)
	switch {
	case err == nil:
		defer release()
	case isReadOnly(err), errors.Is(err, fs.ErrNotExist):
		// We can't create a lock file here, so no process of ours can write. bbolt's lock guards against other programs.
		died = true
	case isLockUnavailable(err):
		d.stopUsingDisk(err)
		return errNoDB
	default:
		return err
	}
	if died {
		check = max(check, boltfile.CheckTree)
	}
	db, meta, err := d.open(opts, check)
	if errors.Is(err, fs.ErrPermission) {
		d.stopUsingDisk(err)
		return errNoDB
	}
	if err != nil {
		return err
	}
	if isPruneDue(meta, d.now()) {
		d.pruneDue.Store(true)
	}
	return errors.Join(db.View(fn), db.Close())
}

// beginReading takes the lock for a read session and sets the session byte. died is true if a process died in an
// earlier session. The lock is then exclusive.
func (d *database) beginReading(ctx context.Context) (release func(), died bool, err error) {
	unlock, err := d.acquireLock(ctx, lockfile.Shared, d.opts.LockWait)
	if err != nil {
		return nil, false, err
	}
	was, err := d.lock.setSessionByte(true)
	if err != nil {
		return unlock, true, nil //nolint:nilerr // the session byte can't be read, so check the pages
	}
	if !was {
		return d.endSession(unlock), false, nil
	}
	unlock() // other processes are reading now, or one has died while reading
	alone, err := d.beginWriting(ctx, 0)
	if err == nil {
		return alone, d.sessionCrashed.Load(), nil
	}
	if !errors.Is(err, ErrLocked) {
		return nil, false, err
	}
	unlock, err = d.acquireLock(ctx, lockfile.Shared, d.opts.LockWait)
	return unlock, false, err
}

func (d *database) endSession(unlock func()) func() {
	return func() {
		_, _ = d.lock.setSessionByte(false) // if the byte stays set, the next session checks the pages
		unlock()
	}
}

func (d *database) acquireLock(ctx context.Context, kind lockfile.Kind, wait time.Duration) (func(), error) {
	if d.opts.NoLocks {
		return nil, errors.ErrUnsupported
	}
	return d.lock.acquire(ctx, kind, wait)
}

func (d *database) beginWriting(ctx context.Context, wait time.Duration) (release func(), err error) {
	release, err = d.acquireLock(ctx, lockfile.Exclusive, wait)
	switch {
	case err == nil:
		was, _ := d.lock.setSessionByte(true)
		d.sessionCrashed.Store(was)
		d.previousGeneration, d.generation = d.lock.nextGeneration()
		return d.endSession(release), nil
	case errors.Is(err, ErrLocked):
	case isLockUnavailable(err):
		d.stopUsingDisk(err)
	case isReadOnly(err):
		d.stopWriting(err)
	}
	return nil, err
}

// openExclusive opens the database under the exclusive lock. It creates a missing database and renames a damaged one.
func (d *database) openExclusive(check boltfile.CheckLevel) (db *boltfile.DB, meta dbMeta, err error) {
	if d.sessionCrashed.Load() {
		check = max(check, boltfile.CheckTree)
	}
	for range 3 {
		db, meta, err = d.open(bolt.Options{NoSync: d.opts.NoSync}, check)
		switch damage, ok := errors.AsType[*boltfile.DamageError](err); {
		case errors.Is(err, errNoDB):
			err = d.createEmpty()
		case ok:
			err = d.renameDamagedLocked(damage)
		default:
			return db, meta, err
		}
		if err != nil {
			return nil, meta, err
		}
	}
	return nil, meta, errors.New("open the database: it is damaged again and again")
}

func (d *database) update(fn func(*boltfile.DB, dbMeta) error) error {
	db, meta, err := d.openExclusive(boltfile.CheckFreelist)
	if err != nil {
		return err
	}
	return errors.Join(fn(db, meta), db.Close())
}

func (d *database) createEmpty() error {
	meta := dbMeta{Format: formatName, Version: formatVersion, LastPrune: d.now().Unix()}
	return d.replace(func(db *bolt.DB) error {
		return db.Update(func(tx *bolt.Tx) error { return writeMeta(tx, meta) })
	})
}

// replace fills a new database in a temporary file and renames it over the present one, so that no process sees an
// incomplete file. The caller must hold the exclusive lock.
func (d *database) replace(fill func(*bolt.DB) error) error {
	temp := d.path + ".new"
	if err := os.RemoveAll(temp); err != nil {
		return err
	}
	db, err := bolt.Open(temp, 0o600, &bolt.Options{Timeout: boltTimeout, NoSync: d.opts.NoSync})
	if err == nil {
		lockfile.Adopt(temp)
		err = errors.Join(fill(db), db.Close())
	}
	if err == nil {
		err = os.Rename(temp, d.path)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(temp))
	}
	return nil
}
