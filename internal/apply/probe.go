package apply

import (
	"errors"
	"slices"
	"strings"
	"syscall"

	"github.com/anivault/anivault/internal/organize"
)

func (r *run) probeName() string { return ".anivault-" + r.ID + "-probe" }

func (x *execution) probe() (found findings, _ error) {
	for i := range x.w.run.Dirs {
		if !x.w.run.isProbed(i) {
			continue
		}
		root, err := x.w.dirs.get(i)
		var way string
		var unstable bool
		if err == nil {
			err = inProbe(root, x.w.run.probeName(), func(dir Dir) (err error) {
				way, unstable, err = probeMoves(dir)
				return err
			})
		}
		switch {
		case !x.w.run.isTarget(i): // a source that can't be probed stays unknown
			found.OneWay = found.OneWay || err == nil && way == "none"
			continue
		case err != nil:
			return found, err
		}
		found.MoveByLink = found.MoveByLink || way != "rename"
		found.UnstableInodes = found.UnstableInodes || unstable
	}
	return found, nil
}

func (r *run) isProbed(dir int) bool {
	return r.isTarget(dir) || r.Dirs[dir].Parent < 0 &&
		slices.ContainsFunc(r.Ops, func(o op) bool { return o.Across && r.rootOf(o.From.Dir) == dir })
}

func (r *run) rootOf(dir int) int {
	for r.Dirs[dir].Parent >= 0 {
		dir = r.Dirs[dir].Parent
	}
	return dir
}

// inProbe creates a folder, calls do with it, and removes it with its content.
func inProbe(root Dir, name string, do func(Dir) error) error {
	clearProbe(root, name) // of an interrupted run
	if err := root.Mkdir(name); err != nil {
		return err
	}
	defer clearProbe(root, name)
	dir, err := root.OpenDir(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	return do(dir)
}

// probeMoves finds out how the file system can move files, and whether a moved file keeps its inode.
func probeMoves(dir Dir) (way string, unstable bool, err error) {
	var opened Info // on mergerfs, an open file may have another inode number than its name
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
	way, now := "rename", "c"
	switch err := dir.Rename("a", dir, "b"); {
	case errors.Is(err, syscall.EEXIST):
		err = dir.Rename("a", dir, "c") // the kernel checks this before it asks the file system: try a free name
		switch {
		case cantExclude(err):
			way, now = "link", "a"
		case err != nil:
			return "", false, err
		}
	case err == nil: // the file system accepts the flag but replaces the file
		way, now = "link", "b"
	case cantExclude(err):
		way, now = "link", "a"
	default:
		return "", false, err
	}
	if way == "link" {
		if links(dir, now) {
			now = "d" // links creates it
		} else {
			way = "none"
		}
	}
	info, err := dir.Lstat(now)
	return way, info.Inode != before.Inode || opened.Inode != before.Inode, err
}

func links(dir Dir, name string) bool {
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
		_ = dir.Unlink(n) // a file that stays only keeps the folder
	}
	dir.Close()
	_ = root.Rmdir(name)
}

func (x *execution) unprobe() {
	for i := range x.w.run.Dirs {
		if !x.w.run.isProbed(i) {
			continue
		}
		if root, err := x.w.dirs.get(i); err == nil {
			clearProbe(root, x.w.run.probeName())
		}
	}
}

// stableInodes lists the file systems that keep the inodes of their files. On others, a run also records a sum of each
// file's first and last bytes.
var stableInodes = map[string]bool{
	"ext4": true, "xfs": true, "btrfs": true, "tmpfs": true, "f2fs": true, "zfs": true, "bcachefs": true,
	"ramfs": true, "nfs": true,
	"overlay": true, "ecryptfs": true, "ceph": true,
}

func hasStableInodes(r *organize.Root) bool {
	return stableInodes[strings.ToLower(r.Type)] && r.Inode != 0
}

// Abilities are what the file system of a folder supports, found by trying.
type Abilities struct {
	// Rename is how files are moved: "rename" (the kernel renames without replacing), "link", or "none".
	Rename    string
	HardLinks bool
	Reflinks  bool
	FoldsCase bool // names that differ only in case are the same
	Inodes    bool // a renamed file keeps its inode
}

// Examine tries out what the file system of a folder supports, in a temporary folder that it removes again. It restores
// the folder's time.
func Examine(system FS, path, id string) (a Abilities, err error) {
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
	err = inProbe(root, name, func(dir Dir) error {
		way, unstable, err := probeMoves(dir)
		a.Rename, a.Inodes = way, !unstable
		return err
	})
	if err == nil {
		err = inProbe(root, name, a.tryLinks)
	}
	return a, errors.Join(err, root.SetMTime(before.MTime))
}

func (a *Abilities) tryLinks(dir Dir) error {
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
	a.HardLinks = links(dir, "a")
	twin, err := dir.Create("twin")
	if err != nil {
		return err
	}
	a.Reflinks = twin.Clone(file) == nil
	return twin.Close()
}
