// Package disk answers what planning asks of the file system: what there is in a folder, and what a root is known by. It changes
// nothing.
package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/anivault/anivault/internal/organize"
)

// Disk is the file system of this machine. The zero value is ready.
type Disk struct{}

// Real returns the folder's path with links resolved, with slashes.
func (Disk) Real(dir string) (string, error) {
	abs, err := filepath.Abs(filepath.FromSlash(dir))
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	return filepath.ToSlash(real), err
}

// List returns the entries of a folder by name in byte order, links not followed; none and no error where it is not there.
func (Disk) List(dir string) ([]organize.Item, error) {
	in, err := os.Open(filepath.FromSlash(dir))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	defer in.Close()
	names, err := in.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	items := make([]organize.Item, 0, len(names))
	for _, name := range names {
		item := organize.Item{Name: name}
		switch err := stat(in, &item); {
		case errors.Is(err, fs.ErrNotExist):
			continue // it went away meanwhile
		case err != nil:
			return nil, err
		}
		if item.Type == organize.TypeLink {
			item.Leads, _ = os.Readlink(filepath.Join(in.Name(), name)) // one that is gone leads nowhere
		}
		items = append(items, item)
	}
	slices.SortFunc(items, func(a, b organize.Item) int { return strings.Compare(a.Name, b.Name) })
	return items, nil
}

// end is how much of each end of a file is compared.
const end = 64 << 10

// Ends returns the first and the last 64 KiB of a regular file, all of a smaller one.
func (Disk) Ends(file string) ([]byte, error) {
	in, err := openRegular(filepath.FromSlash(file))
	if err != nil {
		return nil, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() <= 2*end {
		return io.ReadAll(io.LimitReader(in, 2*end))
	}
	out := make([]byte, 2*end)
	if _, err := in.ReadAt(out[:end], 0); err != nil {
		return nil, err
	}
	_, err = in.ReadAt(out[end:], info.Size()-end)
	return out, err
}

// Root returns what planning knows of a folder that is a root. Its path has links resolved.
func Root(dir string) (organize.Place, error) {
	path, err := Disk{}.Real(dir)
	if err != nil {
		return organize.Place{}, err
	}
	place := organize.Place{Root: organize.Root{Type: "-", Path: path}, NameMax: 255}
	info, err := os.Stat(filepath.FromSlash(path))
	if err != nil {
		return organize.Place{}, err
	}
	if !info.IsDir() {
		return organize.Place{}, fmt.Errorf("%s is no folder", path)
	}
	return place, describe(&place)
}
