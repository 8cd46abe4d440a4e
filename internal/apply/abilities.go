package apply

import (
	"errors"
	"syscall"
)

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
	name := (&run{ID: id}).probeName()
	way, unstable, err := probeIn(root, name)
	if err == nil {
		a.Rename, a.Inodes = way, !unstable
		err = a.tryLinks(root, name)
	}
	return a, errors.Join(err, root.SetMTime(before.MTime))
}

// tryLinks tries out what a run finds out only when it needs it.
func (a *Abilities) tryLinks(root Dir, name string) error {
	if err := root.Mkdir(name); err != nil {
		return err
	}
	defer clearProbe(root, name)
	dir, err := root.OpenDir(name)
	if err != nil {
		return err
	}
	defer dir.Close()
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
