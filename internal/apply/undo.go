package apply

import (
	"context"
	"maps"
	"slices"

	"github.com/anivault/anivault/internal/organize"
)

// UndoOptions say what of a run is put back.
type UndoOptions struct {
	Only   func(source, target string) bool // nil: all of it; else the bundles with a file of which it is true
	DryRun bool
}

// Undo puts back what a run has changed, on what is there now. What can't be put back safely is kept, with its reason.
func (e *Engine) Undo(ctx context.Context, id string, opts UndoOptions) (*Outcome, error) {
	w, err := e.reopen(id)
	if err != nil {
		return nil, err
	}
	defer w.close()
	out := &Outcome{Run: id, Results: w.results()}
	stayed := w.stayed()
	wanted, part := w.wanted(opts.Only)
	switch {
	case opts.Only != nil && !slices.Contains(wanted, true): // nothing is asked for
	case opts.DryRun:
		w.foresee(wanted)
	default:
		err = w.undo(ctx, wanted, part, stayed)
	}
	w.tell(out, StatusUndone)
	e.nameLater(out, w.run.Begun)
	told := out.Results[:0]
	for i := range w.run.Ops {
		never := w.codes[i] == nil && (w.journal.progress.file(i).notDone != "" || stayed[i]) // it was not carried out
		if r := &out.Results[i]; opts.DryRun && r.Status == StatusUndone {
			r.Status = StatusPlanned
		}
		if wanted[i] && !never {
			told = append(told, out.Results[i])
		}
	}
	out.Results = told
	out, err = w.outcome(out, err)
	out.Unfinished = out.Unfinished && !opts.DryRun // what is only foreseen is not cut off
	return out, err
}

// wanted returns which operations are put back: those that are not back yet, whole bundles of them. part says that others stay.
func (w *working) wanted(only func(source, target string) bool) (wanted []bool, part bool) {
	bundles := map[int]bool{}
	for i := range w.run.Ops {
		if o := &w.run.Ops[i]; only == nil || only(w.run.sourceOf(o), w.run.pathOf(o.To)) {
			bundles[o.Bundle] = true
		}
	}
	wanted = make([]bool, len(w.run.Ops))
	for i := range w.run.Ops {
		back := w.journal.progress.file(i).back
		wanted[i] = bundles[w.run.Ops[i].Bundle] && !back
		part = part || !wanted[i] && !back && w.journal.progress.file(i).notDone == ""
	}
	return wanted, part
}

// stayed returns the operations that a run which was cut off has not come to. Once putting back has begun nothing tells them apart, so
// it is written down before.
func (w *working) stayed() map[int]bool {
	if s := w.journal.progress.stage; s != Planned && s != Applying && s != Abandoned {
		return nil
	}
	out := map[int]bool{}
	for i := range w.run.Ops {
		w.trim()
		out[i] = w.waits(&w.run.Ops[i], w.run.Ops[i].From)
	}
	return out
}

// waits reports whether a file is not at its target but at another place; one that is written waits where it is not there.
func (w *working) waits(o *op, at place) bool {
	there, ours, _, err := w.atTarget(o)
	if err != nil || ours || o.Verb == organize.NFO {
		return err == nil && !there
	}
	_, home, err := w.find(o, at)
	return err == nil && home.ours
}

// noteStayed writes down which operations the run has not come to.
func (w *working) noteStayed(stayed map[int]bool) {
	m := &w.journal.progress
	for i := range w.run.Ops {
		switch {
		case stayed == nil:
		case stayed[i] && m.file(i).notDone == "":
			w.journal.markFile(i, markNotDone, NotReached)
		case !stayed[i] && m.file(i).notDone == NotReached:
			w.journal.markFile(i, markOK, "") // it was gone on with since
		}
	}
}

func (w *working) undo(ctx context.Context, wanted []bool, part bool, stayed map[int]bool) error {
	w.ctx = ctx
	if err := w.begin(); err != nil {
		return err
	}
	w.compare()
	w.noteStayed(stayed)
	if err := w.journal.enter(Undoing, w.now()); err != nil {
		return err
	}
	if !w.backAll(ctx, wanted) {
		return w.journal.sync()
	}
	w.prune(nil)
	w.unprobe()
	if err := w.settle(!part); err != nil {
		w.stopped = failed(err)
		return w.journal.sync()
	}
	return w.finish(w.ended(wanted))
}

// ended returns the stage in which an undo leaves the run, and notes what has to be known of its files then.
func (w *working) ended(wanted []bool) Stage {
	m, s := &w.journal.progress, Undone
	for i := range w.run.Ops {
		switch {
		case w.codes[i] == nil && m.file(i).notDone != "": // it never left its place
		case wanted[i] && w.codes[i] == nil:
			w.cameBack = append(w.cameBack, i)
		case m.file(i).back:
		case m.file(i).kept == "":
			s = Done // it stands
		case s == Undone:
			s = Kept
		}
	}
	if s == Undone {
		w.cameBack = nil // the stage says it
	}
	return s
}

// compare marks the folders that others have changed since the run, and those that are gone. An interrupted run knows nothing of others.
func (w *working) compare() {
	m := &w.journal.progress
	for i := range w.run.Dirs {
		if w.run.Dirs[i].New {
			continue
		}
		w.trim()
		dir, err := w.get(i)
		if err != nil {
			if isMissing(err) && !m.folders[i].lost {
				w.journal.markFolder(i, markLost)
			}
			continue
		}
		info, err := dir.Stat()
		if err != nil || !w.touched[i] {
			continue
		}
		after := m.folders[i].after
		if m.stage == Done && after != (organize.Stamp{}) && info.MTime != after && !m.folders[i].changed {
			w.journal.markFolder(i, markChanged)
		}
	}
}

// backAll puts the steps back, the last one first; false means that it was stopped.
func (w *working) backAll(ctx context.Context, wanted []bool) bool {
	tooBig := w.tooBig(wanted)
	for _, i := range slices.Sorted(maps.Keys(tooBig)) {
		w.journal.markFile(i, markKept, NoSpace)
	}
	for i := range wanted {
		if wanted[i] && !tooBig[i] {
			w.toGoBack++
		}
	}
	w.inParallel(func(e *engine, first, end int) {
		w.backSome(ctx, e, first, end, func(op int) bool { return wanted[op] && !tooBig[op] })
	})
	return w.stopped == nil
}

// backSome puts the steps of one lane back.
func (w *working) backSome(ctx context.Context, e *engine, first, end int, wanted func(op int) bool) {
	troubles := 0
	for at := end - 1; at >= first; at-- {
		if why := w.cause(ctx); why != nil {
			w.stopBack(first, at, why)
			return
		}
		s := w.run.Steps[at]
		if !wanted(s.Op) {
			continue
		}
		e.trim()
		p := e.back(s)
		if p == nil {
			troubles = 0
			if s.Leg != organize.Home && w.codes[s.Op] == nil {
				w.undid(s.Op)
			}
			continue
		}
		if ctx.Err() != nil {
			w.stopBack(first, at, context.Cause(ctx))
			return
		}
		if w.codes[s.Op] == nil {
			w.codes[s.Op] = p
			w.journal.markFile(s.Op, markKept, p.Code)
		}
		if s.Leg == organize.Aside {
			w.goHome(s.Op)
		}
		if troubles++; !p.isTrouble() {
			troubles = 0
		}
		if troubles == maxTroubles {
			w.stopBack(first, at-1, p)
			return
		}
	}
}

// stopBack is stop for undoing.
func (w *working) stopBack(first, next int, why error) {
	w.halt(why)
	for ; next >= first; next-- {
		if s := w.run.Steps[next]; s.Leg != organize.Home && w.codes[s.Op] == nil {
			w.codes[s.Op] = problem(NotReached)
		}
	}
}

// undid tells that a file is back.
func (w *working) undid(i int) {
	if w.journal.progress.file(i).kept != "" {
		w.journal.markFile(i, markOK, "")
	}
	if w.progress == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inPlace++
	w.progress(Progress{Run: w.run.ID, Files: w.inPlace, FilesTotal: w.toGoBack})
}

// goHome gives a file its target again that can't have its source's name: none stays under a temporary one.
func (w *working) goHome(i int) {
	o := &w.run.Ops[i]
	dir, f, err := w.find(o, w.run.temp(o))
	if err != nil || !f.ours {
		return
	}
	if into, err := w.make(o.To.Dir); err == nil {
		_ = w.shift(o, dir, w.run.temp(o), into, o.To, false) // why it is kept has been said
	}
}

// atTarget looks whether something lies at an operation's target, whether the run put it there, and whether it is as it was.
func (w *working) atTarget(o *op) (there, ours, same bool, err error) {
	switch {
	case o.Verb == organize.NFO:
		_, there, ours, same, err = w.reads(o)
		return there, ours, same, err
	case o.Verb == organize.Symlink:
		_, there, ours, err = w.points(o)
		return there, ours, ours, err
	case o.copies():
		known := w.journal.progress.file(o.Index).copy
		_, now, err := w.look(o.To)
		if err != nil {
			if isMissing(err) || isElse(err) {
				err = nil
			}
			return false, false, false, err
		}
		ours = known != nil && known.is(now, w.journal.progress.unstableInodes)
		return true, ours, ours && known.matches(now), nil
	}
	_, f, err := w.find(o, o.To)
	return f.there, f.ours, f.same, err
}
