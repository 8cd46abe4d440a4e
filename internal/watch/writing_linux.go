package watch

import (
	"errors"

	"golang.org/x/sys/unix"
)

// isWritten reports whether somebody has a file open for writing: then the system gives no lease for reading.
func isWritten(file string) bool {
	fd, err := unix.Open(file, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(fd) }()
	_, err = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK) // given back by closing
	return errors.Is(err, unix.EAGAIN)
}
