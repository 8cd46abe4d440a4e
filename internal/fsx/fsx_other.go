//go:build !linux

package fsx

import (
	"io/fs"
	"os"
	"path/filepath"
)

func infoOf(info fs.FileInfo, err error) (Info, error) {
	if err != nil {
		return Info{}, err
	}
	i := Info{Type: info.Mode().Type(), Size: info.Size(), MTime: info.ModTime()}
	if i.Type != 0 && i.Type != fs.ModeDir && i.Type != fs.ModeSymlink {
		i.Type = fs.ModeIrregular
	}
	return i, nil
}

// Stat returns what lies at a path, links followed.
func Stat(path string) (Info, error) { return infoOf(os.Stat(path)) }

// Dir is a folder that can be opened, read and closed, and then the next one. The zero value is ready.
type Dir struct{ dir *os.File }

// Open opens a folder. It must be closed.
func (d *Dir) Open(path string) (err error) {
	d.dir, err = os.Open(path)
	return err
}

// Close closes the folder, if it is open.
func (d *Dir) Close() {
	d.dir.Close() // of a nil file it is an error and no harm
	d.dir = nil
}

// Lstat asks about a name in the folder, links not followed.
func (d *Dir) Lstat(name string) (Info, error) {
	return infoOf(os.Lstat(filepath.Join(d.dir.Name(), name)))
}

// Each yields the names in the folder with their types, in no order, until an error.
func (d *Dir) Each(yield func(name []byte, kind fs.FileMode)) error {
	entries, err := d.dir.ReadDir(-1)
	for _, e := range entries {
		yield([]byte(e.Name()), e.Type())
	}
	return err
}

// FileSystemOf returns what holds a folder; it is not known here.
func FileSystemOf(string) (FileSystem, error) { return FileSystem{Type: "-", NameMax: 255}, nil }

// CantReflink reports whether the file system of a folder is known not to share blocks between files.
func CantReflink(string) bool { return false }
