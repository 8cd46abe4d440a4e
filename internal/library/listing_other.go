//go:build !linux

package library

import (
	"io/fs"
	"os"
)

// handle is an open folder.
type handle struct{ dir *os.File }

// known is what the folder tells of an entry besides its name and whether it is a folder or a link.
type known = fs.DirEntry

// read opens a folder and yields its entries in no order, until an error.
func (h *handle) read(path string, yield func(name []byte, isDir, link bool, _ known)) (err error) {
	if h.dir, err = os.Open(path); err != nil {
		h.dir = nil
		return err
	}
	entries, err := h.dir.ReadDir(-1)
	for _, e := range entries {
		yield([]byte(e.Name()), e.IsDir(), e.Type()&fs.ModeSymlink != 0, e)
	}
	return err
}

// statIn asks about an item that is no link.
func (it *item) statIn(*handle) { it.note(it.known.Info()) }

func (h *handle) close() {
	if h.dir != nil {
		h.dir.Close()
	}
	h.dir = nil
}
