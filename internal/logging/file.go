package logging

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/anivault/anivault/internal/lockfile"
)

// lockTimeout is how long a write waits for the lock. A stopped process may hold the lock, and must not block others.
const lockTimeout = 250 * time.Millisecond

// FileOptions limit a log file. All its files together have at most MaxSize × (Keep + 1) bytes, unless a single line is
// longer than MaxSize.
type FileOptions struct {
	MaxSize int64 // bytes of one file
	Keep    int   // rotated files besides the current one
	// OnError is called with the first error of a write. The run continues without a log. OnError may be nil.
	OnError func(error)
}

// File is a log file: an io.Writer of whole lines, safe for concurrent use, also by several processes. Each line opens
// the file, appends under a lock file beside it, and closes it again, because Windows cannot rotate a file that another
// process has open. A line that would make the file too long rotates it first: NAME becomes NAME.1, and so on up to
// NAME.<Keep>.
type File struct {
	path string
	opts FileOptions

	mu           sync.Mutex
	lock         *lockfile.Lock
	pipeOrDevice *os.File // a pipe or a device, which stays open and is never rotated
	failed       bool     // a write has failed, so OnError was called
}

// OpenFile prepares the log file at path. It creates a missing file with mode 0600, and fails for an unwritable one.
func OpenFile(path string, opts FileOptions) (*File, error) {
	f := &File{path: path, opts: opts}
	out, err := f.open()
	switch {
	case errors.As(err, new(*lockfile.NotRegularError)):
		f.pipeOrDevice, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	case err == nil:
		f.lock = lockfile.New(lockPath(path), lockfile.Options{})
		err = out.Close()
	}
	return f, err
}

// lockPath returns the path of the lock file: ".anivault.log.lock" for "anivault.log".
func lockPath(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".lock")
}

func (f *File) open() (*lockfile.File, error) {
	return lockfile.Open(f.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
}

// Write appends line, which must be one whole line.
func (f *File) Write(line []byte) (int, error) {
	f.mu.Lock()
	n, err := f.write(line)
	first := err != nil && !f.failed
	f.failed = f.failed || err != nil
	f.mu.Unlock()
	if first && f.opts.OnError != nil {
		f.opts.OnError(err)
	}
	return n, err
}

// Close closes the lock, or the pipe or device. A nil File has nothing to close.
func (f *File) Close() error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pipeOrDevice != nil {
		return f.pipeOrDevice.Close()
	}
	f.lock.Close()
	return nil
}

func (f *File) write(line []byte) (int, error) {
	if f.pipeOrDevice != nil {
		return f.pipeOrDevice.Write(line)
	}
	// Without the lock, the line is appended anyway, but the file is not rotated: a single append is atomic.
	locked := f.lock.Lock(context.Background(), lockfile.Exclusive, lockTimeout) == nil
	if locked {
		defer f.lock.Unlock()
		if err := f.rotate(int64(len(line))); err != nil {
			return 0, err
		}
	}
	out, err := f.open()
	if err != nil {
		return 0, err
	}
	n, err := out.Write(line)
	if err != nil && n > 0 && locked { // a full disk: remove the incomplete line
		if info, stat := out.Stat(); stat == nil && out.Truncate(info.Size()-int64(n)) == nil {
			n = 0
		}
	}
	return n, errors.Join(err, out.Close())
}

// rotate renames the files if next more bytes would make the current one too long. The caller must hold the lock.
func (f *File) rotate(next int64) error {
	info, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || info.Size() == 0 || info.Size()+next <= f.opts.MaxSize {
		return err
	}
	if f.opts.Keep == 0 {
		return os.Remove(f.path)
	}
	for i := f.opts.Keep; i >= 1; i-- {
		if err := os.Rename(f.rotatedPath(i-1), f.rotatedPath(i)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (f *File) rotatedPath(i int) string {
	if i == 0 {
		return f.path
	}
	return f.path + "." + strconv.Itoa(i)
}
