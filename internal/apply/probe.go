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
		case !x.w.run.isTarget(i): // where nothing can be tried nothing is known
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

// inProbe does something in a folder of that name, which is removed again with what is in it.
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

// probeMoves finds out how files are moved, and whether they keep their inodes then.
func probeMoves(dir Dir) (way string, unstable bool, err error) {
	var opened Info // an open file may have another number than its name: mergerfs
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
		err = dir.Rename("a", dir, "c") // the kernel refuses a name that is taken before the file system sees the order
		switch {
		case cantExclude(err):
			way, now = "link", "a"
		case err != nil:
			return "", false, err
		}
	case err == nil: // it takes the order and replaces
		way, now = "link", "b"
	case cantExclude(err):
		way, now = "link", "a"
	default:
		return "", false, err
	}
	if way == "link" {
		if links(dir, now) {
			now = "d" // the name that a file gets there
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
		_ = dir.Unlink(n) // what stays keeps the folder, which is all
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

// firm are the types of file systems that are known to keep the inodes of their files. On others a sum of a file's ends
// is kept as well.
var firm = map[string]bool{
	"ext4": true, "xfs": true, "btrfs": true, "tmpfs": true, "f2fs": true, "zfs": true, "bcachefs": true,
	"ramfs": true, "nfs": true,
	"overlay": true, "ecryptfs": true, "ceph": true,
}

func isFirm(r *organize.Root) bool { return firm[strings.ToLower(r.Type)] && r.Inode != 0 }

// Abilities are what the file system of a folder can do, as tried out in it.
type Abilities struct {
	// Rename is how files are moved: "rename", where the kernel does it without replacing, "link", or "none".
	Rename    string
	HardLinks bool
	Reflinks  bool
	FoldsCase bool // names that differ in case alone are one name
	Inodes    bool // a renamed file keeps its inode
}

// Examine tries out what the file system of a folder can do, under names of its own that it removes again. The folder
// gets its time back.
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
