//go:build unix && !aix && !solaris

package main

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// openFloor is the least that any lock between processes on a file costs here.
func openFloor(dir string) (func() error, error) {
	f, buf, err := openState(dir)
	if err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	return func() error {
		if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
			return err
		}
		return errors.Join(rewrite(f, buf), unix.Flock(int(lock.Fd()), unix.LOCK_UN))
	}, nil
}
