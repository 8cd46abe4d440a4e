package apply

import (
	"context"
	"path"
	"strings"

	"github.com/anivault/anivault/internal/organize"
)

// check is a plan on the way to a run: everything is looked at and nothing is changed.
type check struct {
	ctx     context.Context
	engine  *Engine
	plan    *organize.Plan
	run     *run
	bundles []int
	results []Result
	ops     []op       // of the plan, in its order; those that are refused too
	at      [][2]int   // of each operation: unit and index in the plan
	first   []int      // of each unit: its first operation
	bad     []*Problem // of each operation
	idle    []bool     // of each operation: it was done before
	dirs    map[string]int
	parts   map[[2]string]int // a root and a folder below it, as a plan names them → its index in dirs
	apart   bool              // no name that is taken can be one that a move frees
	errs    map[int]*Problem  // why a folder can't be used
	infos   map[int]Info      // of the folders that are there
	folders folders
	moves   map[place]int      // the name that a move frees → operation
	inodes  map[[2]uint64]int  // the file that a move takes away → operation
	right   map[int]*Problem   // whether names can be made in a folder
	fresh   map[int][]spelling // names to be made in a folder that is there
}

// check looks at everything that a plan is about. The error is a *MountError.
func (e *Engine) check(ctx context.Context, p *organize.Plan, absolute bool) (*check, error) {
	for _, roots := range [][]organize.Root{p.Sources, p.Targets} {
		for _, root := range roots {
			if err := e.mounted(root); err != nil {
				return nil, err
			}
		}
	}
	c := &check{
		ctx: ctx, engine: e, plan: p, bundles: organize.Bundles(p), apart: organize.Apart(p.Sources, p.Targets),
		dirs: map[string]int{}, parts: map[[2]string]int{}, errs: map[int]*Problem{}, infos: map[int]Info{},
		moves: map[place]int{}, inodes: map[[2]uint64]int{}, right: map[int]*Problem{},
		fresh: map[int][]spelling{},
	}
	c.run = &run{ID: p.ID, Mode: p.Mode, Layout: p.Layout, Absolute: absolute, Sources: p.Sources, Targets: p.Targets}
	c.folders = folders{system: e.System, run: c.run, open: map[int]Dir{}}
	defer c.folders.close()
	for _, roots := range [][]organize.Root{p.Sources, p.Targets} {
		for _, root := range roots {
			c.dir(root.Path, -1, root.Path)
		}
	}
	c.gather()
	c.sources()
	for i := range c.ops {
		if c.bad[i] == nil {
			c.bad[i] = c.target(i)
		}
	}
	c.spellings()
	c.space()
	c.spread()
	c.compile()
	return c, nil
}

// gather makes an operation of each line.
func (c *check) gather() {
	n := 0
	for u := range c.plan.Units {
		n += len(c.plan.Units[u].Ops)
	}
	c.ops, c.bad, c.idle = make([]op, 0, n), make([]*Problem, 0, n), make([]bool, 0, n)
	c.at, c.results = make([][2]int, 0, n), make([]Result, 0, n)
	n = 0
	for u := range c.plan.Units {
		unit := &c.plan.Units[u]
		c.first = append(c.first, n)
		for k := range unit.Ops {
			line := &unit.Ops[k]
			n++
			o := op{
				N: n, Unit: u + 1, Bundle: c.bundles[u] + 1, Verb: line.Verb, Size: line.Size, MTime: line.MTime,
				Inode: line.Inode,
			}
			if line.Verb != organize.NFO {
				o.From = c.place(c.plan.Sources[unit.Source].Path, unit.Dir, line.Source)
			}
			o.To = c.place(c.plan.Targets[unit.Target].Path, "", line.To)
			if line.Verb == organize.NFO {
				o.From = o.To
			}
			c.ops, c.bad, c.idle = append(c.ops, o), append(c.bad, nil), append(c.idle, false)
			c.at = append(c.at, [2]int{u, k})
			c.results = append(c.results, Result{
				N: n, Unit: u + 1, Verb: line.Verb, Source: c.plan.SourcePath(unit, line), Target: c.plan.TargetPath(unit,
					line), Size: line.Size,
			})
		}
	}
}

// place returns the folder and name of a path below a folder of a root.
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

// sources looks at all sources, by several workers, and then which names the moves free.
func (c *check) sources() {
	inodes := make([]uint64, len(c.ops))
	parallel(split(len(c.ops), c.engine.Workers), func(_, first, end int) {
		open := folders{system: c.folders.system, run: c.run, open: map[int]Dir{}}
		defer open.close()
		for i := first; i < end; i++ {
			if c.bad[i] == nil && c.ops[i].Verb != organize.NFO {
				inodes[i], c.bad[i] = c.source(i, &open)
			}
		}
	})
	for i := range c.ops {
		if o := &c.ops[i]; c.bad[i] == nil && o.Verb == organize.Move {
			if !c.apart {
				c.moves[o.From] = i
				c.inodes[[2]uint64{c.infos[o.From.Dir].Device, inodes[i]}] = i
			}
			c.bad[i] = c.writable(o.From.Dir)
		}
	}
}

// source compares a source with what was planned, and writes down what it is known by. It returns the inode that it has
// now.
func (c *check) source(i int, open *folders) (inode uint64, _ *Problem) {
	o := &c.ops[i]
	if p := c.errs[o.From.Dir]; p != nil {
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
	root := c.plan.Sources[c.plan.Units[c.at[i][0]].Source]
	if !isFirm(root) {
		if o.Sum, err = ends(dir, o.From.Name, info.Size); err != nil {
			return 0, failed(err)
		}
	}
	o.Inode, o.Birth = info.Inode, info.Birth
	if root.Inode == 0 {
		o.Inode = 0
	}
	if o.Verb == organize.Link && !c.engine.System.MayLink(info) {
		return 0, problem(NotPermitted)
	}
	return info.Inode, nil
}

// writable says why names can't be changed in a folder, or in the one above it that is there.
func (c *check) writable(dir int) *Problem {
	dir = c.run.base(dir)
	p, known := c.right[dir]
	if !known {
		p = c.folders.writable(dir)
		c.right[dir] = p
	}
	return p
}
