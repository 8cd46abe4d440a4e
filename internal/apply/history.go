package apply

import (
	"cmp"
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/organize"
)

// Run summarizes a run for the history.
type Run struct {
	ID          string
	Begun       time.Time
	Mode        organize.Mode
	Stage       Stage
	At          time.Time // when the stage began
	Files       int
	Refused     int // files that were not carried out
	NotRestored int // files that could not be put back
	Undone      int // files that were put back
	Sources     []string
	Targets     []string
	Damaged     int   // unreadable marks of the journal
	Err         error // a *JournalError: the run must not be acted on

	roots []organize.Root
}

// History returns all runs, newest first. A run whose journal can't be trusted has Err set.
func (e *Engine) History() ([]Run, error) { return e.runs(true) }

// Runs is like History, but does not verify checksums.
func (e *Engine) Runs() ([]Run, error) { return e.runs(false) }

// Unfinished returns the runs that are interrupted or still at work, and the runs with damaged journals, which may be
// either. The newest come first.
func (e *Engine) Unfinished() (unfinished, damaged []Run, err error) {
	runs, err := e.Runs()
	for i := range runs {
		r := &runs[i]
		if r.Err == nil && r.Stage.Unfinished() {
			_, r.Err = readSummary(e.Journals, r.ID, true)
		}
		switch {
		case r.Err != nil:
			damaged = append(damaged, *r)
		case r.Stage.Unfinished():
			unfinished = append(unfinished, *r)
		}
	}
	return unfinished, damaged, err
}

func (e *Engine) runs(check bool) ([]Run, error) {
	ids, err := e.ids()
	if err != nil {
		return nil, err
	}
	var out []Run
	for _, id := range ids {
		r, err := readSummary(e.Journals, id, check)
		if isMissing(err) {
			continue
		}
		if errors.Is(err, errNotRegular) { // something other than a journal has the name
			r, err = &Run{}, &JournalError{Why: lang.TextOf(errNotRegular)}
		}
		if _, broken := errors.AsType[*JournalError](err); err != nil && !broken {
			return nil, err
		}
		r.ID, r.Err = id, err
		if r.Begun.IsZero() { // a damaged journal counts as begun when it was last written
			if info, err := e.Journals.Lstat(journalName(id)); err == nil {
				r.Begun = time.Unix(info.MTime.Sec, int64(info.MTime.Nsec))
			}
		}
		out = append(out, *r)
	}
	slices.SortStableFunc(out, func(a, b Run) int { return cmp.Or(b.Begun.Compare(a.Begun), strings.Compare(b.ID, a.ID)) })
	return out, nil
}

func (p *progress) summary(of runHeader) Run {
	r := Run{
		ID: of.ID, Begun: of.Begun, Mode: of.Mode, Stage: p.stage, At: p.at, Files: len(p.files), Damaged: p.damaged,
		roots: slices.Concat(of.Sources, of.Targets),
	}
	notDone := 0
	for i := range p.files {
		f := p.files[i]
		if f.notDone != "" {
			notDone++
		}
		if f.notDone != "" && f.notDone != NotReached {
			r.Refused++
		}
		if f.kept != "" {
			r.NotRestored++
		}
		if f.back {
			r.Undone++
		}
	}
	if p.stage == Undone {
		r.Undone = r.Files - notDone
	}
	for _, s := range of.Sources {
		r.Sources = append(r.Sources, s.Path)
	}
	for _, t := range of.Targets {
		r.Targets = append(r.Targets, t.Path)
	}
	return r
}

func (e *Engine) ids() ([]string, error) {
	names, err := e.Journals.Names()
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, name := range names {
		if id, ok := strings.CutSuffix(name, ".journal"); ok && organize.IsID(id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

func (e *Engine) free() error {
	names, err := e.Journals.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if id, ok := strings.CutSuffix(strings.TrimPrefix(name, "."), ".journal.new"); ok && organize.IsID(id) &&
			name == unwritten(id) {
			if err := e.Journals.Unlink(name); err != nil && !isMissing(err) {
				return err
			}
		}
	}
	runs, _, err := e.Unfinished()
	if err != nil || len(runs) == 0 {
		return err
	}
	r := &runs[0]
	cut := &UnfinishedError{Run: r.ID, Stage: r.Stage}
	for _, root := range r.roots {
		if gone := e.mounted(root); gone != nil && cut.Gone == nil {
			cut.Gone = gone
		}
	}
	return cut
}

// Show returns a run and the status of each of its files. For an interrupted run it looks at the files themselves.
func (e *Engine) Show(id string) (Run, *Outcome, error) {
	j, err := openJournal(e.Journals, id, false)
	if err != nil {
		return Run{}, nil, err
	}
	x := e.open(j)
	defer x.close()
	m := &j.progress
	out := &Outcome{Run: id, Results: x.results(), Unfinished: m.stage.Unfinished(), Damaged: m.damaged}
	for i := range out.Results {
		r, p := &out.Results[i], m.files[i].kept
		switch {
		case m.files[i].notDone != "":
			r.Problem = problem(m.files[i].notDone)
			r.Status = r.Problem.status()
		case m.files[i].back:
			r.Status = StatusUndone
		case p != "":
			r.Status, r.Problem = StatusKept, problem(p)
		case m.stage == Done:
			r.Status = StatusDone
		case m.stage == Undone, m.stage == Kept:
			r.Status = StatusUndone
		default:
			r.Status = x.where(i)
		}
	}
	return m.summary(j.run.runHeader), out, nil
}

func (x *execution) where(i int) Status {
	o := &x.w.run.Ops[i]
	x.w.dirs.trim()
	if target, err := x.w.see(o, o.To); err == nil && (target.what == same || target.what == edited &&
		o.Verb != organize.NFO && o.Verb != organize.Symlink) {
		return StatusDone
	}
	return x.w.journal.progress.elsewhere()
}

func (p *progress) elsewhere() Status {
	if p.undoing {
		return StatusUndone
	}
	return StatusPlanned
}

// Identity identifies a file.
type Identity struct {
	Inode uint64
	Size  int64
	MTime organize.Stamp
}

// Placed is a file that a run put into a library.
type Placed struct {
	Source Identity
	Target string // its new path
	Undone bool   // an undo has put it back
}

// Placed returns the files that a run put into a library and whose sources still exist, if the file system keeps
// inodes.
func (e *Engine) Placed(id string) ([]Placed, error) {
	j, err := openJournal(e.Journals, id, false)
	if err != nil {
		return nil, err
	}
	j.close()
	m := &j.progress
	var out []Placed
	for i := range j.run.Ops {
		o, at := &j.run.Ops[i], &m.files[i]
		p := Placed{
			Source: Identity{o.Inode, o.Size, o.MTime}, Target: path.Join(j.run.path(o.To.Dir), o.To.Name),
			Undone: at.back || m.stage == Undone,
		}
		if back := at.returned; p.Undone && back != nil { // copied back from another file system
			p.Source = Identity{back.Inode, back.Size, back.MTime}
		}
		if at.notDone == "" && p.Source.Inode != 0 && o.Verb != organize.NFO && (p.Undone || o.Verb != organize.Move) {
			out = append(out, p)
		}
	}
	return out, nil
}

// Prune removes the journals of runs that ended before a time, so they can no longer be undone, and returns their IDs.
func (e *Engine) Prune(before time.Time) ([]string, error) {
	runs, err := e.History()
	if err != nil {
		return nil, err
	}
	var gone []string
	for i := range runs {
		r := &runs[i]
		if r.Err != nil || r.Stage.Unfinished() || r.Stage == Abandoned || !r.At.Before(before) {
			continue
		}
		if err := e.Journals.Unlink(journalName(r.ID)); err != nil {
			return gone, err
		}
		gone = append(gone, r.ID)
	}
	return gone, e.Journals.Sync()
}

// Abandon lets new runs begin although this one was interrupted. It undoes nothing and keeps the journal, so the run
// can still be resumed or undone.
func (e *Engine) Abandon(id string) error {
	j, err := openJournal(e.Journals, id, true)
	if err != nil {
		return err
	}
	defer j.close()
	return j.enter(Abandoned, e.Now())
}

// nameLater finds the later run that moved a file away from where this run put it.
func (e *Engine) nameLater(out *Outcome, begun time.Time) {
	gone := map[string]*Result{}
	for i := range out.Results {
		r := &out.Results[i]
		kept := r.Problem != nil && (r.Problem.Code == MovedOn || r.Problem.Code == Gone || r.Problem.Code == Replaced)
		if kept || r.Status == StatusGone || r.Status == StatusReplaced {
			gone[r.Target] = r
		}
	}
	ids, err := e.ids()
	if err != nil || len(gone) == 0 {
		return
	}
	for _, id := range ids {
		j, err := openJournal(e.Journals, id, false)
		if err != nil {
			continue // skip a damaged journal
		}
		j.close()
		if id == out.Run || j.run.Begun.Before(begun) || j.progress.stage == Undone {
			continue
		}
		for i := range j.run.Ops {
			if j.progress.files[i].back || j.run.Ops[i].Verb != organize.Move {
				continue
			}
			if r := gone[j.run.pathOf(j.run.Ops[i].From)]; r != nil {
				r.Problem = &Problem{Code: MovedOn, Run: id}
				if r.Status != StatusKept {
					r.Status = StatusMovedOn
				}
			}
		}
	}
}
