package apply

import (
	"errors"
	"maps"
	"slices"
	"syscall"

	"github.com/anivault/anivault/internal/nfo"
	"github.com/anivault/anivault/internal/organize"
)

func (c *check) target(it *item) *Problem {
	o := &it.op
	if p := c.seen[o.To.Dir].problem; p != nil {
		switch holder := c.fileInTheWay(o.To.Dir); holder {
		case nil:
			return p
		case it:
			o.Temp = -1 // the file's own name becomes the name of its folder
		}
		return c.compose(it)
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
		return c.compose(it)
	}
	c.folders.trim()
	dir, err := c.folders.get(o.To.Dir)
	if err != nil {
		return failed(err)
	}
	info, err := dir.Lstat(o.To.Name)
	if isMissing(err) {
		return c.compose(it)
	}
	if err != nil {
		return failed(err)
	}
	switch o.Verb {
	case organize.NFO:
		return c.noteThere(it, dir, o.To.Name, info)
	case organize.Move, organize.Link:
		return c.taken(it, dir, info)
	case organize.None, organize.Copy, organize.Symlink, organize.Reflink:
	}
	return c.copyThere(it, dir, info)
}

// surelyFits is a name length in bytes that every supported file system allows. Encrypting ones have the lowest limit,
// 143.
const surelyFits = 128

func (c *check) fits(to place, base int) *Problem {
	if to.Dir == base {
		return nil // Lstat of the name itself reports it
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

func (c *check) taken(it *item, dir Dir, info Info) *Problem {
	o := &it.op
	itself := info.Type == organize.TypeRegular && info.Inode == o.Inode && info.Birth == o.Birth && o.Inode != 0
	if itself && o.Verb == organize.Link {
		it.inPlace = true
		return nil
	}
	holder := c.moves[o.To]
	if holder == nil { // a case-insensitive file system has the file under another spelling
		holder = c.inodes[[2]uint64{info.Device, info.Inode}]
	}
	switch {
	case holder == nil || holder.op.From.Dir != o.To.Dir:
		return problem(organize.Exists)
	case holder == it:
		names, err := dir.Names()
		if err != nil {
			return failed(err)
		}
		if slices.Contains(names, o.From.Name) && slices.Contains(names, o.To.Name) {
			return problem(organize.Exists) // two hard links of one file
		}
		o.Temp = -1 // one entry under two spellings: rename it through a temporary name
	case o.Inode == holder.op.Inode && o.Sum == holder.op.Sum:
		return problem(organize.SameFile)
	}
	return nil
}

func (c *check) copyThere(it *item, dir Dir, info Info) *Problem {
	o := &it.op
	switch {
	case o.Verb == organize.Symlink && info.Type == organize.TypeLink:
		if text, err := dir.Readlink(o.To.Name); err == nil &&
			organize.LeadsTo(c.run.path(o.To.Dir), text) == c.run.pathOf(o.From) {
			it.inPlace = true
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
			it.inPlace = true
			return nil
		}
	}
	return c.taken(it, dir, info)
}

func (c *check) space() {
	need := map[uint64]int64{}
	for i := range c.items {
		it := &c.items[i]
		if it.problem != nil || it.inPlace || !it.op.copies() || it.op.Verb == organize.Reflink {
			continue
		}
		c.folders.trim()
		base := c.run.base(it.op.To.Dir)
		dir, err := c.folders.get(base)
		var free uint64
		if err == nil {
			free, err = dir.Free()
		}
		device := c.seen[base].info.Device
		wanted := need[device] + it.op.Size
		if err == nil && uint64(wanted+wanted/100) > free {
			it.problem = problem(NoSpace)
			continue
		}
		need[device] = wanted
	}
}

// fileInTheWay returns the move of a file whose name is needed for a folder; nil if there is none.
func (c *check) fileInTheWay(dir int) *item {
	for d := dir; c.run.Dirs[d].Parent >= 0; d = c.run.Dirs[d].Parent {
		if holder := c.moves[place{c.run.Dirs[d].Parent, c.run.Dirs[d].Name}]; holder != nil && holder.problem == nil {
			return holder
		}
	}
	return nil
}

// spellings refuses a new name that differs only in case or Unicode normalization from an existing one. On a
// case-sensitive file system both can exist, but some clients would see only one of them. Planning has checked this
// too, so such a name was created since then. Each folder is listed once.
func (c *check) spellings() {
	fresh := map[int][]freshName{} // by existing folder
	for i := range c.items {
		if it := &c.items[i]; it.problem == nil && !it.inPlace {
			at := it.op.To
			for c.run.Dirs[at.Dir].New { // the topmost new folder is created first
				at = place{c.run.Dirs[at.Dir].Parent, c.run.Dirs[at.Dir].Name}
			}
			fresh[at.Dir] = append(fresh[at.Dir], freshName{at.Name, it})
		}
	}
	emptied := c.emptied()
	for _, at := range slices.Sorted(maps.Keys(fresh)) {
		c.folders.trim()
		dir, err := c.folders.get(at)
		if err != nil {
			continue // its operations are refused elsewhere
		}
		names, err := dir.Names()
		if err != nil || len(names) == 0 {
			continue // a folder may be writable but not readable
		}
		byKey := map[string][]freshName{}
		for _, f := range fresh[at] {
			key := organize.FoldName(f.name)
			byKey[key] = append(byKey[key], f)
		}
		for _, name := range names {
			for _, f := range byKey[organize.FoldName(name)] {
				if name != f.name && f.problem == nil && !f.inPlace && !c.givesWay(at, name, emptied) {
					f.problem = c.alike(f.item, dir, name)
				}
			}
		}
	}
}

// freshName is a name that the run creates in an existing folder, and the item that needs it.
type freshName struct {
	name string
	*item
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
	if holder := c.moves[place{dir, name}]; holder != nil {
		return holder.problem == nil
	}
	for i := range emptied {
		if d := &c.run.Dirs[i]; d.Parent == dir && d.Name == name {
			return true
		}
	}
	return false
}

func (c *check) alike(it *item, dir Dir, name string) *Problem {
	if it.op.Verb == organize.NFO && !c.run.Dirs[it.op.To.Dir].New {
		info, err := dir.Lstat(name)
		if err != nil {
			return failed(err)
		}
		return c.noteThere(it, dir, name, info)
	}
	return &Problem{Code: organize.Exists, Err: errors.New(name)}
}

func (c *check) compose(it *item) *Problem {
	o := &it.op
	if o.Verb != organize.NFO {
		return nil
	}
	var text []byte
	if c.engine.Note != nil {
		text = c.engine.Note(c.ctx, it.line.Note)
	}
	if len(text) == 0 {
		return problem(NotCached)
	}
	o.Text, o.Size = string(text), int64(len(text))
	it.result.Size = o.Size
	return nil
}

const mostNote = 1 << 20

func (c *check) noteThere(it *item, dir Dir, name string, info Info) *Problem {
	if holder := c.moves[it.op.To]; holder != nil && holder.problem == nil {
		return c.compose(it)
	}
	if info.Type == organize.TypeRegular {
		text, err := readUpTo(dir, name, mostNote)
		if err != nil {
			return failed(err)
		}
		of := it.line.Note
		if about, _ := nfo.IsAbout(text, of.Kind, of.ID); about {
			it.inPlace = true
			return nil
		}
	}
	return problem(ForeignNFO)
}
