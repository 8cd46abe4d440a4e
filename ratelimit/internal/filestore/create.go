package filestore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/anivault/anivault/internal/lockfile"
	"github.com/anivault/anivault/ratelimit/internal/core"
)

const keepCorrupt = 4

// fileModeIn returns the permissions of files in dir, which need not exist yet: theirs who own it alone, or the group's
// where a folder hands its group on (setgid), which is how several users share one state.
func fileModeIn(dir string) fs.FileMode {
	if setgid(dir) {
		return 0o660
	}
	return 0o600
}

// setgid reports whether dir hands its group on or, where there is no such folder yet, the one that it will lie in.
func setgid(dir string) bool {
	for {
		if info, err := os.Stat(dir); err == nil {
			return info.Mode()&fs.ModeSetgid != 0
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return false
		}
		dir = parent
	}
}

func makeDir(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	if parent := filepath.Dir(dir); parent != dir {
		if err := makeDir(parent); err != nil {
			return err
		}
	}
	mode := fs.FileMode(0o700)
	if setgid(filepath.Dir(dir)) {
		mode = 0o770 | fs.ModeSetgid
	}
	err := os.Mkdir(dir, mode)
	if errors.Is(err, fs.ErrExist) {
		return nil // another process was faster; what isn't a folder is seen by who opens files in it
	}
	if err == nil && mode&fs.ModeSetgid != 0 {
		err = os.Chmod(dir, mode) // against the umask
	}
	return err
}

// create puts a new state file in place, complete or not at all: a process that is killed here leaves no half of a
// file. What lies there damaged is set aside at the last moment.
func (b *Backend) create(payload []byte, at core.Instant, damage error) error {
	content, err := firstFile(b.copies.writer, payload)
	if err != nil {
		return err
	}
	b.closeState() // Windows renames no open file
	temp := b.statePath() + ".new"
	os.Remove(temp)       // what a killed process has left
	defer os.Remove(temp) // still there unless it was renamed
	if err = writeNew(temp, content, b.mode); err == nil && damage != nil {
		err = b.setAside(at, damage)
	}
	if err == nil {
		err = os.Rename(temp, b.statePath())
		if err != nil && overwrite(b.statePath(), content) == nil {
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("create limiter state: %w", err)
	}
	return nil
}

func writeNew(path string, content []byte, mode fs.FileMode) error {
	f, err := lockfile.OpenNoFollow(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
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
	return err
}

// overwrite puts the content into the file that is there, because Windows replaces no file that another process has
// open.
func overwrite(path string, content []byte) error {
	f, err := lockfile.OpenNoFollow(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(content, 0)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

func (b *Backend) setAside(at core.Instant, cause error) error {
	aside := b.statePath() + ".corrupt-" + at.Wall.UTC().Format("20060102T150405.000Z")
	if err := rename(b.statePath(), aside); err != nil {
		return fmt.Errorf("set the damaged one aside: %w", err)
	}
	b.aside, b.cause = aside, cause
	entries, _ := os.ReadDir(b.dir) // sorted, and so by time, as it is in the names
	var old []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), stateName+".corrupt-") {
			old = append(old, e.Name())
		}
	}
	for _, name := range old[:max(len(old)-keepCorrupt, 0)] {
		os.Remove(filepath.Join(b.dir, name)) // a folder that isn't empty stays
	}
	return nil
}

// rename renames a file or, where a process that has it open stands in the way (Windows), moves its content.
func rename(path, aside string) error {
	err := os.Rename(path, aside)
	if err == nil {
		return nil
	}
	f, ferr := lockfile.OpenNoFollow(path, os.O_RDWR, 0)
	if ferr != nil {
		return err
	}
	defer f.Close()
	content := make([]byte, 16*frameFile)
	n, _ := f.ReadAt(content, 0)
	if werr := os.WriteFile(aside, content[:n], 0o600); werr != nil {
		return errors.Join(err, werr)
	}
	return f.Truncate(0)
}
