package apply

import (
	"context"
	"slices"
	"time"

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
	now         func() time.Time
	onProgress  func(Progress) // may be nil
	touchedDirs []bool         // by folder: whether the run changes its time
	problems    []*Problem     // by operation: why it failed or was skipped; nil if it succeeded
	toUndo      []bool         // by operation: whether the undo puts it back; nil outside an undo
	undoneOps   []int          // operations that a partial undo has put back
	bundleSteps map[int][]int  // by bundle: the indexes of its steps; nil until a step fails
	filesDone   int            // finished files
	filesTotal  int            // all files to apply or undo
	bytesCopied int64          // bytes of the finished copies
	bytesTotal  int64          // bytes of all copies
	stopCause   error          // why the run stopped early
}

func (e *Engine) newExecution(j *journal) *execution {
	j.run.indexPaths()
	dirs := newFolderCache(e.System, j.run)
	dirs.inheritOwner = e.InheritOwner
	of := openRun{run: j.run, journal: j, progress: &j.progress, dirs: dirs}
	x := &execution{
		openRun: of, worker: worker{openRun: of},
		now: e.Now, onProgress: e.Progress, filesTotal: len(j.run.Ops),
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
	if err := x.ensureProbed(); err != nil {
		return err
	}
	if err := x.journal.enterStage(StageApplying, x.now()); err != nil {
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

// maxDiskFailures is how many disk failures in a row stop a run.
const maxDiskFailures = 3

// runSteps applies or undoes all steps. When applying, it rolls back the bundle of each failed operation.
func (x *execution) runSteps(undoing bool) {
	half := organize.StepToTemp // after this step, a file is still under its temporary name
	if undoing {
		half = organize.StepFromTemp
	}
	diskFailures, stuck := 0, false
	rolledBack := map[int]bool{} // by bundle
	for n := range x.run.Steps {
		at, rest := n, x.run.Steps[n:]
		if undoing {
			at, rest = len(x.run.Steps)-1-n, x.run.Steps[:len(x.run.Steps)-n]
		}
		s := x.run.Steps[at]
		if x.worker.ctx.Err() != nil {
			x.stop(rest, half, context.Cause(x.worker.ctx))
			return
		}
		if undoing && !x.toUndo[s.Op] || !undoing && (rolledBack[x.run.Ops[s.Op].Bundle] || x.progress.files[s.Op].undone) {
			continue
		}
		x.dirs.trim()
		p := x.worker.runStep(s, undoing)
		if p == nil {
			diskFailures = 0
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
			x.leaveAtTarget(at, p)
		case p.skipsNFO():
			x.problems[s.Op] = p
			x.journal.appendFileMark(s.Op, markNotDone, p.Code)
			continue
		default:
			rolledBack[x.run.Ops[s.Op].Bundle] = true
			stuck = !x.rollBackBundle(at, s.Op, p)
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
		if s.Kind != half && x.problems[s.Op] == nil {
			x.problems[s.Op] = newProblem(CodeNotReached)
		}
	}
}

func (x *execution) reportDone(i int) {
	if x.worker.preview != nil {
		return
	}
	if f := x.progress.files[i]; f.notDone != "" && x.toUndo == nil || f.notRestored != "" && x.toUndo != nil {
		x.journal.appendFileMark(i, markOK, "")
	}
	if x.onProgress == nil {
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
	x.onProgress(Progress{
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
	return x.journal.enterStage(s, x.now())
}

func (x *execution) recordFolderTimes() {
	for i, touched := range x.touchedDirs {
		if !touched || x.run.Dirs[i].New {
			continue
		}
		x.dirs.trim()
		if dir, err := x.dirs.get(i); err == nil {
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
		x.dirs.trim()
		dir, err := x.dirs.get(i)
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
