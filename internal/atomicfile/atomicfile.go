// Package atomicfile replaces files atomically: readers see either the old content or the new one, never a mix.
package atomicfile

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Write replaces the file at path with the content that fill writes. To do so, it writes a temporary file in the same
// folder, syncs it, sets its mode, and renames it to path. If there is an error, it removes the temporary file and
// leaves path unchanged. It follows a symbolic link. If path is not a regular file, such as /dev/stdout or a pipe,
// Write writes to it directly.
func Write(path string, mode fs.FileMode, fill func(io.Writer) error) error {
	return replace(path, &mode, fill)
}

// WriteText is Write with a given content.
func WriteText(path string, mode fs.FileMode, text []byte) error {
	return Write(path, mode, func(w io.Writer) error { _, err := w.Write(text); return err })
}

// WriteKeepMode is like Write, but keeps the mode of an existing file. A new file gets mode 0666 minus the umask.
func WriteKeepMode(path string, fill func(io.Writer) error) error { return replace(path, nil, fill) }

// WriteNew is like Write, but never replaces a file. If one exists, the error wraps [fs.ErrExist].
func WriteNew(path string, mode fs.FileMode, fill func(io.Writer) error) error {
	switch info, err := os.Stat(path); {
	case err == nil && !info.Mode().IsRegular():
		return writeDirectly(path, fill)
	case err == nil:
		return fmt.Errorf("write %s: %w", path, fs.ErrExist)
	}
	return writeAndRename(path, &mode, fill, func(from, to string) error {
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

func replace(path string, mode *fs.FileMode, fill func(io.Writer) error) error {
	target, err := filepath.EvalSymlinks(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		target = path
	case err != nil:
		return fmt.Errorf("write %s: %w", path, err)
	}
	switch info, err := os.Stat(target); {
	case err == nil && !info.Mode().IsRegular():
		return writeDirectly(target, fill)
	case err == nil && mode == nil:
		mode = new(info.Mode().Perm())
	}
	return writeAndRename(target, mode, fill, os.Rename)
}

// writeAndRename writes a temporary file beside path and moves it there with rename. On error it removes the file.
func writeAndRename(path string, mode *fs.FileMode, fill func(io.Writer) error, rename func(from, to string) error,
) (err error) {
	f, err := createTemp(path, mode)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
			if in, ok := errors.AsType[*fs.PathError](err); ok && in.Path == f.Name() {
				err = in.Err // people know path, not the temporary file
			}
			err = &fs.PathError{Op: "write", Path: path, Err: err}
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

// createTemp creates a temporary file beside path, readable only by its owner if the caller sets a mode later.
func createTemp(path string, mode *fs.FileMode) (*os.File, error) {
	dir, name := filepath.Dir(path), "."+filepath.Base(path)+".tmp-"
	if mode != nil {
		return os.CreateTemp(dir, name+"*")
	}
	return os.OpenFile(filepath.Join(dir, name+rand.Text()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) // minus the umask
}

func writeDirectly(path string, fill func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		err = cmp.Or(fill(f), f.Close())
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
