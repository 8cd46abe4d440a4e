package apply

import (
	"context"
	"slices"
	"time"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/organize"
)

// Engine carries out plans and undoes them. Only one Engine at a time may use Journals, with one journal per run.
type Engine struct {
	System       FS
	Journals     Dir
	Now          func() time.Time
	InheritOwner bool           // give new folders the owner of their parent folder
	Workers      int            // how many files may be moved or linked at once; 0 means 1
	Progress     func(Progress) // called after each file; may be nil
	// OnBegin is called with the ID of a run that begins or continues, before it changes anything; may be nil.
	OnBegin func(run string)
	// NFOContent returns the content of an NFO file, using only cached data; nil if the cache lacks some of it.
	NFOContent func(ctx context.Context, n *organize.NFOSpec) []byte
}

func (e *Engine) began(run string) {
	if e.OnBegin != nil {
		e.OnBegin(run)
	}
}

// Progress is how far a run has come.
type Progress struct {
	Run               string
	Files, FilesTotal int
	Bytes, BytesTotal int64 // bytes to copy; renamed and linked files don't count
}

// Options control how Apply carries out a plan.
type Options struct {
	AbsoluteLinks bool // create symbolic links with absolute paths
	Partial       bool // carry out the units that are possible, and skip the others
	DryRun        bool // only check the plan
}

// Apply checks a plan and carries it out. If any part of it is impossible, Apply changes nothing, unless opts.Partial
// is set. If Apply returns an *UnfinishedError, a *MountError or an error about the journal, it has changed nothing.
func (e *Engine) Apply(ctx context.Context, p *organize.Plan, opts Options) (*Outcome, error) {
	if err := e.requireNoUnfinished(); err != nil {
		return nil, err
	}
	c, err := e.checkPlan(ctx, p, opts.AbsoluteLinks)
	if err != nil {
		return nil, err
	}
	results, refused := c.results()
	out := &Outcome{Results: results}
	if opts.DryRun || refused && !opts.Partial || len(c.run.Ops) == 0 {
		return out, nil
	}
	ids, err := e.runIDs()
	if err != nil {
		return nil, err
	}
	for slices.Contains(ids, c.run.ID) { // an earlier run of this plan has the ID
		c.run.ID = NewID(e.Now())
	}
	c.run.PlanID, c.run.Begun, c.run.PartPrefix = p.ID, e.Now().UTC(), NewID(e.Now())
	j, err := newJournal(e.Journals, c.run)
	if err != nil {
		return nil, lang.Error("write the journal: %w", err)
	}
	x := e.newExecution(j)
	defer x.close()
	if err := x.ensureProbed(); err != nil { // the run has not begun, so it must not count as interrupted
		x.clearProbes()
		_ = x.restoreFolders(true)
		_ = e.Journals.Unlink(journalName(c.run.ID))
		return nil, err
	}
	out.Run = c.run.ID
	e.began(c.run.ID)
	x.firstTime = true
	err = x.apply(ctx)
	x.fillStatuses(out, StatusDone)
	out, err = x.completeOutcome(out, err)
	if err == nil && !out.Unfinished && !slices.ContainsFunc(x.problems, (*Problem).leavesFile) {
		out.Run = "" // nothing was changed: each retry of the watch command would otherwise leave a journal
		err = e.Journals.Unlink(journalName(c.run.ID))
	}
	return out, err
}

// Resume finishes an interrupted run. If an undo of the run was interrupted, Resume applies the run again.
func (e *Engine) Resume(ctx context.Context, id string) (*Outcome, error) {
	x, err := e.openExecution(id)
	if err != nil {
		return nil, err
	}
	defer x.close()
	out := &Outcome{Run: id, Results: x.results()}
	if err := x.dirs.restoreModes(); err != nil {
		return nil, asProblem(err)
	}
	e.began(id)
	err = x.apply(ctx)
	x.fillStatuses(out, StatusDone)
	return x.completeOutcome(out, err)
}

// checkRoots returns an error if the path of a root leads to another folder than planned, such as an empty mount point.
func (e *Engine) checkRoots(roots []organize.Root) *MountError {
	for _, root := range roots {
		if now, err := e.System.Root(root.Path); err != nil || now != root {
			return &MountError{Path: root.Path, Err: err}
		}
	}
	return nil
}
