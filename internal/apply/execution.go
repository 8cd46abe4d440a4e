package apply

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/anivault/anivault/internal/organize"
)

type execution struct {
	worker      worker
	now         func() time.Time
	progress    func(Progress)
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
	x := &execution{now: e.Now, progress: e.Progress, workers: e.Workers, filesTotal: len(j.run.Ops)}
	j.run.indexPaths()
	x.worker = worker{
		dirs: folderCache{
			system:       e.System,
			run:          j.run,
			open:         map[int]Dir{},
			mkdirMutex:   &sync.Mutex{},
			inheritOwner: e.InheritOwner,
		},
		run: j.run, journal: j,
	}
	if e.Progress != nil {
		x.worker.onCopied = x.reportProgress
		for i := range j.run.Ops {
			if o := &j.run.Ops[i]; o.copiesContent() {
				x.bytesTotal += o.Size
			}
		}
	}
	x.touchedDirs, x.problems = j.run.touchedDirs(), make([]*Problem, len(j.run.Ops))
	x.bundleSteps = sync.OnceValue(j.run.groupByBundle)
	return x
}

func (e *Engine) openExecution(id string) (*execution, error) {
	j, err := openJournal(e.Journals, id, true)
	if err != nil {
		return nil, err
	}
	for _, root := range slices.Concat(j.run.Sources, j.run.Targets) {
		if gone := e.checkRoot(root); gone != nil {
			j.close()
			gone.Run, gone.Interrupted = id, j.progress.stage.IsUnfinished()
			return nil, gone
		}
	}
	return e.newExecution(j), nil
}

func (x *execution) close() {
	x.worker.dirs.close()
	x.worker.journal.close()
}

func (x *execution) apply(ctx context.Context) error {
	x.worker.ctx = ctx
	if err := x.ensureProbed(); err != nil {
		return err
	}
	if err := x.worker.journal.enterStage(StageApplying, x.now()); err != nil {
		return err
	}
	x.runInParallel(func(w *worker, first, end int) { x.runSteps(w, first, end, false) })
	if x.stopCause != nil {
		return x.worker.journal.sync()
	}
	x.worker.dirs.removeEmptied(x.emptiedDirs())
	used, anything := x.usedDirs()
	_ = x.worker.dirs.removeCreated(used) // a leftover empty folder does no harm
	x.clearProbes()
	if !anything {
		if err := x.restoreFolders(true); err != nil {
			x.stopCause = asProblem(err)
			return x.worker.journal.sync()
		}
	}
	return x.finish(StageDone)
}

func (x *execution) emptiedDirs() []bool {
	out := make([]bool, len(x.worker.run.Dirs))
	for i := range x.worker.run.Ops {
		if o := &x.worker.run.Ops[i]; o.Verb == organize.VerbMove && x.problems[i] == nil {
			out[o.From.Dir] = true
		}
	}
	return out
}

func (x *execution) usedDirs() (used []bool, anything bool) {
	used = make([]bool, len(x.worker.run.Dirs))
	for i := range x.worker.run.Ops {
		anything = anything || x.problems[i] == nil
		if x.problems[i] != nil || x.worker.journal.progress.files[i].undone {
			continue
		}
		for d := x.worker.run.Ops[i].To.Dir; d >= 0 && !used[d]; d = x.worker.run.Dirs[d].Parent {
			used[d] = true
		}
	}
	return used, anything
}

func (x *execution) ensureProbed() error {
	if x.worker.journal.progress.probed {
		return nil
	}
	found, err := x.probeRoots()
	if err != nil {
		return asProblem(err)
	}
	x.worker.journal.appendMark(mark{Mark: markProbe, Probe: &found})
	return nil
}

// maxDiskFailures is how many disk failures in a row stop a run.
const maxDiskFailures = 3

// runSteps applies or undoes a range of steps. When applying, it rolls back the bundle of each failed operation.
func (x *execution) runSteps(w *worker, first, end int, back bool) {
	half := organize.StepToTemp // after this step, a file is still under its temporary name
	if back {
		half = organize.StepFromTemp
	}
	troubles, stuck := 0, false
	out := map[int]bool{} // the bundles that were rolled back
	for n := range end - first {
		at, rest := first+n, x.worker.run.Steps[first+n:end]
		if back {
			at, rest = end-1-n, x.worker.run.Steps[first:end-n]
		}
		s := x.worker.run.Steps[at]
		if why := x.stopReason(); why != nil {
			x.stop(rest, half, why)
			return
		}
		if back && !x.toUndo[s.Op] ||
			!back && (out[x.worker.run.Ops[s.Op].Bundle] || x.worker.journal.progress.files[s.Op].undone) {
			continue
		}
		w.dirs.trim()
		p := w.runStep(s, back)
		if p == nil {
			troubles = 0
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
		case back:
			x.recordNotRestored(w, at, p)
		case p.skipsNFO():
			x.problems[s.Op] = p
			x.worker.journal.appendFileMark(s.Op, markNotDone, p.Code)
			continue
		default:
			out[x.worker.run.Ops[s.Op].Bundle] = true
			stuck = !x.rollBackBundle(w, at, s.Op, p)
		}
		if troubles++; !p.isDiskFailure() {
			troubles = 0
		}
		if stuck || troubles == maxDiskFailures && w.preview == nil {
			if back {
				rest = rest[:len(rest)-1]
			} else {
				rest = rest[1:]
			}
			x.stop(rest, half, p)
			return
		}
	}
}

// stopReason returns why the run must stop; nil if it may continue.
func (x *execution) stopReason() error {
	if x.worker.ctx.Err() != nil {
		return context.Cause(x.worker.ctx)
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
	if x.worker.preview != nil {
		return
	}
	if f := x.worker.journal.progress.files[i]; f.notDone != "" && x.toUndo == nil ||
		f.notRestored != "" && x.toUndo != nil {
		x.worker.journal.appendFileMark(i, markOK, "")
	}
	if x.progress == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.filesDone++
	if x.toUndo != nil {
		x.progress(Progress{Run: x.worker.run.ID, Files: x.filesDone, FilesTotal: x.filesTotal})
		return
	}
	if o := &x.worker.run.Ops[i]; o.copiesContent() {
		x.bytesCopied += o.Size
	}
	x.reportProgress(0)
}

// reportProgress calls the progress callback. at is the number of bytes of the current copy.
func (x *execution) reportProgress(at int64) {
	if x.worker.journal.progress.stage != StageApplying {
		return
	}
	x.progress(Progress{
		Run: x.worker.run.ID, Files: x.filesDone, FilesTotal: x.filesTotal,
		Bytes: x.bytesCopied + at, BytesTotal: x.bytesTotal,
	})
}

// rollBackBundle undoes the steps of a bundle after one of its operations failed. It returns false if a file could not
// be put back. A file stays at its target if another program has taken its old name, or removed or edited the original.
func (x *execution) rollBackBundle(w *worker, at, cause int, p *Problem) bool {
	steps, whole := x.bundleSteps()[x.worker.run.Ops[cause].Bundle], true
	for _, i := range steps {
		x.problems[x.worker.run.Steps[i].Op] = newProblem(CodeBundleRefused)
	}
	for _, i := range slices.Backward(steps) {
		if i > at {
			continue
		}
		s := x.worker.run.Steps[i]
		switch back := w.runStep(s, true); {
		case back == nil, back.Code == CodeMovedAway:
		case back.leavesFile():
			x.problems[s.Op] = back
		default:
			whole = false
		}
	}
	if p.leavesFile() || !x.problems[cause].leavesFile() {
		x.problems[cause] = p
	}
	for _, i := range steps {
		if s := x.worker.run.Steps[i]; whole && s.Kind != organize.StepToTemp {
			x.worker.journal.appendFileMark(s.Op, markNotDone, x.problems[s.Op].Code)
		}
	}
	return whole
}

// groupByBundle returns the indexes of each bundle's steps.
func (r *run) groupByBundle() map[int][]int {
	out := map[int][]int{}
	for i := range r.Steps {
		out[r.bundleAt(i)] = append(out[r.bundleAt(i)], i)
	}
	return out
}

func (x *execution) finish(s Stage) error {
	for i := range x.worker.run.Dirs {
		if x.worker.run.Dirs[i].Parent >= 0 {
			continue
		}
		dir, err := x.worker.dirs.get(i)
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
		x.worker.journal.appendFileMark(i, markUndone, "")
	}
	return x.worker.journal.enterStage(s, x.now())
}

func (x *execution) recordFolderTimes() {
	for i, touched := range x.touchedDirs {
		if !touched || x.worker.run.Dirs[i].New {
			continue
		}
		x.worker.dirs.trim()
		if dir, err := x.worker.dirs.get(i); err == nil {
			if info, err := dir.Stat(); err == nil {
				x.worker.journal.appendMark(mark{Mark: markEndTime, Folder: new(i), Time: &info.MTime})
			}
		}
	}
}

// restoreFolders gives existing folders their original times, and recreated ones also their mode and owner.
func (x *execution) restoreFolders(times bool) error {
	m := &x.worker.journal.progress
	for i := len(x.worker.run.Dirs) - 1; i >= 0; i-- {
		d := &x.worker.run.Dirs[i]
		if d.New || !x.touchedDirs[i] && !m.folders[i].missing {
			continue
		}
		x.worker.dirs.trim()
		dir, err := x.worker.dirs.get(i)
		if err != nil {
			if isMissing(err) || isNotFolder(err) {
				continue // nothing was put back into this folder
			}
			return err
		}
		if m.folders[i].missing {
			if err := setModeAndOwner(dir, d.Mode, d.UID, d.GID, x.worker.dirs.inheritOwner); err != nil {
				return err
			}
		}
		if !times || m.folders[i].changedSince {
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

// minStepsPerWorker is the least number of steps that justifies another worker.
const minStepsPerWorker = 64

func workerCount(workers, steps int) int { return max(1, min(workers, steps/minStepsPerWorker)) }

func splitRange(n, parts int) [][2]int {
	parts = workerCount(parts, n)
	out := make([][2]int, parts)
	for i := range out {
		out[i] = [2]int{n * i / parts, n * (i + 1) / parts}
	}
	return out
}

// parallel calls do for all parts at the same time and waits for the calls to return. If one of them panics, parallel
// panics too.
func parallel(parts [][2]int, runPart func(part, first, end int)) {
	if len(parts) == 1 {
		runPart(0, parts[0][0], parts[0][1])
		return
	}
	var wg sync.WaitGroup
	panics := make([]any, len(parts))
	for i, part := range parts {
		wg.Go(func() {
			defer func() { panics[i] = recover() }()
			runPart(i, part[0], part[1])
		})
	}
	wg.Wait()
	for _, p := range panics {
		if p != nil {
			panic(p)
		}
	}
}

func (x *execution) runInParallel(runPart func(w *worker, first, end int)) {
	parts := x.worker.run.independentParts(workerCount(x.workers, len(x.worker.run.Steps)))
	if len(parts) < 2 {
		runPart(&x.worker, 0, len(x.worker.run.Steps))
		return
	}
	parallel(parts, func(_, first, end int) {
		w := x.worker
		w.dirs.open = map[int]Dir{}
		defer w.dirs.close()
		runPart(&w, first, end)
	})
}

// independentParts splits the steps into at most n parts that don't depend on each other. It returns nil if that is
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
