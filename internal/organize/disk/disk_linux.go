package disk

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/anivault/anivault/internal/lockfile"
	"github.com/anivault/anivault/internal/organize"
)

// stat asks about an entry by its name within its folder.
func stat(dir *os.File, item *organize.Item) error {
	var s unix.Stat_t
	err := unix.Fstatat(int(dir.Fd()), item.Name, &s, unix.AT_SYMLINK_NOFOLLOW)
	for errors.Is(err, unix.EINTR) {
		err = unix.Fstatat(int(dir.Fd()), item.Name, &s, unix.AT_SYMLINK_NOFOLLOW)
	}
	if err != nil {
		return &os.PathError{Op: "lstat", Path: item.Name, Err: err}
	}
	item.Size, item.MTime = s.Size, organize.StampOf(time.Unix(s.Mtim.Unix()))
	item.Device, item.Inode, item.Links = uint64(s.Dev), s.Ino, uint64(s.Nlink) //nolint:unconvert // smaller on some machines
	switch s.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		item.Type = organize.TypeRegular
	case unix.S_IFDIR:
		item.Type = organize.TypeDir
	case unix.S_IFLNK:
		item.Type = organize.TypeLink
	}
	return nil
}

// CantReflink reports whether the file system of a folder is known not to share blocks between files. That is tried out
// with files that have no name: nothing of the folder changes.
func CantReflink(dir string) bool {
	var fds [2]int
	for i := range fds {
		fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return false // that is seen when it is needed
		}
		defer func() { _ = unix.Close(fd) }() // nothing of it stays
		fds[i] = fd
	}
	if _, err := unix.Write(fds[0], make([]byte, 4096)); err != nil {
		return false
	}
	err := unix.IoctlFileClone(fds[1], fds[0])
	return errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOTTY)
}

// openRegular opens a regular file without waiting for anybody.
func openRegular(path string) (*lockfile.File, error) { return lockfile.Open(path, os.O_RDONLY, 0) }

// describe completes what a root is known by: the type of its file system, its inode, its birth, its device and the
// length of names.
func describe(p *organize.Place) error {
	var s unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, p.Path, 0, unix.STATX_INO|unix.STATX_BTIME, &s)
	if err != nil {
		return &os.PathError{Op: "statx", Path: p.Path, Err: err}
	}
	p.Device = unix.Mkdev(s.Dev_major, s.Dev_minor)
	p.Inode = s.Ino
	if s.Mask&unix.STATX_BTIME != 0 {
		p.Birth = organize.Stamp{Sec: s.Btime.Sec, Nsec: int32(s.Btime.Nsec)}
	}
	var f unix.Statfs_t
	if err := unix.Statfs(p.Path, &f); err != nil {
		return &os.PathError{Op: "statfs", Path: p.Path, Err: err}
	}
	if f.Namelen > 0 {
		p.NameMax = int(f.Namelen)
	}
	kind, known := types[int64(f.Type)] //nolint:unconvert // smaller on some machines
	if !known {
		kind = fmt.Sprintf("0x%x", uint32(f.Type))
	}
	p.Type = kind
	if p.Adrift = !stableInodes(kind); p.Adrift {
		p.Inode = 0
	}
	return nil
}

// stableInodes reports whether a file system keeps the numbers of its files: these make them up when they are mounted.
func stableInodes(kind string) bool { return kind != "vfat" && kind != "exfat" }

// types names file systems by their magic numbers, as statfs(2) has them. ext2 and ext3 share ext4's.
var types = map[int64]string{
	unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs", unix.TMPFS_MAGIC: "tmpfs",
	unix.OVERLAYFS_SUPER_MAGIC: "overlay", unix.NFS_SUPER_MAGIC: "nfs", unix.CIFS_SUPER_MAGIC: "cifs",
	unix.SMB2_SUPER_MAGIC: "smb2",
	unix.FUSE_SUPER_MAGIC: "fuse", unix.MSDOS_SUPER_MAGIC: "vfat", unix.EXFAT_SUPER_MAGIC: "exfat",
	unix.F2FS_SUPER_MAGIC: "f2fs",
	unix.V9FS_MAGIC:       "9p", unix.ECRYPTFS_SUPER_MAGIC: "ecryptfs", unix.RAMFS_MAGIC: "ramfs", 0x2fc12fc1: "zfs",
	0x5346544e: "ntfs",
	0x7366746e: "ntfs3", 0xca451a4e: "bcachefs", 0xc36400: "ceph",
}
