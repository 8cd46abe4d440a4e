// Package apply carries out plans and undoes them. It is the only part of anivault that changes a library.
//
// At every moment each original file exists in full under its old name, its new name, or both. (While files swap names,
// one of them has a temporary name beside its old one.) A run never replaces an existing file, and removes one only as
// the source of a move whose target is verified. A run is written to a journal before its first change. The file
// system, not the journal, shows which steps were done. So a run can be interrupted at any point, and then be finished
// ([Engine.Resume]) or undone ([Engine.Undo]).
package apply

import (
	"io"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/organize"
)

// FS opens folders. The engine does everything else through open folders, never by path.
type FS interface {
	// Root returns the identity of the folder at path: its inode, device and file system.
	Root(path string) (organize.Root, error)
	// Open opens the folder at an absolute path without symbolic links.
	Open(path string) (Dir, error)
	// MayLink reports whether the system lets this user create hard links to such a file.
	MayLink(info Info) bool
}

// Dir is an open folder. Names are single path components, and methods never follow symbolic links. Errors wrap
// syscall.Errno.
type Dir interface {
	io.Closer
	Stat() (Info, error)
	// Writable returns an error unless this user may create and remove names in the folder.
	Writable() error
	// Lstat describes the file with the name. If there is none, it returns ENOENT.
	Lstat(name string) (Info, error)
	Names() ([]string, error)
	// OpenDir opens a subfolder. If the name is not a folder, it returns ENOTDIR or ELOOP.
	OpenDir(name string) (Dir, error)

	// Mkdir creates a folder with mode 0700.
	Mkdir(name string) error
	Rmdir(name string) error
	Unlink(name string) error
	// Link gives a file a second name. It returns EEXIST if the name is taken.
	Link(name string, to Dir, as string) error
	// Rename never replaces a file: it returns EEXIST if the name is taken, and EINVAL, ENOSYS or EOPNOTSUPP if the file
	// system can't guarantee that.
	Rename(name string, to Dir, as string) error
	// SetMode, SetOwner and SetMTime change the folder itself. SetMTime keeps the access time.
	SetMode(mode uint32) error
	SetOwner(uid, gid uint32) error
	SetMTime(t organize.Stamp) error
	// Sync makes the folder's names durable. SyncFS makes its whole file system durable.
	Sync() error
	SyncFS() error

	// Symlink creates a symbolic link with that text, or returns EEXIST if the name is taken. Readlink returns a link's
	// text.
	Symlink(text, name string) error
	Readlink(name string) (string, error)
	// Free returns how many bytes this user may still write to the folder's file system.
	Free() (uint64, error)

	// Create creates a new file. Edit opens an existing one for reading and writing.
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
	// Allocate makes the file at least that long, and reserves the disk space.
	Allocate(size int64) error
	// Extend makes the file that long, with a hole at the end.
	Extend(size int64) error
	// Clone makes the file share the blocks of another one (a reflink).
	Clone(from File) error
	// CopyMetadata gives the file the mode, times, extended attributes and access list of another one, and as root its
	// owner. whole is false if some attributes could not be kept.
	CopyMetadata(from File, info Info, owner bool) (whole bool, err error)
	// Lock locks the file until it is closed, or returns ErrAtWork if another process holds the lock.
	Lock() error
	// DropCache makes later reads come from the disk, if the system supports that.
	DropCache()
	Sync() error
}

var errNotRegular = lang.Error("not a regular file")

// Info describes a file or folder.
type Info struct {
	Type     organize.ItemType
	Mode     uint32 // permission bits with setuid, setgid and sticky
	UID, GID uint32
	Size     int64
	MTime    organize.Stamp
	Birth    organize.Stamp // zero if the file system doesn't record it
	Changed  organize.Stamp // ctime, which changes with the number of links too; zero if unknown
	Inode    uint64
	Device   uint64
	Links    uint64
}
