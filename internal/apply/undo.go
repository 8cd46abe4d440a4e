package apply

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/anivault/anivault/internal/organize"
	"github.com/anivault/anivault/internal/slicesx"
)

// UndoOptions control an undo.
type UndoOptions struct {
	Only   func(source, target string) bool // selects files; the rest of a file's bundle is undone with it; nil for all
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
	unreached := x.unreachedOps()
	x.worker.runFinished = x.progress.stage == StageDone || x.progress.stage == StagePartlyUndone
	wanted, partial := x.selectOps(opts.Only)
	if opts.Only == nil || slices.Contains(wanted, true) {
		x.toUndo = slices.Clone(wanted)
		err = x.undo(ctx, opts.DryRun, partial, unreached)
	}
	x.fillStatuses(out, StatusUndone)
	e.findLaterMoves(out, x.run.Begun)
	shown := out.Results[:0]
	for i, r := range out.Results {
		if opts.DryRun && r.Status == StatusUndone {
			r.Status = StatusPlanned
		}
		carriedOut := x.progress.files[i].notDone == "" && !unreached[i]
		if wanted[i] && (carriedOut || x.problems[i] != nil) {
			shown = append(shown, r)
		}
	}
	out.Results = shown
	out, err = x.completeOutcome(out, err)
	out.Unfinished = out.Unfinished && !opts.DryRun // a dry run can't be interrupted
	return out, err
}

// selectOps returns the operations to undo, and whether others stay as they are.
func (x *execution) selectOps(only func(source, target string) bool) (wanted []bool, partial bool) {
	bundles := map[int]bool{}
	for i := range x.run.Ops {
		if o := &x.run.Ops[i]; only == nil || only(x.run.sourcePath(o), x.run.pathOf(o.To)) {
			bundles[o.Bundle] = true
		}
	}
	wanted = make([]bool, len(x.run.Ops))
	for i := range x.run.Ops {
		f := &x.progress.files[i]
		wanted[i] = bundles[x.run.Ops[i].Bundle] && !f.undone
		partial = partial || !wanted[i] && !f.undone && f.notDone == ""
	}
	return wanted, partial
}

// unreachedOps returns the operations that an interrupted run had not reached; nil for a run that was not interrupted.
// The undo records them before its first change, because afterwards they look like operations that were undone.
func (x *execution) unreachedOps() map[int]bool {
	if s := x.progress.stage; s != StagePlanned && s != StageApplying && s != StageAbandoned {
		return nil
	}
	out := map[int]bool{}
	for i := range x.run.Ops {
		x.dirs.trim()
		out[i] = x.isStillAt(&x.run.Ops[i], x.run.Ops[i].From)
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
	for i, f := range x.progress.files {
		switch {
		case unreached == nil:
		case unreached[i] && f.notDone == "":
			x.journal.appendFileMark(i, markNotDone, CodeNotReached)
		case !unreached[i] && f.notDone == CodeNotReached:
			x.journal.appendFileMark(i, markOK, "") // the run was resumed in the meantime
		}
	}
}

func (x *execution) undo(ctx context.Context, dry, partial bool, unreached map[int]bool) error {
	x.worker.ctx = ctx
	if dry {
		x.worker.preview = &undoPreview{&x.worker, map[place]int{}, map[uint64]bool{}}
		x.refuseTooBig()
		x.runSteps(true)
		return nil
	}
	if err := x.ensureProbed(); err != nil {
		return err
	}
	x.compareFolders()
	x.markUnreached(unreached)
	if err := x.journal.enterStage(StageUndoing, x.engine.Now()); err != nil {
		return err
	}
	for _, i := range x.refuseTooBig() {
		x.journal.appendFileMark(i, markNotRestored, CodeNoSpace)
	}
	x.filesTotal = slicesx.Count(x.toUndo, func(wanted bool) bool { return wanted })
	x.bytesTotal, x.worker.onCopied = 0, nil // an undo reports only files
	x.runSteps(true)
	if x.stopCause != nil {
		return x.journal.sync()
	}
	err := x.dirs.removeCreated(nil)
	x.clearProbes()
	if err == nil {
		err = x.restoreFolders(!partial)
	}
	if err != nil {
		x.stopCause = asProblem(err)
		return x.journal.sync()
	}
	return x.finish(x.finalStage())
}

// finalStage returns the stage after the undo, and sets undoneOps if the undo is partial.
func (x *execution) finalStage() Stage {
	s := StageUndone
	for i, f := range x.progress.files {
		switch {
		case x.problems[i] == nil && f.notDone != "": // the run did not carry out the operation
		case x.toUndo[i] && x.problems[i] == nil:
			x.undoneOps = append(x.undoneOps, i)
		case f.undone:
		case f.notRestored == "":
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
	for i, f := range x.progress.folders {
		if x.run.Dirs[i].New {
			continue
		}
		dir, err := x.dirs.getAndTrim(i)
		if err != nil {
			if isMissing(err) && !f.missing {
				x.journal.appendMark(mark{Mark: markMissing, Folder: new(i)})
			}
			continue
		}
		if x.progress.stage != StageDone || !x.touchedDirs[i] || f.endTime == (organize.Stamp{}) || f.changedSince {
			continue
		}
		if info, err := dir.Stat(); err == nil && info.MTime != f.endTime {
			x.journal.appendMark(mark{Mark: markChanged, Folder: new(i)})
		}
	}
}

// leaveAtTarget records that an operation can't be undone. If that left the file under its temporary name, the file
// goes back to its target, and so do the files of the cycle that have since taken the old names.
func (x *execution) leaveAtTarget(at int, p *Problem) {
	first := x.run.Steps[at]
	for i, s := range x.run.Steps[at:] {
		if x.problems[s.Op] == nil && x.toUndo[s.Op] {
			x.problems[s.Op] = p
			if x.worker.preview == nil {
				x.journal.appendFileMark(s.Op, markNotRestored, p.Code)
			}
		}
		switch from, to := x.run.stepPlaces(s); {
		case i == 0 || !x.toUndo[s.Op]:
		case x.worker.preview == nil:
			_ = x.worker.runStep(s, false) // a file that is elsewhere already has a problem
		case x.problems[s.Op] == p:
			x.worker.preview.holders[from], x.worker.preview.holders[to] = -1, s.Op
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
	for i := range x.run.Ops {
		o := &x.run.Ops[i]
		if pair := [2]int{o.From.Dir, o.To.Dir}; !x.toUndo[i] || o.Verb != organize.VerbMove || sameMount[pair] {
			continue
		}
		x.dirs.trim()
		target, err := x.worker.observe(o, o.To)
		if err != nil || target.state&stateOurs == 0 {
			continue
		}
		if source, err := x.worker.observe(o, o.From); err != nil || source.state != stateMissing {
			continue
		}
		_, dir, err := x.dirs.nearestExisting(o.From.Dir)
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
	worker      *worker
	holders     map[place]int   // by name: the operation whose file it would hold; -1 for none
	movedInodes map[uint64]bool // inodes of files that would be moved away
}

func (v *undoPreview) observe(o *op, at place) (observation, bool) {
	holder, ok := v.holders[at]
	switch {
	case !ok:
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
		holder, ok := v.holders[at]
		below, made := v.worker.run.NewFolders[at]
		if !(ok && holder < 0) && !(made && v.willBeEmpty(below)) {
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
	if p := cmp.Or(v.checkWritable(to.Dir), v.checkWritable(from.Dir)); p != nil {
		return p
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
	return v.worker.dirs.checkWritable(dir)
}
