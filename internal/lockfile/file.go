package lockfile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
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
	return cmp.Or(map[fs.FileMode]string{
		fs.ModeDir: "a folder", fs.ModeSymlink: "a symbolic link", fs.ModeNamedPipe: "a named pipe",
		fs.ModeSocket: "a socket", fs.ModeDevice: "a device",
	}[e.Mode&^fs.ModeCharDevice], "something else")
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
	if flag&os.O_CREATE != 0 {
		Adopt(path)
	}
	return &File{File: f, path: path, id: idOf(info)}, nil
}

// MkdirAll is [os.MkdirAll] with mode 0700. Folders that root makes in another user's folder are that user's.
func MkdirAll(dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir {
		if err := MkdirAll(filepath.Dir(dir)); err != nil {
			return err
		}
		defer Adopt(dir)
	}
	return os.MkdirAll(dir, 0o700)
}

// ReadFile returns the first most bytes of a regular file, which it opens as Open does.
func ReadFile(path string, most int64) ([]byte, error) {
	f, err := Open(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

// IsAtPath reports whether the path still leads to this file: neither it nor a folder above was removed or renamed.
func (f *File) IsAtPath() bool { return f.id.isAt(f.path) }

const pollInterval = 10 * time.Millisecond

// Acquire takes a lock that is rarely needed and held for a long time, such as that of an import. It opens the file,
// tries until patience has passed (only once if it is 0), and closes the file on release. For frequent use, take a
// [Lock], which keeps its file open and waits in the kernel. Acquire and Lock exclude each other on the same file. The
// error is [ErrBusy], that of ctx, a [*NotRegularError], or a system error.
func Acquire(ctx context.Context, path string, kind Kind, patience time.Duration) (release func(), err error) {
	f, err := OpenNoFollow(path, os.O_RDWR|os.O_CREATE, 0o600) // not a link, nor a pipe, which flock would wait for
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

// LivenessFile is a file that a process keeps locked until it ends, to show that it is running. On Unix, the file is
// created and locked under another name ([LivenessFile.TempPath]) and then renamed. Under its final name it is
// therefore either locked or left over from a dead process. LivenessFile is safe for concurrent use. On Windows, other
// processes can't read, rename or remove a locked file, so data for them must be in another file.
type LivenessFile struct {
	path string
	mode fs.FileMode
	mu   sync.Mutex
	file *File // nil while it is not locked
}

// NewLivenessFile returns a LivenessFile with a path that is unique to this process. Ensure creates the file.
func NewLivenessFile(path string, mode fs.FileMode) *LivenessFile {
	return &LivenessFile{path: path, mode: mode}
}

// TempPath returns the file's path until it is locked. If the process is killed before, the file stays there.
func (a *LivenessFile) TempPath() string { return a.path + ".new" }

// Ensure creates and locks the file, unless it is already locked and still at its path.
func (a *LivenessFile) Ensure() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.file != nil && a.file.IsAtPath() {
		return nil
	}
	closeFile(&a.file)
	// Another process may take this one for dead, and lock or remove it before this one has locked it. Try again with
	// growing pauses, because that process may be slow.
	for pause := time.Millisecond; ; pause *= 2 {
		f, err := createLivenessFile(a.path, a.TempPath(), a.mode)
		if a.file = f; err == nil {
			return nil
		}
		if !errors.Is(err, errFileTaken) || pause > time.Second {
			return fmt.Errorf("prove liveness: %w", err)
		}
		time.Sleep(pause)
	}
}

// errFileTaken means that another process locked or removed the file before this process could lock it.
var errFileTaken = errors.New("somebody else has it")

// Close removes the file and unlocks it.
func (a *LivenessFile) Close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.file == nil {
		return
	}
	os.Remove(a.path) // while it is locked, no other process can take the file over
	closeFile(&a.file)
	if !canRenameLocked {
		os.Remove(a.path)
	}
}

// closeFile closes a file that is open, and sets it to nil.
func closeFile(f **File) {
	if *f != nil {
		(*f).Close()
		*f = nil
	}
}

// IsOwnerAlive reports whether a process locks the file. It changes nothing, and returns true if it can't find out.
func IsOwnerAlive(path string) bool {
	f, err := OpenNoFollow(path, os.O_RDONLY, 0)
	if notRegular := (*NotRegularError)(nil); errors.Is(err, fs.ErrNotExist) || errors.As(err, &notRegular) {
		return false
	} else if err != nil {
		return true
	}
	defer f.Close()
	free, err := tryLockFile(f.File, Shared)
	return !free || err != nil
}

// RemoveDead removes the file of a process that has died. It returns false unless the process is certainly dead.
func RemoveDead(path string) bool {
	dead, err := takeOver(path)
	if err == nil {
		dead.Close()
	}
	return err == nil || errors.Is(err, fs.ErrNotExist)
}

// takeOver locks the file of a dead process, so that only one process cleans up after it. Close then removes the file.
// The error is [ErrBusy] if the process is alive, [fs.ErrNotExist] if there is no file, a [*NotRegularError], or a
// system error.
func takeOver(path string) (*LivenessFile, error) {
	f, err := openLockFile(path, 0, 0)
	if err != nil {
		return nil, err
	}
	if err := lockInPlace(f); err != nil {
		f.Close()
		return nil, err
	}
	return &LivenessFile{path: path, file: f}, nil
}

func lockInPlace(f *File) error {
	ok, err := tryLockFile(f.File, Exclusive)
	switch {
	case err != nil:
		return fmt.Errorf("lock %s: %w", f.path, err)
	case !ok:
		return fmt.Errorf("lock %s: %w", f.path, ErrBusy)
	case !f.IsAtPath():
		return fmt.Errorf("lock %s: %w", f.path, fs.ErrNotExist)
	}
	return nil
}

func createLivenessFile(path, temp string, mode fs.FileMode) (*File, error) {
	at := path
	if canRenameLocked {
		at = temp
	}
	f, err := OpenNoFollow(at, os.O_RDWR|os.O_CREATE, mode)
	if err != nil {
		return nil, err
	}
	if err = lockInPlace(f); err == nil && at != path {
		err = os.Rename(at, path)
	}
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrBusy) {
			err = fmt.Errorf("%w: %w", errFileTaken, err)
		}
		f.Close()
		return nil, err
	}
	f.path = path
	return f, nil
}
