package apply

import (
	"context"
	"maps"
	"slices"

	"github.com/anivault/anivault/internal/organize"
)

// UndoOptions control what Undo puts back.
type UndoOptions struct {
	Only   func(source, target string) bool // put back only bundles with such a file; nil: everything
	DryRun bool
}

// Undo puts back what a run has changed. It keeps each file that it can't put back safely, and reports the reason.
func (e *Engine) Undo(ctx context.Context, id string, opts UndoOptions) (*Outcome, error) {
	x, err := e.reopen(id)
	if err != nil {
		return nil, err
	}
	defer x.close()
	out := &Outcome{Run: id, Results: x.results()}
	stayed := x.stayed()
	x.w.ended = x.w.journal.progress.stage == Done || x.w.journal.progress.stage == Kept
	wanted, part := x.choice(opts.Only)
	if opts.Only == nil || slices.Contains(wanted, true) {
		x.wanted = slices.Clone(wanted)
		err = x.undo(ctx, opts.DryRun, part, stayed)
	}
	x.fillStatuses(out, StatusUndone)
	e.nameLater(out, x.w.run.Begun)
	told := out.Results[:0]
	for i := range x.w.run.Ops {
		never := x.codes[i] == nil && (x.w.journal.progress.files[i].notDone != "" || stayed[i]) // it was not carried out
		if r := &out.Results[i]; opts.DryRun && r.Status == StatusUndone {
			r.Status = StatusPlanned
		}
		if wanted[i] && !never {
			told = append(told, out.Results[i])
		}
	}
	out.Results = told
	out, err = x.outcome(out, err)
	out.Unfinished = out.Unfinished && !opts.DryRun // a dry run leaves nothing unfinished
	return out, err
}

func (x *execution) choice(only func(source, target string) bool) (wanted []bool, part bool) {
	bundles := map[int]bool{}
	for i := range x.w.run.Ops {
		if o := &x.w.run.Ops[i]; only == nil || only(x.w.run.sourceOf(o), x.w.run.pathOf(o.To)) {
			bundles[o.Bundle] = true
		}
	}
	wanted = make([]bool, len(x.w.run.Ops))
	for i := range x.w.run.Ops {
		back := x.w.journal.progress.files[i].back
		wanted[i] = bundles[x.w.run.Ops[i].Bundle] && !back
		part = part || !wanted[i] && !back && x.w.journal.progress.files[i].notDone == ""
	}
	return wanted, part
}

// stayed returns the operations that an interrupted run had not reached. The undo writes them to the journal before its
// first change, because afterwards they look like files that were put back.
func (x *execution) stayed() map[int]bool {
	if s := x.w.journal.progress.stage; s != Planned && s != Applying && s != Abandoned {
		return nil
	}
	out := map[int]bool{}
	for i := range x.w.run.Ops {
		x.w.dirs.trim()
		out[i] = x.waits(&x.w.run.Ops[i], x.w.run.Ops[i].From)
	}
	return out
}

// waits reports whether a file is not at its target but at the given place. An NFO file waits if it is not at its
// target.
func (x *execution) waits(o *op, at place) bool {
	target, err := x.w.see(o, o.To)
	if err != nil || target.what&(ours|alike) != 0 || o.Verb == organize.NFO {
		return err == nil && target.what == nothing
	}
	home, err := x.w.see(o, at)
	return err == nil && home.what&ours != 0
}

func (x *execution) noteStayed(stayed map[int]bool) {
	m := &x.w.journal.progress
	for i := range x.w.run.Ops {
		switch {
		case stayed == nil:
		case stayed[i] && m.files[i].notDone == "":
			x.w.journal.markFile(i, markNotDone, NotReached)
		case !stayed[i] && m.files[i].notDone == NotReached:
			x.w.journal.markFile(i, markOK, "") // the run was resumed since
		}
	}
}

func (x *execution) undo(ctx context.Context, dry, part bool, stayed map[int]bool) error {
	x.w.ctx = ctx
	if dry {
		x.w.preview = &undoPreview{&x.w, map[place]int{}, map[uint64]bool{}, map[int]*Problem{}}
		x.dropTooBig()
		x.takeSteps(&x.w, 0, len(x.w.run.Steps), true)
		return nil
	}
	if err := x.begin(); err != nil {
		return err
	}
	x.compareFolders()
	x.noteStayed(stayed)
	if err := x.w.journal.enter(Undoing, x.now()); err != nil {
		return err
	}
	for _, i := range x.dropTooBig() {
		x.w.journal.markFile(i, markKept, NoSpace)
	}
	x.total = 0
	for _, wanted := range x.wanted {
		if wanted {
			x.total++
		}
	}
	x.inParallel(func(w *worker, first, end int) { x.takeSteps(w, first, end, true) })
	if x.stopped != nil {
		return x.w.journal.sync()
	}
	err := x.w.dirs.prune(nil)
	x.unprobe()
	if err == nil {
		err = x.settle(!part)
	}
	if err != nil {
		x.stopped = failed(err)
		return x.w.journal.sync()
	}
	return x.finish(x.ended())
}

func (x *execution) ended() Stage {
	m, s := &x.w.journal.progress, Undone
	for i := range x.w.run.Ops {
		switch {
		case x.codes[i] == nil && m.files[i].notDone != "": // it was never carried out
		case x.wanted[i] && x.codes[i] == nil:
			x.cameBack = append(x.cameBack, i)
		case m.files[i].back:
		case m.files[i].kept == "":
			s = Done // this file still stands
		case s == Undone:
			s = Kept
		}
	}
	if s == Undone {
		x.cameBack = nil // the stage says it
	}
	return s
}

func (x *execution) compareFolders() {
	m := &x.w.journal.progress
	for i := range x.w.run.Dirs {
		if x.w.run.Dirs[i].New {
			continue
		}
		x.w.dirs.trim()
		dir, err := x.w.dirs.get(i)
		if err != nil {
			if isMissing(err) && !m.folders[i].lost {
				x.w.journal.markFolder(i, markLost)
			}
			continue
		}
		info, err := dir.Stat()
		if err != nil || !x.touched[i] {
			continue
		}
		after := m.folders[i].after
		if m.stage == Done && after != (organize.Stamp{}) && info.MTime != after && !m.folders[i].changed {
			x.w.journal.markFolder(i, markChanged)
		}
	}
}

func (x *execution) keep(w *worker, s step, p *Problem) {
	if x.codes[s.Op] == nil {
		x.codes[s.Op] = p
		if w.preview == nil {
			x.w.journal.markFile(s.Op, markKept, p.Code)
		}
	}
	if w.preview != nil || s.Leg != organize.Aside {
		return
	}
	o := &x.w.run.Ops[s.Op]
	temp := x.w.run.temp(o)
	found, err := w.see(o, temp)
	if err != nil || found.what&ours == 0 {
		return
	}
	if into, err := w.dirs.make(o.To.Dir); err == nil {
		_ = w.rename(o, found.dir, temp, into, o.To, false) // the problem is recorded already
	}
}

func (x *execution) dropTooBig() []int {
	need, free, on := map[uint64]int64{}, map[uint64]uint64{}, map[int]uint64{}
	for i := range x.w.run.Ops {
		o := &x.w.run.Ops[i]
		if !x.wanted[i] || !o.Across {
			continue
		}
		x.w.dirs.trim()
		target, err := x.w.see(o, o.To)
		if err != nil || target.what&ours == 0 {
			continue
		}
		if source, err := x.w.see(o, o.From); err != nil || source.what != nothing {
			continue
		}
		_, dir, err := x.w.dirs.nearest(o.From.Dir)
		if err != nil {
			continue
		}
		if info, err := dir.Stat(); err == nil {
			on[i] = info.Device
			need[info.Device] += target.info.Size
			if free[info.Device], err = dir.Free(); err != nil {
				free[info.Device] = ^uint64(0)
			}
		}
	}
	var out []int
	for _, i := range slices.Sorted(maps.Keys(on)) {
		if n := need[on[i]]; uint64(n+n/100) > free[on[i]] {
			out = append(out, i)
			x.codes[i], x.wanted[i] = problem(NoSpace), false
		}
	}
	return out
}

// undoPreview simulates an undo: it records what each name would hold and changes nothing.
type undoPreview struct {
	w       *worker
	holds   map[place]int    // the operation whose file a name would hold; -1: none
	left    map[uint64]bool  // inodes of files that would have moved away
	refused map[int]*Problem // by folder: why its names can't be changed
}

func (v *undoPreview) see(o *op, at place) (observation, bool) {
	holder, known := v.holds[at]
	switch {
	case !known:
		return observation{}, false
	case holder < 0:
		return observation{what: nothing}, true
	case holder == o.Index:
		return observation{what: same}, true
	}
	return observation{what: other}, true
}

// goes reports whether the undo would have removed what is now at a place: a folder that the run created, or a file
// under another spelling.
func (v *undoPreview) goes(at place, info Info) bool {
	if i, made := v.w.run.Made[at]; made && info.Type == organize.TypeDir {
		return v.emptied(i)
	}
	return v.left[info.Inode]
}

func (v *undoPreview) emptied(i int) bool {
	dir, err := v.w.dirs.get(i)
	if err != nil {
		return isMissing(err)
	}
	names, err := dir.Names()
	for _, name := range names {
		at := place{i, name}
		holder, known := v.holds[at]
		below, made := v.w.run.Made[at]
		if !(known && holder < 0) && !(made && v.emptied(below)) {
			return false
		}
	}
	return err == nil
}

func (v *undoPreview) take(i int, a act, from, to place, info Info) *Problem {
	switch a {
	case actUnlink:
		v.holds[to] = -1
		return v.writable(to.Dir)
	case actRename:
		if s, err := v.w.see(&v.w.run.Ops[i], from); err != nil {
			return failed(err)
		} else if s.what&(nothing|ours) == 0 {
			return problem(Occupied)
		}
	case actFetch:
	default:
		return nil
	}
	for _, dir := range []int{to.Dir, from.Dir} {
		if p := v.writable(dir); p != nil {
			return p
		}
	}
	v.holds[to], v.holds[from] = -1, i
	if info.Links == 1 {
		v.left[info.Inode] = true
	}
	return nil
}

func (v *undoPreview) writable(dir int) *Problem {
	dir, _, err := v.w.dirs.nearest(dir)
	if isElse(err) {
		return nil // a file that the undo moves away first
	}
	p, known := v.refused[dir]
	if !known {
		p = v.w.dirs.writable(dir)
		v.refused[dir] = p
	}
	return p
}
