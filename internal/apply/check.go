package apply

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/anivault/anivault/internal/organize"
)

// check turns a plan into a run. It looks at every file and folder, and changes nothing.
type check struct {
	ctx      context.Context
	engine   *Engine
	plan     *organize.Plan
	run      *run
	items    []item // in the plan's order, including refused ones
	first    []int  // the index of each unit's first item
	seen     []seenFolder
	dirs     map[string]int
	parts    map[[2]string]int // index in run.Dirs, by root and by folder below it
	separate bool              // no target overlaps a source, so no move frees a name that another takes
	folders  folders
	moves    map[place]*item     // by the name that the move frees
	inodes   map[[2]uint64]*item // by device and inode of the file to move
}

type item struct {
	op      op
	line    *organize.Op
	source  *organize.Root
	problem *Problem
	inPlace bool // carried out by an earlier run
	result  Result
}

type seenFolder struct {
	info    Info     // if the folder exists
	problem *Problem // why the folder can't be used
	asked   bool     // refused is known
	refused *Problem // why no names can be created in it
}

func (e *Engine) check(ctx context.Context, p *organize.Plan, absolute bool) (*check, error) {
	roots := slices.Concat(p.Sources, p.Targets)
	for _, root := range roots {
		if gone := e.mounted(root); gone != nil {
			return nil, gone
		}
	}
	c := &check{
		ctx: ctx, engine: e, plan: p, separate: organize.Separate(p.Sources, p.Targets),
		dirs: map[string]int{}, parts: map[[2]string]int{}, moves: map[place]*item{}, inodes: map[[2]uint64]*item{},
	}
	c.run = &run{runHeader: runHeader{
		ID: p.ID, Mode: p.Mode, Layout: p.Layout, Absolute: absolute, Sources: p.Sources, Targets: p.Targets,
	}}
	c.folders = folders{system: e.System, run: c.run, open: map[int]Dir{}}
	defer c.folders.close()
	for _, root := range roots {
		c.dir(root.Path, -1, root.Path)
	}
	c.gather(organize.Bundles(p))
	c.sources()
	for i := range c.items {
		if it := &c.items[i]; it.problem == nil {
			it.problem = c.target(it)
		}
	}
	c.spellings()
	c.space()
	c.spread()
	c.compile()
	return c, nil
}

func (c *check) gather(bundles []int) {
	n := 0
	for u := range c.plan.Units {
		n += len(c.plan.Units[u].Ops)
	}
	c.items = make([]item, 0, n)
	for u := range c.plan.Units {
		unit := &c.plan.Units[u]
		c.first = append(c.first, len(c.items))
		for k := range unit.Ops {
			line, n := &unit.Ops[k], len(c.items)+1
			o := op{
				N: n, Unit: u + 1, Bundle: bundles[u] + 1, Verb: line.Verb, Size: line.Size, MTime: line.MTime,
				Inode: line.Inode, To: c.place(c.plan.Targets[unit.Target].Path, "", line.To),
			}
			o.From = o.To
			if line.Verb != organize.NFO {
				o.From = c.place(c.plan.Sources[unit.Source].Path, unit.Dir, line.Source)
			}
			c.items = append(c.items, item{op: o, line: line, source: &c.plan.Sources[unit.Source], result: Result{
				N: n, Unit: u + 1, Verb: line.Verb, Size: line.Size,
				Source: c.plan.SourcePath(unit, line), Target: c.plan.TargetPath(unit, line),
			}})
		}
	}
}

func (c *check) place(root, folder, below string) place {
	dir, name := path.Split(below)
	if dir != "" && folder != "" {
		folder = path.Join(folder, dir)
	} else if dir != "" {
		folder = dir
	}
	key := [2]string{root, folder}
	at, known := c.parts[key]
	if known {
		return place{at, name}
	}
	at = c.dirs[root]
	full := root
	for part := range strings.SplitSeq(strings.TrimSuffix(folder, "/"), "/") {
		if part == "" || part == "." {
			continue
		}
		full = path.Join(full, part)
		at = c.dir(full, at, part)
	}
	c.parts[key] = at
	return place{at, name}
}

func (c *check) dir(full string, parent int, name string) int {
	if i, known := c.dirs[full]; known {
		return i
	}
	i := len(c.run.Dirs)
	c.dirs[full] = i
	c.run.Dirs = append(c.run.Dirs, folder{Parent: parent, Name: name})
	c.seen = append(c.seen, seenFolder{})
	d := &c.run.Dirs[i]
	if parent >= 0 && (c.seen[parent].problem != nil || c.run.Dirs[parent].New) {
		c.seen[i].problem, d.New = c.seen[parent].problem, true
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
		c.seen[i].info = info
	case isMissing(err):
		d.New = true
	default:
		c.seen[i].problem, d.New = failed(err), true
	}
	return i
}

// sources checks all sources, with several workers, and then records the names that the moves free.
func (c *check) sources() {
	inodes := make([]uint64, len(c.items))
	parallel(split(len(c.items), c.engine.Workers), func(_, first, end int) {
		open := folders{system: c.folders.system, run: c.run, open: map[int]Dir{}}
		defer open.close()
		for i := first; i < end; i++ {
			if it := &c.items[i]; it.problem == nil && it.op.Verb != organize.NFO {
				inodes[i], it.problem = c.source(it, &open)
			}
		}
	})
	for i := range c.items {
		if it := &c.items[i]; it.problem == nil && it.op.Verb == organize.Move {
			from := it.op.From
			if !c.separate {
				c.moves[from] = it
				c.inodes[[2]uint64{c.seen[from.Dir].info.Device, inodes[i]}] = it
			}
			it.problem = c.writable(from.Dir)
		}
	}
}

// source compares a source with the plan and returns its current inode.
func (c *check) source(it *item, open *folders) (inode uint64, _ *Problem) {
	o := &it.op
	if p := c.seen[o.From.Dir].problem; p != nil {
		return 0, p
	}
	if c.run.Dirs[o.From.Dir].New {
		return 0, problem(Changed)
	}
	open.trim()
	dir, err := open.get(o.From.Dir)
	if err != nil {
		return 0, failed(err)
	}
	info, err := dir.Lstat(o.From.Name)
	switch {
	case err != nil:
		return 0, failed(err)
	case info.Type != organize.TypeRegular:
		return 0, problem(organize.NotRegular)
	case info.Size != o.Size || info.MTime != o.MTime || o.Inode != 0 && info.Inode != o.Inode:
		return 0, problem(Changed)
	}
	if !hasStableInodes(it.source) {
		if o.Sum, err = ends(dir, o.From.Name, info.Size); err != nil {
			return 0, failed(err)
		}
	}
	o.Inode, o.Birth = info.Inode, info.Birth
	if it.source.Inode == 0 {
		o.Inode = 0
	}
	if o.Verb == organize.Link && !c.engine.System.MayLink(info) {
		return 0, problem(NotPermitted)
	}
	return info.Inode, nil
}

func (c *check) writable(dir int) *Problem {
	dir = c.run.base(dir)
	if seen := &c.seen[dir]; !seen.asked {
		seen.refused, seen.asked = c.folders.writable(dir), true
	}
	return c.seen[dir].refused
}

// spread refuses the whole bundle of each file that can't be carried out.
func (c *check) spread() {
	bad := map[int]bool{}
	for i := range c.items {
		if it := &c.items[i]; it.problem != nil && !it.problem.isLeft() {
			bad[it.op.Bundle] = true
		}
	}
	for i := range c.items {
		if it := &c.items[i]; it.problem == nil && bad[it.op.Bundle] {
			it.problem = problem(WithAnother)
		}
	}
}

// refuse fills in the results and reports whether anything can't be carried out.
func (c *check) refuse() bool {
	any := false
	for i := range c.items {
		it := &c.items[i]
		it.result.Problem = it.problem
		switch {
		case it.problem != nil && it.problem.isLeft():
			it.result.Status = StatusLeft
		case it.problem != nil:
			it.result.Status, any = StatusRefused, true
		case it.inPlace:
			it.result.Status = StatusInPlace
		default:
			it.result.Status = StatusPlanned
		}
	}
	return any
}

func (c *check) compile() {
	temps := 0
	aside := map[*item]int{} // index of the step, for moves through a temporary name
	steps := organize.Order(c.plan)
	c.run.Ops, c.run.Steps = make([]op, 0, len(c.items)), make([]step, 0, len(steps))
	for _, s := range steps {
		temps = max(temps, s.Temp)
		if it := &c.items[c.first[s.Unit]+s.Op]; s.Leg != organize.Whole && it.problem == nil {
			it.op.Temp = s.Temp
		}
	}
	for _, s := range steps {
		it := &c.items[c.first[s.Unit]+s.Op]
		if it.problem != nil || it.inPlace {
			continue
		}
		alone := it.op.Temp < 0 // a rename that changes only the spelling: its own source has the target's name
		if alone {
			temps++
			it.op.Temp, s.Leg = temps, organize.Home
		}
		if alone || s.Leg == organize.Aside {
			aside[it] = len(c.run.Steps)
			c.run.Steps = append(c.run.Steps, step{Leg: organize.Aside})
		}
		if s.Leg == organize.Aside {
			continue
		}
		it.op.Index = len(c.run.Ops)
		c.run.Ops = append(c.run.Ops, it.op)
		if first, two := aside[it]; two {
			c.run.Steps[first].Op = it.op.Index
		}
		c.run.Steps = append(c.run.Steps, step{it.op.Index, s.Leg})
	}
	c.leaves()
}

// leaves marks the folders to remove once the moves have emptied them: folders below a source root that contain no
// root.
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
