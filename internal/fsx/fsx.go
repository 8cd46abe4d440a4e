// Package fsx reads folders and file information with few system calls. It returns details that package os leaves out,
// such as a file's birth time and the type of its file system. It changes nothing.
package fsx

import (
	"io/fs"
	"time"
)

// Info describes a file or folder. On systems other than Linux only Type, Size and MTime are set.
type Info struct {
	Type                  fs.FileMode // 0 for a regular file, ModeDir, ModeSymlink, or ModeIrregular for anything else
	Size                  int64       // bytes
	MTime, Changed, Birth time.Time   // Birth is zero if the file system doesn't record it
	Device, Inode, Links  uint64      // Links is the number of hard links
	Mode, UID, GID        uint32      // Mode has the twelve bits of chmod(2)
}

// FileSystem describes the file system of a folder.
type FileSystem struct {
	Type    string // such as "ext4"; a number for an unlisted type, "-" if unknown
	NameMax int    // most bytes of a name
}
