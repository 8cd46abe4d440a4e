package watch

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/organize"
	"github.com/anivault/anivault/internal/organize/disk"
)

// Tree is a folder of the system.
type Tree struct{ root organize.Root }

// Open returns the watched folder as it is now.
func Open(dir string) (*Tree, error) {
	place, err := disk.Root(dir)
	return &Tree{place.Root}, err
}

// Root returns what the folder is known by.
func (t *Tree) Root() organize.Root { return t.root }

// There implements Disk.
func (t *Tree) There() error { return Same(t.root) }

// Same is nil where a folder is there, and what it was.
func Same(was organize.Root) error {
	now, err := disk.Root(was.Path)
	switch {
	case err != nil:
		return err
	case now.Root != was:
		return lang.Error("%s is another folder than before", was.Path)
	}
	return nil
}

func (t *Tree) at(name string) string { return filepath.Join(t.root.Path, filepath.FromSlash(name)) }

// Read implements Disk.
func (t *Tree) Read(dir string) ([]Entry, error) {
	list, err := os.ReadDir(t.at(dir)) // by name
	if err != nil {
		return nil, err
	}
	out := make([]Entry, 0, len(list))
	for _, e := range list {
		entry := Entry{Name: e.Name(), Dir: e.IsDir()}
		if e.Type().IsRegular() {
			info, err := e.Info()
			if err != nil {
				continue // it has gone meanwhile
			}
			entry.Size, entry.MTime = info.Size(), info.ModTime().UnixNano()
		}
		out = append(out, entry)
	}
	return out, nil
}

// Writing implements Disk.
func (t *Tree) Writing(dir, name string) bool {
	file := t.at(below(dir, name))
	info, err := os.Lstat(file)
	return err == nil && info.Mode().Type() == fs.FileMode(0) && isWritten(file)
}

// silent are the types of file systems from which no notices come of what other machines, or a program behind them, change.
var silent = map[string]bool{
	"nfs": true, "cifs": true, "smb2": true, "fuse": true, "9p": true, "ceph": true,
}
