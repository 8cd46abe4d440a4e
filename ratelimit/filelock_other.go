//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package ratelimit

import (
	"errors"
	"os"
)

// Where the system has no file locks the store falls back to memory.

func tryLockFile(*os.File) (bool, error) { return false, errors.ErrUnsupported }

func lockFile(*os.File) error { return errors.ErrUnsupported }

func unlockFile(*os.File) error { return errors.ErrUnsupported }
