// Package boltfile opens bbolt files and reports damage as an error. On damaged pages, bbolt itself crashes or hangs,
// because it maps the file into memory and trusts every page reference.
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

// DB is an open bbolt file that reports damage as an error.
type DB struct {
	*bolt.DB
	file *os.File
	// hasPanicked is set after a panic inside bbolt. bbolt's locks may then still be taken.
	hasPanicked bool
}

// DamageError reports a file that is truncated, has circular page references, or is not a regular file.
type DamageError struct {
	Cause error
	file  fs.FileInfo // nil if unknown
}

func (e *DamageError) Error() string { return "the database is damaged: " + e.Cause.Error() }

func (e *DamageError) Unwrap() error { return e.Cause }

// MayConcern reports whether the damage may be in the given file. Before a process replaces a damaged file, it checks
// that no other process has already done so.
func (e *DamageError) MayConcern(info fs.FileInfo) bool {
	return e.file == nil || os.SameFile(info, e.file)
}

// ContentError is the error that a function passed to View or Update returns for invalid content in the database. View
// and Update turn it into a *[DamageError].
type ContentError struct{ Cause error }

func (e *ContentError) Error() string { return e.Cause.Error() }

func (e *ContentError) Unwrap() error { return e.Cause }

// CheckLevel says how thoroughly Open checks a file before bbolt reads it.
type CheckLevel uint8

// The levels, quickest first.
const (
	CheckMeta     CheckLevel = iota // only the meta pages and the length: detects a truncated file
	CheckFreelist                   // also the list of free pages: bbolt writes to any page that it names
	CheckTree                       // also all page references, except in the leaves of buckets
	CheckLeaves                     // also the leaves of buckets, which bbolt's Stats, Compact and Check read
)

// Open opens the bbolt file at path, which must be a regular file. It reports damage as a *[DamageError]. If the file
// is missing or empty, the error wraps [fs.ErrNotExist]; Open never creates a file. If another process holds the lock,
// the error is the ErrTimeout of bbolt.
func Open(path string, o bolt.Options, level CheckLevel) (*DB, error) {
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
		if err := checkPages(f, info.Size(), level); err != nil {
			f.Close()
			return nil, &DamageError{Cause: err, file: info}
		}
		db.file = f
		return f, nil
	}
	err := recoverFaults(func() (err error) {
		db.DB, err = bolt.Open(path, 0o600, &o)
		return err
	})
	if err == nil {
		return db, nil
	}
	if db.file != nil {
		_ = db.file.Close() // after a panic, bbolt leaves the file open and locked
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

// View is like [bolt.DB.View], but reports damage as a *[DamageError].
func (d *DB) View(fn func(*bolt.Tx) error) error {
	return d.Guard(func() error { return d.DB.View(fn) })
}

// Update is like [bolt.DB.Update], but reports damage as a *[DamageError].
func (d *DB) Update(fn func(*bolt.Tx) error) error {
	return d.Guard(func() error { return d.DB.Update(fn) })
}

// Guard calls fn, which uses the database without View or Update, and reports damage as a *[DamageError].
func (d *DB) Guard(fn func() error) error {
	err := recoverFaults(fn)
	d.hasPanicked = d.hasPanicked || errors.As(err, new(*faultError))
	if !isDamage(err) {
		return err
	}
	info, _ := d.file.Stat()
	return &DamageError{Cause: err, file: info}
}

// Close closes the file. After a panic, it does not call bbolt's Close, which could wait forever for a lock. It then
// releases the file lock but not the memory mapping.
func (d *DB) Close() error {
	if !d.hasPanicked {
		if err := recoverFaults(d.DB.Close); !errors.As(err, new(*faultError)) {
			return err
		}
	}
	return d.file.Close()
}

func isDamage(err error) bool {
	return errors.As(err, new(*faultError)) || errors.As(err, new(*ContentError)) || errors.Is(err, bolterr.ErrInvalid) ||
		errors.Is(err, bolterr.ErrChecksum) || errors.Is(err, bolterr.ErrVersionMismatch) ||
		errors.Is(err, bolterr.ErrIncompatibleValue)
}

type faultError struct{ value any }

func (e *faultError) Error() string { return fmt.Sprint("reading it fails: ", e.value) }

// recoverFaults calls fn and turns panics and memory faults into errors. fn must do nothing but use the database.
func recoverFaults(fn func() error) (err error) {
	old := debug.SetPanicOnFault(true)
	defer debug.SetPanicOnFault(old)
	defer func() {
		if v := recover(); v != nil {
			err = &faultError{v}
		}
	}()
	return fn()
}
