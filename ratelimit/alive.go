package ratelimit

// Who lives: each store holds the lock of a file alive-<id> for as long as its process
// runs. The system gives the lock back when the process ends, however it ends, so a free
// lock means dead, at once and without any timeout.

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

const alivePrefix = "alive-"

// alive is the proof that this process lives.
type alive struct {
	dir  string
	id   string
	mode fs.FileMode
	lock *flock.Flock
	told bool // the proof says that its process has seen the shared state
}

// newAliveID returns an id that no other process has or had.
func newAliveID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

func (a *alive) path() string { return filepath.Join(a.dir, alivePrefix+a.id) }

// ensure puts the proof back if it is missing, as it is when someone has emptied the
// folder.
func (a *alive) ensure() error {
	if a.lock != nil {
		if a.held() {
			return nil
		}
		a.lock.Close()
		a.lock, a.told = nil, false
	}
	// A store that looks for the dead may take a file that is made and not locked yet
	// for one of theirs; then it is made once more.
	for range 3 {
		l := flock.New(a.path(), flock.SetFlag(os.O_CREATE|os.O_RDWR|noFollow), flock.SetPermissions(a.mode))
		ok, err := l.TryLock()
		if err != nil {
			return fmt.Errorf("prove liveness: %w", err)
		}
		if ok {
			a.lock = l
			if a.held() {
				if a.mode == sharedFileMode {
					_ = os.Chmod(a.path(), a.mode) // against the umask
				}
				return nil
			}
			a.lock = nil
		}
		l.Close()
	}
	return fmt.Errorf("prove liveness: %s is taken", a.path())
}

// tell notes in the proof that its process has seen the shared state. Whoever then finds
// no state knows that it was deleted.
func (a *alive) tell() {
	if a.told {
		return
	}
	a.told = true
	if f, err := openRegular(a.path(), 0, 0); err == nil {
		_, _ = f.Write([]byte{'\n'}) // not on Windows, where the lock forbids it; but there nobody deletes open files
		f.Close()
	}
}

// held tells whether the locked file is still the one that others find.
func (a *alive) held() bool {
	ours, err := a.lock.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(a.path())
	return err == nil && os.SameFile(ours, there)
}

// close takes the proof away.
func (a *alive) close() {
	if a == nil || a.lock == nil {
		return
	}
	os.Remove(a.path())
	a.lock.Close()
	os.Remove(a.path()) // Windows removes no open file
	a.lock = nil
}

// deadIn tells whether the process with this id is gone, and takes its proof away if it
// left one. Where nothing can be learnt it counts as living.
func deadIn(dir, id string) bool {
	if !validID(id) {
		return true // no process ever had it
	}
	path := filepath.Join(dir, alivePrefix+id)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return true
	}
	l := flock.New(path, flock.SetFlag(os.O_RDWR|noFollow))
	ok, err := l.TryLock()
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	if !ok {
		l.Close()
		return false
	}
	os.Remove(path) // while it is locked: nobody can be starting to use it
	l.Close()
	os.Remove(path) // Windows removes no open file
	return true
}

// livingIn counts the processes that live, and those of them that have seen the shared
// state. It clears away what dead ones have left.
func livingIn(dir string) (n, seen int, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, 0, fmt.Errorf("count living processes: %w", err)
	}
	for _, e := range entries {
		id, ok := strings.CutPrefix(e.Name(), alivePrefix)
		if !ok || !validID(id) || deadIn(dir, id) {
			continue
		}
		n++
		if fi, err := e.Info(); err == nil && fi.Size() > 0 {
			seen++
		}
	}
	return n, seen, nil
}

// validID guards the paths that are made of ids found in shared files.
func validID(id string) bool {
	if len(id) != 16 {
		return false
	}
	for _, c := range []byte(id) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
