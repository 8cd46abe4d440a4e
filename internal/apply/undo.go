package apply

import (
	"context"
	"path"
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
	wanted := w.wanted(opts.Only)
	if opts.DryRun {
		w.foresee(wanted)
	} else {
		err = w.undo(ctx, wanted)
	}
	w.tell(out, StatusUndone)
	e.nameLater(out, w.run.Begun)
	if wanted != nil {
		part := out.Results[:0]
		for i := range w.run.Ops {
			if wanted[w.run.Ops[i].Bundle] {
				part = append(part, out.Results[i])
			}
		}
		out.Results = part
	}
	return w.outcome(out, err)
}

// wanted returns the bundles that are put back; nil for all.
func (w *working) wanted(only func(source, target string) bool) map[int]bool {
	if only == nil {
		return nil
	}
	out := map[int]bool{}
	for i := range w.run.Ops {
		if o := &w.run.Ops[i]; only(w.run.sourceOf(o), w.run.pathOf(o.To)) {
			out[o.Bundle] = true
		}
	}
	return out
}

func (w *working) undo(ctx context.Context, wanted map[int]bool) error {
	w.ctx = ctx
	if err := w.begin(); err != nil {
		return err
	}
	w.compare()
	if err := w.journal.enter(Undoing, w.now()); err != nil {
		return err
	}
	if !w.backAll(ctx, wanted) {
		return w.journal.sync()
	}
	w.prune(0)
	w.unprobe()
	if err := w.settle(wanted == nil); err != nil {
		w.stopped = failed(err)
		return w.journal.sync()
	}
	switch {
	case wanted != nil:
		return w.finish(Done) // the rest of it stands
	case slices.ContainsFunc(w.codes, func(p *Problem) bool { return p != nil }):
		return w.finish(Kept)
	}
	return w.finish(Undone)
}

// compare marks the folders that others have changed since the run, and those that are gone. A run that was cut off knows
// nothing of others.
func (w *working) compare() {
	m := &w.journal.marks
	for i := range w.run.Dirs {
		if w.run.Dirs[i].New {
			continue
		}
		dir, err := w.get(i)
		if err != nil {
			if isMissing(err) && !m.lost[i] {
				w.journal.mark("lost %d", i)
			}
			continue
		}
		info, err := dir.Stat()
		after, known := m.after[i]
		if err == nil && m.stage == Done && known && info.MTime != after && !m.keep[i] {
			w.journal.mark("keep %d", i)
		}
	}
}

// backAll puts the steps back, the last one first; false means that it was stopped.
func (w *working) backAll(ctx context.Context, wanted map[int]bool) bool {
	troubles := 0
	for at := len(w.run.Steps) - 1; at >= 0; at-- {
		if ctx.Err() != nil {
			w.stopBack(at, context.Cause(ctx))
			return false
		}
		s := w.run.Steps[at]
		if wanted != nil && !wanted[w.run.Ops[s.Op].Bundle] {
			continue
		}
		w.trim()
		p := w.back(s)
		if p == nil {
			troubles = 0
			if s.Leg != organize.Home && w.codes[s.Op] == nil {
				w.undid(s.Op, at)
			}
			continue
		}
		if ctx.Err() != nil {
			w.stopBack(at, context.Cause(ctx))
			return false
		}
		if w.codes[s.Op] == nil {
			w.codes[s.Op] = p
			w.journal.mark("kept %d %s", s.Op, p.Code)
		}
		if s.Leg == organize.Aside {
			w.goHome(s.Op)
		}
		if troubles++; !p.isTrouble() {
			troubles = 0
		}
		if troubles == maxTroubles {
			w.stopBack(at-1, p)
			return false
		}
	}
	return true
}

// stopBack is stop for undoing.
func (w *working) stopBack(next int, why error) {
	w.stopped = why
	for ; next >= 0; next-- {
		if s := w.run.Steps[next]; s.Leg != organize.Home && w.codes[s.Op] == nil {
			w.codes[s.Op] = problem(NotReached)
		}
	}
}

// undid tells that a file is back.
func (w *working) undid(i, at int) {
	if w.journal.marks.kept[i] != "" {
		w.journal.mark("ok %d", i)
	}
	if w.progress != nil {
		w.progress(Progress{Run: w.run.ID, Files: len(w.run.Steps) - at, FilesTotal: len(w.run.Steps)})
	}
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

// foresee finds what can't be put back, and changes nothing.
func (w *working) foresee(wanted map[int]bool) {
	for i := range w.run.Ops {
		o := &w.run.Ops[i]
		if wanted != nil && !wanted[o.Bundle] {
			continue
		}
		if w.codes[i] = w.wouldKeep(o); w.codes[i] == nil && o.Verb == organize.Move {
			if _, was, err := w.find(o, o.From); err == nil && was.there && !was.ours && !w.frees(o.From) {
				w.codes[i] = problem(Occupied)
			}
		}
	}
}

// wouldKeep says why a file would be kept, as far as its own names show it.
func (w *working) wouldKeep(o *op) *Problem {
	there, ours, same, err := w.atTarget(o)
	if o.Verb == organize.NFO {
		return w.wouldKeepNote(o, there, ours, same, err)
	}
	if err != nil {
		return failed(err)
	}
	_, was, err := w.find(o, o.From)
	switch {
	case err != nil:
		return failed(err)
	case !there && o.Verb != organize.Move, !ours && (was.ours || w.journal.marks.not[o.Index] != ""):
		return nil
	case !ours:
		return problem(MovedOn)
	case o.copies() && was.ours && (!was.same || !same):
		return problem(Edited)
	case o.Verb != organize.Move && o.Verb != organize.Symlink && !was.ours:
		return problem(OriginalGone)
	}
	return nil
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
		known := w.journal.marks.copies[o.Index]
		_, now, err := w.look(o.To)
		if err != nil {
			if isMissing(err) || isElse(err) {
				err = nil
			}
			return false, false, false, err
		}
		ours = known != nil && known.is(now, w.journal.marks.loose)
		return true, ours, ours && known.matches(now), nil
	}
	_, f, err := w.find(o, o.To)
	return f.there, f.ours, f.same, err
}

// frees reports whether the name is the target of another operation of the run, which leaves it first.
func (w *working) frees(at place) bool {
	name := path.Clean(w.run.pathOf(at))
	return slices.ContainsFunc(w.run.Ops, func(o op) bool { return w.run.pathOf(o.To) == name })
}
