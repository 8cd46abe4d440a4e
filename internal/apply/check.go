package apply

import (
	"context"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/organize"
)

// planChecker turns a plan into a run. It looks at every file and folder, and changes nothing.
type planChecker struct {
	ctx           context.Context
	engine        *Engine
	plan          *organize.Plan
	run           *run
	plannedOps    []plannedOp // the plan's operations in order, including refused ones
	firstItems    []int       // by unit: the index of its first item
	folderStates  []folderState
	dirIndexes    map[string]int    // index in run.Dirs, by path
	dirCache      map[[3]string]int // index in run.Dirs, by root path, folder, and folder below it
	rootsDisjoint bool              // no target overlaps a source, so no move frees a name that another takes
	folders       *folderCache
	moveBySource  map[place]*plannedOp     // the moves, by the name that each one frees
	moveByInode   map[[2]uint64]*plannedOp // the moves, by device and inode of the source
}

type plannedOp struct {
	op         op
	planOp     *organize.Op
	sourceRoot *organize.Root
	inode      uint64 // of the source, as it is now
	problem    *Problem
	inPlace    bool // an earlier run has already carried it out
}

type folderState struct {
	info    Info     // zero if the folder does not exist
	problem *Problem // why the folder can't be used
}

func (e *Engine) checkPlan(ctx context.Context, p *organize.Plan, absolute bool) (*planChecker, error) {
	roots := slices.Concat(p.Sources, p.Targets)
	if gone := e.checkRoots(roots); gone != nil {
		return nil, gone
	}
	c := &planChecker{
		ctx: ctx, engine: e, plan: p, rootsDisjoint: organize.RootsDisjoint(p.Sources, p.Targets),
		dirIndexes: map[string]int{}, dirCache: map[[3]string]int{},
		moveBySource: map[place]*plannedOp{}, moveByInode: map[[2]uint64]*plannedOp{},
	}
	c.run = &run{runHeader: runHeader{
		ID: p.ID, Mode: p.Mode, Layout: p.Layout, AbsoluteLinks: absolute, Sources: p.Sources, Targets: p.Targets,
	}}
	c.folders = newFolderCache(e.System, c.run)
	defer c.folders.close()
	for _, root := range roots {
		c.addDir(root.Path, -1, root.Path)
	}
	c.addItems(organize.Bundles(p))
	c.checkSources()
	for i := range c.plannedOps {
		if it := &c.plannedOps[i]; it.problem == nil {
			it.problem = c.checkTarget(it)
		}
	}
	c.checkSpellings()
	c.checkSpace()
	c.refuseBundles()
	c.buildSteps()
	return c, nil
}

func (c *planChecker) addItems(bundles []int) {
	c.plannedOps = make([]plannedOp, 0, len(c.plan.Units))
	for u := range c.plan.Units {
		unit := &c.plan.Units[u]
		c.firstItems = append(c.firstItems, len(c.plannedOps))
		for k := range unit.Ops {
			line, n := &unit.Ops[k], len(c.plannedOps)+1
			o := op{
				N: n, Unit: u + 1, Bundle: bundles[u] + 1, Verb: line.Verb, Size: line.Size, MTime: line.MTime,
				Inode: line.Inode, To: c.resolvePlace(c.plan.Targets[unit.Target].Path, "", line.To),
			}
			source := &c.plan.Sources[unit.Source]
			if o.From = o.To; line.Verb != organize.VerbNFO {
				o.From = c.resolvePlace(source.Path, unit.Dir, line.Source)
			}
			c.plannedOps = append(c.plannedOps, plannedOp{op: o, planOp: line, sourceRoot: source})
		}
	}
}

// resolvePlace returns the place of a path below a folder of a root, and adds its folders to run.Dirs.
func (c *planChecker) resolvePlace(root, folder, below string) place {
	dir, name := path.Split(below)
	key := [3]string{root, folder, dir}
	if at, ok := c.dirCache[key]; ok {
		return place{at, name}
	}
	at, full := c.dirIndexes[root], root
	for component := range strings.SplitSeq(path.Join(folder, dir), "/") {
		if component != "" && component != "." {
			full = path.Join(full, component)
			at = c.addDir(full, at, component)
		}
	}
	c.dirCache[key] = at
	return place{at, name}
}

// addDir returns the index of a folder in run.Dirs. If the folder is not listed yet, addDir examines and adds it.
func (c *planChecker) addDir(full string, parent int, name string) int {
	if i, ok := c.dirIndexes[full]; ok {
		return i
	}
	i := len(c.run.Dirs)
	c.dirIndexes[full] = i
	c.run.Dirs = append(c.run.Dirs, folder{Parent: parent, Name: name})
	c.folderStates = append(c.folderStates, folderState{})
	d := &c.run.Dirs[i]
	if parent >= 0 && (c.folderStates[parent].problem != nil || c.run.Dirs[parent].New) {
		c.folderStates[i].problem, d.New = c.folderStates[parent].problem, true
		return i
	}
	dir, err := c.folders.getAndTrim(i)
	var info Info
	if err == nil {
		info, err = dir.Stat()
	}
	switch {
	case err == nil:
		d.Mode, d.UID, d.GID, d.MTime = info.Mode, info.UID, info.GID, info.MTime
		c.folderStates[i].info = info
	case isMissing(err):
		d.New = true
	default:
		c.folderStates[i].problem, d.New = asProblem(err), true
	}
	return i
}

// checkSources checks all sources, using several workers, and then records the names that the moves free.
func (c *planChecker) checkSources() {
	const minPerWorker = 64 // so that starting a worker pays
	var wg sync.WaitGroup
	for part := range slices.Chunk(c.plannedOps, max(minPerWorker, len(c.plannedOps)/max(c.engine.Workers, 1)+1)) {
		wg.Go(func() {
			open := newFolderCache(c.engine.System, c.run)
			defer open.close()
			for i := range part {
				if it := &part[i]; it.problem == nil && it.op.Verb != organize.VerbNFO {
					it.problem = c.checkSource(it, open)
				}
			}
		})
	}
	wg.Wait()
	for i := range c.plannedOps {
		if it := &c.plannedOps[i]; it.problem == nil && it.op.Verb == organize.VerbMove {
			from := it.op.From
			if !c.rootsDisjoint {
				c.moveBySource[from] = it
				c.moveByInode[[2]uint64{c.folderStates[from.Dir].info.Device, it.inode}] = it
			}
			it.problem = c.folders.checkWritable(c.run.existingBase(from.Dir))
		}
	}
}

func (c *planChecker) checkSource(it *plannedOp, open *folderCache) *Problem {
	o := &it.op
	if p := c.folderStates[o.From.Dir].problem; p != nil {
		return p
	}
	if c.run.Dirs[o.From.Dir].New {
		return newProblem(CodeChanged)
	}
	dir, err := open.getAndTrim(o.From.Dir)
	if err != nil {
		return asProblem(err)
	}
	info, err := dir.Lstat(o.From.Name)
	switch {
	case err != nil:
		return asProblem(err)
	case info.Type != organize.TypeRegular:
		return newProblem(organize.CodeNotRegular)
	case info.Size != o.Size || info.MTime != o.MTime || o.Inode != 0 && info.Inode != o.Inode:
		return newProblem(CodeChanged)
	}
	if r := it.sourceRoot; r.Inode == 0 || !stableInodes[strings.ToLower(r.Type)] {
		if o.EndsSum, err = hashEnds(dir, o.From.Name, info.Size); err != nil {
			return asProblem(err)
		}
	}
	it.inode, o.Inode, o.BirthTime = info.Inode, info.Inode, info.BirthTime
	if it.sourceRoot.Type == "overlay" { // the first change of a file gives it another birth time
		o.BirthTime = organize.Stamp{}
	}
	if it.sourceRoot.Inode == 0 {
		o.Inode = 0
	}
	if o.Verb == organize.VerbLink && !c.engine.System.MayLink(info) {
		return &Problem{Code: CodeNotPermitted, Err: lang.Error("users may make hard links only to files that they own or " +
			"may change (fs.protected_hardlinks): run anivault as the file's owner, or use --mode symlink or copy")}
	}
	return nil
}

func (c *planChecker) refuseBundles() {
	bad := map[int]bool{}
	for i := range c.plannedOps {
		if it := &c.plannedOps[i]; it.problem != nil && !it.problem.skipsNFO() {
			bad[it.op.Bundle] = true
		}
	}
	for i := range c.plannedOps {
		if it := &c.plannedOps[i]; it.problem == nil && bad[it.op.Bundle] {
			it.problem = newProblem(CodeBundleRefused)
		}
	}
}

func (c *planChecker) results() (out []Result, refused bool) {
	c.run.indexPaths()
	out = make([]Result, len(c.plannedOps))
	for i := range c.plannedOps {
		it := &c.plannedOps[i]
		r := c.run.result(&it.op)
		r.Problem = it.problem
		switch {
		case it.problem != nil && it.problem.skipsNFO():
			r.Status = StatusSkipped
		case it.problem != nil:
			r.Status, refused = StatusRefused, true
		case it.inPlace:
			r.Status = StatusInPlace
		default:
			r.Status = StatusPlanned
		}
		out[i] = r
	}
	return out, refused
}

// buildSteps fills in the run's operations and steps. Refused operations and those already in place get none.
func (c *planChecker) buildSteps() {
	temps := 0
	aside := map[*plannedOp]int{} // for moves through a temporary name: the index of their first step
	steps := organize.OrderSteps(c.plan)
	c.run.Ops, c.run.Steps = make([]op, 0, len(c.plannedOps)), make([]step, 0, len(steps))
	for _, s := range steps {
		temps = max(temps, s.TempNumber)
		if it := &c.plannedOps[c.firstItems[s.Unit]+s.Op]; s.Kind != organize.StepDirect && it.problem == nil {
			it.op.TempNumber = s.TempNumber
		}
	}
	for _, s := range steps {
		it := &c.plannedOps[c.firstItems[s.Unit]+s.Op]
		if it.problem != nil || it.inPlace {
			continue
		}
		alone := it.op.TempNumber < 0 // only the spelling changes, so the source itself occupies the target's name
		if alone {
			temps++
			it.op.TempNumber, s.Kind = temps, organize.StepFromTemp
		}
		if alone || s.Kind == organize.StepToTemp {
			aside[it] = len(c.run.Steps)
			c.run.Steps = append(c.run.Steps, step{Kind: organize.StepToTemp})
		}
		if s.Kind == organize.StepToTemp {
			continue
		}
		it.op.Index = len(c.run.Ops)
		c.run.Ops = append(c.run.Ops, it.op)
		if first, two := aside[it]; two {
			c.run.Steps[first].Op = it.op.Index
		}
		c.run.Steps = append(c.run.Steps, step{it.op.Index, s.Kind})
	}
	c.markRemovable()
}

// markRemovable marks the folders that the run removes once they are empty: those below a source and above no root.
func (c *planChecker) markRemovable() {
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
			if above, ok := c.dirIndexes[name]; ok {
				holds[above] = true
			}
		}
	}
	for i := range c.run.Ops {
		o := &c.run.Ops[i]
		if o.Verb != organize.VerbMove {
			continue
		}
		for at := o.From.Dir; at >= 0; at = c.run.Dirs[at].Parent {
			d := &c.run.Dirs[at]
			d.Removable = d.Parent >= 0 && !d.New && below[at] && !holds[at]
		}
	}
}
