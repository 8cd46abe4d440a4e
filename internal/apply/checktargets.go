package apply

import (
	"errors"
	"slices"
	"syscall"

	"github.com/anivault/anivault/internal/organize"
)

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

func (c *check) fileInTheWay(dir int) (holder int, freed bool) {
	for d := dir; c.run.Dirs[d].Parent >= 0; d = c.run.Dirs[d].Parent {
		holder, freed = c.moves[place{c.run.Dirs[d].Parent, c.run.Dirs[d].Name}]
		if freed && c.items[holder].problem == nil {
			return holder, true
		}
	}
	return 0, false
}

type freshName struct {
	name string
	op   int
}

// makes notes which name an operation makes first in a folder that is there: its own, or that of the topmost new
// folder.
func (c *check) makes(i int) {
	at := c.items[i].op.To
	for c.run.Dirs[at.Dir].New {
		at = place{c.run.Dirs[at.Dir].Parent, c.run.Dirs[at.Dir].Name}
	}
	c.seen[at.Dir].fresh = append(c.seen[at.Dir].fresh, freshName{at.Name, i})
}

// spellings refuses names that differ from one that is there in case or normal form alone: whatever this file system
// does, some client would see only one of the two. Planning has looked, so this one came since. Each folder is listed
// once.
func (c *check) spellings() {
	var emptied map[int]bool
	for at := range c.seen {
		if len(c.seen[at].fresh) == 0 {
			continue
		}
		if emptied == nil {
			emptied = c.emptied()
		}
		c.folders.trim()
		dir, err := c.folders.get(at)
		if err != nil {
			continue // its operations are refused
		}
		names, err := dir.Names()
		if err != nil || len(names) == 0 {
			continue // it may be written to and not be read
		}
		wanted := map[string][]freshName{}
		for _, s := range c.seen[at].fresh {
			key := organize.FoldName(s.name)
			wanted[key] = append(wanted[key], s)
		}
		for _, name := range names {
			for _, s := range wanted[organize.FoldName(name)] {
				if name != s.name && c.items[s.op].problem == nil && !c.items[s.op].inPlace && !c.givesWay(at, name, emptied) {
					c.items[s.op].problem = c.alike(s.op, dir, name)
				}
			}
		}
	}
}

func (c *check) emptied() map[int]bool {
	out := map[int]bool{}
	for from := range c.moves {
		for at := from.Dir; at >= 0 && !out[at]; at = c.run.Dirs[at].Parent {
			out[at] = true
		}
	}
	return out
}

func (c *check) givesWay(dir int, name string, emptied map[int]bool) bool {
	if holder, freed := c.moves[place{dir, name}]; freed {
		return c.items[holder].problem == nil
	}
	for i := range emptied {
		if d := &c.run.Dirs[i]; d.Parent == dir && d.Name == name {
			return true
		}
	}
	return false
}

func (c *check) alike(i int, dir Dir, name string) *Problem {
	if c.items[i].op.Verb == organize.NFO && !c.run.Dirs[c.items[i].op.To.Dir].New {
		info, err := dir.Lstat(name)
		if err != nil {
			return failed(err)
		}
		return c.noteThere(i, dir, name, info)
	}
	return &Problem{Code: organize.Exists, Err: errors.New(name)}
}
