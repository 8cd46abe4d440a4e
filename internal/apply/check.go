package apply

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/anivault/anivault/internal/organize"
)

// check is a plan on the way to a run: everything is looked at and nothing is changed.
type check struct {
	engine  *Engine
	plan    *organize.Plan
	run     *run
	bundles []int
	results []Result
	ops     []op       // of the plan, in its order; those that are refused too
	at      [][2]int   // of each operation: unit and index in the plan
	bad     []*Problem // of each operation
	idle    []bool     // of each operation: it was done before
	dirs    map[string]int
	errs    map[int]*Problem // why a folder can't be used
	infos   map[int]Info     // of the folders that are there
	folders folders
	moves   map[place]int     // the name that a move frees → operation
	inodes  map[[2]uint64]int // the file that a move takes away → operation
	right   map[int]*Problem  // whether names can be made in a folder
}

// check looks at everything that a plan is about. The error is a *MountError.
func (e *Engine) check(p *organize.Plan) (*check, error) {
	for _, roots := range [][]organize.Root{p.Sources, p.Targets} {
		for _, root := range roots {
			if err := e.mounted(root); err != nil {
				return nil, err
			}
		}
	}
	c := &check{
		engine: e, plan: p, bundles: organize.Bundles(p), dirs: map[string]int{}, errs: map[int]*Problem{}, infos: map[int]Info{},
		moves: map[place]int{}, inodes: map[[2]uint64]int{}, right: map[int]*Problem{},
	}
	c.run = &run{ID: p.ID, Mode: p.Mode, Layout: p.Layout, Sources: p.Sources, Targets: p.Targets}
	c.folders = folders{system: e.System, run: c.run, open: map[int]Dir{}}
	defer c.folders.close()
	for _, roots := range [][]organize.Root{p.Sources, p.Targets} {
		for _, root := range roots {
			c.dir(root.Path, -1, root.Path)
		}
	}
	c.gather()
	for i := range c.ops {
		if c.bad[i] == nil {
			c.bad[i] = c.source(i)
		}
	}
	for i := range c.ops {
		if c.bad[i] == nil {
			c.bad[i] = c.target(i)
		}
	}
	c.space()
	c.spread()
	c.compile()
	return c, nil
}

// gather makes an operation of each line.
func (c *check) gather() {
	n := 0
	for u := range c.plan.Units {
		unit := &c.plan.Units[u]
		for k := range unit.Ops {
			line := &unit.Ops[k]
			n++
			o := op{N: n, Unit: u + 1, Bundle: c.bundles[u] + 1, Verb: line.Verb, Size: line.Size, MTime: line.MTime, Inode: line.Inode}
			var bad *Problem
			if line.Verb == organize.NFO {
				bad = problem(NotSupported)
			} else {
				o.From = c.place(c.plan.Sources[unit.Source].Path, path.Join(unit.Dir, line.Source))
				o.To = c.place(c.plan.Targets[unit.Target].Path, line.To)
			}
			c.ops, c.bad, c.idle = append(c.ops, o), append(c.bad, bad), append(c.idle, false)
			c.at = append(c.at, [2]int{u, k})
			c.results = append(c.results, Result{
				N: n, Unit: u + 1, Verb: line.Verb, Source: c.plan.SourcePath(unit, line), Target: c.plan.TargetPath(unit, line), Size: line.Size,
			})
		}
	}
}

// place returns the folder and name of a path below a root.
func (c *check) place(root, below string) place {
	at := c.dirs[root]
	dir, name := path.Split(below)
	full := root
	for part := range strings.SplitSeq(strings.TrimSuffix(dir, "/"), "/") {
		if part == "" || part == "." {
			continue
		}
		full = path.Join(full, part)
		at = c.dir(full, at, part)
	}
	return place{at, name}
}

// dir returns the index of a folder, which is looked at the first time.
func (c *check) dir(full string, parent int, name string) int {
	if i, known := c.dirs[full]; known {
		return i
	}
	i := len(c.run.Dirs)
	c.dirs[full] = i
	c.run.Dirs = append(c.run.Dirs, folder{Parent: parent, Name: name})
	d := &c.run.Dirs[i]
	if parent >= 0 && (c.errs[parent] != nil || c.run.Dirs[parent].New) {
		c.errs[i], d.New = c.errs[parent], true
		return i
	}
	c.folders.trim()
	dir, err := c.folders.get(i)
	var info Info
	if err == nil {
		info, err = dir.Stat()
	}
	switch {
	case err == nil:
		d.Mode, d.UID, d.GID, d.MTime = info.Mode, info.UID, info.GID, info.MTime
		c.infos[i] = info
	case isMissing(err):
		d.New = true
	default:
		c.errs[i], d.New = failed(err), true
	}
	return i
}

// source compares a source with what was planned, and writes down what it is known by.
func (c *check) source(i int) *Problem {
	o := &c.ops[i]
	if p := c.errs[o.From.Dir]; p != nil {
		return p
	}
	if c.run.Dirs[o.From.Dir].New {
		return problem(Changed)
	}
	c.folders.trim()
	dir, err := c.folders.get(o.From.Dir)
	if err != nil {
		return failed(err)
	}
	info, err := dir.Lstat(o.From.Name)
	switch {
	case err != nil:
		return failed(err)
	case info.Type != organize.TypeRegular:
		return problem(organize.NotRegular)
	case info.Size != o.Size || info.MTime != o.MTime || o.Inode != 0 && info.Inode != o.Inode:
		return problem(Changed)
	}
	root := c.plan.Sources[c.plan.Units[c.at[i][0]].Source]
	if !isFirm(root) {
		if o.Sum, err = ends(dir, o.From.Name, info.Size); err != nil {
			return failed(err)
		}
	}
	o.Inode, o.Birth = info.Inode, info.Birth
	if root.Inode == 0 {
		o.Inode = 0
	}
	if o.Verb == organize.Link && !c.engine.System.MayLink(info) {
		return problem(NotPermitted)
	}
	if o.Verb != organize.Move {
		return nil
	}
	c.moves[o.From] = i
	c.inodes[[2]uint64{info.Device, info.Inode}] = i
	return c.writable(o.From.Dir)
}

// writable says why names can't be changed in a folder, or in the one above it that is there.
func (c *check) writable(dir int) *Problem {
	for c.run.Dirs[dir].New {
		dir = c.run.Dirs[dir].Parent
	}
	if p, known := c.right[dir]; known {
		return p
	}
	var p *Problem
	d, err := c.folders.get(dir)
	if err == nil {
		err = d.Writable()
	}
	if err != nil {
		p = failed(fmt.Errorf("%s: %w", c.run.path(dir), err))
	}
	c.right[dir] = p
	return p
}

// target sees to it that a target's name is free, or will be.
func (c *check) target(i int) *Problem {
	o := &c.ops[i]
	if p := c.errs[o.To.Dir]; p != nil {
		holder, freed := c.fileInTheWay(o.To.Dir)
		switch {
		case !freed:
			return p
		case holder == i:
			o.Temp = -1 // its own name is to be its folder
		}
		return nil
	}
	base := o.To.Dir
	for c.run.Dirs[base].New {
		base = c.run.Dirs[base].Parent
	}
	if c.infos[base].Device != c.infos[o.From.Dir].Device {
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
		return nil
	}
	c.folders.trim()
	dir, err := c.folders.get(o.To.Dir)
	if err != nil {
		return failed(err)
	}
	info, err := dir.Lstat(o.To.Name)
	if isMissing(err) {
		return nil
	}
	if err != nil {
		return failed(err)
	}
	if o.Verb == organize.Move || o.Verb == organize.Link {
		return c.taken(i, dir, info)
	}
	return c.copyThere(i, dir, info)
}

// fits asks the file system whether it takes names as long as those that are to be made there.
func (c *check) fits(to place, base int) *Problem {
	if to.Dir == base {
		return nil // looking for the name itself says so
	}
	dir, err := c.folders.get(base)
	if err != nil {
		return failed(err)
	}
	names := []string{to.Name}
	for d := to.Dir; d != base; d = c.run.Dirs[d].Parent {
		names = append(names, c.run.Dirs[d].Name)
	}
	for _, name := range names {
		if _, err := dir.Lstat(name); errors.Is(err, syscall.ENAMETOOLONG) {
			return failed(err)
		}
	}
	return nil
}

// taken decides on a target that is there: another name of its source, a file that makes room, or something else.
func (c *check) taken(i int, dir Dir, info Info) *Problem {
	o := &c.ops[i]
	itself := info.Type == organize.TypeRegular && info.Inode == o.Inode && info.Birth == o.Birth && o.Inode != 0
	if itself && o.Verb == organize.Link {
		c.idle[i] = true
		return nil
	}
	holder, freed := c.moves[o.To]
	if !freed { // a file system that folds names has it under another spelling
		holder, freed = c.inodes[[2]uint64{info.Device, info.Inode}]
		freed = freed && c.ops[holder].From.Dir == o.To.Dir
	}
	if freed {
		h := &c.ops[holder]
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
	o := &c.ops[i]
	switch {
	case o.Verb == organize.Symlink && info.Type == organize.TypeLink:
		if text, err := dir.Readlink(o.To.Name); err == nil && text == c.run.leads(o) {
			c.idle[i] = true
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
			c.idle[i] = true
			return nil
		}
	}
	return c.taken(i, dir, info)
}

// space refuses copies for which a file system has no room: what they need and one in a hundred.
func (c *check) space() {
	need := map[uint64]int64{}
	base := func(i int) int {
		at := c.ops[i].To.Dir
		for c.run.Dirs[at].New {
			at = c.run.Dirs[at].Parent
		}
		return at
	}
	copies := func(i int) bool {
		return c.bad[i] == nil && !c.idle[i] && c.ops[i].copies() && c.ops[i].Verb != organize.Reflink
	}
	for i := range c.ops {
		if copies(i) {
			need[c.infos[base(i)].Device] += c.ops[i].Size
		}
	}
	for i := range c.ops {
		if !copies(i) {
			continue
		}
		dir, err := c.folders.get(base(i))
		var free uint64
		if err == nil {
			free, err = dir.Free()
		}
		if wanted := need[c.infos[base(i)].Device]; err == nil && uint64(wanted+wanted/100) > free {
			c.bad[i] = problem(NoSpace)
		}
	}
}

// fileInTheWay returns the operation that moves a file away which lies where a folder is to be.
func (c *check) fileInTheWay(dir int) (holder int, freed bool) {
	for d := dir; c.run.Dirs[d].Parent >= 0; d = c.run.Dirs[d].Parent {
		holder, freed = c.moves[place{c.run.Dirs[d].Parent, c.run.Dirs[d].Name}]
		if freed && c.bad[holder] == nil {
			return holder, true
		}
	}
	return 0, false
}

// spread refuses with a file all of its bundle.
func (c *check) spread() {
	bad := map[int]bool{}
	for i := range c.ops {
		if c.bad[i] != nil {
			bad[c.ops[i].Bundle] = true
		}
	}
	for i := range c.ops {
		if c.bad[i] == nil && bad[c.ops[i].Bundle] {
			c.bad[i] = problem(WithAnother)
		}
	}
}

// refuse completes the results and reports whether anything can't be carried out.
func (c *check) refuse() bool {
	any := false
	for i := range c.results {
		r := &c.results[i]
		switch {
		case c.bad[i] != nil:
			r.Status, r.Problem, any = StatusRefused, c.bad[i], true
		case c.idle[i]:
			r.Status = StatusInPlace
		default:
			r.Status = StatusPlanned
		}
	}
	return any
}

// compile puts what can be carried out in order.
func (c *check) compile() {
	number := map[[2]int]int{}
	for i, at := range c.at {
		number[at] = i
	}
	temps := 0
	aside := map[int]int{}
	steps := organize.Order(c.plan)
	for _, s := range steps {
		i := number[[2]int{s.Unit, s.Op}]
		temps = max(temps, s.Temp)
		if s.Leg != organize.Whole && c.bad[i] == nil {
			c.ops[i].Temp = s.Temp
		}
	}
	for _, s := range steps {
		i := number[[2]int{s.Unit, s.Op}]
		if c.bad[i] != nil || c.idle[i] {
			continue
		}
		if s.Leg == organize.Aside {
			aside[i] = len(c.run.Steps)
			c.run.Steps = append(c.run.Steps, step{i, organize.Aside})
			continue
		}
		if c.ops[i].Temp < 0 {
			temps++
			c.ops[i].Temp = temps
			aside[i] = len(c.run.Steps)
			c.run.Steps = append(c.run.Steps, step{i, organize.Aside})
			s.Leg = organize.Home
		}
		index := len(c.run.Ops)
		c.ops[i].Index = index
		c.run.Ops = append(c.run.Ops, c.ops[i])
		if first, two := aside[i]; two {
			c.run.Steps[first].Op = index
		}
		c.run.Steps = append(c.run.Steps, step{index, s.Leg})
	}
	c.leaves()
}

// leaves marks the folders that go away when the moves have emptied them: those below a source root that hold no root.
func (c *check) leaves() {
	holds := make([]bool, len(c.run.Dirs))
	below := make([]bool, len(c.run.Dirs))
	for i := range c.run.Dirs {
		d := &c.run.Dirs[i]
		if d.Parent >= 0 {
			below[i] = below[d.Parent]
			continue
		}
		for _, s := range c.plan.Sources {
			below[i] = below[i] || organize.IsBelow(d.Name, s.Path)
		}
		for name := path.Dir(d.Name); len(name) > 1; name = path.Dir(name) {
			if above, known := c.dirs[name]; known {
				holds[above] = true
			}
		}
	}
	for i := range c.run.Ops {
		o := &c.run.Ops[i]
		if o.Verb != organize.Move {
			continue
		}
		for at := o.From.Dir; at >= 0; at = c.run.Dirs[at].Parent {
			d := &c.run.Dirs[at]
			d.Removable = d.Parent >= 0 && !d.New && below[at] && !holds[at]
		}
	}
}
