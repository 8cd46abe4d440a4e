//go:build unix

package store

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// ownedByOthers returns an error if another user can change the folder: one owns it or one of the files, or others may
// write to it. It ignores paths that it can't stat.
func ownedByOthers(dir string, files ...string) error {
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
