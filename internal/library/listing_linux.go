package library

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"
)

// handle is an open folder. The standard library's asks the system four times as much about a folder, and keeps an entry that
// nobody needs for each name: a library that has not changed is matched hardly slower than it is walked.
type handle struct {
	fd   int
	open bool
	buf  []byte
}

// known is what the folder tells of an entry besides its name and whether it is a folder or a link.
type known = struct{}

// readBytes is how much of a folder is asked for at once.
const readBytes = 32 << 10

// read opens a folder and yields its entries in no order, until an error.
func (h *handle) read(path string, yield func(name []byte, isDir, link bool, _ known)) error {
	fd, err := again(func() (int, error) { return unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0) })
	if h.fd, h.open = fd, err == nil; err != nil {
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	if h.buf == nil {
		h.buf = make([]byte, readBytes)
	}
	for {
		n, err := again(func() (int, error) { return unix.ReadDirent(fd, h.buf) })
		if err != nil {
			return &fs.PathError{Op: "readdirent", Path: path, Err: err}
		}
		if n <= 0 {
			return nil
		}
		h.entries(h.buf[:n], yield)
	}
}

// entries yields the entries of a buffer that the system has filled: getdents64(2) shows how they lie in it.
func (h *handle) entries(b []byte, yield func(name []byte, isDir, link bool, _ known)) {
	const size, kind, start = 16, 18, 19
	for len(b) > start {
		n := int(binary.NativeEndian.Uint16(b[size:]))
		if n <= start || n > len(b) {
			return
		}
		name, _, _ := bytes.Cut(b[start:n], []byte{0})
		t, there := b[kind], binary.NativeEndian.Uint64(b) != 0
		b = b[n:]
		if !there || string(name) == "." || string(name) == ".." {
			continue
		}
		if t == unix.DT_UNKNOWN { // some file systems don't say it here
			s, err := h.stat(string(name))
			switch {
			case errors.Is(err, fs.ErrNotExist):
				continue
			case err == nil && s.Mode&unix.S_IFMT == unix.S_IFDIR:
				t = unix.DT_DIR
			case err == nil && s.Mode&unix.S_IFMT == unix.S_IFLNK:
				t = unix.DT_LNK
			}
		}
		yield(name, t == unix.DT_DIR, t == unix.DT_LNK, known{})
	}
}

// stat asks about an entry by its name within its folder, so that the system need not find the folder again for
// every file: asking is most of what a walk costs.
func (h *handle) stat(name string) (s unix.Stat_t, err error) {
	_, err = again(func() (int, error) { return 0, unix.Fstatat(h.fd, name, &s, unix.AT_SYMLINK_NOFOLLOW) })
	return s, err
}

// statIn asks about an item that is no link.
func (it *item) statIn(h *handle) {
	s, err := h.stat(it.name)
	if err != nil {
		it.err = &fs.PathError{Op: "lstat", Path: it.name, Err: err}
		return
	}
	it.size, it.modTime = s.Size, time.Unix(s.Mtim.Unix())
	it.device, it.inode, it.links = uint64(s.Dev), s.Ino, uint64(s.Nlink) //nolint:unconvert // smaller on some machines
	if s.Mode&unix.S_IFMT != unix.S_IFREG {
		it.mode = fs.ModeIrregular // what it is instead makes no difference
	}
}

func (h *handle) close() {
	if h.open {
		_ = unix.Close(h.fd) // nothing was written
	}
	h.open = false
}

// again asks until no signal comes between.
func again(ask func() (int, error)) (int, error) {
	for {
		if n, err := ask(); !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
