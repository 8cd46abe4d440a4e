package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"
	bolterr "go.etcd.io/bbolt/errors"

	"github.com/anivault/anivault/internal/lockfile"
)

// DB is an open bbolt file whose damage is an error. With bbolt alone a damaged page ends the process, or hangs it.
type DB struct {
	*bolt.DB
	file *os.File
	// faulted: a panic has gone through bbolt, whose locks may still be taken.
	faulted bool
}

// DamageError reports a file that is not a sound database: truncated, with page references that lead in circles, or not
// a regular file at all.
type DamageError struct {
	Cause error
	file  fs.FileInfo // the one that was looked at: of two processes that find the damage only one acts
}

func (e *DamageError) Error() string { return "the database is damaged: " + e.Cause.Error() }

// Unwrap returns the cause.
func (e *DamageError) Unwrap() error { return e.Cause }

// OpenDB opens the bbolt file at path. It opens nothing but a regular file, and looks through all page references
// before bbolt does. What it finds wrong is a *[DamageError]; a file that does not exist wraps [fs.ErrNotExist], also
// with options that would make one, and a lock that is not free is bbolt's ErrTimeout. An empty file counts as absent.
//
// Buckets inside buckets are not looked through: keep away from what enters them (bbolt's Stats, Compact, Check).
func OpenDB(path string, o bolt.Options) (*DB, error) {
	return openDB(path, o, func(f *os.File, info fs.FileInfo) error {
		_, err := walkPages(f, info.Size(), nil, false)
		return err
	})
}

// openDB is OpenDB with a check of its own.
func openDB(path string, o bolt.Options, check func(*os.File, fs.FileInfo) error) (*DB, error) {
	db := &DB{}
	var info fs.FileInfo
	o.OpenFile = func(name string, flag int, _ os.FileMode) (f *os.File, err error) {
		if f, info, err = openRegular(name, flag&^os.O_CREATE); err != nil {
			return nil, err
		}
		if info.Size() == 0 {
			f.Close()
			return nil, fmt.Errorf("%s is empty: %w", name, fs.ErrNotExist)
		}
		if err := check(f, info); err != nil {
			f.Close()
			return nil, &DamageError{Cause: err, file: info}
		}
		db.file = f
		return f, nil
	}
	o.Logger = nil
	err := guarded(func() (err error) {
		db.DB, err = bolt.Open(path, 0o600, &o)
		return err
	})
	if err == nil {
		return db, nil
	}
	if db.file != nil {
		_ = db.file.Close() // after a panic bbolt leaves it open, and locked
	}
	if isDamage(err) {
		err = &DamageError{Cause: err, file: info}
	}
	return nil, err
}

// openRegular opens a regular file; anything else in its place is a *DamageError.
func openRegular(path string, flag int) (*os.File, fs.FileInfo, error) {
	f, err := lockfile.Open(path, flag, 0o600)
	if foreign, ok := errors.AsType[*lockfile.NotRegularError](err); ok {
		info, _ := os.Stat(path)
		return nil, nil, &DamageError{Cause: foreign, file: info}
	} else if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
	}
	return f.File, info, err
}

// View is [bolt.DB.View]; damage that shows itself only now is a *[DamageError].
func (d *DB) View(fn func(*bolt.Tx) error) error {
	return d.judge(guarded(func() error { return d.DB.View(fn) }))
}

// Update is [bolt.DB.Update]; damage that shows itself only now is a *[DamageError].
func (d *DB) Update(fn func(*bolt.Tx) error) error {
	return d.judge(guarded(func() error { return d.DB.Update(fn) }))
}

func (d *DB) judge(err error) error {
	var fault *faultError
	d.faulted = d.faulted || errors.As(err, &fault)
	if !isDamage(err) {
		return err
	}
	info, _ := d.file.Stat()
	return &DamageError{Cause: err, file: info}
}

// Close closes the file. After a fault bbolt's own Close could wait for ever for a lock that nobody holds any more;
// then only the file is closed, which frees its lock, and the mapping is left.
func (d *DB) Close() error {
	if !d.faulted {
		err := guarded(d.DB.Close)
		var fault *faultError
		if !errors.As(err, &fault) {
			return err
		}
	}
	return d.file.Close()
}

// isDamage reports whether an error shows that a file is not a sound database, and not that it can't be read now.
func isDamage(err error) bool {
	var fault *faultError
	var foreign *foreignError
	return errors.As(err, &fault) || errors.As(err, &foreign) || errors.Is(err, bolterr.ErrInvalid) ||
		errors.Is(err, bolterr.ErrChecksum) || errors.Is(err, bolterr.ErrVersionMismatch) ||
		errors.Is(err, bolterr.ErrIncompatibleValue) || errors.Is(err, errLost)
}

// faultError is a panic, or a memory fault, while reading a database.
type faultError struct{ value any }

func (e *faultError) Error() string { return fmt.Sprint("reading it fails: ", e.value) }

// guarded turns panics and memory faults inside fn into errors. fn must be work on the database only.
func guarded(fn func() error) (err error) {
	old := debug.SetPanicOnFault(true)
	defer debug.SetPanicOnFault(old)
	defer func() {
		if v := recover(); v != nil {
			err = &faultError{v}
		}
	}()
	return fn()
}
