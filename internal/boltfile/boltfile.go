// Package boltfile opens bbolt files so that a damaged one is an error. With bbolt alone a damaged page ends the
// process, or hangs it: bbolt maps its file into memory and trusts every page reference in it.
package boltfile

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

// DB is an open bbolt file whose damage is an error.
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
	file  fs.FileInfo // nil: not known
}

func (e *DamageError) Error() string { return "the database is damaged: " + e.Cause.Error() }

// Unwrap returns the cause.
func (e *DamageError) Unwrap() error { return e.Cause }

// IsAbout reports whether the damage may be that of a file: of two processes that find it only one acts.
func (e *DamageError) IsAbout(info fs.FileInfo) bool {
	return e.file == nil || os.SameFile(info, e.file)
}

// Unsound is the error of a caller that finds by itself that a file is not what it should be; View and Update make a
// *[DamageError] of it.
type Unsound struct{ Cause error }

func (e *Unsound) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e *Unsound) Unwrap() error { return e.Cause }

// Check is how much of a file is looked at before bbolt reads it.
type Check uint8

// The checks, the quickest first.
const (
	Head   Check = iota // the head and the length alone: a file that was cut short
	Walk                // all page references, but not inside the leaves of buckets
	Leaves              // also those in leaves, which bbolt's Stats, Compact and Check follow
)

// Open opens the bbolt file at path. It opens nothing but a regular file. What it finds wrong is a *[DamageError]; a
// file that does not exist wraps [fs.ErrNotExist], also with options that would make one, and a lock that is not free
// is bbolt's ErrTimeout. An empty file counts as absent.
func Open(path string, o bolt.Options, check Check) (*DB, error) {
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
		if err := look(f, info.Size(), check); err != nil {
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
	return d.Guard(func() error { return d.DB.View(fn) })
}

// Update is [bolt.DB.Update]; damage that shows itself only now is a *[DamageError].
func (d *DB) Update(fn func(*bolt.Tx) error) error {
	return d.Guard(func() error { return d.DB.Update(fn) })
}

// Guard runs fn, which works on the database without a transaction of View or Update, as those do.
func (d *DB) Guard(fn func() error) error {
	err := guarded(fn)
	d.faulted = d.faulted || errors.As(err, new(*faultError))
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
		if !errors.As(err, new(*faultError)) {
			return err
		}
	}
	return d.file.Close()
}

func isDamage(err error) bool {
	return errors.As(err, new(*faultError)) || errors.As(err, new(*Unsound)) || errors.Is(err, bolterr.ErrInvalid) ||
		errors.Is(err, bolterr.ErrChecksum) || errors.Is(err, bolterr.ErrVersionMismatch) ||
		errors.Is(err, bolterr.ErrIncompatibleValue)
}

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
