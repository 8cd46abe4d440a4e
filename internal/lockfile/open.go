package lockfile

import (
	"fmt"
	"io/fs"
	"os"
	"time"
)

// NotRegularError is what opening returns for a folder, pipe, device, socket or, where links are not followed, a
// symbolic link.
type NotRegularError struct {
	Path string
	Mode fs.FileMode // its type
}

// Error implements error.
func (e *NotRegularError) Error() string {
	return fmt.Sprintf("open %s: %s, not a regular file", e.Path, e.Kind())
}

// Kind names what lies there, with its article.
func (e *NotRegularError) Kind() string {
	switch {
	case e.Mode&fs.ModeDir != 0:
		return "a folder"
	case e.Mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case e.Mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case e.Mode&fs.ModeSocket != 0:
		return "a socket"
	case e.Mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "something else"
}

// File is an open regular file that knows its place.
type File struct {
	*os.File
	path   string
	id     fileID    // of what was opened
	looked time.Time // at the path
}

// Open opens a regular file as [os.OpenFile] does. A symbolic link is followed.
//
// It never hangs: opening a pipe waits for its other end, so what lies there is looked at before, opened without
// waiting, and looked at again. Anything but a regular file is a [*NotRegularError]. A file that is created gets the
// group's bits of mode whatever the umask is.
func Open(path string, flag int, mode fs.FileMode) (*File, error) {
	return open(path, flag, mode, os.Stat)
}

// OpenNoFollow is Open for files that others may have put there: a symbolic link is a [*NotRegularError].
func OpenNoFollow(path string, flag int, mode fs.FileMode) (*File, error) {
	return open(path, flag|noFollow, mode, os.Lstat)
}

func open(path string, flag int, mode fs.FileMode, stat func(string) (fs.FileInfo, error)) (*File, error) {
	if info, err := stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, &NotRegularError{path, info.Mode().Type()}
	}
	f, err := os.OpenFile(path, flag|noWait, mode)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &NotRegularError{path, info.Mode().Type()}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	if group := mode.Perm() & 0o070; flag&os.O_CREATE != 0 && info.Mode().Perm()&group != group {
		// Only its owner can; to a file of somebody else's that opened it is no matter.
		_ = f.Chmod(info.Mode().Perm() | group)
	}
	return &File{File: f, path: path, id: idOf(info)}, nil
}

// InPlace reports whether the path still leads to this file: it was neither removed nor replaced, and no folder above
// it was renamed.
func (f *File) InPlace() bool { return f.id.isAt(f.path) }

const lookEvery = 10 * time.Millisecond

// StaysInPlace is InPlace for frequent calls: it sees at once that the file was removed or replaced, and up to
// lookEvery later that it or a folder above it was renamed. It is not for concurrent use.
func (f *File) StaysInPlace() bool {
	if !stillLinked(f.File) {
		return false
	}
	if now := time.Now(); now.Sub(f.looked) > lookEvery {
		if !f.InPlace() {
			return false
		}
		f.looked = now
	}
	return true
}
