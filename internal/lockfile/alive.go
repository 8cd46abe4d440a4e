package lockfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"
)

// Alive is a file that says that its process lives: the process holds the file's lock for as long as it runs. On Unix
// the file is made and locked under another name ([Alive.TempPath]) and then renamed, so whatever is seen under its
// name is locked or belongs to a dead process. It is safe for concurrent use.
//
// On Windows a locked file can't be read, renamed or removed by others: what they need lies in a file beside it.
type Alive struct {
	path string
	mode fs.FileMode
	mu   sync.Mutex
	file *File // nil: not held
}

// NewAlive returns the sign of life at path, which no other process may use. It touches nothing before Ensure.
func NewAlive(path string, mode fs.FileMode) *Alive { return &Alive{path: path, mode: mode} }

// TempPath returns where the file lies until it is locked. A process that is killed in that moment leaves it there.
func (a *Alive) TempPath() string { return a.path + ".new" }

// File returns the open file while it is held, nil otherwise.
func (a *Alive) File() *File {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.file
}

// Ensure makes the file and locks it, and does so again if somebody has removed it.
func (a *Alive) Ensure() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.file != nil && a.file.InPlace() {
		return nil
	}
	a.drop()
	// Whoever clears away what the dead have left may hold or take a file that isn't locked yet; then it is made again, a
	// little later each time: they may be slow.
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

// errTaken: the file was locked or removed by somebody else before it was this process's.
var errTaken = errors.New("somebody else has it")

// Close removes the file and gives its lock back.
func (a *Alive) Close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.file == nil {
		return
	}
	os.Remove(a.path) // while it is locked: nobody can be starting to use it
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

// Lives reports whether a process holds the file at path. It changes nothing. Where nothing can be learnt the process
// counts as living.
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

// TakeOver takes the file of a dead process, so that nobody else does: what that process has left may then be cleared
// away, and Close removes the file last. Errors: [ErrBusy] where it lives, [fs.ErrNotExist] where there is no file,
// [*NotRegularError], and what the system says.
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
