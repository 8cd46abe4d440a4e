package apply

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"syscall"
)

const maxOpen = 64

type folders struct {
	system FS
	run    *run
	open   map[int]Dir
	making *sync.Mutex // held while a folder is created, so that workers don't see one without its mode
	asRoot bool
}

func (f *folders) get(i int) (Dir, error) {
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

func (f *folders) nearest(i int) (int, Dir, error) {
	dir, err := f.get(i)
	for isMissing(err) && f.run.Dirs[i].Parent >= 0 {
		i = f.run.Dirs[i].Parent
		dir, err = f.get(i)
	}
	return i, dir, err
}

func (f *folders) writable(i int) *Problem {
	f.trim()
	dir, err := f.get(i)
	if err == nil {
		err = dir.Writable()
	}
	if err != nil {
		return failed(fmt.Errorf("%s: %w", f.run.path(i), err))
	}
	return nil
}

func (f *folders) forget(gone int) {
	for i, dir := range f.open {
		for at := i; at >= 0; at = f.run.Dirs[at].Parent {
			if at == gone {
				dir.Close()
				delete(f.open, i)
				break
			}
		}
	}
}

// trim closes all folders but the roots if too many are open. Roots stay open, because reopening one by its path could
// open another folder. No folder may be in use.
func (f *folders) trim() {
	if len(f.open) <= maxOpen {
		return
	}
	for i, dir := range f.open {
		if f.run.Dirs[i].Parent >= 0 {
			dir.Close()
			delete(f.open, i)
		}
	}
}

func (f *folders) close() {
	for i, dir := range f.open {
		dir.Close()
		delete(f.open, i)
	}
}

func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// isElse reports whether the error says that something other than a folder is at a path: a file, or a symbolic link.
func isElse(err error) bool { return errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) }

func (f *folders) make(i int) (Dir, error) {
	if f.run.Dirs[i].New { // no other worker sees the folder before it has its mode
		f.making.Lock()
		defer f.making.Unlock()
	}
	return f.makeDir(i)
}

func (f *folders) makeDir(i int) (Dir, error) {
	d := &f.run.Dirs[i]
	if dir, err := f.get(i); err == nil || !isMissing(err) || d.Parent < 0 {
		return dir, err
	}
	parent, err := f.makeDir(d.Parent)
	if err != nil {
		return nil, err
	}
	err = parent.Mkdir(d.Name)
	theirs := errors.Is(err, syscall.EEXIST) // somebody created it just now
	if err != nil && !theirs {
		return nil, err
	}
	dir, err := f.get(i)
	if err == nil && d.New && !theirs { // an existing folder gets its mode in settle
		err = f.inherit(i, dir)
	}
	return dir, err
}

func (f *folders) inherit(i int, dir Dir) error {
	parent, err := f.get(f.run.Dirs[i].Parent)
	if err != nil {
		return err
	}
	info, err := parent.Stat()
	if err != nil {
		return err
	}
	return setModeAndOwner(dir, info.Mode, info.UID, info.GID, f.asRoot)
}

// resetModes sets the modes of the new folders again: an interruption may have left some without.
func (f *folders) resetModes() error {
	for i := range f.run.Dirs {
		if !f.run.Dirs[i].New {
			continue
		}
		f.trim()
		dir, err := f.get(i)
		if err == nil {
			err = f.inherit(i, dir)
		}
		if err != nil && !isMissing(err) && !isElse(err) {
			return err
		}
	}
	return nil
}

func setModeAndOwner(dir Dir, mode, uid, gid uint32, owner bool) error {
	info, err := dir.Stat()
	if err != nil {
		return err
	}
	if owner && (info.UID != uid || info.GID != gid) {
		if err := dir.SetOwner(uid, gid); err != nil {
			return err
		}
	}
	if info.Mode != mode {
		return dir.SetMode(mode)
	}
	return nil
}

func (f *folders) sweep(emptied []bool) {
	for i := len(f.run.Dirs) - 1; i >= 0; i-- {
		f.trim()
		if emptied[i] && f.run.Dirs[i].Removable {
			gone, _ := f.remove(i) // a folder that can't be removed stays
			emptied[f.run.Dirs[i].Parent] = emptied[f.run.Dirs[i].Parent] || gone
		}
	}
}

// prune removes the empty folders that the run created, children first. It skips the used ones; nil means that none is
// used. No folder may be in use by a worker. It returns an error if an empty folder can't be removed.
func (f *folders) prune(used []bool) (failed error) {
	for i := len(f.run.Dirs) - 1; i >= 0; i-- {
		if f.run.Dirs[i].New && (used == nil || !used[i]) {
			f.trim()
			if _, err := f.remove(i); err != nil {
				failed = err
			}
		}
	}
	return failed
}

func (f *folders) pruneFrom(first int) {
	for i := len(f.run.Dirs) - 1; i >= first; i-- {
		if f.run.Dirs[i].New {
			_, _ = f.remove(i) // a folder that stays makes the rename fail
		}
	}
}

func (f *folders) remove(i int) (gone bool, _ error) {
	d := &f.run.Dirs[i]
	parent, err := f.get(d.Parent)
	if err != nil {
		return isMissing(err), nil
	}
	if !isEmpty(parent, d.Name) {
		return false, nil
	}
	f.forget(i)
	err = parent.Rmdir(d.Name)
	switch {
	case err == nil, isMissing(err):
		return true, nil
	case errors.Is(err, syscall.ENOTEMPTY), errors.Is(err, syscall.EEXIST), errors.Is(err, syscall.EBUSY):
		return false, nil // somebody uses it
	}
	return false, err
}

// isEmpty reports whether a folder is empty or missing. The system would refuse to remove a folder that is not empty,
// but trying may change the folder's times.
func isEmpty(parent Dir, name string) bool {
	dir, err := parent.OpenDir(name)
	if err != nil {
		return isMissing(err)
	}
	defer dir.Close()
	names, err := dir.Names()
	return err == nil && len(names) == 0
}
