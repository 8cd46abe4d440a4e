package apply

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/anivault/anivault/internal/organize"
)

type execution struct {
	w        worker
	now      func() time.Time
	progress func(Progress)
	workers  int // how many steps may run at once
	touched  []bool
	codes    []*Problem // by operation: why it failed or was skipped; nil if it succeeded
	wanted   []bool     // by operation: whether an undo puts it back
	cameBack []int      // operations that an undo has put back, if others still stand

	mu      sync.Mutex // guards the fields below between workers
	inPlace int        // files done so far
	total   int        // files to do
	copied  int64      // bytes so far
	toCopy  int64      // bytes in all
	stopped error      // why the run stopped early
}

func (e *Engine) open(j *journal) *execution {
	x := &execution{now: e.Now, progress: e.Progress, workers: e.Workers, total: len(j.run.Ops)}
	j.run.findPaths()
	x.w = worker{
		dirs: folders{system: e.System, run: j.run, open: map[int]Dir{}, making: &sync.Mutex{}, asRoot: e.AsRoot},
		run:  j.run, journal: j,
	}
	if e.Progress != nil {
		x.w.onCopied = x.copying
		for i := range j.run.Ops {
			if o := &j.run.Ops[i]; o.copies() {
				x.toCopy += o.Size
			}
		}
	}
	x.touched, x.codes = j.run.touched(), make([]*Problem, len(j.run.Ops))
	return x
}

func (e *Engine) reopen(id string) (*execution, error) {
	j, err := openJournal(e.Journals, id, true)
	if err != nil {
		return nil, err
	}
	for _, root := range slices.Concat(j.run.Sources, j.run.Targets) {
		if gone := e.mounted(root); gone != nil {
			j.close()
			gone.Run, gone.Cut = id, j.progress.stage.Unfinished()
			return nil, gone
		}
	}
	return e.open(j), nil
}

func (x *execution) close() {
	x.w.dirs.close()
	x.w.journal.close()
}

func (x *execution) apply(ctx context.Context) error {
	x.w.ctx = ctx
	if err := x.begin(); err != nil {
		return err
	}
	if err := x.w.journal.enter(Applying, x.now()); err != nil {
		return err
	}
	x.inParallel(func(w *worker, first, end int) { x.takeSteps(w, first, end, false) })
	if x.stopped != nil {
		return x.w.journal.sync()
	}
	x.w.dirs.sweep(x.emptied())
	used, anything := x.used()
	_ = x.w.dirs.prune(used) // an extra folder does no harm
	x.unprobe()
	if !anything {
		if err := x.settle(true); err != nil {
			x.stopped = failed(err)
			return x.w.journal.sync()
		}
	}
	return x.finish(Done)
}

func (x *execution) emptied() []bool {
	out := make([]bool, len(x.w.run.Dirs))
	for i := range x.w.run.Ops {
		if o := &x.w.run.Ops[i]; o.Verb == organize.Move && x.codes[i] == nil {
			out[o.From.Dir] = true
		}
	}
	return out
}

func (x *execution) used() (used []bool, anything bool) {
	used = make([]bool, len(x.w.run.Dirs))
	for i := range x.w.run.Ops {
		anything = anything || x.codes[i] == nil
		if x.codes[i] != nil || x.w.journal.progress.files[i].back {
			continue
		}
		for d := x.w.run.Ops[i].To.Dir; d >= 0 && !used[d]; d = x.w.run.Dirs[d].Parent {
			used[d] = true
		}
	}
	return used, anything
}

func (x *execution) begin() error {
	if x.w.journal.progress.probed {
		return nil
	}
	found, err := x.probe()
	if err != nil {
		return failed(err)
	}
	x.w.journal.mark(mark{Mark: markProbe, Probe: &found})
	return nil
}

const maxTroubles = 3

func (x *execution) takeSteps(w *worker, first, end int, back bool) {
	half := organize.Aside // the step after which a file has only its temporary name
	if back {
		half = organize.Home
	}
	troubles, stuck := 0, false
	out := map[int]bool{} // bundles that were rolled back
	for n := range end - first {
		at, rest := first+n, x.w.run.Steps[first+n:end]
		if back {
			at, rest = end-1-n, x.w.run.Steps[first:end-n]
		}
		s := x.w.run.Steps[at]
		if why := x.cause(); why != nil {
			x.stop(rest, half, why)
			return
		}
		if back && !x.wanted[s.Op] || !back && (out[x.w.run.Ops[s.Op].Bundle] || x.w.journal.progress.files[s.Op].back) {
			continue
		}
		w.dirs.trim()
		p := w.take(s, back)
		if p == nil {
			troubles = 0
			if s.Leg != half && x.codes[s.Op] == nil {
				x.arrived(s.Op)
			}
			continue
		}
		if x.w.ctx.Err() != nil { // the current copy was canceled
			x.stop(rest, half, context.Cause(x.w.ctx))
			return
		}
		switch {
		case back:
			x.keep(w, s, p)
		case p.isLeft():
			x.codes[s.Op] = p
			x.w.journal.markFile(s.Op, markNotDone, p.Code)
			continue
		default:
			out[x.w.run.Ops[s.Op].Bundle] = true
			stuck = !x.rollBack(w, at, s.Op, p)
		}
		if troubles++; !p.isTrouble() {
			troubles = 0
		}
		if stuck || troubles == maxTroubles && w.preview == nil {
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

// cause returns why the run must stop; nil if it may go on.
func (x *execution) cause() error {
	if x.w.ctx.Err() != nil {
		return context.Cause(x.w.ctx)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.stopped
}

func (x *execution) stop(rest []step, half organize.Leg, why error) {
	x.mu.Lock()
	if x.stopped == nil {
		x.stopped = why
	}
	x.mu.Unlock()
	for _, s := range rest {
		if s.Leg != half && x.codes[s.Op] == nil {
			x.codes[s.Op] = problem(NotReached)
		}
	}
}

func (x *execution) arrived(i int) {
	if x.w.preview != nil {
		return
	}
	if f := x.w.journal.progress.files[i]; f.notDone != "" && x.wanted == nil || f.kept != "" && x.wanted != nil {
		x.w.journal.markFile(i, markOK, "")
	}
	if x.progress == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.inPlace++
	if x.wanted != nil {
		x.progress(Progress{Run: x.w.run.ID, Files: x.inPlace, FilesTotal: x.total})
		return
	}
	if o := &x.w.run.Ops[i]; o.copies() {
		x.copied += o.Size
	}
	x.copying(0)
}

func (x *execution) copying(at int64) {
	if x.w.journal.progress.stage != Applying {
		return
	}
	x.progress(Progress{
		Run: x.w.run.ID, Files: x.inPlace, FilesTotal: x.total, Bytes: x.copied + at, BytesTotal: x.toCopy,
	})
}

func (x *execution) rollBack(w *worker, at, cause int, p *Problem) bool {
	bundle, whole := x.w.run.Ops[cause].Bundle, true
	for i := at; i >= 0; i-- {
		s := x.w.run.Steps[i]
		if x.w.run.Ops[s.Op].Bundle != bundle {
			continue
		}
		if back := w.take(s, true); back != nil && back.Code != MovedOn && back.Code != OriginalGone {
			whole = false
		}
	}
	for i := range x.w.run.Ops {
		if x.w.run.Ops[i].Bundle != bundle {
			continue
		}
		x.codes[i] = problem(WithAnother)
		if i == cause {
			x.codes[i] = p
		}
		if whole {
			x.w.journal.markFile(i, markNotDone, x.codes[i].Code)
		}
	}
	return whole
}

func (x *execution) finish(s Stage) error {
	for i := range x.w.run.Dirs {
		if x.w.run.Dirs[i].Parent >= 0 {
			continue
		}
		dir, err := x.w.dirs.get(i)
		if err == nil {
			err = dir.SyncFS()
		}
		if err != nil {
			x.stopped = failed(err)
			return nil // without its mark, the run counts as unfinished
		}
	}
	if s == Done {
		x.remember()
	}
	for _, i := range x.cameBack {
		x.w.journal.markFile(i, markBack, "")
	}
	return x.w.journal.enter(s, x.now())
}

func (x *execution) remember() {
	for i, touched := range x.touched {
		if !touched || x.w.run.Dirs[i].New {
			continue
		}
		x.w.dirs.trim()
		if dir, err := x.w.dirs.get(i); err == nil {
			if info, err := dir.Stat(); err == nil {
				x.w.journal.mark(mark{Mark: markAfter, Folder: new(i), Time: &info.MTime})
			}
		}
	}
}

func (x *execution) settle(times bool) error {
	m := &x.w.journal.progress
	for i := len(x.w.run.Dirs) - 1; i >= 0; i-- {
		d := &x.w.run.Dirs[i]
		if d.New || !x.touched[i] && !m.folders[i].lost {
			continue
		}
		x.w.dirs.trim()
		dir, err := x.w.dirs.get(i)
		if err != nil {
			if isMissing(err) || isElse(err) {
				continue // nothing in it was put back
			}
			return err
		}
		if m.folders[i].lost {
			if err := setModeAndOwner(dir, d.Mode, d.UID, d.GID, x.w.dirs.asRoot); err != nil {
				return err
			}
		}
		if !times || m.folders[i].changed {
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

// fewest is the minimum number of steps per worker. Fewer steps are as quick with one worker.
const fewest = 64

func workersFor(workers, steps int) int { return max(1, min(workers, steps/fewest)) }

func split(n, parts int) [][2]int {
	parts = workersFor(parts, n)
	out := make([][2]int, parts)
	for i := range out {
		out[i] = [2]int{n * i / parts, n * (i + 1) / parts}
	}
	return out
}

// parallel runs do on all parts at the same time and waits for them. It panics in the caller if one of them panics.
func parallel(parts [][2]int, do func(part, first, end int)) {
	if len(parts) == 1 {
		do(0, parts[0][0], parts[0][1])
		return
	}
	var wg sync.WaitGroup
	panics := make([]any, len(parts))
	for i, part := range parts {
		wg.Go(func() {
			defer func() { panics[i] = recover() }()
			do(i, part[0], part[1])
		})
	}
	wg.Wait()
	for _, p := range panics {
		if p != nil {
			panic(p)
		}
	}
}

func (x *execution) inParallel(do func(w *worker, first, end int)) {
	parts := x.w.run.parts(workersFor(x.workers, len(x.w.run.Steps)))
	if len(parts) < 2 {
		do(&x.w, 0, len(x.w.run.Steps))
		return
	}
	parallel(parts, func(_, first, end int) {
		w := x.w
		w.dirs.open = map[int]Dir{}
		defer w.dirs.close()
		do(&w, first, end)
	})
}

// parts splits the steps into at most n parts that don't depend on each other. It returns nil if they may: copies, NFO
// files, and names that one file frees and another takes need their order.
func (r *run) parts(n int) [][2]int {
	if n < 2 || !r.independent() {
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

func (r *run) independent() bool {
	ended := map[int]bool{}
	moves := false
	for i, s := range r.Steps {
		o := &r.Ops[s.Op]
		moves = moves || o.Verb == organize.Move
		if o.Verb != organize.Link && o.Verb != organize.Move || o.Across || o.Temp != 0 || ended[o.Bundle] {
			return false
		}
		if i+1 < len(r.Steps) && r.bundleAt(i+1) != o.Bundle {
			ended[o.Bundle] = true
		}
	}
	return !moves || organize.Separate(r.Sources, r.Targets)
}
