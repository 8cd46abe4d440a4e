//go:build unix

package cli

import (
	"os"
	"syscall"
)

// belongsToAnother reports whether path exists and is another user's.
func belongsToAnother(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(owner.Uid) != os.Getuid()
}
