package lockfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"
)

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

// File returns the open file while it is locked, and nil otherwise.
func (a *LivenessFile) File() *File {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.file
}

// Ensure creates and locks the file, unless it is already locked and still at its path.
func (a *LivenessFile) Ensure() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.file != nil && a.file.IsAtPath() {
		return nil
	}
	a.closeFile()
	// Another process may take the file for that of a dead process, and lock or remove it before this one has locked it.
	// Try again with growing pauses, because that process may be slow.
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
	a.closeFile()
	if !canRenameLocked {
		os.Remove(a.path)
	}
}

func (a *LivenessFile) closeFile() {
	if a.file != nil {
		a.file.Close()
		a.file = nil
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

// TakeOver locks the file of a dead process, so that only one process cleans up after it. Close then removes the file.
// The error is [ErrBusy] if the process is alive, [fs.ErrNotExist] if there is no file, a [*NotRegularError], or a
// system error.
func TakeOver(path string) (*LivenessFile, error) {
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
