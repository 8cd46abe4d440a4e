//go:build unix

package ratelimit

import (
	"os"

	"golang.org/x/sys/unix"
)

// noFollow refuses a symbolic link, and does not hang on a pipe.
const noFollow = unix.O_NOFOLLOW | unix.O_NONBLOCK

// linked tells whether an open file still has a name in some folder.
func linked(f *os.File) bool {
	var st unix.Stat_t
	return unix.Fstat(int(f.Fd()), &st) == nil && st.Nlink > 0
}
