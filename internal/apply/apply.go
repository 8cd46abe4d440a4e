package apply

import (
	"context"
	"slices"
	"time"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/organize"
)

// Engine carries plans out. Its journals lie in a folder of their own. At most one may work over that folder at a time.
type Engine struct {
	System   FS
	Journals Dir
	Now      func() time.Time
	AsRoot   bool           // made folders get the owner of the one above
	Workers  int            // how many files may be moved or linked at once; 0: one
	Progress func(Progress) // told after each file; may be nil
	// Note returns what a file for media servers holds, by what is known without asking anybody; nil where that does not
	// suffice.
	Note func(ctx context.Context, n *organize.Note) []byte
}

// Progress is how far a run is.
type Progress struct {
	Run               string
	Files, FilesTotal int
	Bytes, BytesTotal int64 // of what is copied
}

// Options say how a plan is carried out.
type Options struct {
	Absolute bool // symbolic links hold whole paths
	Partial  bool // units that can't be carried out are left, the others are not
	DryRun   bool // only look
}

// Apply checks a plan and carries it out. Where anything of it can't be, nothing is done, unless Partial says
// otherwise. The error is an *UnfinishedError, a *MountError, or that the journal could not be written; then nothing
// was done.
func (e *Engine) Apply(ctx context.Context, p *organize.Plan, opts Options) (*Outcome, error) {
	if err := e.free(); err != nil {
		return nil, err
	}
	c, err := e.check(ctx, p, opts.Absolute)
	if err != nil {
		return nil, err
	}
	refused := c.refuse()
	out := &Outcome{Results: make([]Result, 0, len(c.items))}
	for i := range c.items {
		out.Results = append(out.Results, c.items[i].result)
	}
	if opts.DryRun || refused && !opts.Partial || len(c.run.Ops) == 0 {
		return out, nil
	}
	ids, err := e.ids()
	if err != nil {
		return nil, err
	}
	for slices.Contains(ids, c.run.ID) { // the plan was carried out before
		c.run.ID = NewID(e.Now())
	}
	c.run.Plan, c.run.Begun, c.run.Parts = p.ID, e.Now().UTC(), NewID(e.Now())
	j, err := newJournal(e.Journals, c.run)
	if err != nil {
		return nil, lang.Error("write the journal: %w", err)
	}
	x := e.open(j)
	defer x.close()
	out.Run = c.run.ID
	err = x.apply(ctx)
	x.fillStatuses(out, StatusDone)
	return x.outcome(out, err)
}

// Resume carries an interrupted run through to its end as an apply, even if its undo was interrupted.
func (e *Engine) Resume(ctx context.Context, id string) (*Outcome, error) {
	x, err := e.reopen(id)
	if err != nil {
		return nil, err
	}
	defer x.close()
	out := &Outcome{Run: id, Results: x.results()}
	if err := x.w.dirs.redress(); err != nil {
		return nil, failed(err)
	}
	err = x.apply(ctx)
	x.fillStatuses(out, StatusDone)
	return x.outcome(out, err)
}

// mounted is nil where a root is the folder that was planned with.
func (e *Engine) mounted(root organize.Root) *MountError {
	now, err := e.System.Root(root.Path)
	if err != nil || now != root {
		return &MountError{Path: root.Path, Err: err}
	}
	return nil
}
