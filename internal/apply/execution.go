package apply

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/anivault/anivault/internal/organize"
)

type execution struct {
	worker
	now         func() time.Time
	onProgress  func(Progress)       // may be nil
	workers     int                  // how many steps may run at once
	touchedDirs []bool               // by folder: whether the run changes its time
	problems    []*Problem           // by operation: why it failed or was skipped; nil if it succeeded
	toUndo      []bool               // by operation: whether the undo puts it back; nil outside an undo
	undoneOps   []int                // operations that a partial undo has put back
	bundleSteps func() map[int][]int // by bundle: the indexes of its steps

	mu          sync.Mutex // guards the fields below, which all workers use
	filesDone   int        // finished files
	filesTotal  int        // all files to apply or undo
	bytesCopied int64      // bytes of the finished copies
	bytesTotal  int64      // bytes of all copies
	stopCause   error      // why the run stopped early
}

func (e *Engine) newExecution(j *journal) *execution {
	j.run.indexPaths()
	dirs := newFolderCache(e.System, j.run)
	dirs.inheritOwner = e.InheritOwner
	x := &execution{
		worker: worker{dirs: dirs, run: j.run, journal: j, progress: &j.progress},
		now:    e.Now, onProgress: e.Progress, workers: e.Workers, filesTotal: len(j.run.Ops),
		touchedDirs: j.run.touchedDirs(), problems: make([]*Problem, len(j.run.Ops)),
		bundleSteps: sync.OnceValue(j.run.groupByBundle),
	}
	if e.Progress != nil {
		x.onCopied = x.reportProgress
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
	x.ctx = ctx
	if err := x.ensureProbed(); err != nil {
		return err
	}
	if err := x.journal.enterStage(StageApplying, x.now()); err != nil {
		return err
	}
	x.runInParallel(func(w *worker, first, end int) { x.runSteps(w, first, end, false) })
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

// runSteps applies or undoes a range of steps. When applying, it rolls back the bundle of each failed operation.
func (x *execution) runSteps(w *worker, first, end int, undoing bool) {
	half := organize.StepToTemp // after this step, a file is still under its temporary name
	if undoing {
		half = organize.StepFromTemp
	}
	diskFailures, stuck := 0, false
	rolledBack := map[int]bool{} // by bundle
	for n := range end - first {
		at, rest := first+n, x.run.Steps[first+n:end]
		if undoing {
			at, rest = end-1-n, x.run.Steps[first:end-n]
		}
		s := x.run.Steps[at]
		if why := x.stopReason(); why != nil {
			x.stop(rest, half, why)
			return
		}
		if undoing && !x.toUndo[s.Op] ||
			!undoing && (rolledBack[x.run.Ops[s.Op].Bundle] || x.progress.files[s.Op].undone) {
			continue
		}
		w.dirs.trim()
		p := w.runStep(s, undoing)
		if p == nil {
			diskFailures = 0
			if s.Kind != half && x.problems[s.Op] == nil {
				x.reportDone(s.Op)
			}
			continue
		}
		if x.ctx.Err() != nil { // the current copy was canceled
			x.stop(rest, half, context.Cause(x.ctx))
			return
		}
		switch {
		case undoing:
			x.leaveAtTarget(w, at, p)
		case p.skipsNFO():
			x.problems[s.Op] = p
			x.journal.appendFileMark(s.Op, markNotDone, p.Code)
			continue
		default:
			rolledBack[x.run.Ops[s.Op].Bundle] = true
			stuck = !x.rollBackBundle(w, at, s.Op, p)
		}
		if diskFailures++; !p.isDiskFailure() {
			diskFailures = 0
		}
		if stuck || diskFailures == maxDiskFailures && w.preview == nil {
			x.stop(rest, half, p)
			return
		}
	}
}

// stopReason returns why the run must stop; nil if it may continue.
func (x *execution) stopReason() error {
	if x.ctx.Err() != nil {
		return context.Cause(x.ctx)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.stopCause
}

func (x *execution) stop(rest []step, half organize.StepKind, why error) {
	x.mu.Lock()
	if x.stopCause == nil {
		x.stopCause = why
	}
	x.mu.Unlock()
	for _, s := range rest {
		if s.Kind != half && x.problems[s.Op] == nil {
			x.problems[s.Op] = newProblem(CodeNotReached)
		}
	}
}

func (x *execution) reportDone(i int) {
	if x.preview != nil {
		return
	}
	if f := x.progress.files[i]; f.notDone != "" && x.toUndo == nil ||
		f.notRestored != "" && x.toUndo != nil {
		x.journal.appendFileMark(i, markOK, "")
	}
	if x.onProgress == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
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
func (x *execution) rollBackBundle(w *worker, at, cause int, p *Problem) bool {
	steps, whole := x.bundleSteps()[x.run.Ops[cause].Bundle], true
	for _, i := range steps {
		x.problems[x.run.Steps[i].Op] = newProblem(CodeBundleRefused)
	}
	for _, i := range slices.Backward(steps) {
		if i > at {
			continue
		}
		s := x.run.Steps[i]
		switch problem := w.runStep(s, true); {
		case problem == nil, problem.Code == CodeMovedAway:
		case problem.leavesFile():
			x.problems[s.Op] = problem
		default:
			whole = false
		}
	}
	if p.leavesFile() || !x.problems[cause].leavesFile() {
		x.problems[cause] = p
	}
	for _, i := range steps {
		if s := x.run.Steps[i]; whole && s.Kind != organize.StepToTemp {
			x.journal.appendFileMark(s.Op, markNotDone, x.problems[s.Op].Code)
		}
	}
	return whole
}

func (r *run) groupByBundle() map[int][]int {
	out := map[int][]int{}
	for i := range r.Steps {
		out[r.bundleAt(i)] = append(out[r.bundleAt(i)], i)
	}
	return out
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
		if err != nil {
			if isMissing(err) || isNotFolder(err) {
				continue // nothing was put back into this folder
			}
			return err
		}
		if f.missing {
			if err := setModeAndOwner(dir, d.Mode, d.UID, d.GID, x.dirs.inheritOwner); err != nil {
				return err
			}
		}
		if !times || f.changedSince {
			continue
		}
		info, err := dir.Stat()
		if err != nil {
			return err
		}
		if info.MTime != d.MTime {
			if err := dir.SetMTime(d.MTime); err != nil {
				return err
			}
		}
	}
	return nil
}

const minStepsPerWorker = 64 // so that starting a worker pays

func workerCount(workers, steps int) int { return max(1, min(workers, steps/minStepsPerWorker)) }

func splitRange(n, chunks int) [][2]int {
	chunks = workerCount(chunks, n)
	out := make([][2]int, chunks)
	for i := range out {
		out[i] = [2]int{n * i / chunks, n * (i + 1) / chunks}
	}
	return out
}

// parallel calls do for all chunks at the same time and waits for the calls to return. If one of them panics, parallel
// panics too.
func parallel(chunks [][2]int, do func(chunk, first, end int)) {
	var wg sync.WaitGroup
	panics := make([]any, len(chunks))
	for i, chunk := range chunks {
		wg.Go(func() {
			defer func() { panics[i] = recover() }()
			do(i, chunk[0], chunk[1])
		})
	}
	wg.Wait()
	for _, p := range panics {
		if p != nil {
			panic(p)
		}
	}
}

func (x *execution) runInParallel(do func(w *worker, first, end int)) {
	chunks := x.run.independentParts(workerCount(x.workers, len(x.run.Steps)))
	if len(chunks) < 2 {
		do(&x.worker, 0, len(x.run.Steps))
		return
	}
	parallel(chunks, func(_, first, end int) {
		w := x.worker
		w.dirs.open = map[int]Dir{}
		defer w.dirs.close()
		do(&w, first, end)
	})
}

// independentParts splits the steps into at most n chunks that don't depend on each other. It returns nil if that is
// impossible: copies, NFO files, and moves that need a name freed by another move must keep their order.
func (r *run) independentParts(n int) [][2]int {
	if n < 2 || !r.isIndependent() {
		return nil
	}
	var out [][2]int
	for first := 0; first < len(r.Steps); {
		end := max(len(r.Steps)*(len(out)+1)/n, first+1)
		for end < len(r.Steps) && r.bundleAt(end) == r.bundleAt(end-1) {
			end++
		}
		out = append(out, [2]int{first, end})
		first = end
	}
	return out
}

func (r *run) bundleAt(step int) int { return r.Ops[r.Steps[step].Op].Bundle }

func (r *run) isIndependent() bool {
	ended := map[int]bool{}
	moves := false
	for i, s := range r.Steps {
		o := &r.Ops[s.Op]
		moves = moves || o.Verb == organize.VerbMove
		if o.Verb != organize.VerbLink && o.Verb != organize.VerbMove || o.CrossDevice || o.TempNumber != 0 ||
			ended[o.Bundle] {
			return false
		}
		if i+1 < len(r.Steps) && r.bundleAt(i+1) != o.Bundle {
			ended[o.Bundle] = true
		}
	}
	return !moves || organize.RootsDisjoint(r.Sources, r.Targets)
}
