// Package apply carries plans out and puts them back. It is the only part of anivault that changes a library.
//
// At every moment each file that was there is there, whole, under its old name, its new one, or both (within a cycle of
// renames: under a temporary one beside it); what was there before is never replaced, and removed only as the source of
// a move whose target is proven. A run is written down in a journal before its first change. What of it was done is
// read from the file system, not from the journal, so a run can be interrupted at any point and then be finished
// ([Engine.Resume]) or put back ([Engine.Undo]).
package apply

import (
	"io"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/organize"
)

// FS opens folders. It is what the engine knows of a system: everything is done through open folders, never by a path.
type FS interface {
	// Root returns what a folder is known by.
	Root(path string) (organize.Root, error)
	// Open opens the folder at an absolute path that has no links in it.
	Open(path string) (Dir, error)
	// MayLink reports whether the system lets this user make hard links of such a file.
	MayLink(info Info) bool
}

// Dir is an open folder. Names are single components; links are never followed. Errors wrap syscall.Errno.
type Dir interface {
	io.Closer
	Stat() (Info, error)
	// Writable is nil where this user may make and remove names.
	Writable() error
	// Lstat returns what lies under the name; its error is ENOENT where nothing does.
	Lstat(name string) (Info, error)
	Names() ([]string, error)
	// OpenDir opens a folder below: ENOTDIR or ELOOP where something else is there.
	OpenDir(name string) (Dir, error)

	// Mkdir makes a folder for its owner alone.
	Mkdir(name string) error
	Rmdir(name string) error
	Unlink(name string) error
	// Link gives a file one more name; EEXIST where it is taken.
	Link(name string, to Dir, as string) error
	// Rename never replaces: EEXIST where the name is taken; EINVAL, ENOSYS or EOPNOTSUPP where the file system can't
	// promise that.
	Rename(name string, to Dir, as string) error
	// SetMode and SetOwner change the folder itself, SetMTime also leaves its time of access.
	SetMode(mode uint32) error
	SetOwner(uid, gid uint32) error
	SetMTime(t organize.Stamp) error
	// Sync makes the folder's names durable, SyncFS everything on its file system.
	Sync() error
	SyncFS() error

	// Symlink makes a link with that text; EEXIST where the name is taken. Readlink returns the text of one.
	Symlink(text, name string) error
	Readlink(name string) (string, error)
	// Free returns how many bytes this user may still write to the folder's file system.
	Free() (uint64, error)

	// Create makes a file that was not there, Edit opens one for reading and writing.
	Create(name string) (File, error)
	Edit(name string) (File, error)
	Read(name string) (File, error)
}

// File is an open regular file.
type File interface {
	io.Closer
	Stat() (Info, error)
	ReadAt(p []byte, off int64) (int, error)
	WriteAt(p []byte, off int64) (int, error)
	// Allocate makes the file at least that long, with room on the disk.
	Allocate(size int64) error
	// Extend makes the file that long, with a hole where nothing was written.
	Extend(size int64) error
	// Clone makes the file share the content of another one.
	Clone(from File) error
	// CopyMetadata gives the file the mode and times of another one, for root also its owner, and what a user has written
	// down about it: attributes and an access list. whole says that all of these could be kept.
	CopyMetadata(from File, info Info, owner bool) (whole bool, err error)
	// Lock keeps other processes from working on the file as long as it is open; ErrAtWork where one does.
	Lock() error
	// DropCache sees to it that the file is read from the disk, where the system can do that.
	DropCache()
	Sync() error
}

var errNotRegular = lang.Error("not a regular file")

// Info says what lies under a name.
type Info struct {
	Type     organize.ItemType
	Mode     uint32 // permission bits with setuid, setgid and sticky
	UID, GID uint32
	Size     int64
	MTime    organize.Stamp
	Birth    organize.Stamp // zero where the file system has none
	Changed  organize.Stamp // when anything of it was changed, the number of its names too; zero where that is not known
	Inode    uint64
	Device   uint64
	Links    uint64
}
