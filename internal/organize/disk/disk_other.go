//go:build !linux

package disk

import (
	"os"

	"github.com/anivault/anivault/internal/lockfile"
	"github.com/anivault/anivault/internal/organize"
)

// stat asks about an entry of a folder. Elsewhere than on Linux plans are made and not carried out, so identities are
// not asked for.
func stat(dir *os.File, item *organize.Item) error {
	info, err := os.Lstat(dir.Name() + string(os.PathSeparator) + item.Name)
	if err != nil {
		return err
	}
	item.Size, item.MTime = info.Size(), organize.StampOf(info.ModTime())
	switch {
	case info.Mode().IsRegular():
		item.Type = organize.TypeRegular
	case info.IsDir():
		item.Type = organize.TypeDir
	case info.Mode()&os.ModeSymlink != 0:
		item.Type = organize.TypeLink
	}
	return nil
}

func openRegular(path string) (*lockfile.File, error) { return lockfile.Open(path, os.O_RDONLY, 0) }

// CantReflink reports whether the file system of a folder is known not to share blocks between files.
func CantReflink(string) bool { return false }

func describe(*organize.Place) error { return nil }
