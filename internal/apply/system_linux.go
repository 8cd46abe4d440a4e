package apply

import (
	"cmp"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/anivault/anivault/internal/fsx"
	"github.com/anivault/anivault/internal/organize"
	"github.com/anivault/anivault/internal/organize/disk"
)

// Supported reports whether this system can carry out plans.
const Supported = true

// System is the file system of this machine. The zero value is ready to use.
type System struct{}

// Root implements FS.
func (System) Root(path string) (organize.Root, error) {
	p, err := disk.RootOf(path)
	return p.Root, err
}

func wrapPathError(operation, name string, err error) error {
	if err == nil {
		return nil
	}
	return &os.PathError{Op: operation, Path: name, Err: err}
}

// retrySyscall makes a system call, and repeats it if a signal interrupts it.
func retrySyscall(operation, name string, call func() error) error {
	return wrapPathError(operation, name, fsx.RetryEINTR(call))
}

// Open implements FS.
func (System) Open(path string) (Dir, error) { return openDir(unix.AT_FDCWD, path) }

func openDir(at int, name string) (Dir, error) {
	fd, err := fsx.OpenAt(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return &linuxDir{fd}, nil
}

// hardlinksProtected reports whether fs.protected_hardlinks limits users to links to their own or writable files.
var hardlinksProtected = sync.OnceValue(func() bool {
	text, _ := os.ReadFile("/proc/sys/fs/protected_hardlinks") // kernels without the file have no such limit
	n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return n != 0
})

var (
	euid   = sync.OnceValue(os.Geteuid)
	groups = sync.OnceValue(func() []int { list, _ := os.Getgroups(); return list })
)

// MayLink implements FS. It follows the rules of protected_hardlinks in proc(5), for users without capabilities.
func (System) MayLink(info Info) bool {
	uid := euid()
	if uid == 0 || info.UID == uint32(uid) || !hardlinksProtected() {
		return true
	}
	const both = 0o6
	switch {
	case info.Mode&0o4000 != 0 || info.Mode&0o2010 == 0o2010:
		return false
	case os.Getegid() == int(info.GID) || slices.Contains(groups(), int(info.GID)):
		return info.Mode>>3&both == both
	}
	return info.Mode&both == both
}

type linuxDir struct{ fd int }

func (d *linuxDir) Close() error { return unix.Close(d.fd) }

func (d *linuxDir) Stat() (Info, error) { return statx(d.fd, "", unix.AT_EMPTY_PATH) }

func (d *linuxDir) Lstat(name string) (Info, error) {
	return statx(d.fd, name, unix.AT_SYMLINK_NOFOLLOW)
}

func statx(at int, name string, flags int) (Info, error) {
	// AT_STATX_FORCE_SYNC is needed because FUSE and NFS cache the number of links.
	s, err := fsx.Statx(at, name, flags|unix.AT_STATX_FORCE_SYNC)
	if err != nil {
		return Info{}, err
	}
	i := Info{
		Mode: s.Mode, UID: s.UID, GID: s.GID, Size: s.Size, Inode: s.Inode, Links: s.Links, Device: s.Device,
		Mount: s.Mount,
		MTime: organize.StampOf(s.MTime), CTime: organize.StampOf(s.CTime), Type: organize.TypeOf(s.Type),
	}
	if !s.BirthTime.IsZero() {
		i.BirthTime = organize.StampOf(s.BirthTime)
	}
	return i, nil
}

func (d *linuxDir) CheckWritable() error {
	return fsx.RetryEINTR(func() error { return unix.Faccessat(d.fd, ".", unix.W_OK|unix.X_OK, unix.AT_EACCESS) })
}

func (d *linuxDir) Names() (names []string, err error) {
	if _, err := unix.Seek(d.fd, 0, io.SeekStart); err != nil {
		return nil, wrapPathError("list", ".", err)
	}
	buf := make([]byte, 32<<10)
	for {
		n := 0
		err := retrySyscall("list", ".", func() (err error) { n, err = unix.ReadDirent(d.fd, buf); return err })
		if err != nil || n <= 0 {
			return names, err
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
}

func (d *linuxDir) OpenDir(name string) (Dir, error) { return openDir(d.fd, name) }

func (d *linuxDir) Mkdir(name string) error {
	return retrySyscall("make", name, func() error { return unix.Mkdirat(d.fd, name, 0o700) })
}

func (d *linuxDir) Rmdir(name string) error {
	return retrySyscall("remove", name, func() error { return unix.Unlinkat(d.fd, name, unix.AT_REMOVEDIR) })
}

func (d *linuxDir) Unlink(name string) error {
	return retrySyscall("remove", name, func() error { return unix.Unlinkat(d.fd, name, 0) })
}

func (d *linuxDir) Link(name string, to Dir, newName string) error {
	into := to.(*linuxDir).fd
	return retrySyscall("link", newName, func() error { return unix.Linkat(d.fd, name, into, newName, 0) })
}

func (d *linuxDir) Rename(name string, to Dir, newName string) error {
	into := to.(*linuxDir).fd
	return retrySyscall("rename", newName, func() error {
		return unix.Renameat2(d.fd, name, into, newName, unix.RENAME_NOREPLACE)
	})
}

func (d *linuxDir) SetMode(mode uint32) error {
	return retrySyscall("chmod", ".", func() error { return unix.Fchmod(d.fd, mode) })
}

func (d *linuxDir) SetOwner(uid, gid uint32) error {
	return retrySyscall("chown", ".", func() error { return unix.Fchown(d.fd, int(uid), int(gid)) })
}

func (d *linuxDir) SetMTime(t organize.Stamp) error { return setMTime(d.fd, d.fd, ".", ".", t) }

// setMTime sets the modification time of an open file, which path names in the folder at, and keeps the access time. It
// sets both, because older FUSE file systems silently ignore a change of only one of them.
func setMTime(fd, at int, path, shown string, mtime organize.Stamp) error {
	return retrySyscall("set the time of", shown, func() error {
		var s unix.Statx_t
		if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_ATIME, &s); err != nil {
			return err
		}
		access, err1 := unix.TimeToTimespec(time.Unix(s.Atime.Sec, int64(s.Atime.Nsec)))
		change, err2 := unix.TimeToTimespec(time.Unix(mtime.Sec, int64(mtime.Nsec)))
		if err := cmp.Or(err1, err2); err != nil {
			return err
		}
		return unix.UtimesNanoAt(at, path, []unix.Timespec{access, change}, 0)
	})
}

// Sync implements Dir. It succeeds on file systems that can't sync folders.
func (d *linuxDir) Sync() error {
	err := fsx.RetryEINTR(func() error { return unix.Fsync(d.fd) })
	if errors.Is(err, unix.EINVAL) {
		return nil
	}
	return wrapPathError("sync", ".", err)
}

func (d *linuxDir) SyncFS() error {
	return retrySyscall("sync", ".", func() error { return unix.Syncfs(d.fd) })
}

func (d *linuxDir) Symlink(text, name string) error {
	return retrySyscall("symlink", name, func() error { return unix.Symlinkat(text, d.fd, name) })
}

func (d *linuxDir) Readlink(name string) (string, error) {
	text := make([]byte, unix.PathMax)
	n := 0
	err := retrySyscall("readlink", name, func() (err error) {
		n, err = unix.Readlinkat(d.fd, name, text)
		return err
	})
	return string(text[:max(n, 0)]), err
}

func (d *linuxDir) FreeBytes() (uint64, error) {
	var s unix.Statfs_t
	err := retrySyscall("statfs", ".", func() error { return unix.Fstatfs(d.fd, &s) })
	return s.Bavail * uint64(s.Bsize), err
}

func (d *linuxDir) Create(name string) (File, error) {
	return d.openFile(name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL)
}

func (d *linuxDir) OpenForWriting(name string) (File, error) { return d.openFile(name, unix.O_RDWR) }

func (d *linuxDir) OpenForReading(name string) (File, error) { return d.openFile(name, unix.O_RDONLY) }

// openFile opens a regular file. Without O_NONBLOCK, the call would wait if a pipe had the name.
func (d *linuxDir) openFile(name string, flags int) (File, error) {
	fd, err := fsx.OpenAt(d.fd, name, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	f := &linuxFile{os.NewFile(uintptr(fd), name)}
	if info, err := f.Stat(); err != nil || info.Type != organize.TypeRegular {
		f.Close()
		return nil, errors.Join(err, wrapPathError("open", name, errNotRegular))
	}
	return f, nil
}

type linuxFile struct{ *os.File }

func (f *linuxFile) Stat() (Info, error) { return statx(int(f.Fd()), "", unix.AT_EMPTY_PATH) }

func (f *linuxFile) Lock() error {
	err := fsx.RetryEINTR(func() error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) })
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		return ErrAtWork
	case errors.Is(err, unix.ENOLCK), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS):
		return nil // the file system has no locks, but the data folder's lock already excludes other processes
	}
	return wrapPathError("lock", f.Name(), err)
}

func (f *linuxFile) Clone(from File) error {
	source := int(from.(*linuxFile).Fd())
	return retrySyscall("clone", f.Name(), func() error { return unix.IoctlFileClone(int(f.Fd()), source) })
}

func (f *linuxFile) CopyMetadata(from File, info Info, owner bool) (whole bool, err error) {
	fd := int(f.Fd())
	whole = copyAttributes(int(from.(*linuxFile).Fd()), fd)
	if owner && unix.Fchown(fd, int(info.UID), int(info.GID)) != nil { // on a network share, or unknown in a container
		whole, info.Mode = false, info.Mode&0o777
	}
	if err := retrySyscall("chmod", f.Name(), func() error { return unix.Fchmod(fd, info.Mode) }); err != nil {
		return false, err
	}
	return whole, setMTime(fd, unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), f.Name(), info.MTime)
}

// copyAttributes copies the user's extended attributes and the access list. It reports whether all of them were copied.
func copyAttributes(from, to int) (whole bool) {
	list := make([]byte, 64<<10)
	n, err := unix.Flistxattr(from, list)
	if err != nil {
		return errors.Is(err, unix.EOPNOTSUPP) // the file system has no extended attributes, so there are none to copy
	}
	whole = true
	value := make([]byte, 64<<10)
	for name := range strings.SplitSeq(string(list[:n]), "\x00") {
		if !strings.HasPrefix(name, "user.") && name != "system.posix_acl_access" {
			continue
		}
		n, err := unix.Fgetxattr(from, name, value)
		if err == nil {
			err = unix.Fsetxattr(to, name, value[:n], 0)
		}
		whole = whole && err == nil
	}
	return whole
}

// WriteAt implements File. The kernel starts to write full chunks to the disk, so that Sync takes less time.
func (f *linuxFile) WriteAt(p []byte, off int64) (int, error) {
	n, err := f.File.WriteAt(p, off)
	if n == copyChunkSize {
		_ = unix.SyncFileRange(int(f.Fd()), off, int64(n), unix.SYNC_FILE_RANGE_WRITE) // a later Sync reports errors
	}
	return n, err
}

func (f *linuxFile) DropCache() { _ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED) }

// Allocate implements File. If the file system can't reserve space, Allocate writes zeros.
func (f *linuxFile) Allocate(size int64) error {
	fd := int(f.Fd())
	err := fsx.RetryEINTR(func() error { return unix.Fallocate(fd, 0, 0, size) })
	if !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.ENOSYS) {
		return wrapPathError("set room aside for", f.Name(), err)
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	zeros := make([]byte, 64<<10)
	for at := info.Size; at < size; at += int64(len(zeros)) {
		if _, err := f.WriteAt(zeros[:min(int64(len(zeros)), size-at)], at); err != nil {
			return err
		}
	}
	return nil
}
