package apply

import (
	"cmp"
	"errors"
	"maps"
	"path"
	"slices"
	"syscall"

	"github.com/anivault/anivault/internal/nfo"
	"github.com/anivault/anivault/internal/organize"
)

func (c *planChecker) checkTarget(it *plannedOp) *Problem {
	o := &it.op
	if p := c.folderStates[o.To.Dir].problem; p != nil {
		switch holder := c.fileInTheWay(o.To.Dir); holder {
		case nil:
			return p
		case it:
			o.TempNumber = -1 // the file moves into a folder that gets the file's old name
		}
		return c.prepareNFO(it)
	}
	base := c.run.existingBase(o.To.Dir)
	from, to := &c.folderStates[o.From.Dir].info, &c.folderStates[base].info
	otherDevice := from.Device != to.Device
	elsewhere := otherDevice || organize.AreOtherMounts(from.Mount, to.Mount) // no hard link or rename can cross to it
	switch {
	case o.Verb == organize.VerbLink && elsewhere, o.Verb == organize.VerbReflink && otherDevice:
		return newProblem(organize.CodeCrossDevice)
	case o.Verb == organize.VerbMove:
		o.CrossDevice = elsewhere
	}
	if p := cmp.Or(c.folders.checkWritable(base), c.checkReadable(o), c.checkNameLengths(o.To, base)); p != nil {
		return p
	}
	if c.run.Dirs[o.To.Dir].New {
		return c.prepareNFO(it)
	}
	dir, err := c.folders.getAndTrim(o.To.Dir)
	if err != nil {
		return asProblem(err)
	}
	info, err := dir.Lstat(o.To.Name)
	if isMissing(err) {
		return c.prepareNFO(it)
	}
	if err != nil {
		return asProblem(err)
	}
	switch o.Verb {
	case organize.VerbNFO:
		return c.checkExistingNFO(it, dir, o.To.Name, info)
	case organize.VerbMove, organize.VerbLink:
		return c.checkExisting(it, dir, info)
	default:
		return c.checkExistingCopy(it, dir, info)
	}
}

func (c *planChecker) checkReadable(o *op) *Problem {
	if !o.copiesContent() {
		return nil
	}
	dir, err := c.folders.getAndTrim(o.From.Dir)
	if err != nil {
		return asProblem(err)
	}
	file, err := dir.OpenForReading(o.From.Name)
	if err == nil {
		file.Close()
	}
	return asProblem(err)
}

// safeNameLength is a number of bytes that every file system allows. Encrypting ones have the lowest limit, 143.
const safeNameLength = 128

func (c *planChecker) checkNameLengths(to place, base int) *Problem {
	if to.Dir == base {
		return nil // the caller's Lstat of the name reports the error
	}
	dir, err := c.folders.get(base)
	if err != nil {
		return asProblem(err)
	}
	name := to.Name
	for d := to.Dir; ; d = c.run.Dirs[d].Parent {
		if len(name) > safeNameLength {
			if _, err := dir.Lstat(name); errors.Is(err, syscall.ENAMETOOLONG) {
				return asProblem(err)
			}
		}
		if d == base {
			return nil
		}
		name = c.run.Dirs[d].Name
	}
}

// checkExisting decides whether an existing file at the target is a problem: not if it is the operation's own file, or
// if another move takes it away first.
func (c *planChecker) checkExisting(it *plannedOp, dir Dir, info Info) *Problem {
	o := &it.op
	itself := info.Type == organize.TypeRegular && o.isInode(info) && o.Inode != 0
	if itself && o.Verb == organize.VerbLink {
		it.inPlace = true
		return nil
	}
	// On a case-insensitive file system, the name may have another spelling.
	holder := cmp.Or(c.moveBySource[o.To], c.moveByInode[[2]uint64{info.Device, info.Inode}])
	switch {
	case holder == nil || holder.op.From.Dir != o.To.Dir:
		return newProblem(organize.CodeExists)
	case holder == it:
		names, err := dir.Names()
		if err != nil {
			return asProblem(err)
		}
		if slices.Contains(names, o.From.Name) && slices.Contains(names, o.To.Name) {
			return newProblem(organize.CodeExists) // two hard links of one file
		}
		o.TempNumber = -1 // both names are one directory entry: rename it through a temporary name
	case o.Inode == holder.op.Inode && o.EndsSum == holder.op.EndsSum:
		return newProblem(organize.CodeSameFile)
	}
	return nil
}

func (c *planChecker) checkExistingCopy(it *plannedOp, dir Dir, info Info) *Problem {
	o := &it.op
	switch {
	case o.Verb == organize.VerbSymlink && info.Type == organize.TypeLink:
		if text, err := dir.Readlink(o.To.Name); err == nil &&
			organize.LinkTarget(c.run.dirPath(o.To.Dir), text) == c.run.pathOf(o.From) {
			it.inPlace = true
			return nil
		}
	case o.Verb != organize.VerbSymlink && info.Type == organize.TypeRegular &&
		info.Size == o.Size && o.MTime.IsCopiedAs(info.MTime):
		var source uint64
		from, err := c.folders.get(o.From.Dir)
		if err == nil {
			source, err = hashEnds(from, o.From.Name, o.Size)
		}
		if err != nil {
			return asProblem(err)
		}
		if target, err := hashEnds(dir, o.To.Name, o.Size); err == nil && source == target {
			it.inPlace = true
			return nil
		}
	}
	return c.checkExisting(it, dir, info)
}

// checkSpace refuses copies for which the file system has too little free space, keeping a reserve of 1 %.
func (c *planChecker) checkSpace() {
	need := map[uint64]int64{}
	for i := range c.plannedOps {
		it := &c.plannedOps[i]
		if it.problem != nil || it.inPlace || !it.op.copiesContent() || it.op.Verb == organize.VerbReflink {
			continue
		}
		base := c.run.existingBase(it.op.To.Dir)
		dir, err := c.folders.getAndTrim(base)
		var free uint64
		if err == nil {
			free, err = dir.FreeBytes()
		}
		device := c.folderStates[base].info.Device
		wanted := need[device] + it.op.Size
		if err == nil && uint64(wanted+wanted/100) > free {
			it.problem = newProblem(CodeNoSpace)
			continue
		}
		need[device] = wanted
	}
}

// fileInTheWay returns the move of a file that occupies the name of a folder or of a parent; nil if there is none.
func (c *planChecker) fileInTheWay(dir int) *plannedOp {
	for d := dir; c.run.Dirs[d].Parent >= 0; d = c.run.Dirs[d].Parent {
		if holder := c.moveBySource[place{c.run.Dirs[d].Parent, c.run.Dirs[d].Name}]; holder != nil && holder.problem == nil {
			return holder
		}
	}
	return nil
}

// checkSpellings refuses a new name that differs only in case or Unicode normalization from an existing one. On a
// case-sensitive file system both can exist, but some clients would see only one of them. Planning has checked this
// too, so only names created since then can be refused. It lists each folder once.
func (c *planChecker) checkSpellings() {
	fresh := map[int][]newName{} // by existing folder
	for i := range c.plannedOps {
		if it := &c.plannedOps[i]; it.problem == nil && !it.inPlace {
			at := it.op.To
			for c.run.Dirs[at.Dir].New { // check the topmost new folder: only its name meets existing ones
				at = place{c.run.Dirs[at.Dir].Parent, c.run.Dirs[at.Dir].Name}
			}
			fresh[at.Dir] = append(fresh[at.Dir], newName{at.Name, it})
		}
	}
	emptied := map[int]bool{}
	for from := range c.moveBySource {
		for at := from.Dir; at >= 0 && !emptied[at]; at = c.run.Dirs[at].Parent {
			emptied[at] = true
		}
	}
	for _, at := range slices.Sorted(maps.Keys(fresh)) {
		dir, err := c.folders.getAndTrim(at)
		if err != nil {
			continue // checkTarget has refused the operations in this folder
		}
		names, err := dir.Names()
		if err != nil || len(names) == 0 {
			continue // a folder may be writable but not readable
		}
		byKey := map[string][]newName{}
		for _, f := range fresh[at] {
			key := organize.FoldName(f.name)
			byKey[key] = append(byKey[key], f)
		}
		for _, name := range names {
			for _, f := range byKey[organize.FoldName(name)] {
				if name != f.name && f.problem == nil && !f.inPlace && !c.willBeFree(at, name, emptied) {
					f.problem = c.checkSimilarName(f.plannedOp, dir, name)
				}
			}
		}
	}
}

// newName is a name that the run creates in an existing folder, and the operation that needs it.
type newName struct {
	name string
	*plannedOp
}

// willBeFree reports whether moves take away the file with the name, or files from the folder with the name.
func (c *planChecker) willBeFree(dir int, name string, emptied map[int]bool) bool {
	if holder := c.moveBySource[place{dir, name}]; holder != nil {
		return holder.problem == nil
	}
	i, ok := c.dirIndexes[path.Join(c.run.dirPath(dir), name)]
	return ok && emptied[i] && c.run.Dirs[i].Parent == dir
}

func (c *planChecker) checkSimilarName(it *plannedOp, dir Dir, name string) *Problem {
	if it.op.Verb == organize.VerbNFO && !c.run.Dirs[it.op.To.Dir].New {
		info, err := dir.Lstat(name)
		if err != nil {
			return asProblem(err)
		}
		return c.checkExistingNFO(it, dir, name, info)
	}
	return &Problem{Code: organize.CodeExists, Err: errors.New(name)}
}

// prepareNFO renders the content of an NFO file. It does nothing for other operations.
func (c *planChecker) prepareNFO(it *plannedOp) *Problem {
	o := &it.op
	if o.Verb != organize.VerbNFO {
		return nil
	}
	var text []byte
	if c.engine.NFOContent != nil {
		text = c.engine.NFOContent(c.ctx, it.planOp.NFO)
	}
	if len(text) == 0 {
		return newProblem(CodeNotCached)
	}
	o.Text, o.Size = string(text), int64(len(text))
	return nil
}

const maxNFOSize = 1 << 20

// checkExistingNFO accepts an existing NFO file as in place if it is about the same series, film or episode.
func (c *planChecker) checkExistingNFO(it *plannedOp, dir Dir, name string, info Info) *Problem {
	if holder := c.moveBySource[it.op.To]; holder != nil && holder.problem == nil {
		return c.prepareNFO(it)
	}
	if info.Type == organize.TypeRegular {
		text, err := readUpTo(dir, name, maxNFOSize)
		if err != nil {
			return asProblem(err)
		}
		of := it.planOp.NFO
		if about, _ := nfo.IsAbout(text, of.Kind, of.ID); about {
			it.inPlace = true
			return nil
		}
	}
	return newProblem(CodeForeignNFO)
}
