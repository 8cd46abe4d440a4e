package logging

// This file decides how a log file is shared and bounded. Any number of processes may write one file: each line is
// appended whole under an exclusive lock beside it, by a descriptor that is opened for that line, so nobody holds on to a
// file that another has rotated away, on Windows too. The file is rotated before a line would make it too long:
// name → name.1 → name.2 ... and what is older than the last is deleted. Nothing else is ever lost.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// Defaults of FileOptions: at most 30 MiB in all.
const (
	DefaultMaxSize = 10 << 20
	DefaultKeep    = 2
)

const (
	lockPatience = 250 * time.Millisecond // a stopped process that holds the lock must not freeze the others
	lockHoliday  = 5 * time.Second        // how long they then write without asking for it
	lockPoll     = 2 * time.Millisecond
)

// FileOptions bound a log file. In all at most MaxSize × (Keep + 1) bytes are kept, a line that is longer than MaxSize
// aside. Zero values mean the defaults; a negative Keep keeps none.
type FileOptions struct {
	MaxSize int64 // bytes of one file
	Keep    int   // rotated files besides the current one
	// OnError is told the first write that failed; the run goes on without its log. It may be nil.
	OnError func(error)
}

// File is a log file: an io.Writer of whole lines, safe for concurrent use, also by other processes.
type File struct {
	path string
	opts FileOptions

	mu      sync.Mutex
	lock    *flock.Flock // nil: the path is no regular file, or locks don't work there
	through *os.File     // a pipe or a device, which stays open and is never rotated
	holiday time.Time    // until then the lock is not asked for
	told    bool
}

// OpenFile prepares the log file at path, creating it with mode 0600 where it is missing. Errors tell why it can't be
// written, before any work has started.
func OpenFile(path string, opts FileOptions) (*File, error) {
	if opts.MaxSize <= 0 {
		opts.MaxSize = DefaultMaxSize
	}
	switch {
	case opts.Keep == 0:
		opts.Keep = DefaultKeep
	case opts.Keep < 0:
		opts.Keep = 0
	}
	// Not O_CREATE alone: following processes of other users may own it, and the error should name the file.
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log file: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("open log file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return &File{path: path, opts: opts, through: f}, nil
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("open log file: %w", err)
	}
	return &File{path: path, opts: opts, lock: flock.New(lockName(path), flock.SetPermissions(0o600))}, nil
}

// lockName is the lock's file beside path: ".anivault.log.lock" for "anivault.log".
func lockName(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".lock")
}

// Write appends line, which should be one whole line, rotating first where it must. Lines of concurrent writers are
// never mixed.
func (f *File) Write(line []byte) (int, error) {
	f.mu.Lock()
	n, err := f.write(line)
	tell := err != nil && !f.told
	f.told = f.told || err != nil
	f.mu.Unlock()
	if tell && f.opts.OnError != nil {
		f.opts.OnError(err)
	}
	return n, err // it names the file, which need not be a log
}

// Close gives back what the File holds.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.through != nil {
		return f.through.Close()
	}
	return f.lock.Close()
}

func (f *File) write(line []byte) (int, error) {
	if f.through != nil {
		return f.through.Write(line)
	}
	locked := f.acquire()
	if locked {
		defer f.lock.Unlock() // closing the descriptor gives the lock back in any case
		if err := f.rotate(int64(len(line))); err != nil {
			return 0, err
		}
	}
	// Without the lock the line is appended to whatever stands there now; one append is whole by itself.
	out, err := os.OpenFile(f.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return 0, err
	}
	n, err := out.Write(line)
	if err != nil && n > 0 && locked { // a full disk took a part of it: no torn line stays
		if info, stat := out.Stat(); stat == nil && out.Truncate(info.Size()-int64(n)) == nil {
			n = 0
		}
	}
	if closing := out.Close(); err == nil {
		err = closing
	}
	return n, err
}

// acquire takes the lock, or reports false when it can't be had in time: its holder is stopped, or there are no
// locks here. For a while it is then not asked for again.
func (f *File) acquire() bool {
	if time.Now().Before(f.holiday) {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockPatience)
	defer cancel()
	if ok, err := f.lock.TryLockContext(ctx, lockPoll); err != nil || !ok {
		f.holiday = time.Now().Add(lockHoliday)
		return false
	}
	return true
}

// rotate makes room for next bytes. The caller holds the lock.
func (f *File) rotate(next int64) error {
	info, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Size() == 0 || info.Size()+next <= f.opts.MaxSize:
		return nil
	}
	if err := f.prune(); err != nil {
		return err
	}
	if f.opts.Keep == 0 {
		return remove(f.path)
	}
	for i := f.opts.Keep - 1; i >= 1; i-- {
		if err := rename(f.numbered(i), f.numbered(i+1)); err != nil {
			return err
		}
	}
	return rename(f.path, f.numbered(1))
}

// prune deletes rotated files from number Keep on, also those that a run with a larger Keep has left.
func (f *File) prune() error {
	entries, err := os.ReadDir(filepath.Dir(f.path))
	if err != nil {
		return err
	}
	for _, e := range entries {
		suffix, ok := strings.CutPrefix(e.Name(), filepath.Base(f.path)+".")
		n, err := strconv.Atoi(suffix)
		if !ok || err != nil || n < max(f.opts.Keep, 1) || suffix != strconv.Itoa(n) {
			continue
		}
		if err := remove(f.numbered(n)); err != nil {
			return err
		}
	}
	return nil
}

func (f *File) numbered(i int) string { return f.path + "." + strconv.Itoa(i) }

// remove and rename take a missing file for done: another process, slower than its lock, may have been first.
func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func rename(from, to string) error {
	if err := os.Rename(from, to); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

var _ io.WriteCloser = (*File)(nil)
