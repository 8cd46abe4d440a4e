//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package ratelimit

// The lock of the hot path on Unix: flock(2) on a descriptor that stays open.

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLockFile takes the exclusive lock of f if it is free; false means another open file
// holds it.
func tryLockFile(f *os.File) (bool, error) {
	err := flockRetry(f, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// lockFile waits for the exclusive lock of f. It cannot be cancelled.
func lockFile(f *os.File) error { return flockRetry(f, unix.LOCK_EX) }

// unlockFile gives the lock back and leaves f open.
func unlockFile(f *os.File) error { return flockRetry(f, unix.LOCK_UN) }

func flockRetry(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
