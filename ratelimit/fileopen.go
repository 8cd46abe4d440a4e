package ratelimit

// How the files of the store are opened: never through a symbolic link, never anything
// but a regular file, readable by their owner alone, or by the group where the folder
// hands its group on (setgid), which is how several users share one state.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	lockName  = "ratelimit.lock"
	stateName = "ratelimit.state"

	dirMode        fs.FileMode = 0o700
	fileMode       fs.FileMode = 0o600
	sharedFileMode fs.FileMode = 0o660
)

// errNotRegular: something else than a file lies where a file of ours belongs.
var errNotRegular = errors.New("not a regular file")

// fileModeIn returns the permissions that new files in dir get.
func fileModeIn(dir string) (fs.FileMode, error) {
	fi, err := os.Stat(dir)
	if err != nil {
		return 0, err
	}
	if fi.Mode()&fs.ModeSetgid != 0 {
		return sharedFileMode, nil
	}
	return fileMode, nil
}

// openRegular opens path for reading and writing, with O_CREATE and the like in flags.
// Symbolic links, folders, devices and pipes give errNotRegular.
func openRegular(path string, flags int, mode fs.FileMode) (*os.File, error) {
	if fi, err := os.Lstat(path); err == nil && !fi.Mode().IsRegular() {
		return nil, fmt.Errorf("open %s: %w", path, errNotRegular)
	}
	f, err := os.OpenFile(path, os.O_RDWR|noFollow|flags, mode)
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = fmt.Errorf("open %s: %w", path, errNotRegular)
	}
	if err == nil && flags&os.O_CREATE != 0 && mode == sharedFileMode && fi.Mode().Perm()&mode != mode {
		// The umask took the group's bits. Only the owner can give them; a file of
		// someone else's that opened is good as it is.
		_ = f.Chmod(mode)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// createState puts a new state file with these bytes in place, complete or not at all:
// a process that is killed here leaves no half of a file. The caller holds the lock.
func createState(dir string, mode fs.FileMode, content []byte) error {
	path := filepath.Join(dir, stateName)
	temp := path + ".new"
	os.Remove(temp) // what a killed process has left
	f, err := openRegular(temp, os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync() // once in the life of the file, never on the hot path
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(temp, path)
		if err != nil && overwrite(path, content) == nil {
			err = nil
		}
	}
	if err != nil {
		err = fmt.Errorf("create limiter state: %w", err)
	}
	os.Remove(temp) // still there unless it was renamed
	return err
}

// overwrite puts the content into the file that is there, because Windows replaces no
// file that another process has open.
func overwrite(path string, content []byte) error {
	f, err := openRegular(path, 0, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(content, 0)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}
