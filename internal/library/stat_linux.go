package library

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// statIn asks about an entry by its name within its folder, so that the system need not find the folder again for
// every file: asking is most of what a walk costs.
func (it *item) statIn(dir *os.File) {
	var s unix.Stat_t
	err := unix.Fstatat(int(dir.Fd()), it.name, &s, unix.AT_SYMLINK_NOFOLLOW)
	for errors.Is(err, unix.EINTR) {
		err = unix.Fstatat(int(dir.Fd()), it.name, &s, unix.AT_SYMLINK_NOFOLLOW)
	}
	if err != nil {
		it.err = &fs.PathError{Op: "lstat", Path: it.name, Err: err}
		return
	}
	it.size, it.modTime = s.Size, time.Unix(s.Mtim.Unix())
	it.device, it.inode, it.links = uint64(s.Dev), s.Ino, uint64(s.Nlink) //nolint:unconvert // smaller on some machines
	if s.Mode&unix.S_IFMT != unix.S_IFREG {
		it.mode = fs.ModeIrregular // what it is instead makes no difference
	}
}
