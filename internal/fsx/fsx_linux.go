package fsx

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// RetryEINTR makes a system call, and repeats it as long as a signal interrupts it.
func RetryEINTR(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// OpenAt opens something by its name in an open folder, or by its path if at is unix.AT_FDCWD. mode is for a new file.
func OpenAt(at int, name string, flags int, mode uint32) (fd int, err error) {
	err = RetryEINTR(func() error {
		fd, err = unix.Openat(at, name, flags|unix.O_CLOEXEC, mode)
		return err
	})
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return fd, nil
}

// Statx describes a file by its name in an open folder. The flags are those of statx(2). On kernels before 4.11, and in
// sandboxes that refuse statx, the birth time is missing.
func Statx(at int, name string, flags int) (Info, error) {
	var s unix.Statx_t
	err := RetryEINTR(func() error {
		return unix.Statx(at, name, flags, unix.STATX_BASIC_STATS|unix.STATX_BTIME|unix.STATX_MNT_ID, &s)
	})
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		return fstatat(at, name, flags&^(unix.AT_STATX_FORCE_SYNC|unix.AT_STATX_DONT_SYNC))
	}
	if err != nil {
		return Info{}, &os.PathError{Op: "lstat", Path: name, Err: err}
	}
	i := Info{
		Type: typeOf(uint32(s.Mode)), Mode: uint32(s.Mode) & 0o7777, UID: s.Uid, GID: s.Gid, Size: int64(s.Size),
		Inode: s.Ino, Links: uint64(s.Nlink), Device: unix.Mkdev(s.Dev_major, s.Dev_minor),
		MTime: time.Unix(s.Mtime.Sec, int64(s.Mtime.Nsec)), CTime: time.Unix(s.Ctime.Sec, int64(s.Ctime.Nsec)),
	}
	if s.Mask&unix.STATX_MNT_ID != 0 { // since Linux 5.8
		i.Mount = s.Mnt_id
	}
	if s.Mask&unix.STATX_BTIME != 0 {
		i.BirthTime = time.Unix(s.Btime.Sec, int64(s.Btime.Nsec))
	}
	return i, nil
}

func fstatat(at int, name string, flags int) (Info, error) {
	var s unix.Stat_t
	if err := RetryEINTR(func() error { return unix.Fstatat(at, name, &s, flags) }); err != nil {
		return Info{}, &os.PathError{Op: "lstat", Path: name, Err: err}
	}
	return Info{
		Type: typeOf(s.Mode), Mode: s.Mode & 0o7777, UID: s.Uid, GID: s.Gid, Size: s.Size, Inode: s.Ino,
		Links: uint64(s.Nlink), Device: uint64(s.Dev), //nolint:unconvert // smaller on some machines
		MTime: time.Unix(s.Mtim.Unix()), CTime: time.Unix(s.Ctim.Unix()),
	}, nil
}

func typeOf(mode uint32) fs.FileMode {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return 0
	case unix.S_IFDIR:
		return fs.ModeDir
	case unix.S_IFLNK:
		return fs.ModeSymlink
	}
	return fs.ModeIrregular
}

// Stat describes the file at a path. It follows symbolic links.
func Stat(path string) (Info, error) { return Statx(unix.AT_FDCWD, path, 0) }

const onlyFolder = unix.O_DIRECTORY

// Lstat describes a file in the folder. It does not follow symbolic links.
func (d Dir) Lstat(name string) (Info, error) {
	return Statx(int(d.Fd()), name, unix.AT_SYMLINK_NOFOLLOW)
}

// FileSystemOf describes the file system of a folder.
func FileSystemOf(path string) (FileSystem, error) {
	var s unix.Statfs_t
	if err := RetryEINTR(func() error { return unix.Statfs(path, &s) }); err != nil {
		return FileSystem{}, &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	kind, known := fsTypeNames[int64(s.Type)] //nolint:unconvert // smaller on some machines
	if !known {
		kind = fmt.Sprintf("0x%x", uint32(s.Type))
	}
	if s.Namelen <= 0 {
		s.Namelen = 255
	}
	return FileSystem{Type: kind, NameMax: int(s.Namelen)}, nil
}

// fsTypeNames maps the magic numbers of statfs(2) to names. ext2 and ext3 have the same magic number as ext4.
var fsTypeNames = map[int64]string{
	unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs",
	unix.TMPFS_MAGIC: "tmpfs", unix.OVERLAYFS_SUPER_MAGIC: "overlay", unix.NFS_SUPER_MAGIC: "nfs",
	unix.CIFS_SUPER_MAGIC: "cifs", unix.SMB2_SUPER_MAGIC: "smb2", unix.FUSE_SUPER_MAGIC: "fuse",
	unix.MSDOS_SUPER_MAGIC: "vfat", unix.EXFAT_SUPER_MAGIC: "exfat", unix.F2FS_SUPER_MAGIC: "f2fs",
	unix.V9FS_MAGIC: "9p", unix.ECRYPTFS_SUPER_MAGIC: "ecryptfs", unix.RAMFS_MAGIC: "ramfs", 0x2fc12fc1: "zfs",
	0x5346544e: "ntfs", 0x7366746e: "ntfs3", 0xca451a4e: "bcachefs", 0xc36400: "ceph",
}

// CantReflink reports whether the file system of a folder certainly can't share blocks between files. It tries with
// unnamed files, which leave no trace in the folder.
func CantReflink(dir string) bool {
	var fds [2]int
	for i := range fds {
		fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return false // no unnamed files, so it can't find out
		}
		defer func() { _ = unix.Close(fd) }() // closing an unnamed file removes it
		fds[i] = fd
	}
	if _, err := unix.Write(fds[0], make([]byte, 4096)); err != nil {
		return false
	}
	err := unix.IoctlFileClone(fds[1], fds[0])
	return errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOTTY)
}
