package watch

import (
	"errors"

	"golang.org/x/sys/unix"
)

// isOpenForWriting reports whether a process has a file open for writing. If so, the system refuses a read lease.
func isOpenForWriting(file string) bool {
	fd, err := unix.Open(file, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(fd) }()
	_, err = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK) // closing the file releases the lease
	return errors.Is(err, unix.EAGAIN)
}
