//go:build unix

package store

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// checkOwner returns an error if another user can change the folder: because the folder or one of the files belongs to
// another user, or because others may write to the folder. It ignores paths that it can't stat.
func checkOwner(dir string, files ...string) error {
	for _, path := range append([]string{dir}, files...) {
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
			return fmt.Errorf("%s belongs to another user (uid %d)", path, st.Uid)
		}
	}
	if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o022 != 0 {
		return errors.New(dir + " can be written by other users")
	}
	return nil
}
