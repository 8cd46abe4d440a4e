//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package lockfile

import (
	"errors"
	"io/fs"
	"os"
)

// Systems other than Unix and Windows have no locks on open files.

const (
	noFollow        = 0
	noWait          = 0
	canRenameLocked = false
)

var errReadOnlyVolume = fs.ErrPermission

func tryLockFile(*os.File, Kind) (bool, error) { return false, errors.ErrUnsupported }

func waitLockFile(*os.File, Kind) error { return errors.ErrUnsupported }

func unlockFile(*os.File) error { return errors.ErrUnsupported }

// fileID is empty, because on this system an open file can't be renamed or removed.
type fileID struct{}

func idOf(fs.FileInfo) fileID { return fileID{} }

func (fileID) isAt(string) bool { return true }

func isLinked(*os.File) bool { return true }
