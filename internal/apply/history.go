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
	"github.com/anivault/anivault/internal/slicesx"
)

// Run summarizes a run for the history.
type Run struct {
	ID           string        `json:"run" doc:"its id"`
	Begun        time.Time     `json:"begun,omitempty" doc:"when it began, RFC 3339 in UTC"`
	Mode         organize.Mode `json:"mode,omitempty" doc:"hardlink, move, symlink, copy or reflink"`
	Stage        Stage         `json:"stage,omitempty" doc:"planned, apply or undo (at work, or interrupted), done,"`
	_            struct{}      `doc:"undone, kept (put back except for some files), abandoned, or damaged: see error"`
	StageBegun   time.Time     `json:"-"` // when the stage began
	Files        int           `json:"files" doc:"files of the run"`
	Refused      int           `json:"refused" doc:"files that were not put where they belong"`
	NotRestored  int           `json:"kept" doc:"files that could not be put back"`
	Undone       int           `json:"undone" doc:"files that were put back"`
	Sources      []string      `json:"-"`
	Targets      []string      `json:"targets,omitempty" doc:"the folders it put files in"`
	DamagedMarks int           `json:"-"` // unreadable lines of the journal
	Err          error         `json:"-"` // a *JournalError: the run can be neither resumed nor undone

	roots []organize.Root `json:"-"`
}

// History returns all runs, newest first. If a run's journal can't be trusted, its Err is set.
func (e *Engine) History() ([]Run, error) { return e.listRuns(true) }

// Runs is like History, but does not verify the checksums of journals.
func (e *Engine) Runs() ([]Run, error) { return e.listRuns(false) }

// Unfinished returns interrupted and current runs, and those with damaged journals, the newest first.
func (e *Engine) Unfinished() (unfinished, damaged []Run, err error) {
	runs, err := e.Runs()
	for i := range runs {
		r := &runs[i]
		if r.Err == nil && r.Stage.IsUnfinished() {
			_, r.Err = readSummary(e.Journals, r.ID, true)
		}
		switch {
		case r.Err != nil:
			damaged = append(damaged, *r)
		case r.Stage.IsUnfinished():
			unfinished = append(unfinished, *r)
		}
	}
	return unfinished, damaged, err
}

func (e *Engine) listRuns(check bool) ([]Run, error) {
	ids, err := e.runIDs()
	if err != nil {
		return nil, err
	}
	var out []Run
	for _, id := range ids {
		r, err := readSummary(e.Journals, id, check)
		if isMissing(err) {
			continue
		}
		if _, damaged := errors.AsType[*JournalError](err); err != nil && !damaged { // it can't even be read
			r, err = &Run{}, &JournalError{Why: lang.TextOf(err)}
		}
		r.ID, r.Err = id, err
		if r.Begun.IsZero() { // for a damaged journal, take the time of its last change
			if info, err := e.Journals.Lstat(journalName(id)); err == nil {
				r.Begun = time.Unix(info.MTime.Sec, int64(info.MTime.Nsec))
			}
		}
		out = append(out, *r)
	}
	slices.SortStableFunc(out, func(a, b Run) int { return cmp.Or(b.Begun.Compare(a.Begun), strings.Compare(b.ID, a.ID)) })
	return out, nil
}

func (p *progress) summary(header runHeader, files int) Run {
	rootPath := func(r organize.Root) string { return r.Path }
	r := Run{
		ID: header.ID, Begun: header.Begun, Mode: header.Mode, Stage: p.stage, StageBegun: p.stageBegun, Files: files,
		Sources: slicesx.Map(header.Sources, rootPath), Targets: slicesx.Map(header.Targets, rootPath),
		DamagedMarks: p.damagedMarks, roots: slices.Concat(header.Sources, header.Targets),
	}
	notDone := 0
	for _, f := range p.files {
		if f.notDone != "" {
			notDone++
		}
		if f.notDone != "" && f.notDone != CodeNotReached {
			r.Refused++
		}
		if f.notRestored != "" {
			r.NotRestored++
		}
		if f.undone {
			r.Undone++
		}
	}
	if p.stage == StageUndone {
		r.Undone = r.Files - notDone
	}
	return r
}

func (e *Engine) runIDs() ([]string, error) {
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

// requireNoUnfinished returns an *UnfinishedError if a run is unfinished. It removes incomplete journals.
func (e *Engine) requireNoUnfinished() error {
	names, err := e.Journals.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if id, ok := strings.CutSuffix(strings.TrimPrefix(name, "."), ".journal.new"); ok && organize.IsID(id) &&
			name == newJournalName(id) {
			if err := e.Journals.Unlink(name); err != nil && !isMissing(err) {
				return err
			}
		}
	}
	runs, _, err := e.Unfinished()
	if err != nil || len(runs) == 0 {
		return err
	}
	return &UnfinishedError{Run: runs[0].ID, MountErr: e.checkRoots(runs[0].roots)}
}

// Show returns a run and the status of each of its files. For an interrupted run it examines the files.
func (e *Engine) Show(id string) (Run, *Outcome, error) {
	j, err := openJournal(e.Journals, id, false)
	if err != nil {
		return Run{}, nil, err
	}
	x := e.newExecution(j)
	defer x.close()
	stage := x.progress.stage
	out := &Outcome{Run: id, Results: x.results(), Unfinished: stage.IsUnfinished(), DamagedMarks: x.progress.damagedMarks}
	for i, f := range x.progress.files {
		switch r := &out.Results[i]; {
		case f.notDone != "":
			r.Problem = newProblem(f.notDone)
			r.Status = r.Problem.status()
		case f.undone:
			r.Status = StatusUndone
		case f.notRestored != "":
			r.Status, r.Problem = StatusNotRestored, newProblem(f.notRestored)
		case stage == StageDone:
			r.Status = StatusDone
		case stage == StageUndone, stage == StagePartlyUndone:
			r.Status = StatusUndone
		default:
			o := &x.run.Ops[i]
			x.dirs.trim()
			target, err := x.worker.observe(o, o.To)
			mayBeEdited := o.Verb != organize.VerbNFO && o.Verb != organize.VerbSymlink
			if r.Status = x.progress.sourceStatus(); err == nil && (target.state == stateSame ||
				target.state == stateEdited && mayBeEdited) {
				r.Status = StatusDone
			}
		}
		x.problems[i] = out.Results[i].Problem
	}
	if stage == StageDone {
		out.ChangedFolders = x.changedFolders()
	}
	return x.progress.summary(x.run.runHeader, len(x.run.Ops)), out, nil
}

func (p *progress) sourceStatus() Status {
	if p.isUndo {
		return StatusUndone
	}
	return StatusPlanned
}

// FileIdentity identifies a file.
type FileIdentity struct {
	Inode uint64
	Size  int64
	MTime organize.Stamp
}

// PlacedFile is a file that a run put into a library.
type PlacedFile struct {
	Source FileIdentity
	Target string    // its new path
	Undone bool      // an undo has put it back
	Since  time.Time // when the run or its undo ended
}

// PlacedFiles returns the files that a run put into a library and whose sources still exist. It omits files on file
// systems that don't keep inodes.
func (e *Engine) PlacedFiles(id string) ([]PlacedFile, error) {
	j, err := openJournal(e.Journals, id, false)
	if err != nil {
		return nil, err
	}
	j.close()
	var out []PlacedFile
	for i, f := range j.progress.files {
		o := &j.run.Ops[i]
		undone := f.undone || j.progress.stage == StageUndone
		source := FileIdentity{o.Inode, o.Size, o.MTime}
		if c := f.returnedCopy; undone && c != nil { // copied back from another file system
			source = FileIdentity{c.Inode, c.Size, c.MTime}
		}
		if f.notDone == "" && source.Inode != 0 && o.Verb != organize.VerbNFO && (undone || o.Verb != organize.VerbMove) {
			out = append(out, PlacedFile{source, path.Join(j.run.dirPath(o.To.Dir), o.To.Name), undone, j.progress.stageBegun})
		}
	}
	return out, nil
}

// Prune removes the journals of runs that ended before a time, and returns their IDs. They can't be undone any more.
func (e *Engine) Prune(before time.Time) ([]string, error) {
	runs, err := e.History()
	if err != nil {
		return nil, err
	}
	var gone []string
	for i := range runs {
		r := &runs[i]
		if r.Err != nil || r.Stage.IsUnfinished() || r.Stage == StageAbandoned || !r.StageBegun.Before(before) {
			continue
		}
		if err := e.Journals.Unlink(journalName(r.ID)); err != nil {
			return gone, err
		}
		gone = append(gone, r.ID)
	}
	return gone, e.Journals.Sync()
}

// Abandon gives up an interrupted run, so that others may begin. The run can still be resumed or undone.
func (e *Engine) Abandon(id string) error {
	j, err := openJournal(e.Journals, id, true)
	if err != nil {
		return err
	}
	defer j.close()
	return j.enterStage(StageAbandoned, e.Now())
}

// findLaterMoves looks for later runs that moved this run's files elsewhere, and names them in the results.
func (e *Engine) findLaterMoves(out *Outcome, begun time.Time) {
	gone := map[string]*Result{}
	for i := range out.Results {
		r := &out.Results[i]
		kept := r.Problem != nil &&
			(r.Problem.Code == CodeMovedAway || r.Problem.Code == CodeTargetGone || r.Problem.Code == CodeTargetReplaced)
		if kept || r.Status == StatusGone || r.Status == StatusReplaced {
			gone[r.Target] = r
		}
	}
	ids, err := e.runIDs()
	if err != nil || len(gone) == 0 {
		return
	}
	for _, id := range ids {
		j, err := openJournal(e.Journals, id, false)
		if err != nil {
			continue // skip a damaged journal
		}
		j.close()
		if id == out.Run || j.run.Begun.Before(begun) || j.progress.stage == StageUndone {
			continue
		}
		for i := range j.run.Ops {
			if j.progress.files[i].undone || j.run.Ops[i].Verb != organize.VerbMove {
				continue
			}
			if r := gone[j.run.pathOf(j.run.Ops[i].From)]; r != nil {
				r.Problem = &Problem{Code: CodeMovedAway, Run: id}
				if r.Status != StatusNotRestored {
					r.Status = StatusMovedAway
				}
			}
		}
	}
}
