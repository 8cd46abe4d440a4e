package cache

// The open database file, with what bbolt itself does not give: faults while
// reading it become errors, and closing it never hangs.

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"
	bolterr "go.etcd.io/bbolt/errors"
)

// database is an open bbolt file.
type database struct {
	*bolt.DB
	file *os.File
	// faulted: a panic has gone through bbolt, whose locks may still be taken.
	faulted bool
}

// view is DB.View with faults as a corruptError.
func (d *database) view(fn func(*bolt.Tx) error) error {
	return d.judge(guarded(func() error { return d.DB.View(fn) }))
}

// update is DB.Update with faults as a corruptError.
func (d *database) update(fn func(*bolt.Tx) error) error {
	return d.judge(guarded(func() error { return d.DB.Update(fn) }))
}

func (d *database) judge(err error) error {
	var fault *faultError
	var foreign *foreignError
	d.faulted = d.faulted || errors.As(err, &fault)
	if err == nil || (!isDamage(err) && !errors.As(err, &foreign)) {
		return err
	}
	info, _ := d.file.Stat()
	return &corruptError{info, err}
}

// close closes the file. After a fault bbolt's own Close could wait for ever
// for a lock that nobody holds any more; then only the file is closed, which
// frees its lock, and the mapping is left.
func (d *database) close() error {
	if !d.faulted {
		err := guarded(d.DB.Close)
		var fault *faultError
		if !errors.As(err, &fault) {
			return err
		}
	}
	return d.file.Close()
}

// isDamage tells a file that is not a sound database from a file that can't be
// read now.
func isDamage(err error) bool {
	var p *faultError
	return errors.As(err, &p) || errors.Is(err, bolterr.ErrInvalid) || errors.Is(err, bolterr.ErrChecksum) ||
		errors.Is(err, bolterr.ErrVersionMismatch)
}

// faultError is a panic, or a memory fault, while reading the database.
type faultError struct{ value any }

func (e *faultError) Error() string { return fmt.Sprint("reading it fails: ", e.value) }

// guarded turns panics and memory faults inside fn into errors. fn must be
// work on the database only.
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
