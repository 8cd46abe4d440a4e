package lockfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"
)

// Alive is a locked file that shows that its process is running: the process holds the lock until it ends. On Unix the
// file is created and locked under another name ([Alive.TempPath]) and then renamed, so under its own name it is either
// locked or left by a dead process. Alive is safe for concurrent use.
//
// On Windows other processes can't read, rename or remove a locked file, so data for them must be in another file.
type Alive struct {
	path string
	mode fs.FileMode
	mu   sync.Mutex
	file *File // nil: not locked
}

// NewAlive returns an Alive for path, which no other process may use. It creates no file before Ensure.
func NewAlive(path string, mode fs.FileMode) *Alive { return &Alive{path: path, mode: mode} }

// TempPath returns the file's path until it is locked. A process killed at that moment leaves the file there.
func (a *Alive) TempPath() string { return a.path + ".new" }

// File returns the open file while it is locked, and nil otherwise.
func (a *Alive) File() *File {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.file
}

// Ensure creates and locks the file if it isn't locked, or if another process has removed it.
func (a *Alive) Ensure() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.file != nil && a.file.InPlace() {
		return nil
	}
	a.drop()
	// A process that cleans up after dead ones may take the file before it is locked. Try again with growing pauses,
	// because that process may be slow.
	for pause := time.Millisecond; ; pause *= 2 {
		f, err := makeAlive(a.path, a.TempPath(), a.mode)
		if a.file = f; err == nil {
			return nil
		}
		if !errors.Is(err, errTaken) || pause > time.Second {
			return fmt.Errorf("prove liveness: %w", err)
		}
		time.Sleep(pause)
	}
}

// errTaken means that another process locked or removed the file before this process could lock it.
var errTaken = errors.New("somebody else has it")

// Close removes the file and unlocks it.
func (a *Alive) Close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.file == nil {
		return
	}
	os.Remove(a.path) // while locked, so no other process can take it first
	a.drop()
	if !renamesLocked {
		os.Remove(a.path)
	}
}

func (a *Alive) drop() {
	if a.file != nil {
		a.file.Close()
		a.file = nil
	}
}

// Lives reports whether a process holds the lock of the file at path. It changes nothing. If it can't find out, it
// returns true.
func Lives(path string) bool {
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

// TakeOver locks the file of a dead process, so that only the caller cleans up after it. Close then removes the file.
// Errors: [ErrBusy] if the process is alive, [fs.ErrNotExist] if there is no file, [*NotRegularError], and system
// errors.
func TakeOver(path string) (*Alive, error) {
	f, err := openLock(path, 0, 0)
	if err != nil {
		return nil, err
	}
	if err := lockHere(f); err != nil {
		f.Close()
		return nil, err
	}
	return &Alive{path: path, file: f}, nil
}

func lockHere(f *File) error {
	ok, err := tryLockFile(f.File, Exclusive)
	switch {
	case err != nil:
		return fmt.Errorf("lock %s: %w", f.path, err)
	case !ok:
		return fmt.Errorf("lock %s: %w", f.path, ErrBusy)
	case !f.InPlace():
		return fmt.Errorf("lock %s: %w", f.path, fs.ErrNotExist)
	}
	return nil
}

func makeAlive(path, temp string, mode fs.FileMode) (*File, error) {
	at := path
	if renamesLocked {
		at = temp
	}
	f, err := OpenNoFollow(at, os.O_RDWR|os.O_CREATE, mode)
	if err != nil {
		return nil, err
	}
	if err = lockHere(f); err == nil && at != path {
		err = os.Rename(at, path)
	}
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrBusy) {
			err = fmt.Errorf("%w: %w", errTaken, err)
		}
		f.Close()
		return nil, err
	}
	f.path = path
	return f, nil
}
