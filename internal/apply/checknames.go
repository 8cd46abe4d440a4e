package apply

import (
	"errors"

	"github.com/anivault/anivault/internal/organize"
)

// freshName is a name that is to be made in a folder that is there, and the operation that needs it.
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

// emptied returns the folders out of which, or out of one below, a move takes a file.
func (c *check) emptied() map[int]bool {
	out := map[int]bool{}
	for from := range c.moves {
		for at := from.Dir; at >= 0 && !out[at]; at = c.run.Dirs[at].Parent {
			out[at] = true
		}
	}
	return out
}

// givesWay reports whether the run moves away what has a name: a file, or what is in a folder that gets a name in
// another case.
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

// alike decides on a target beside which something lies that has its name in another case or normal form.
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
