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

// Stat describes the file at a path. It follows symbolic links.
func Stat(path string) (Info, error) { return infoOf(os.Stat(path)) }

// Dir reads a folder. After Close it can open another one. The zero value is ready to use.
type Dir struct{ dir *os.File }

// Open opens a folder. The caller must close it.
func (d *Dir) Open(path string) (err error) {
	d.dir, err = os.Open(path)
	return err
}

// Close closes the folder, if it is open.
func (d *Dir) Close() {
	d.dir.Close() // closing a nil file only returns an error
	d.dir = nil
}

// Lstat describes a file in the folder. It does not follow symbolic links.
func (d *Dir) Lstat(name string) (Info, error) {
	return infoOf(os.Lstat(filepath.Join(d.dir.Name(), name)))
}

// EachEntry calls yield with the name and type of each entry, in no order. It stops at the first error.
func (d *Dir) EachEntry(yield func(name []byte, kind fs.FileMode)) error {
	entries, err := d.dir.ReadDir(-1)
	for _, e := range entries {
		yield([]byte(e.Name()), e.Type())
	}
	return err
}

// FileSystemOf describes the file system of a folder. On this system, its type is always "-".
func FileSystemOf(string) (FileSystem, error) { return FileSystem{Type: "-", NameMax: 255}, nil }

// CantReflink reports whether a file system certainly can't share blocks, which is never certain on this system.
func CantReflink(string) bool { return false }
