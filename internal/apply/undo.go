package apply

import (
	"context"
	"maps"
	"slices"

	"github.com/anivault/anivault/internal/organize"
)

// UndoOptions control an undo.
type UndoOptions struct {
	Only   func(source, target string) bool // selects files, with all of their bundles; nil for everything
	DryRun bool
}

// Undo puts the files of a run back. It skips each file that it can't put back safely, and reports why.
func (e *Engine) Undo(ctx context.Context, id string, opts UndoOptions) (*Outcome, error) {
	x, err := e.openExecution(id)
	if err != nil {
		return nil, err
	}
	defer x.close()
	out := &Outcome{Run: id, Results: x.results()}
	stayed := x.unreachedOps()
	x.worker.runFinished = x.worker.journal.progress.stage == StageDone ||
		x.worker.journal.progress.stage == StagePartlyUndone
	wanted, part := x.selectOps(opts.Only)
	if opts.Only == nil || slices.Contains(wanted, true) {
		x.toUndo = slices.Clone(wanted)
		err = x.undo(ctx, opts.DryRun, part, stayed)
	}
	x.fillStatuses(out, StatusUndone)
	e.findLaterMoves(out, x.worker.run.Begun)
	told := out.Results[:0]
	for i := range x.worker.run.Ops {
		never := x.problems[i] == nil &&
			(x.worker.journal.progress.files[i].notDone != "" || stayed[i]) // the run did not carry out the operation
		if r := &out.Results[i]; opts.DryRun && r.Status == StatusUndone {
			r.Status = StatusPlanned
		}
		if wanted[i] && !never {
			told = append(told, out.Results[i])
		}
	}
	out.Results = told
	out, err = x.completeOutcome(out, err)
	out.Unfinished = out.Unfinished && !opts.DryRun // a dry run can't be interrupted
	return out, err
}

// selectOps returns the operations to undo, and whether others stay as they are.
func (x *execution) selectOps(only func(source, target string) bool) (wanted []bool, partial bool) {
	bundles := map[int]bool{}
	for i := range x.worker.run.Ops {
		if o := &x.worker.run.Ops[i]; only == nil || only(x.worker.run.sourcePath(o), x.worker.run.pathOf(o.To)) {
			bundles[o.Bundle] = true
		}
	}
	wanted = make([]bool, len(x.worker.run.Ops))
	for i := range x.worker.run.Ops {
		back := x.worker.journal.progress.files[i].undone
		wanted[i] = bundles[x.worker.run.Ops[i].Bundle] && !back
		partial = partial || !wanted[i] && !back && x.worker.journal.progress.files[i].notDone == ""
	}
	return wanted, partial
}

// unreachedOps returns the operations that an interrupted run had not reached; nil for a run that was not interrupted.
// The undo records them before its first change, because afterwards they look like operations that were undone.
func (x *execution) unreachedOps() map[int]bool {
	if s := x.worker.journal.progress.stage; s != StagePlanned && s != StageApplying && s != StageAbandoned {
		return nil
	}
	out := map[int]bool{}
	for i := range x.worker.run.Ops {
		x.worker.dirs.trim()
		out[i] = x.isStillAt(&x.worker.run.Ops[i], x.worker.run.Ops[i].From)
	}
	return out
}

// isStillAt reports whether a file is at a place and not at its target; of an NFO, whether the target is missing.
func (x *execution) isStillAt(o *op, at place) bool {
	target, err := x.worker.observe(o, o.To)
	if err != nil || target.state&(stateOurs|stateUnproven) != 0 || o.Verb == organize.VerbNFO {
		return err == nil && target.state == stateMissing
	}
	home, err := x.worker.observe(o, at)
	return err == nil && home.state&stateOurs != 0
}

func (x *execution) markUnreached(unreached map[int]bool) {
	m := &x.worker.journal.progress
	for i := range x.worker.run.Ops {
		switch {
		case unreached == nil:
		case unreached[i] && m.files[i].notDone == "":
			x.worker.journal.appendFileMark(i, markNotDone, CodeNotReached)
		case !unreached[i] && m.files[i].notDone == CodeNotReached:
			x.worker.journal.appendFileMark(i, markOK, "") // the run was resumed in the meantime
		}
	}
}

func (x *execution) undo(ctx context.Context, dry, partial bool, unreached map[int]bool) error {
	x.worker.ctx = ctx
	if dry {
		x.worker.preview = &undoPreview{&x.worker, map[place]int{}, map[uint64]bool{}, map[int]*Problem{}}
		x.refuseTooBig()
		x.runSteps(&x.worker, 0, len(x.worker.run.Steps), true)
		return nil
	}
	if err := x.ensureProbed(); err != nil {
		return err
	}
	x.compareFolders()
	x.markUnreached(unreached)
	if err := x.worker.journal.enterStage(StageUndoing, x.now()); err != nil {
		return err
	}
	for _, i := range x.refuseTooBig() {
		x.worker.journal.appendFileMark(i, markNotRestored, CodeNoSpace)
	}
	x.filesTotal = 0
	for _, wanted := range x.toUndo {
		if wanted {
			x.filesTotal++
		}
	}
	x.runInParallel(func(w *worker, first, end int) { x.runSteps(w, first, end, true) })
	if x.stopCause != nil {
		return x.worker.journal.sync()
	}
	err := x.worker.dirs.removeCreated(nil)
	x.clearProbes()
	if err == nil {
		err = x.restoreFolders(!partial)
	}
	if err != nil {
		x.stopCause = asProblem(err)
		return x.worker.journal.sync()
	}
	return x.finish(x.finalStage())
}

// finalStage returns the stage after the undo, and sets undoneOps if the undo is partial.
func (x *execution) finalStage() Stage {
	m, s := &x.worker.journal.progress, StageUndone
	for i := range x.worker.run.Ops {
		switch {
		case x.problems[i] == nil && m.files[i].notDone != "": // the run did not carry out the operation
		case x.toUndo[i] && x.problems[i] == nil:
			x.undoneOps = append(x.undoneOps, i)
		case m.files[i].undone:
		case m.files[i].notRestored == "":
			s = StageDone // this file is still at its target
		case s == StageUndone:
			s = StagePartlyUndone
		}
	}
	if s == StageUndone {
		x.undoneOps = nil // the stage implies it for all operations
	}
	return s
}

func (x *execution) compareFolders() {
	m := &x.worker.journal.progress
	for i := range x.worker.run.Dirs {
		if x.worker.run.Dirs[i].New {
			continue
		}
		x.worker.dirs.trim()
		dir, err := x.worker.dirs.get(i)
		if err != nil {
			if isMissing(err) && !m.folders[i].missing {
				x.worker.journal.appendFolderMark(i, markMissing)
			}
			continue
		}
		info, err := dir.Stat()
		if err != nil || !x.touchedDirs[i] {
			continue
		}
		after := m.folders[i].endTime
		if m.stage == StageDone && after != (organize.Stamp{}) && info.MTime != after && !m.folders[i].changedSince {
			x.worker.journal.appendFolderMark(i, markChanged)
		}
	}
}

// recordNotRestored records that an operation can't be undone. If that left the file under its temporary name, the file
// goes back to its target, and so do the files of the cycle that have since taken the old names.
func (x *execution) recordNotRestored(w *worker, at int, p *Problem) {
	first := x.worker.run.Steps[at]
	for i, s := range x.worker.run.Steps[at:] {
		if x.problems[s.Op] == nil && x.toUndo[s.Op] {
			x.problems[s.Op] = p
			if w.preview == nil {
				x.worker.journal.appendFileMark(s.Op, markNotRestored, p.Code)
			}
		}
		switch from, to := x.worker.run.stepPlaces(s); {
		case i == 0 || !x.toUndo[s.Op]:
		case w.preview == nil:
			_ = w.runStep(s, false) // a file that is elsewhere already has a problem
		case x.problems[s.Op] == p:
			w.preview.holders[from], w.preview.holders[to] = -1, s.Op
		}
		if first.Kind != organize.StepToTemp || i > 0 && s.Op == first.Op {
			return
		}
	}
}

// refuseTooBig excludes moved files from the undo if their old file system has too little free space, and returns them.
func (x *execution) refuseTooBig() []int {
	need, free, on := map[uint64]int64{}, map[uint64]uint64{}, map[int]uint64{}
	sameMount := map[[2]int]bool{} // by the folders of source and target
	for i := range x.worker.run.Ops {
		o := &x.worker.run.Ops[i]
		if pair := [2]int{o.From.Dir, o.To.Dir}; !x.toUndo[i] || o.Verb != organize.VerbMove || sameMount[pair] {
			continue
		}
		x.worker.dirs.trim()
		target, err := x.worker.observe(o, o.To)
		if err != nil || target.state&stateOurs == 0 {
			continue
		}
		if source, err := x.worker.observe(o, o.From); err != nil || source.state != stateMissing {
			continue
		}
		_, dir, err := x.worker.dirs.nearestExisting(o.From.Dir)
		if err != nil {
			continue
		}
		info, err := dir.Stat()
		if err != nil || info.Device == target.info.Device && !organize.AreOtherMounts(info.Mount, target.info.Mount) {
			sameMount[[2]int{o.From.Dir, o.To.Dir}] = err == nil
			continue
		}
		on[i] = info.Device
		need[info.Device] += target.info.Size
		if free[info.Device], err = dir.FreeBytes(); err != nil {
			free[info.Device] = ^uint64(0)
		}
	}
	var out []int
	for _, i := range slices.Sorted(maps.Keys(on)) {
		if n := need[on[i]]; uint64(n+n/100) > free[on[i]] {
			out = append(out, i)
			x.problems[i], x.toUndo[i] = newProblem(CodeNoSpace), false
		}
	}
	return out
}

// undoPreview simulates an undo. It records what each name would hold, and changes nothing.
type undoPreview struct {
	worker        *worker
	holders       map[place]int    // by name: the operation whose file it would hold; -1 for none
	movedInodes   map[uint64]bool  // inodes of files that would be moved away
	writeProblems map[int]*Problem // by folder: why its names can't be changed; nil if they can
}

func (v *undoPreview) observe(o *op, at place) (observation, bool) {
	holder, known := v.holders[at]
	switch {
	case !known:
		return observation{}, false
	case holder < 0:
		return observation{state: stateMissing}, true
	case holder == o.Index:
		return observation{state: stateSame}, true
	}
	return observation{state: stateOther}, true
}

// willBeGone reports whether the undo would already have removed the thing at a place: a folder that the run created,
// or a file that has another spelling of the name.
func (v *undoPreview) willBeGone(at place, info Info) bool {
	if i, made := v.worker.run.NewFolders[at]; made && info.Type == organize.TypeDir {
		return v.willBeEmpty(i)
	}
	return v.movedInodes[info.Inode]
}

func (v *undoPreview) willBeEmpty(i int) bool {
	dir, err := v.worker.dirs.get(i)
	if err != nil {
		return isMissing(err)
	}
	names, err := dir.Names()
	for _, name := range names {
		at := place{i, name}
		holder, known := v.holders[at]
		below, made := v.worker.run.NewFolders[at]
		if !(known && holder < 0) && !(made && v.willBeEmpty(below)) {
			return false
		}
	}
	return err == nil
}

func (v *undoPreview) simulate(i int, a ruleAction, from, to place, info Info) *Problem {
	switch a {
	case actRemoveTarget:
		v.holders[to] = -1
		return v.checkWritable(to.Dir)
	case actRename:
		if s, err := v.worker.observe(&v.worker.run.Ops[i], from); err != nil {
			return asProblem(err)
		} else if s.state&(stateMissing|stateOurs) == 0 {
			return newProblem(CodeOldNameTaken)
		}
	case actCopyBack:
	default:
		return nil
	}
	for _, dir := range []int{to.Dir, from.Dir} {
		if p := v.checkWritable(dir); p != nil {
			return p
		}
	}
	v.holders[to], v.holders[from] = -1, i
	if info.Links == 1 {
		v.movedInodes[info.Inode] = true
	}
	return nil
}

func (v *undoPreview) checkWritable(dir int) *Problem {
	dir, _, err := v.worker.dirs.nearestExisting(dir)
	if isNotFolder(err) {
		return nil // a file has the folder's name; the undo moves it away first
	}
	p, known := v.writeProblems[dir]
	if !known {
		p = v.worker.dirs.checkWritable(dir)
		v.writeProblems[dir] = p
	}
	return p
}
