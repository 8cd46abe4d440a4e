package apply

import (
	"context"
	"slices"
	"sync"

	"github.com/anivault/anivault/internal/organize"
)

type openRun struct {
	run      *run
	journal  *journal
	progress *progress // the journal's
	dirs     *folderCache
}

type execution struct {
	openRun
	worker      worker
	engine      *Engine
	touchedDirs []bool        // by folder: whether the run changes its time
	problems    []*Problem    // by operation: why it failed or was skipped; nil if it succeeded
	toUndo      []bool        // by operation: whether the undo puts it back; nil outside an undo
	undoneOps   []int         // operations that a partial undo has put back
	bundleSteps map[int][]int // by bundle: the indexes of its steps; nil until a step fails
	ahead       []stepResult  // by operation: what runAhead has done
	filesDone   int           // finished files
	filesTotal  int           // all files to apply or undo
	bytesCopied int64         // bytes of the finished copies
	bytesTotal  int64         // bytes of all copies
	stopCause   error         // why the run stopped early
}

func (e *Engine) newExecution(j *journal) *execution {
	j.run.indexPaths()
	dirs := newFolderCache(e.System, j.run)
	dirs.inheritOwner = e.InheritOwner
	of := openRun{run: j.run, journal: j, progress: &j.progress, dirs: dirs}
	x := &execution{
		openRun: of, worker: worker{openRun: of}, engine: e,
		filesTotal: len(j.run.Ops), ahead: make([]stepResult, len(j.run.Ops)),
		touchedDirs: j.run.touchedDirs(), problems: make([]*Problem, len(j.run.Ops)),
	}
	if e.Progress != nil {
		x.worker.onCopied = x.reportProgress
		for i := range j.run.Ops {
			if o := &j.run.Ops[i]; o.copiesContent() {
				x.bytesTotal += o.Size
			}
		}
	}
	return x
}

func (e *Engine) openExecution(id string) (*execution, error) {
	j, err := openJournal(e.Journals, id, true)
	if err != nil {
		return nil, err
	}
	if gone := e.checkRoots(slices.Concat(j.run.Sources, j.run.Targets)); gone != nil {
		j.close()
		gone.Run, gone.Interrupted = id, j.progress.stage.IsUnfinished()
		return nil, gone
	}
	return e.newExecution(j), nil
}

func (x *execution) close() {
	x.dirs.close()
	x.journal.close()
}

func (x *execution) apply(ctx context.Context) error {
	x.worker.ctx = ctx
	if x.engine.OnBegin != nil {
		x.engine.OnBegin(x.run.ID)
	}
	if err := x.ensureProbed(); err != nil {
		return err
	}
	if err := x.journal.enterStage(StageApplying, x.engine.Now()); err != nil {
		return err
	}
	x.runSteps(false)
	if x.stopCause != nil {
		return x.journal.sync()
	}
	emptied := make([]bool, len(x.run.Dirs))
	for i := range x.run.Ops {
		if o := &x.run.Ops[i]; o.Verb == organize.VerbMove && x.problems[i] == nil {
			emptied[o.From.Dir] = true
		}
	}
	x.dirs.removeEmptied(emptied)
	used, anything := x.usedDirs()
	_ = x.dirs.removeCreated(used) // a leftover empty folder does no harm
	x.clearProbes()
	if !anything {
		if err := x.restoreFolders(true); err != nil {
			x.stopCause = asProblem(err)
			return x.journal.sync()
		}
	}
	return x.finish(StageDone)
}

func (x *execution) usedDirs() (used []bool, anything bool) {
	used = make([]bool, len(x.run.Dirs))
	for i := range x.run.Ops {
		anything = anything || x.problems[i] == nil
		if x.problems[i] != nil || x.progress.files[i].undone {
			continue
		}
		for d := x.run.Ops[i].To.Dir; d >= 0 && !used[d]; d = x.run.Dirs[d].Parent {
			used[d] = true
		}
	}
	return used, anything
}

func (x *execution) ensureProbed() error {
	if x.progress.probed {
		return nil
	}
	found, err := x.probeRoots()
	if err != nil {
		return asProblem(err)
	}
	x.journal.appendMark(mark{Mark: markProbe, Probe: &found})
	return nil
}

// maxDiskFailures is how many bundles in a row stop a run when the disk fails.
const maxDiskFailures = 3

// runSteps applies or undoes all steps. When applying, it rolls back the bundle of each failed operation.
func (x *execution) runSteps(undoing bool) {
	half := organize.StepToTemp // after this step, a file is still under its temporary name
	if undoing {
		half = organize.StepFromTemp
	}
	steps, next := slices.Clone(x.run.Steps), 0
	if undoing {
		slices.Reverse(steps)
	}
	independent := x.stepsAreIndependent(undoing)
	diskFailures, stuck := 0, false
	rolledBack := map[int]bool{} // by bundle
	for n, s := range steps {
		rest := steps[n:]
		if independent && n == next {
			next += x.runAhead(rest, undoing)
		}
		ahead := x.ahead[s.Op]
		if x.worker.ctx.Err() != nil && !ahead.done {
			x.stop(rest, half, context.Cause(x.worker.ctx))
			return
		}
		if undoing && !x.toUndo[s.Op] || !undoing && (rolledBack[x.run.Ops[s.Op].Bundle] || x.progress.files[s.Op].undone) {
			continue
		}
		p := ahead.problem
		if !ahead.done {
			x.dirs.trim()
			p = x.worker.runStep(s, undoing)
		}
		if p == nil {
			if following := rest[min(1, len(rest)-1)]; x.run.Ops[following.Op].Bundle != x.run.Ops[s.Op].Bundle {
				diskFailures = 0
			}
			if s.Kind != half && x.problems[s.Op] == nil {
				x.reportDone(s.Op)
			}
			continue
		}
		if x.worker.ctx.Err() != nil { // the current copy was canceled
			x.stop(rest, half, context.Cause(x.worker.ctx))
			return
		}
		switch {
		case undoing:
			x.leaveAtTarget(len(steps)-1-n, p)
		case p.skipsNFO():
			x.problems[s.Op] = p
			x.journal.appendFileMark(s.Op, markNotDone, p.Code)
			continue
		default:
			rolledBack[x.run.Ops[s.Op].Bundle] = true
			stuck = !x.rollBackBundle(n, s.Op, p)
		}
		if diskFailures++; !p.isDiskFailure() {
			diskFailures = 0
		}
		if stuck || diskFailures == maxDiskFailures && x.worker.preview == nil {
			x.stop(rest, half, p)
			return
		}
	}
}

func (x *execution) stop(rest []step, half organize.StepKind, why error) {
	x.stopCause = why
	for _, s := range rest {
		if s.Kind != half && x.problems[s.Op] == nil && x.ahead[s.Op] != (stepResult{done: true}) {
			x.problems[s.Op] = newProblem(CodeNotReached)
		}
	}
}

type stepResult struct {
	done    bool
	problem *Problem
}

// stepsAreIndependent reports whether several workers may carry out the steps in any order: links, and moves to folders
// outside their sources. The steps of a bundle must follow one another.
func (x *execution) stepsAreIndependent(undoing bool) bool {
	bundle, moves := 0, false
	for _, s := range x.run.Steps {
		o := &x.run.Ops[s.Op]
		moves = moves || o.Verb == organize.VerbMove
		if o.Verb != organize.VerbMove && o.Verb != organize.VerbLink || o.CrossDevice || o.TempNumber != 0 ||
			o.Bundle < bundle || undoing && !x.toUndo[s.Op] || x.progress.files[s.Op] != (fileProgress{}) {
			return false
		}
		bundle = o.Bundle
	}
	return x.engine.Workers > 1 && (!moves || organize.RootsDisjoint(x.run.Sources, x.run.Targets)) &&
		x.worker.preview == nil && !x.progress.MoveByLink && !x.progress.UnstableInodes
}

// runAhead carries out the first of the steps, with several workers, and returns how many these are. A worker stops at
// its first problem: what follows may belong to the same bundle, so runSteps does it.
func (x *execution) runAhead(steps []step, undoing bool) (n int) {
	const most = 512 // for each worker, so that progress is shown
	size := min(len(x.run.Steps)/x.engine.Workers+1, most)
	var wg sync.WaitGroup
	for range x.engine.Workers {
		first := n
		for n < len(steps) && (n < first+size || x.run.Ops[steps[n].Op].Bundle == x.run.Ops[steps[n-1].Op].Bundle) {
			n++
		}
		part, dirs, w := steps[first:n], *x.dirs, x.worker
		dirs.open, w.dirs = map[int]Dir{}, &dirs
		wg.Go(func() {
			defer dirs.close()
			var p *Problem
			for i := 0; i < len(part) && p == nil && w.ctx.Err() == nil; i++ {
				dirs.trim()
				p = w.runStep(part[i], undoing)
				x.ahead[part[i].Op] = stepResult{true, p}
			}
		})
	}
	wg.Wait()
	return n
}

func (x *execution) reportDone(i int) {
	if x.worker.preview != nil {
		return
	}
	if f := x.progress.files[i]; f.notDone != "" && x.toUndo == nil || f.notRestored != "" && x.toUndo != nil {
		x.journal.appendFileMark(i, markOK, "")
	}
	if x.engine.Progress == nil {
		return
	}
	x.filesDone++
	if o := &x.run.Ops[i]; o.copiesContent() && x.toUndo == nil {
		x.bytesCopied += o.Size
	}
	x.reportProgress(0)
}

// reportProgress calls the progress callback. at is the number of bytes of the current copy.
func (x *execution) reportProgress(at int64) {
	x.engine.Progress(Progress{
		Run: x.run.ID, Files: x.filesDone, FilesTotal: x.filesTotal,
		Bytes: x.bytesCopied + at, BytesTotal: x.bytesTotal,
	})
}

// rollBackBundle undoes the steps of a bundle after one of its operations failed. It returns false if a file could not
// be put back. A file stays at its target if another program has taken its old name, or removed or edited the original.
func (x *execution) rollBackBundle(at, cause int, p *Problem) bool {
	if x.bundleSteps == nil {
		x.bundleSteps = map[int][]int{}
		for i, s := range x.run.Steps {
			x.bundleSteps[x.run.Ops[s.Op].Bundle] = append(x.bundleSteps[x.run.Ops[s.Op].Bundle], i)
		}
	}
	steps, whole := x.bundleSteps[x.run.Ops[cause].Bundle], true
	for _, i := range steps {
		x.problems[x.run.Steps[i].Op] = newProblem(CodeBundleRefused)
	}
	for _, i := range slices.Backward(steps) {
		if i > at {
			continue
		}
		s := x.run.Steps[i]
		switch problem := x.worker.runStep(s, true); {
		case problem == nil, problem.Code == CodeMovedAway:
		case problem.leavesAtTarget():
			x.problems[s.Op] = problem
		default:
			whole = false
		}
	}
	if p.leavesAtTarget() || !x.problems[cause].leavesAtTarget() {
		x.problems[cause] = p
	}
	for _, i := range steps {
		if s := x.run.Steps[i]; whole && s.Kind != organize.StepToTemp {
			x.journal.appendFileMark(s.Op, markNotDone, x.problems[s.Op].Code)
		}
	}
	return whole
}

func (x *execution) finish(s Stage) error {
	for i := range x.run.Dirs {
		if x.run.Dirs[i].Parent >= 0 {
			continue
		}
		dir, err := x.dirs.get(i)
		if err == nil {
			err = dir.SyncFS()
		}
		if err != nil {
			x.stopCause = asProblem(err)
			return nil // the journal lacks the final stage, so the run counts as unfinished
		}
	}
	if s == StageDone {
		x.recordFolderTimes()
	}
	for _, i := range x.undoneOps {
		x.journal.appendFileMark(i, markUndone, "")
	}
	return x.journal.enterStage(s, x.engine.Now())
}

func (x *execution) recordFolderTimes() {
	for i, touched := range x.touchedDirs {
		if !touched || x.run.Dirs[i].New {
			continue
		}
		if dir, err := x.dirs.getAndTrim(i); err == nil {
			if info, err := dir.Stat(); err == nil {
				x.journal.appendMark(mark{Mark: markEndTime, Folder: new(i), Time: &info.MTime})
			}
		}
	}
}

// restoreFolders gives existing folders their original times, and recreated ones also their mode and owner.
func (x *execution) restoreFolders(times bool) error {
	for i := len(x.run.Dirs) - 1; i >= 0; i-- {
		d, f := &x.run.Dirs[i], &x.progress.folders[i]
		if d.New || !x.touchedDirs[i] && !f.missing {
			continue
		}
		dir, err := x.dirs.getAndTrim(i)
		if isMissing(err) || isNotFolder(err) {
			continue // nothing was put back into this folder
		}
		if err == nil && f.missing {
			err = setModeAndOwner(dir, d.Mode, d.UID, d.GID, x.dirs.inheritOwner)
		}
		if err == nil && times && !f.changedSince {
			err = ignoreForbidden(dir.SetMTime(d.MTime))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
