package apply

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
)

func (r *run) probeName() string { return ".anivault-" + r.ID + "-probe" }

func (x *execution) probeRoots() (found probeResults, _ error) {
	for i := range x.run.Dirs {
		if !x.run.isProbed(i) {
			continue
		}
		root, err := x.dirs.get(i)
		var way string
		var unstable bool
		if err == nil {
			err = withProbeFolder(root, x.run.probeName(), func(dir Dir) (err error) {
				way, unstable, err = probeMoves(dir)
				return err
			})
		}
		switch {
		case !x.run.isTargetRoot(i): // a source that can't be probed is assumed to work
			found.CannotMoveBack = found.CannotMoveBack || err == nil && way == "none"
			found.UnstableInodes = found.UnstableInodes || err == nil && unstable // of a file that an undo copies back
			continue
		case err != nil:
			return found, fmt.Errorf("%s: %w", x.run.dirPath(i), err)
		}
		found.MoveByLink = found.MoveByLink || way != "rename"
		found.UnstableInodes = found.UnstableInodes || unstable
	}
	return found, nil
}

// isProbed reports whether a folder is a target root, or a source root whose files move to another file system.
func (r *run) isProbed(dir int) bool {
	return r.isTargetRoot(dir) || r.Dirs[dir].Parent < 0 &&
		slices.ContainsFunc(r.Ops, func(o op) bool { return o.CrossDevice && r.rootOf(o.From.Dir) == dir })
}

func (r *run) rootOf(dir int) int {
	for r.Dirs[dir].Parent >= 0 {
		dir = r.Dirs[dir].Parent
	}
	return dir
}

func withProbeFolder(root Dir, name string, fn func(Dir) error) error {
	clearProbe(root, name) // an interrupted run may have left it
	if err := root.Mkdir(name); err != nil {
		return err
	}
	defer clearProbe(root, name)
	dir, err := root.OpenDir(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	return fn(dir)
}

// probeMoves finds out how a file system can move files without replacing others, and whether a moved file gets another
// inode. method is "rename", "link" or "none".
func probeMoves(dir Dir) (method string, unstable bool, err error) {
	var opened Info // on mergerfs, Stat of an open file may return another inode than Lstat of its name
	for _, file := range []string{"b", "a"} {
		f, err := dir.Create(file)
		if err == nil {
			opened, err = f.Stat()
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			return "", false, err
		}
	}
	before, err := dir.Lstat("a")
	if err != nil {
		return "", false, err
	}
	method, now := "rename", "c"
	switch err = dir.Rename("a", dir, "b"); {
	case err == nil: // the file system ignores the flag and has replaced the file
		method, now = "link", "b"
	case errors.Is(err, syscall.EEXIST): // the kernel refuses taken names itself: only a free one tests the file system
		err = dir.Rename("a", dir, "c")
	}
	if lacksExclusiveRename(err) {
		method, now = "link", "a"
	} else if err != nil {
		return "", false, err
	}
	if method == "link" {
		if canLink(dir, now) {
			now = "d" // canLink has created it
		} else {
			method = "none"
		}
	}
	info, err := dir.Lstat(now)
	return method, info.Inode != before.Inode || opened.Inode != before.Inode, err
}

// canLink reports whether the file system supports hard links and counts them. It links the file to "d".
func canLink(dir Dir, name string) bool {
	if dir.Link(name, dir, "d") != nil {
		return false
	}
	info, err := dir.Lstat("d")
	return err == nil && info.Links == 2
}

func clearProbe(root Dir, name string) {
	dir, err := root.OpenDir(name)
	if err != nil {
		return
	}
	names, _ := dir.Names()
	for _, n := range names {
		_ = dir.Unlink(n) // if this fails, the probe folder remains
	}
	dir.Close()
	_ = root.Rmdir(name)
}

func (x *execution) clearProbes() {
	for i := range x.run.Dirs {
		if !x.run.isProbed(i) {
			continue
		}
		if root, err := x.dirs.get(i); err == nil {
			clearProbe(root, x.run.probeName())
		}
	}
}

// stableInodes lists the file systems whose files keep their inodes. On others, a run also records a hash of the first
// and last bytes of each file.
var stableInodes = map[string]bool{
	"ext4": true, "xfs": true, "btrfs": true, "tmpfs": true, "f2fs": true, "zfs": true, "bcachefs": true,
	"ramfs": true, "nfs": true,
	"overlay": true, "ecryptfs": true, "ceph": true,
}

// Capabilities says what the file system of a folder supports, as found by trying.
type Capabilities struct {
	// RenameMethod is how files are moved: "rename" (the kernel renames without replacing), "link" (a hard link, and then
	// the old name is removed), or "none".
	RenameMethod string
	HardLinks    bool
	Reflinks     bool
	FoldsCase    bool // names that differ only in case belong to the same file
	StableInodes bool // a renamed file keeps its inode
}

// ProbeCapabilities finds out what the file system of a folder supports, using a temporary folder that it removes
// afterwards. It restores the folder's time.
func ProbeCapabilities(system FS, path, id string) (a Capabilities, err error) {
	root, err := system.Open(path)
	if err != nil {
		return a, err
	}
	defer root.Close()
	before, err := root.Stat()
	if err != nil {
		return a, err
	}
	name := (&run{runHeader: runHeader{ID: id}}).probeName()
	err = withProbeFolder(root, name, func(dir Dir) error {
		way, unstable, err := probeMoves(dir)
		a.RenameMethod, a.StableInodes = way, !unstable
		return err
	})
	if err == nil {
		err = withProbeFolder(root, name, a.probeLinks)
	}
	return a, errors.Join(err, ignoreForbidden(root.SetMTime(before.MTime)))
}

func (a *Capabilities) probeLinks(dir Dir) error {
	file, err := dir.Create("a")
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.WriteAt(make([]byte, 4096), 0); err != nil {
		return err
	}
	switch _, err := dir.Lstat("A"); {
	case err == nil:
		a.FoldsCase = true
	case !errors.Is(err, syscall.ENOENT):
		return err
	}
	a.HardLinks = canLink(dir, "a")
	twin, err := dir.Create("twin")
	if err != nil {
		return err
	}
	a.Reflinks = twin.Clone(file) == nil
	return twin.Close()
}
