package apply

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/anivault/anivault/internal/organize"
)

// working is an engine at one run.
type working struct {
	engine
	now      func() time.Time
	progress func(Progress)
	workers  int        // how many steps may be carried out at once
	mu       sync.Mutex // held by the lane that tells how far the run is, or why it stops
	inPlace  int        // files that have come to their place, so far
	toGoBack int        // files that an undo is to put back
	copied   int64      // bytes, so far
	toCopy   *int64     // bytes; nil: not counted yet
	stopped  error      // why the run did not come to its end
	cameBack []int      // operations that an undo has put back, where others are not
}

func (e *Engine) open(j *journal) *working {
	w := &working{now: e.Now, progress: e.Progress, workers: e.Workers}
	if e.Progress != nil {
		w.poured = w.copying
	}
	w.folders = folders{system: e.System, run: j.run, open: map[int]Dir{}}
	w.making = &sync.Mutex{}
	j.run.findPaths()
	w.journal, w.touched, w.asRoot = j, j.run.touched(), e.AsRoot
	w.codes, w.newAt = make([]*Problem, len(j.run.Ops)), map[place]int{}
	for i := range j.run.Dirs {
		if d := &j.run.Dirs[i]; d.New {
			w.newAt[place{d.Parent, d.Name}] = i
		}
	}
	return w
}

// reopen opens a run of the journals whose folders are there.
func (e *Engine) reopen(id string) (*working, error) {
	j, err := openJournal(e.Journals, id, true)
	if err != nil {
		return nil, err
	}
	for _, roots := range [][]organize.Root{j.run.Sources, j.run.Targets} {
		for _, root := range roots {
			if err := e.mounted(root); err != nil {
				j.close()
				if gone, ok := errors.AsType[*MountError](err); ok {
					gone.Run, gone.Cut = id, j.progress.stage.Unfinished()
				}
				return nil, err
			}
		}
	}
	return e.open(j), nil
}

func (w *working) close() {
	w.folders.close()
	w.journal.close()
}

// apply carries the run out, from wherever it is. An error means that the journal can't be written any more.
func (w *working) apply(ctx context.Context) error {
	w.ctx = ctx
	if err := w.begin(); err != nil {
		return err
	}
	if err := w.journal.enter(Applying, w.now()); err != nil {
		return err
	}
	if !w.forwardAll(ctx) {
		return w.journal.sync()
	}
	w.sweep()
	w.prune(w.used())
	w.unprobe()
	if w.nothing() {
		if err := w.settle(true); err != nil {
			w.stopped = failed(err)
			return w.journal.sync()
		}
	}
	return w.finish(Done)
}

// used returns which folders hold a file that has come to its place.
func (w *working) used() []bool {
	used := make([]bool, len(w.run.Dirs))
	for i := range w.run.Ops {
		if w.codes[i] != nil || w.journal.progress.file(i).back {
			continue
		}
		for d := w.run.Ops[i].To.Dir; d >= 0 && !used[d]; d = w.run.Dirs[d].Parent {
			used[d] = true
		}
	}
	return used
}

// nothing reports whether no file has come to its place.
func (w *working) nothing() bool {
	for _, p := range w.codes {
		if p == nil {
			return false
		}
	}
	return true
}

// begin finds out what the file systems can do, once a run.
func (w *working) begin() error {
	if w.journal.progress.probed {
		return nil
	}
	found, err := w.probe()
	if err != nil {
		return failed(err)
	}
	w.journal.mark(mark{Mark: markProbe, Probe: &found})
	return nil
}

// maxTroubles is after how many failures of the disk in a row a run stops.
const maxTroubles = 3

// forwardAll carries out all steps; false means that the run was stopped, and goes on with Resume.
func (w *working) forwardAll(ctx context.Context) bool {
	w.inParallel(func(e *engine, first, end int) { w.forwardSome(ctx, e, first, end) })
	return w.stopped == nil
}

// forwardSome carries out the steps of one lane. A bundle of which one file fails is put back whole.
func (w *working) forwardSome(ctx context.Context, e *engine, first, end int) {
	troubles := 0
	out := map[int]bool{} // bundles that were put back
	for at := first; at < end; at++ {
		if why := w.cause(ctx); why != nil {
			w.stop(at, end, why)
			return
		}
		s := w.run.Steps[at]
		o := &w.run.Ops[s.Op]
		if out[o.Bundle] || w.journal.progress.file(s.Op).back {
			continue
		}
		e.trim()
		p := e.forward(s)
		if p == nil {
			troubles = 0
			if s.Leg != organize.Aside {
				w.did(s.Op)
			}
			continue
		}
		if ctx.Err() != nil { // the copy under way was given up
			w.stop(at, end, context.Cause(ctx))
			return
		}
		if p.isLeft() {
			w.codes[s.Op] = p
			w.journal.markFile(s.Op, markNotDone, p.Code)
			continue
		}
		out[o.Bundle] = true
		if !w.rollBack(e, o.Bundle, at, s.Op, p) {
			w.stop(at+1, end, p)
			return
		}
		if troubles++; !p.isTrouble() {
			troubles = 0
		}
		if troubles == maxTroubles {
			w.stop(at+1, end, p)
			return
		}
	}
}

// cause is why no further step is carried out; nil where none is known.
func (w *working) cause(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stopped
}

// stop notes why the run has not come to its end, and which of a lane's files it has not come to.
func (w *working) stop(next, end int, why error) {
	w.halt(why)
	for _, s := range w.run.Steps[next:end] {
		if s.Leg != organize.Aside && w.codes[s.Op] == nil {
			w.codes[s.Op] = problem(NotReached)
		}
	}
}

// halt notes why the run stops. The first cause counts.
func (w *working) halt(why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped == nil {
		w.stopped = why
	}
}

// did tells that a file has come to its place.
func (w *working) did(i int) {
	if w.journal.progress.file(i).notDone != "" {
		w.journal.markFile(i, markOK, "")
	}
	if w.progress == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inPlace++
	if o := &w.run.Ops[i]; o.copies() {
		w.copied += o.Size
	}
	w.copying(0)
}

// copying tells how far the run is, with at bytes of a copy that is under way.
func (w *working) copying(at int64) {
	if w.journal.progress.stage != Applying {
		return
	}
	if w.toCopy == nil {
		w.toCopy = new(w.run.bytes())
	}
	w.progress(Progress{Run: w.run.ID, Files: w.inPlace, FilesTotal: len(w.run.Ops), Bytes: w.copied + at, BytesTotal: *w.toCopy})
}

// rollBack puts back what was done of a bundle; false means that it could not be.
func (w *working) rollBack(e *engine, bundle, at, cause int, p *Problem) bool {
	whole := true
	for i := at; i >= 0; i-- {
		s := w.run.Steps[i]
		if w.run.Ops[s.Op].Bundle != bundle {
			continue
		}
		if back := e.back(s); back != nil && back.Code != MovedOn && back.Code != OriginalGone {
			whole = false
		}
	}
	for i := range w.run.Ops {
		if w.run.Ops[i].Bundle != bundle {
			continue
		}
		w.codes[i] = problem(WithAnother)
		if i == cause {
			w.codes[i] = p
		}
		if whole {
			w.journal.markFile(i, markNotDone, w.codes[i].Code)
		}
	}
	return whole
}

// finish makes everything durable, and then says so.
func (w *working) finish(s Stage) error {
	for i := range w.run.Dirs {
		if w.run.Dirs[i].Parent >= 0 {
			continue
		}
		dir, err := w.get(i)
		if err == nil {
			err = dir.SyncFS()
		}
		if err != nil {
			w.stopped = failed(err)
			return nil // without its mark the run is not finished
		}
	}
	if s == Done {
		w.remember()
	}
	for _, i := range w.cameBack {
		w.journal.markFile(i, markBack, "")
	}
	return w.journal.enter(s, w.now())
}

// remember writes the times of the folders down, so that an undo sees whether others have changed them since.
func (w *working) remember() {
	for i, touched := range w.touched {
		if !touched || w.run.Dirs[i].New {
			continue
		}
		w.trim()
		if dir, err := w.get(i); err == nil {
			if info, err := dir.Stat(); err == nil {
				w.journal.mark(mark{Mark: markAfter, Folder: new(i), Time: &info.MTime})
			}
		}
	}
}
