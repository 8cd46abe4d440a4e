package apply

import (
	"errors"
	"slices"
	"syscall"

	"github.com/anivault/anivault/internal/organize"
)

// target sees to it that a target's name is free, or will be.
func (c *check) target(i int) *Problem {
	o := &c.items[i].op
	if p := c.seen[o.To.Dir].problem; p != nil {
		holder, freed := c.fileInTheWay(o.To.Dir)
		switch {
		case !freed:
			return p
		case holder == i:
			o.Temp = -1 // its own name is to be its folder
		}
		return c.compose(i)
	}
	base := c.run.base(o.To.Dir)
	if o.Verb != organize.NFO && c.seen[base].info.Device != c.seen[o.From.Dir].info.Device {
		if o.Verb == organize.Link || o.Verb == organize.Reflink {
			return problem(organize.CrossDevice)
		}
		o.Across = o.Verb == organize.Move
	}
	if p := c.writable(o.To.Dir); p != nil {
		return p
	}
	if p := c.fits(o.To, base); p != nil {
		return p
	}
	if c.run.Dirs[o.To.Dir].New {
		c.makes(i)
		return c.compose(i)
	}
	c.folders.trim()
	dir, err := c.folders.get(o.To.Dir)
	if err != nil {
		return failed(err)
	}
	info, err := dir.Lstat(o.To.Name)
	if isMissing(err) {
		c.makes(i)
		return c.compose(i)
	}
	if err != nil {
		return failed(err)
	}
	switch o.Verb {
	case organize.NFO:
		return c.noteThere(i, dir, o.To.Name, info)
	case organize.Move, organize.Link:
		return c.taken(i, dir, info)
	case organize.None, organize.Copy, organize.Symlink, organize.Reflink:
	}
	return c.copyThere(i, dir, info)
}

// surelyFits is how many bytes every file system that organize knows of takes for a name; encrypted ones take 143.
const surelyFits = 128

// fits asks the file system whether it takes names as long as those that are to be made there.
func (c *check) fits(to place, base int) *Problem {
	if to.Dir == base {
		return nil // looking for the name itself says so
	}
	dir, err := c.folders.get(base)
	if err != nil {
		return failed(err)
	}
	name := to.Name
	for d := to.Dir; ; d = c.run.Dirs[d].Parent {
		if len(name) > surelyFits {
			if _, err := dir.Lstat(name); errors.Is(err, syscall.ENAMETOOLONG) {
				return failed(err)
			}
		}
		if d == base {
			return nil
		}
		name = c.run.Dirs[d].Name
	}
}

// taken decides on a target that is there: another name of its source, a file that makes room, or something else.
func (c *check) taken(i int, dir Dir, info Info) *Problem {
	o := &c.items[i].op
	itself := info.Type == organize.TypeRegular && info.Inode == o.Inode && info.Birth == o.Birth && o.Inode != 0
	if itself && o.Verb == organize.Link {
		c.items[i].inPlace = true
		return nil
	}
	holder, freed := c.moves[o.To]
	if !freed { // a file system that folds names has it under another spelling
		holder, freed = c.inodes[[2]uint64{info.Device, info.Inode}]
		freed = freed && c.items[holder].op.From.Dir == o.To.Dir
	}
	if freed {
		h := &c.items[holder].op
		if holder != i {
			if o.Inode == h.Inode && o.Sum == h.Sum {
				return problem(organize.SameFile)
			}
			return nil
		}
		names, err := dir.Names()
		if err != nil {
			return failed(err)
		}
		if slices.Contains(names, o.From.Name) && slices.Contains(names, o.To.Name) {
			return problem(organize.Exists) // another name of its source
		}
		o.Temp = -1 // one entry under two spellings: over a temporary name
		return nil
	}
	return problem(organize.Exists)
}

// copyThere decides on a target that is there already: the copy or the link that was to be made, or something else.
func (c *check) copyThere(i int, dir Dir, info Info) *Problem {
	o := &c.items[i].op
	switch {
	case o.Verb == organize.Symlink && info.Type == organize.TypeLink:
		if text, err := dir.Readlink(o.To.Name); err == nil &&
			organize.LeadsTo(c.run.path(o.To.Dir), text) == c.run.pathOf(o.From) {
			c.items[i].inPlace = true
			return nil
		}
	case o.Verb != organize.Symlink && info.Type == organize.TypeRegular && info.Size == o.Size && info.MTime == o.MTime:
		from, err := c.folders.get(o.From.Dir)
		if err != nil {
			return failed(err)
		}
		source, err := ends(from, o.From.Name, o.Size)
		if err != nil {
			return failed(err)
		}
		if target, err := ends(dir, o.To.Name, o.Size); err == nil && source == target {
			c.items[i].inPlace = true
			return nil
		}
	}
	return c.taken(i, dir, info)
}

// space refuses the copies for which a file system has no room behind those before them: what all need and one in a
// hundred.
func (c *check) space() {
	need := map[uint64]int64{}
	copies := func(i int) bool {
		it := &c.items[i]
		return it.problem == nil && !it.inPlace && it.op.copies() && it.op.Verb != organize.Reflink
	}
	for i := range c.items {
		if !copies(i) {
			continue
		}
		c.folders.trim()
		base := c.run.base(c.items[i].op.To.Dir)
		dir, err := c.folders.get(base)
		var free uint64
		if err == nil {
			free, err = dir.Free()
		}
		device := c.seen[base].info.Device
		wanted := need[device] + c.items[i].op.Size
		if err == nil && uint64(wanted+wanted/100) > free {
			c.items[i].problem = problem(NoSpace)
			continue
		}
		need[device] = wanted
	}
}

// fileInTheWay returns the operation that moves a file away which lies where a folder is to be.
func (c *check) fileInTheWay(dir int) (holder int, freed bool) {
	for d := dir; c.run.Dirs[d].Parent >= 0; d = c.run.Dirs[d].Parent {
		holder, freed = c.moves[place{c.run.Dirs[d].Parent, c.run.Dirs[d].Name}]
		if freed && c.items[holder].problem == nil {
			return holder, true
		}
	}
	return 0, false
}
