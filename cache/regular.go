package cache

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// errNotRegular says that a FIFO, a device, a socket or a folder lies in the place of a file of ours.
var errNotRegular = errors.New("not a regular file")

// openRegular opens a regular file, and nothing else: opening a FIFO waits for its other end, for ever. A file that is
// exchanged between the look and the open is opened without waiting, and looked at again.
func openRegular(path string, flag int) (*os.File, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, info, &DamageError{Cause: errNotRegular, file: info}
	}
	if err != nil && (flag&os.O_CREATE == 0 || !errors.Is(err, fs.ErrNotExist)) {
		return nil, nil, err
	}
	f, err := os.OpenFile(path, flag|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, nil, err
	}
	info, err = f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &DamageError{Cause: errNotRegular, file: info}
	}
	if err != nil {
		f.Close()
		return nil, info, err
	}
	return f, info, nil
}
