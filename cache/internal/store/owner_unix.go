//go:build unix

package store

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// ownedByOthers returns why others decide what lies in a folder of ours: it, or one of the files in it, belongs to
// another user, or others may write there. What can't be seen belongs to nobody.
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
