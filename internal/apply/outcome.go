package apply

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/organize"
)

// Status is what became of a file.
type Status string

// The statuses of files.
const (
	StatusPlanned Status = "planned"  // it can be done
	StatusInPlace Status = "in_place" // it was done before
	StatusLeft    Status = "left"     // a file for media servers that is not written; the rest goes on without it
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
	Problem        *Problem // with left, refused, failed and kept
}

// Outcome is what became of a run.
type Outcome struct {
	Run        string // "" where none was begun
	Results    []Result
	Unfinished bool // it was interrupted: Resume goes on, Undo puts back
	Why        error
	// with Apply and Resume that came to their end: the folders of the entries that are other than before
	Changed        []string
	BadCRC         []string // copied files whose content has not the CRC-32 that their name says
	LostAttributes []string // copies that could not keep all extended attributes, or their access list
	Damaged        int      // marks of the journal that can't be read: what they said is not known
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
	Gone  error // a *MountError where a folder of it is not there
}

// ErrAtWork says that another process works on a run.
var ErrAtWork = lang.Error("another process works on this run")

// Error names the run.
func (e *UnfinishedError) Error() string { return "the run " + e.Run + " was cut off" }

// MountError says that a root is not there, or not the folder that was planned with.
type MountError struct {
	Path string
	Err  error  // nil where another folder is there
	Run  string // the run that needs the folder; "": a plan does
	Cut  bool   // that run was interrupted
}

// Error names the folder.
func (e *MountError) Error() string {
	if e.Err != nil {
		err := e.Err
		if of, ok := errors.AsType[*fs.PathError](err); ok {
			err = of.Err // the path has been said
		}
		return fmt.Sprintf("%s is not there: %v", e.Path, err)
	}
	return e.Path + " is another folder than the one that was planned with"
}

// Unwrap returns what the system said.
func (e *MountError) Unwrap() error { return e.Err }

// outcome completes what is told of a run.
func (x *execution) outcome(out *Outcome, err error) (*Outcome, error) {
	out.Unfinished, out.Why, out.Damaged = x.w.journal.progress.stage.Unfinished(), x.stopped, x.w.journal.progress.damaged
	for _, i := range x.w.noticed.badCRC {
		out.BadCRC = append(out.BadCRC, x.w.run.pathOf(x.w.run.Ops[i].From))
	}
	for _, i := range x.w.noticed.lostAttributes {
		out.LostAttributes = append(out.LostAttributes, x.w.run.pathOf(x.w.run.Ops[i].To))
	}
	if x.w.journal.progress.stage == Done {
		out.Changed = x.changed()
	}
	return out, err
}

// results are those of a run's files, whose status is not known yet.
func (x *execution) results() []Result {
	out := make([]Result, len(x.w.run.Ops))
	for i := range x.w.run.Ops {
		o := &x.w.run.Ops[i]
		out[i] = Result{
			N: o.N, Unit: o.Unit, Verb: o.Verb, Source: x.w.run.sourceOf(o), Target: x.w.run.pathOf(o.To), Size: o.Size,
		}
	}
	return out
}

// tell sets what became of each file.
func (x *execution) tell(out *Outcome, done Status) {
	byN := map[int]int{}
	for i := range x.w.run.Ops {
		byN[x.w.run.Ops[i].N] = i
	}
	for k := range out.Results {
		r := &out.Results[k]
		i, mine := byN[r.N]
		if !mine {
			continue
		}
		p := x.codes[i]
		switch {
		case x.w.journal.progress.file(i).back:
			r.Status = StatusUndone
		case p == nil:
			r.Status, r.Copied = done, x.w.run.Ops[i].copies()
		case p.Code == NotReached:
			r.Status = StatusPlanned
		case p.isLeft():
			r.Status, r.Problem = StatusLeft, p
		case done == StatusUndone:
			r.Status, r.Problem = StatusKept, p
		case p.isTrouble():
			r.Status, r.Problem = StatusFailed, p
		default:
			r.Status, r.Problem = StatusRefused, p
		}
	}
}

// changed returns the folders of the entries into which files have come, or out of which they have gone within a target
// root.
func (x *execution) changed() []string {
	used := map[int]bool{}
	for i := range x.w.run.Ops {
		if o := &x.w.run.Ops[i]; x.codes[i] == nil {
			used[o.To.Dir] = true
			if o.Verb == organize.Move {
				used[o.From.Dir] = true
			}
		}
	}
	found := map[string]bool{}
	for dir := range used {
		if folder := x.w.run.entryFolder(dir); folder != "" {
			found[folder] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// entryFolder returns the path of the series' or film's folder to which a folder belongs: with templates of one's own,
// which may have any number of folders, the folder itself; "" for one that is below no target root.
func (r *run) entryFolder(dir int) string {
	entry := dir
	for at := dir; at >= 0; at = r.Dirs[at].Parent {
		if r.isTarget(at) {
			if r.Layout == organize.Custom {
				entry = dir
			}
			return r.path(entry)
		}
		entry = at
	}
	return ""
}
