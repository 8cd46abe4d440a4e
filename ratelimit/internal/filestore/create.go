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

const maxDamagedCopies = 4

// fileModeIn returns the permissions for files in dir, which need not exist yet. Only the owner has access, or also the
// group if the folder is setgid, which is how several users share one state.
func fileModeIn(dir string) fs.FileMode {
	if isSetgid(dir) {
		return 0o660
	}
	return 0o600
}

// isSetgid reports whether dir is setgid or, if it does not exist, the closest existing folder above it.
func isSetgid(dir string) bool {
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
	if isSetgid(filepath.Dir(dir)) {
		mode = 0o770 | fs.ModeSetgid
	}
	err := os.Mkdir(dir, mode)
	if errors.Is(err, fs.ErrExist) {
		return nil // another process was faster; if path is not a folder, opening a file in it fails
	}
	if err == nil && mode&fs.ModeSetgid != 0 {
		err = os.Chmod(dir, mode) // the umask may have removed permissions
	}
	return err
}

// create creates the state file completely or not at all. It renames a damaged one as late as possible.
func (b *Backend) create(payload []byte, at core.Instant, damage error) error {
	content, err := firstFile(b.copies.writer, payload)
	if err != nil {
		return err
	}
	b.closeState() // Windows can't rename an open file
	temp := b.statePath() + ".new"
	os.Remove(temp)       // left by a killed process
	defer os.Remove(temp) // in case of an error
	if err = writeNew(temp, content, b.mode); err == nil && damage != nil {
		err = b.moveDamaged(at, damage)
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
		err = f.Sync() // only when the file is created, never on the hot path
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// overwrite writes into the existing file, because Windows can't replace a file that another process has open.
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

func (b *Backend) moveDamaged(at core.Instant, cause error) error {
	aside := b.statePath() + ".corrupt-" + at.Wall.UTC().Format("20060102T150405.000Z")
	if err := renameOrCopy(b.statePath(), aside); err != nil {
		return fmt.Errorf("set the damaged one aside: %w", err)
	}
	b.damagedCopy, b.damageCause = aside, cause
	entries, _ := os.ReadDir(b.dir) // sorted by name, so by time
	var old []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), stateName+".corrupt-") {
			old = append(old, e.Name())
		}
	}
	for _, name := range old[:max(len(old)-maxDamagedCopies, 0)] {
		os.Remove(filepath.Join(b.dir, name)) // fails for a folder that isn't empty
	}
	return nil
}

// renameOrCopy renames a file. If another process has it open on Windows, it moves only the content.
func renameOrCopy(path, newPath string) error {
	err := os.Rename(path, newPath)
	if err == nil {
		return nil
	}
	f, ferr := lockfile.OpenNoFollow(path, os.O_RDWR, 0)
	if ferr != nil {
		return err
	}
	defer f.Close()
	content := make([]byte, 16*stateFileSize)
	n, _ := f.ReadAt(content, 0)
	if werr := os.WriteFile(newPath, content[:n], 0o600); werr != nil {
		return errors.Join(err, werr)
	}
	return f.Truncate(0)
}
