//go:build unix

package lockfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	noFollow = unix.O_NOFOLLOW // opening a symbolic link fails
	noWait   = unix.O_NONBLOCK // opening a pipe does not wait
	// canRenameLocked says that an open, locked file can be renamed and removed.
	canRenameLocked = true
)

var errReadOnlyVolume error = unix.EROFS

func tryLockFile(f *os.File, kind Kind) (bool, error) {
	err := flockFile(f, kind.lockFlag()|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// waitLockFile waits for the lock. The wait can't be canceled.
func waitLockFile(f *os.File, kind Kind) error { return flockFile(f, kind.lockFlag()) }

func unlockFile(f *os.File) error { return flockFile(f, unix.LOCK_UN) }

func (k Kind) lockFlag() int {
	if k == Shared {
		return unix.LOCK_SH
	}
	return unix.LOCK_EX
}

type fileID struct{ dev, ino uint64 }

func idOf(info fs.FileInfo) fileID {
	st := info.Sys().(*syscall.Stat_t)
	return fileID{uint64(st.Dev), uint64(st.Ino)} //nolint:unconvert // the types of the fields differ between systems
}

func (id fileID) isAt(path string) bool {
	var st unix.Stat_t
	return unix.Stat(path, &st) == nil && id == fileID{uint64(st.Dev), uint64(st.Ino)} //nolint:unconvert // as above
}

// Adopt gives a file or folder that root has made in another user's folder to that user, whose processes could not use
// it otherwise. A link there leads to nothing that the user gets.
func Adopt(path string) {
	if os.Geteuid() != 0 {
		return
	}
	var folder, made unix.Stat_t
	if unix.Stat(filepath.Dir(path), &folder) != nil || unix.Lstat(path, &made) != nil {
		return
	}
	isFolder := made.Mode&unix.S_IFMT == unix.S_IFDIR
	if folder.Uid != 0 && made.Uid == 0 && (isFolder || made.Nlink == 1) {
		_ = os.Lchown(path, int(folder.Uid), int(folder.Gid)) // a file system may not know owners
	}
}

func flockFile(f *os.File, operation int) error {
	for {
		err := unix.Flock(int(f.Fd()), operation)
		if errors.Is(err, unix.ENOLCK) { // on a network file system without a lock manager
			return errors.Join(errors.ErrUnsupported, err)
		}
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
