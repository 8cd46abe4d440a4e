package apply

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"syscall"
)

const maxOpenFolders = 64

// folderCache keeps the folders of a run open, by index in run.Dirs.
type folderCache struct {
	system       FS
	run          *run
	open         map[int]Dir
	inheritOwner bool
	creating     *sync.Mutex // held while folders are created, so that no worker takes another's for a stranger's
	// writeProblems remembers what checkWritable returned, by folder.
	writeProblems map[int]*Problem
}

func newFolderCache(system FS, r *run) *folderCache {
	return &folderCache{
		system: system, run: r, open: map[int]Dir{}, creating: &sync.Mutex{}, writeProblems: map[int]*Problem{},
	}
}

func (f *folderCache) get(i int) (Dir, error) {
	if d, open := f.open[i]; open {
		return d, nil
	}
	d := &f.run.Dirs[i]
	var dir Dir
	var err error
	if d.Parent < 0 {
		dir, err = f.system.Open(d.Name)
	} else {
		var parent Dir
		if parent, err = f.get(d.Parent); err == nil {
			dir, err = parent.OpenDir(d.Name)
		}
	}
	if err != nil {
		return nil, err
	}
	f.open[i] = dir
	return dir, nil
}

// nearestExisting opens a folder, or its nearest parent that exists, and returns its index.
func (f *folderCache) nearestExisting(i int) (int, Dir, error) {
	dir, err := f.get(i)
	for isMissing(err) && f.run.Dirs[i].Parent >= 0 {
		i = f.run.Dirs[i].Parent
		dir, err = f.get(i)
	}
	return i, dir, err
}

// checkWritable returns why the names in a folder can't be changed; nil if they can.
func (f *folderCache) checkWritable(i int) *Problem {
	p, known := f.writeProblems[i]
	if !known {
		dir, err := f.getAndTrim(i)
		if err == nil {
			err = dir.CheckWritable()
		}
		if err != nil {
			p = asProblem(fmt.Errorf("%s: %w", f.run.dirPath(i), err))
		}
		f.writeProblems[i] = p
	}
	return p
}

// getAndTrim is get, after trim.
func (f *folderCache) getAndTrim(i int) (Dir, error) {
	f.trim()
	return f.get(i)
}

// trim closes all folders except roots if too many are open. Roots stay open because their paths may meanwhile lead to
// other folders. The caller must not use any folder that it got before.
func (f *folderCache) trim() {
	if len(f.open) > maxOpenFolders {
		f.closeIf(func(i int) bool { return f.run.Dirs[i].Parent >= 0 })
	}
}

func (f *folderCache) close() { f.closeIf(func(int) bool { return true }) }

func (f *folderCache) closeIf(unwanted func(i int) bool) {
	for i, dir := range f.open {
		if unwanted(i) {
			dir.Close()
			delete(f.open, i)
		}
	}
}

func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// isNotFolder reports whether the error says that a file or a symbolic link is where a folder should be.
func isNotFolder(err error) bool {
	return errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP)
}

// openOrCreate opens a folder, and creates it and its parents if they are missing.
func (f *folderCache) openOrCreate(i int) (Dir, error) {
	f.creating.Lock()
	defer f.creating.Unlock()
	return f.create(i)
}

func (f *folderCache) create(i int) (Dir, error) {
	d := &f.run.Dirs[i]
	if dir, err := f.get(i); err == nil || !isMissing(err) || d.Parent < 0 {
		return dir, err
	}
	parent, err := f.create(d.Parent)
	if err != nil {
		return nil, err
	}
	err = parent.Mkdir(d.Name)
	theirs := errors.Is(err, syscall.EEXIST) // another program created it just now
	if err != nil && !theirs {
		return nil, err
	}
	dir, err := f.get(i)
	if err == nil && d.New && !theirs { // restoreFolders sets the mode of a folder that existed before the run
		err = f.inheritMode(i, dir)
	}
	return dir, err
}

func (f *folderCache) inheritMode(i int, dir Dir) error {
	parent, err := f.get(f.run.Dirs[i].Parent)
	if err != nil {
		return err
	}
	info, err := parent.Stat()
	if err != nil {
		return err
	}
	return setModeAndOwner(dir, info.Mode, info.UID, info.GID, f.inheritOwner)
}

// restoreModes sets the modes of the new folders again, because an interrupted run may not have set all of them.
func (f *folderCache) restoreModes() error {
	for i := range f.run.Dirs {
		if !f.run.Dirs[i].New {
			continue
		}
		dir, err := f.getAndTrim(i)
		if err == nil {
			err = f.inheritMode(i, dir)
		}
		if err != nil && !isMissing(err) && !isNotFolder(err) {
			return err
		}
	}
	return nil
}

func setModeAndOwner(dir Dir, mode, uid, gid uint32, owner bool) error {
	info, err := dir.Stat()
	if err == nil && owner && (info.UID != uid || info.GID != gid) {
		err = ignoreForbidden(dir.SetOwner(uid, gid))
	}
	if err == nil && info.Mode != mode {
		err = ignoreForbidden(dir.SetMode(mode))
	}
	return err
}

// ignoreForbidden drops the errors of a folder that belongs to another user, or to one that a container does not know:
// only its owner may set its time and mode, so these stay as they are.
func ignoreForbidden(err error) error {
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EINVAL) {
		return nil
	}
	return err
}

// removeEmptied removes the removable folders among the emptied ones, and their parents if these become empty too.
func (f *folderCache) removeEmptied(emptied []bool) {
	for i := len(f.run.Dirs) - 1; i >= 0; i-- {
		f.trim()
		if emptied[i] && f.run.Dirs[i].Removable {
			gone, _ := f.removeIfEmpty(i) // a folder that can't be removed stays
			emptied[f.run.Dirs[i].Parent] = emptied[f.run.Dirs[i].Parent] || gone
		}
	}
}

// removeCreated removes the empty folders that the run created, children first. It keeps the used ones; nil means that
// no folder is used. It returns an error if it could not remove an empty folder.
func (f *folderCache) removeCreated(used []bool) (failed error) {
	for i := len(f.run.Dirs) - 1; i >= 0; i-- {
		if f.run.Dirs[i].New && (used == nil || !used[i]) {
			f.trim()
			if _, err := f.removeIfEmpty(i); err != nil {
				failed = err
			}
		}
	}
	return failed
}

func (f *folderCache) removeIfEmpty(i int) (gone bool, _ error) {
	d := &f.run.Dirs[i]
	parent, err := f.get(d.Parent)
	if err != nil {
		return isMissing(err), nil
	}
	if !isEmpty(parent, d.Name) {
		return false, nil
	}
	f.closeIf(func(k int) bool { // the folder and all below it
		for k >= 0 && k != i {
			k = f.run.Dirs[k].Parent
		}
		return k == i
	})
	err = parent.Rmdir(d.Name)
	switch {
	case err == nil, isMissing(err):
		return true, nil
	case errors.Is(err, syscall.ENOTEMPTY), errors.Is(err, syscall.EEXIST), errors.Is(err, syscall.EBUSY):
		return false, nil // another program uses the folder
	}
	return false, err
}

// isEmpty reports whether a folder is empty or missing. A failing attempt to remove it could change its times.
func isEmpty(parent Dir, name string) bool {
	dir, err := parent.OpenDir(name)
	if err != nil {
		return isMissing(err)
	}
	defer dir.Close()
	names, err := dir.Names()
	return err == nil && len(names) == 0
}
