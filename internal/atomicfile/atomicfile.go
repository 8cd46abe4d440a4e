// Package atomicfile replaces files as a whole: a reader finds the old content or the new.
package atomicfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Write replaces the file at path with what fill writes. The new content is made in a temporary file beside it, synced,
// given mode, and renamed over path; on any error path is as it was and nothing is left behind. A symbolic link
// is followed. What is not a regular file (/dev/stdout, a pipe) can't be replaced and is written to.
func Write(path string, mode fs.FileMode, fill func(io.Writer) error) error {
	return write(path, &mode, fill)
}

// WriteByUmask is Write for a file that is meant for others too: it keeps the mode of the file it replaces, and a new
// one has what the umask leaves of 0666.
func WriteByUmask(path string, fill func(io.Writer) error) error { return write(path, nil, fill) }

// WriteNew is Write where nothing is yet: it never replaces a file. Its error is then [fs.ErrExist].
func WriteNew(path string, mode fs.FileMode, fill func(io.Writer) error) error {
	switch info, err := os.Stat(path); {
	case err == nil && !info.Mode().IsRegular():
		return writeThrough(path, fill)
	case err == nil:
		return fmt.Errorf("write %s: %w", path, fs.ErrExist)
	}
	return place(path, &mode, fill, func(from, to string) error {
		claim, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err != nil {
			return err
		}
		claim.Close()
		err = os.Rename(from, to)
		if err != nil {
			os.Remove(to)
		}
		return err
	})
}

func write(path string, mode *fs.FileMode, fill func(io.Writer) error) error {
	target, err := filepath.EvalSymlinks(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		target = path
	case err != nil:
		return fmt.Errorf("write %s: %w", path, err)
	}
	switch info, err := os.Stat(target); {
	case err == nil && !info.Mode().IsRegular():
		return writeThrough(target, fill)
	case err == nil && mode == nil:
		mode = new(info.Mode().Perm())
	}
	return place(target, mode, fill, os.Rename)
}

// place writes a temporary file beside path; then rename moves it to path. If anything fails, the file is removed.
func place(path string, mode *fs.FileMode, fill func(io.Writer) error, rename func(from, to string) error) (err error) {
	f, err := createBeside(path, mode)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
			err = fmt.Errorf("write %s: %w", path, err)
		}
	}()
	if err := fill(f); err != nil {
		return err
	}
	if mode != nil {
		if err := f.Chmod(*mode); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return rename(f.Name(), path)
}

// createBeside makes a temporary file in the folder of path: for its owner alone until it has a mode of its own.
func createBeside(path string, mode *fs.FileMode) (*os.File, error) {
	dir, name := filepath.Dir(path), "."+filepath.Base(path)+".tmp-"
	if mode != nil {
		return os.CreateTemp(dir, name+"*")
	}
	return os.OpenFile(filepath.Join(dir, name+rand.Text()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) // less the umask
}

func writeThrough(path string, fill func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	err = fill(f)
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
