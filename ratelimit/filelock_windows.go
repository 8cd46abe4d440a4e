package ratelimit

// The lock of the hot path on Windows: LockFileEx on a handle that stays open. Windows
// locks are mandatory, which is why the lock has a file of its own: the state can always
// be read by a tool or a curious user.

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// tryLockFile takes the exclusive lock of f if it is free; false means another handle
// holds it.
func tryLockFile(f *os.File) (bool, error) {
	err := lockFileEx(f, windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, err
}

// lockFile waits for the exclusive lock of f. It cannot be cancelled.
func lockFile(f *os.File) error { return lockFileEx(f, windows.LOCKFILE_EXCLUSIVE_LOCK) }

// unlockFile gives the lock back and leaves f open.
func unlockFile(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, new(windows.Overlapped))
}

func lockFileEx(f *os.File, flags uint32) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped))
}
