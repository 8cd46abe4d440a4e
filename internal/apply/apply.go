package apply

import (
	"context"
	"fmt"
	"time"

	"github.com/anivault/anivault/internal/organize"
)

// Engine carries plans out. Its journals lie in a folder of their own. At most one may work over that folder at a time.
type Engine struct {
	System   FS
	Journals Dir
	Now      func() time.Time
	AsRoot   bool           // made folders get the owner of the one above
	Progress func(Progress) // told after each file; may be nil
}

// Progress is how far a run is.
type Progress struct {
	Run               string
	Files, FilesTotal int
	Bytes, BytesTotal int64 // of what is copied
}

// Options say how a plan is carried out.
type Options struct {
	Partial bool // units that can't be carried out are left, the others are not
	DryRun  bool // only look
}

// Status is what became of a file.
type Status string

// The statuses of files.
const (
	StatusPlanned Status = "planned"  // it can be done
	StatusInPlace Status = "in_place" // it was done before
	StatusDone    Status = "done"
	StatusRefused Status = "refused" // it can't be done, and was not
	StatusFailed  Status = "failed"  // it could not be done, and was put back
	StatusUndone  Status = "undone"
	StatusKept    Status = "kept" // it can't be put back safely, and stays
)

// Result is what became of one file.
type Result struct {
	N, Unit        int // in the plan, from 1
	Verb           organize.Verb
	Source, Target string
	Size           int64
	Copied         bool // with StatusDone: its content was copied
	Status         Status
	Problem        *Problem // with refused, failed and kept
}

// Outcome is what became of a run.
type Outcome struct {
	Run        string // "" where none was begun
	Results    []Result
	Unfinished bool // it was cut off: Resume goes on, Undo puts back
	Why        error
}

// Count returns how many files have the status.
func (o *Outcome) Count(s Status) int {
	n := 0
	for i := range o.Results {
		if o.Results[i].Status == s {
			n++
		}
	}
	return n
}

// UnfinishedError says that a run stands in the way.
type UnfinishedError struct {
	Run   string
	Stage Stage
}

// Error names the run.
func (e *UnfinishedError) Error() string { return "the run " + e.Run + " was cut off" }

// MountError says that a root is not there, or not the folder that was planned with.
type MountError struct {
	Path string
	Err  error // nil where another folder is there
}

// Error names the folder.
func (e *MountError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s is not there: %v", e.Path, e.Err)
	}
	return e.Path + " is another folder than the one that was planned with"
}

// Unwrap returns what the system said.
func (e *MountError) Unwrap() error { return e.Err }

// Apply checks a plan and carries it out. Where anything of it can't be, nothing is done, unless Partial says otherwise. The
// error is an *UnfinishedError, a *MountError, or that the journal could not be written; then nothing was done.
func (e *Engine) Apply(ctx context.Context, p *organize.Plan, opts Options) (*Outcome, error) {
	if err := e.free(); err != nil {
		return nil, err
	}
	c, err := e.check(p)
	if err != nil {
		return nil, err
	}
	refused := c.refuse()
	out := &Outcome{Results: c.results}
	if opts.DryRun || refused && !opts.Partial || len(c.run.Ops) == 0 {
		return out, nil
	}
	if c.run.ID, err = e.runID(p.ID); err != nil {
		return nil, err
	}
	c.run.Plan, c.run.Begun = p.ID, e.Now()
	j, err := newJournal(e.Journals, c.run)
	if err != nil {
		return nil, fmt.Errorf("write the journal: %w", err)
	}
	w := e.open(j)
	defer w.close()
	out.Run = c.run.ID
	err = w.apply(ctx)
	w.tell(out, StatusDone)
	return w.outcome(out, err)
}

// Resume goes on with a run that was cut off, in apply or in undo, to where it was to lead.
func (e *Engine) Resume(ctx context.Context, id string) (*Outcome, error) {
	w, err := e.reopen(id)
	if err != nil {
		return nil, err
	}
	defer w.close()
	out := &Outcome{Run: id, Results: w.results()}
	if err := w.redress(); err != nil {
		return nil, failed(err)
	}
	err = w.apply(ctx)
	w.tell(out, StatusDone)
	return w.outcome(out, err)
}

// working is an engine at one run.
type working struct {
	engine
	now      func() time.Time
	progress func(Progress)
	copied   int64  // bytes, so far
	toCopy   *int64 // bytes; nil: not counted yet
	stopped  error  // why the run did not come to its end
}

func (e *Engine) open(j *journal) *working {
	w := &working{now: e.Now, progress: e.Progress}
	w.folders = folders{system: e.System, run: j.run, open: map[int]Dir{}}
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
				return nil, err
			}
		}
	}
	return e.open(j), nil
}

// mounted is nil where a root is the folder that was planned with.
func (e *Engine) mounted(root organize.Root) error {
	now, err := e.System.Root(root.Path)
	switch {
	case err != nil:
		return &MountError{root.Path, err}
	case now != root:
		return &MountError{Path: root.Path}
	}
	return nil
}

func (w *working) close() {
	w.folders.close()
	w.journal.close()
}

// outcome completes what is told of a run.
func (w *working) outcome(out *Outcome, err error) (*Outcome, error) {
	out.Unfinished, out.Why = w.journal.marks.stage.Unfinished(), w.stopped
	return out, err
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
	w.prune(0)
	w.unprobe()
	if w.nothing() {
		if err := w.settle(true); err != nil {
			w.stopped = failed(err)
			return w.journal.sync()
		}
	}
	return w.finish(Done)
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
	if w.journal.marks.probed {
		return nil
	}
	how, err := w.probe()
	if err != nil {
		return failed(err)
	}
	w.journal.mark("probe %s", how)
	return nil
}

// maxTroubles is after how many failures of the disk in a row a run stops.
const maxTroubles = 3

// forwardAll carries out all steps; false means that the run was stopped, and goes on with Resume. A bundle of which one file
// fails is put back whole.
func (w *working) forwardAll(ctx context.Context) bool {
	troubles := 0
	out := map[int]bool{} // bundles that were put back
	for at, s := range w.run.Steps {
		if ctx.Err() != nil {
			w.stop(at, context.Cause(ctx))
			return false
		}
		o := &w.run.Ops[s.Op]
		if out[o.Bundle] {
			continue
		}
		w.trim()
		p := w.forward(s)
		if p == nil {
			troubles = 0
			if s.Leg != organize.Aside {
				w.did(s.Op)
			}
			continue
		}
		if ctx.Err() != nil { // the copy under way was given up
			w.stop(at, context.Cause(ctx))
			return false
		}
		out[o.Bundle] = true
		if !w.rollBack(o.Bundle, at, s.Op, p) {
			w.stop(at+1, p)
			return false
		}
		if troubles++; !p.isTrouble() {
			troubles = 0
		}
		if troubles == maxTroubles {
			w.stop(at+1, p)
			return false
		}
	}
	return true
}

// stop notes why the run has not come to its end, and which files it has not come to.
func (w *working) stop(next int, why error) {
	w.stopped = why
	for _, s := range w.run.Steps[next:] {
		if s.Leg != organize.Aside && w.codes[s.Op] == nil {
			w.codes[s.Op] = problem(NotReached)
		}
	}
}

// did tells that a file has come to its place.
func (w *working) did(i int) {
	if w.journal.marks.not[i] != "" {
		w.journal.mark("ok %d", i)
	}
	if w.progress == nil {
		return
	}
	if w.toCopy == nil {
		w.toCopy = new(w.run.bytes())
	}
	if o := &w.run.Ops[i]; o.copies() {
		w.copied += o.Size
	}
	w.progress(Progress{Run: w.run.ID, Files: i + 1, FilesTotal: len(w.run.Ops), Bytes: w.copied, BytesTotal: *w.toCopy})
}

// rollBack puts back what was done of a bundle; false means that it could not be.
func (w *working) rollBack(bundle, at, cause int, p *Problem) bool {
	whole := true
	for i := at; i >= 0; i-- {
		s := w.run.Steps[i]
		if w.run.Ops[s.Op].Bundle != bundle {
			continue
		}
		if back := w.back(s); back != nil && back.Code != MovedOn && back.Code != OriginalGone {
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
			w.journal.mark("not %d %s", i, w.codes[i].Code)
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
	return w.journal.enter(s, w.now())
}

// remember writes the times of the folders down, so that an undo sees whether others have changed them since.
func (w *working) remember() {
	for i, touched := range w.touched {
		if !touched || w.run.Dirs[i].New {
			continue
		}
		if dir, err := w.get(i); err == nil {
			if info, err := dir.Stat(); err == nil {
				w.journal.mark("after %d %s", i, info.MTime)
			}
		}
	}
}

// results are those of a run's files, whose status is not known yet.
func (w *working) results() []Result {
	out := make([]Result, len(w.run.Ops))
	for i := range w.run.Ops {
		o := &w.run.Ops[i]
		out[i] = Result{
			N: o.N, Unit: o.Unit, Verb: o.Verb, Source: w.run.pathOf(o.From), Target: w.run.pathOf(o.To), Size: o.Size,
		}
	}
	return out
}

// tell sets what became of each file.
func (w *working) tell(out *Outcome, done Status) {
	byN := map[int]int{}
	for i := range w.run.Ops {
		byN[w.run.Ops[i].N] = i
	}
	for k := range out.Results {
		r := &out.Results[k]
		i, mine := byN[r.N]
		if !mine {
			continue
		}
		p := w.codes[i]
		switch {
		case p == nil:
			r.Status, r.Copied = done, w.run.Ops[i].copies()
		case p.Code == NotReached:
			r.Status = StatusPlanned
		case done == StatusUndone:
			r.Status, r.Problem = StatusKept, p
		case p.isTrouble():
			r.Status, r.Problem = StatusFailed, p
		default:
			r.Status, r.Problem = StatusRefused, p
		}
	}
}
