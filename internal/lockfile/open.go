package lockfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/gofrs/flock"
)

// NotRegularError reports a folder, pipe, device, socket, or a symbolic link that may not be followed.
type NotRegularError struct {
	Path string
	Mode fs.FileMode // only the type bits
}

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
	path string
	id   fileID // identifies the open file
}

// Open opens a regular file like [os.OpenFile]. It follows symbolic links. For anything else it returns a
// [*NotRegularError].
//
// It never hangs, although opening a pipe normally waits for the other end: it checks the type, opens without waiting,
// and checks the type again. A new file gets the group bits of mode regardless of the umask.
func Open(path string, flag int, mode fs.FileMode) (*File, error) {
	return open(path, flag, mode, os.Stat)
}

// OpenNoFollow is like Open, but rejects symbolic links. Use it for files that other users may have replaced.
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
		// This fails if another user owns the file, but then the process of that user has set the bits.
		_ = f.Chmod(info.Mode().Perm() | group)
	}
	return &File{File: f, path: path, id: idOf(info)}, nil
}

// IsAtPath reports whether the path still leads to this file: neither it nor a folder above was removed or renamed.
func (f *File) IsAtPath() bool { return f.id.isAt(f.path) }

const pollInterval = 10 * time.Millisecond

// Acquire takes a lock that is rarely needed and held for a long time, such as that of an import. It opens the file,
// tries until patience has passed (only once if it is 0), and closes the file on release. For frequent use, take a
// [Lock], which keeps its file open and waits in the kernel. Acquire and Lock exclude each other on the same file. The
// error is [ErrBusy], that of ctx, a [*NotRegularError], or a system error.
func Acquire(ctx context.Context, path string, kind Kind, patience time.Duration) (release func(), err error) {
	f, err := Open(path, os.O_RDWR|os.O_CREATE, 0o600) // fails for a pipe, which package flock would wait for
	if err != nil {
		return nil, err
	}
	f.Close()
	l := flock.New(path, flock.SetFlag(os.O_RDWR|os.O_CREATE|noWait), flock.SetPermissions(0o600))
	try, wait := l.TryLock, l.TryLockContext
	if kind == Shared {
		try, wait = l.TryRLock, l.TryRLockContext
	}
	ok, err := try()
	if err == nil && !ok && patience > 0 {
		bounded, cancel := context.WithTimeoutCause(ctx, patience, ErrBusy)
		defer cancel()
		ok, err = wait(bounded, pollInterval)
	}
	switch {
	case ok:
		return func() { _ = l.Close() }, nil
	case ctx.Err() != nil:
		err = ctx.Err()
	case err == nil, errors.Is(err, context.DeadlineExceeded):
		err = ErrBusy
	}
	return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), l.Close())
}
