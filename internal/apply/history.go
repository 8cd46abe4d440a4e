package apply

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/organize"
)

// Run is what the history says of a run.
type Run struct {
	ID      string
	Begun   time.Time
	Mode    organize.Mode
	Stage   Stage
	At      time.Time // when the stage began
	Files   int
	Refused int // files that were not carried out
	Kept    int // files that were not put back
	Targets []string
	Err     error // a *JournalError: it is never acted on
}

// History returns all runs, the newest first.
func (e *Engine) History() ([]Run, error) {
	ids, err := e.ids()
	if err != nil {
		return nil, err
	}
	var out []Run
	for _, id := range ids {
		j, err := openJournal(e.Journals, id, false)
		if _, broken := errors.AsType[*JournalError](err); err != nil && !broken {
			return nil, err
		}
		r := Run{ID: id, Err: err}
		if j != nil {
			j.close()
			m := &j.marks
			r.Begun, r.Mode, r.Stage, r.At, r.Files = j.run.Begun, j.run.Mode, m.stage, m.at, len(j.run.Ops)
			r.Refused, r.Kept = len(m.not), len(m.kept)
			for _, t := range j.run.Targets {
				r.Targets = append(r.Targets, t.Path)
			}
		}
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b Run) int { return cmp.Or(b.Begun.Compare(a.Begun), strings.Compare(b.ID, a.ID)) })
	return out, nil
}

// ids returns the ids of all journals.
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

// free returns an *UnfinishedError where a run was cut off. What one has left that never began is cleared away.
func (e *Engine) free() error {
	names, err := e.Journals.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if id, ok := strings.CutSuffix(strings.TrimPrefix(name, "."), ".journal.new"); ok && organize.IsID(id) && name == unwritten(id) {
			if err := e.Journals.Unlink(name); err != nil && !isMissing(err) {
				return err
			}
		}
	}
	runs, err := e.History()
	if err != nil {
		return err
	}
	for i := range runs {
		if r := &runs[i]; r.Err == nil && r.Stage.Unfinished() {
			return &UnfinishedError{r.ID, r.Stage}
		}
	}
	return nil
}

// runID returns the plan's id, or a like one where a run has that already.
func (e *Engine) runID(plan string) (string, error) {
	ids, err := e.ids()
	if err != nil {
		return "", err
	}
	for id := plan; ; id = NewID(e.Now()) {
		if !slices.Contains(ids, id) {
			return id, nil
		}
	}
}
