// Package fsx asks the system about folders and what they hold: what [Dir] and [Stat] return costs one system call a
// file, and says what package os leaves out, such as a file's birth and the type of its file system. It changes
// nothing.
package fsx

import (
	"io/fs"
	"time"
)

// Info is what the system says of a file or folder. Elsewhere than on Linux only Type, Size and MTime are known.
type Info struct {
	Type                  fs.FileMode // 0 of a regular file, ModeDir, ModeSymlink, or ModeIrregular of all else
	Size                  int64       // bytes
	MTime, Changed, Birth time.Time   // Birth is zero where the file system keeps none
	Device, Inode, Links  uint64      // Links is how many names a file has
	Mode, UID, GID        uint32      // Mode has the twelve bits that chmod(2) sets
}

// FileSystem is what holds a folder.
type FileSystem struct {
	Type    string // as "ext4"; a number where it has no name here, "-" where it can't be known
	NameMax int    // most bytes of a name
}
