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

const onlyFolder = 0

// Lstat describes a file in the folder. It does not follow symbolic links.
func (d Dir) Lstat(name string) (Info, error) { return infoOf(os.Lstat(filepath.Join(d.Name(), name))) }

// FileSystemOf describes the file system of a folder. On this system, its type is always "-".
func FileSystemOf(string) (FileSystem, error) { return FileSystem{Type: "-", NameMax: 255}, nil }

// CantReflink reports whether a file system certainly can't share blocks, which is never certain on this system.
func CantReflink(string) bool { return false }
