// Package apply carries out plans and undoes them. It is the only part of anivault that changes a library.
//
// At every moment, each original file exists in full under its old name, its new name, or both. (While files swap
// names, one of them has a temporary name in its old folder.) A run never replaces an existing file. It removes a file
// only as the source of a move, and only after it has verified the target. Before its first change, a run writes all
// its steps to a journal. Which steps were done is visible in the file system, not in the journal. So a run can be
// interrupted at any point, and then be finished ([Engine.Resume]) or undone ([Engine.Undo]).
package apply

import (
	"io"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/organize"
)

// FS opens folders. The engine does everything else through open folders, not by path.
type FS interface {
	// Root returns the identity of the folder at path: its inode, birth time and file system.
	Root(path string) (organize.Root, error)
	// Open opens the folder at an absolute path without symbolic links.
	Open(path string) (Dir, error)
	// MayLink reports whether the system lets this user create hard links to the file.
	MayLink(info Info) bool
}

// Dir is an open folder. Names are single path components. No method follows symbolic links. Errors wrap syscall.Errno.
type Dir interface {
	io.Closer
	Stat() (Info, error)
	// CheckWritable returns an error if this user may not create and remove names in the folder.
	CheckWritable() error
	// Lstat describes a file in the folder. If the file does not exist, the error is ENOENT.
	Lstat(name string) (Info, error)
	Names() ([]string, error)
	// OpenDir opens a subfolder. If the name belongs to something else, the error is ENOTDIR or ELOOP.
	OpenDir(name string) (Dir, error)

	// Mkdir creates a folder with mode 0700.
	Mkdir(name string) error
	Rmdir(name string) error
	Unlink(name string) error
	// Link gives a file a second name. If that name is taken, the error is EEXIST.
	Link(name string, to Dir, newName string) error
	// Rename never replaces a file. If the new name is taken, the error is EEXIST. If the file system can't rename without
	// replacing, the error is EINVAL, ENOSYS or EOPNOTSUPP.
	Rename(name string, to Dir, newName string) error
	// SetMode, SetOwner and SetMTime change the folder itself. SetMTime keeps the access time.
	SetMode(mode uint32) error
	SetOwner(uid, gid uint32) error
	SetMTime(t organize.Stamp) error
	// Sync flushes the folder's names to the disk. SyncFS flushes its whole file system.
	Sync() error
	SyncFS() error

	// Symlink creates a symbolic link to text, or fails with EEXIST. Readlink returns the text of a link.
	Symlink(text, name string) error
	Readlink(name string) (string, error)
	// FreeBytes returns how many bytes this user may still write to the folder's file system.
	FreeBytes() (uint64, error)

	// Create creates a new file. The other two open an existing file.
	Create(name string) (File, error)
	OpenForWriting(name string) (File, error)
	OpenForReading(name string) (File, error)
}

// File is an open regular file.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Stat() (Info, error)
	// Allocate makes the file at least size bytes long and reserves disk space for them.
	Allocate(size int64) error
	// Extend sets the length of the file. If that makes it longer, the new part is a hole.
	Extend(size int64) error
	// Clone makes the file share the disk blocks of another file (a reflink).
	Clone(from File) error
	// CopyMetadata copies the extended attributes and access list of another file, and sets the mode and times in info,
	// and with owner also the owner. whole is false if the owner or some attributes could not be copied.
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
	Type      organize.ItemType
	Mode      uint32 // permission bits, with setuid, setgid and sticky
	UID, GID  uint32
	Size      int64
	MTime     organize.Stamp
	BirthTime organize.Stamp // zero if the file system doesn't record it
	CTime     organize.Stamp // the last change of content, metadata or number of links; zero if unknown
	Inode     uint64
	Device    uint64
	Mount     uint64 // the ID of the mount; 0 if unknown
	Links     uint64
}
