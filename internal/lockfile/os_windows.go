package lockfile

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

const (
	noFollow        = 0
	noWait          = 0
	canRenameLocked = false
)

var errReadOnlyVolume error = windows.ERROR_WRITE_PROTECT

// Adopt does nothing here: what an administrator makes has the rights of its folder.
func Adopt(string) {}

func tryLockFile(f *os.File, kind Kind) (bool, error) {
	err := lockFileEx(f, kind.lockFlag()|windows.LOCKFILE_FAIL_IMMEDIATELY)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, err
}

// waitLockFile waits for the lock. The wait can't be canceled.
func waitLockFile(f *os.File, kind Kind) error { return lockFileEx(f, kind.lockFlag()) }

func unlockFile(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, new(windows.Overlapped))
}

func (k Kind) lockFlag() uint32 {
	if k == Shared {
		return 0
	}
	return windows.LOCKFILE_EXCLUSIVE_LOCK
}

func lockFileEx(f *os.File, flags uint32) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped))
}

// fileID is empty, because on this system an open file can't be renamed or removed.
type fileID struct{}

func idOf(fs.FileInfo) fileID { return fileID{} }

func (fileID) isAt(string) bool { return true }
