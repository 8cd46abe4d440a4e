// Package fsx returns details about files and folders that package os omits, such as the birth time of a file and the
// type of its file system. It changes nothing.
package fsx

import (
	"io/fs"
	"os"
	"time"
)

// Info describes a file or folder. On systems other than Linux only Type, Size and MTime are set.
type Info struct {
	Type                    fs.FileMode // 0 for a regular file, ModeDir, ModeSymlink, or ModeIrregular for anything else
	Size                    int64       // bytes
	MTime, CTime, BirthTime time.Time   // BirthTime is zero if the file system does not record it
	Device, Inode, Links    uint64      // Links is the number of hard links
	Mount                   uint64      // the ID of the mount; hard links and renames can't cross mounts; 0 if unknown
	Mode, UID, GID          uint32      // Mode has the twelve bits of chmod(2)
}

// FileSystem describes the file system of a folder.
type FileSystem struct {
	Type    string // such as "ext4"; its magic number if the name is unknown, "-" if that is unknown too
	NameMax int    // maximum bytes of a name
}

// Dir is an open folder.
type Dir struct{ *os.File }

// OpenDir opens a folder. It fails for anything else, without waiting for the other end of a pipe.
func OpenDir(path string) (Dir, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|onlyFolder, 0)
	return Dir{f}, err
}
