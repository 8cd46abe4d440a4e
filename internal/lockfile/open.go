package lockfile

import (
	"fmt"
	"io/fs"
	"os"
	"time"
)

// NotRegularError reports a folder, pipe, device, socket, or a symbolic link that may not be followed.
type NotRegularError struct {
	Path string
	Mode fs.FileMode // the type bits
}

// Error implements error.
func (e *NotRegularError) Error() string {
	return fmt.Sprintf("open %s: %s, not a regular file", e.Path, e.Kind())
}

// Kind returns the type of the file with an article, such as "a folder".
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

// File is an open regular file that can check whether it is still at its path.
type File struct {
	*os.File
	path   string
	id     fileID    // of the opened file
	looked time.Time // when the path was last checked
}

// Open opens a regular file like [os.OpenFile]. It follows a symbolic link.
//
// It never hangs, although opening a pipe waits for the other end: it checks the type, opens without waiting, and
// checks again. Anything but a regular file gives a [*NotRegularError]. A new file gets the group bits of mode whatever
// the umask is.
func Open(path string, flag int, mode fs.FileMode) (*File, error) {
	return open(path, flag, mode, os.Stat)
}

// OpenNoFollow is like Open, but a symbolic link gives a [*NotRegularError]. It is for files that other users may have
// replaced.
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
		// Only the owner can do this, and only the owner's file needs it.
		_ = f.Chmod(info.Mode().Perm() | group)
	}
	return &File{File: f, path: path, id: idOf(info)}, nil
}

// InPlace reports whether the path still leads to this file: neither the file nor a folder above it was removed,
// replaced or renamed.
func (f *File) InPlace() bool { return f.id.isAt(f.path) }

const lookEvery = 10 * time.Millisecond

// StaysInPlace is a quick InPlace for frequent calls. It notices at once if the file was removed or replaced, and
// within lookEvery if the file or a folder above it was renamed. It is not safe for concurrent use.
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
