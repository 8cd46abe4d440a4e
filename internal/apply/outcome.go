package apply

import (
	_ "embed" // for the meanings of codes
	"errors"
	"io/fs"
	"maps"
	"slices"
	"syscall"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/organize"
	"github.com/anivault/anivault/internal/slicesx"
	"github.com/anivault/anivault/internal/wordlist"
)

// Status is the result for one file.
type Status string

// The statuses of files.
const (
	StatusPlanned     Status = "planned"  // the file can be placed, or waits for its turn
	StatusInPlace     Status = "in_place" // an earlier run has placed the file
	StatusSkipped     Status = "left"     // an NFO file that is not written although the rest of its unit is
	StatusDone        Status = "done"
	StatusRefused     Status = "refused" // the operation is impossible, or part of a bundle that is
	StatusFailed      Status = "failed"  // the operation failed, and its bundle was rolled back
	StatusUndone      Status = "undone"
	StatusNotRestored Status = "kept" // the undo, or the rollback of its bundle, can't put the file back safely
)

// Result is the result for one file.
type Result struct {
	N, Unit        int // the numbers of the file and its unit in the plan, from 1
	Verb           organize.Verb
	Source, Target string
	Size           int64
	Copied         bool // with StatusDone: the file was copied, not renamed or linked
	Status         Status
	Problem        *Problem // set if Status is StatusSkipped, StatusRefused, StatusFailed or StatusNotRestored
}

// Outcome is the result of a run.
type Outcome struct {
	Run        string // "" if no run began
	Results    []Result
	Unfinished bool  // the run was interrupted and can be resumed or undone
	StopCause  error // why the run ended early; nil if it did not
	// ChangedFolders are the folders of series and films that changed. It is empty for an unfinished run.
	ChangedFolders []string
	BadCRC         []string // copied files whose content doesn't match the CRC-32 in their name
	LostAttributes []string // copies that could not keep their owner, all extended attributes or the access list
	DamagedMarks   int      // unreadable lines of the journal
}

// Count returns how many files have the status.
func (o *Outcome) Count(s Status) int {
	return slicesx.Count(o.Results, func(r Result) bool { return r.Status == s })
}

// UnfinishedError reports an interrupted run that must be finished, undone or abandoned before another can begin.
type UnfinishedError struct {
	Run      string
	MountErr *MountError // set if one of the run's folders is missing
}

// ErrAtWork reports that another process is working on the run.
var ErrAtWork = lang.Error("another process is working on this run")

func (e *UnfinishedError) Error() string { return e.Text().String() }

// Text names the run.
func (e *UnfinishedError) Text() lang.Text { return lang.Textf("the run %s was interrupted", e.Run) }

// MountError reports that a root folder is missing, or is not the one that the plan was made with.
type MountError struct {
	Path        string
	Err         error  // nil if another folder has the path
	Run         string // the run that needs the folder; "" for a plan
	Interrupted bool   // the run was interrupted
}

func (e *MountError) Error() string { return e.Text().String() }

// Text names the folder.
func (e *MountError) Text() lang.Text {
	if e.Err != nil {
		err := e.Err
		if of, ok := errors.AsType[*fs.PathError](err); ok {
			err = of.Err // the message already has the path
		}
		return lang.Textf("%s is not there: %v", e.Path, err)
	}
	return lang.Textf("%s is not the folder that the plan was made with", e.Path)
}

func (e *MountError) Unwrap() error { return e.Err }

func (x *execution) completeOutcome(out *Outcome, err error) (*Outcome, error) {
	out.Unfinished, out.DamagedMarks = x.progress.stage.IsUnfinished(), x.progress.damagedMarks
	out.StopCause = x.stopCause
	for i, f := range x.progress.files {
		if f.badCRC {
			out.BadCRC = append(out.BadCRC, x.run.pathOf(x.run.Ops[i].From))
		}
		if f.lostAttributes {
			out.LostAttributes = append(out.LostAttributes, x.run.pathOf(x.run.Ops[i].To))
		}
	}
	if x.progress.stage == StageDone {
		out.ChangedFolders = x.changedFolders()
	}
	return out, err
}

func (x *execution) results() []Result {
	return slicesx.Map(x.run.Ops, func(o op) Result { return x.run.result(&o) })
}

func (r *run) result(o *op) Result {
	return Result{N: o.N, Unit: o.Unit, Verb: o.Verb, Size: o.Size, Source: r.sourcePath(o), Target: r.pathOf(o.To)}
}

// fillStatuses sets the statuses of the results. Operations without a problem get the status done.
func (x *execution) fillStatuses(out *Outcome, done Status) {
	byN := make(map[int]int, len(x.run.Ops))
	for i := range x.run.Ops {
		byN[x.run.Ops[i].N] = i
	}
	for k := range out.Results {
		r := &out.Results[k]
		i, mine := byN[r.N]
		if !mine {
			continue
		}
		p := x.problems[i]
		switch {
		case x.progress.files[i].undone:
			r.Status = StatusUndone
		case p == nil:
			r.Status, r.Copied = done, x.run.Ops[i].copiesContent()
		case p.Code == CodeNotReached:
			r.Status = StatusPlanned
		case done == StatusUndone && !p.skipsNFO():
			r.Status, r.Problem = StatusNotRestored, p
		default:
			r.Status, r.Problem = p.status(), p
		}
	}
}

func (x *execution) changedFolders() []string {
	found := map[string]bool{}
	for i := range x.run.Ops {
		if o := &x.run.Ops[i]; x.problems[i] == nil {
			found[x.run.entryFolder(o.To.Dir)] = true
			if o.Verb == organize.VerbMove {
				found[x.run.entryFolder(o.From.Dir)] = true
			}
		}
	}
	delete(found, "") // outside the target roots
	return slices.Sorted(maps.Keys(found))
}

// entryFolder returns the path of the series or film folder that contains a folder; "" outside the target roots. With
// custom templates the nesting is unknown, so it returns the path of the folder itself.
func (r *run) entryFolder(dir int) string {
	entry := dir
	for at := dir; at >= 0; at = r.Dirs[at].Parent {
		if r.isTargetRoot(at) {
			if r.Layout == organize.CustomLayout {
				entry = dir
			}
			return r.dirPath(entry)
		}
		entry = at
	}
	return ""
}

// Codes for applying and undoing a plan, in addition to those for planning in package organize.
const (
	CodeChanged           organize.Code = "changed"
	CodeNotPermitted      organize.Code = "not_permitted"
	CodeTooManyLinks      organize.Code = "too_many_links"
	CodeNoSpace           organize.Code = "no_space"
	CodeOldNameTaken      organize.Code = "occupied"
	CodeMovedAway         organize.Code = "moved_on"
	CodeEdited            organize.Code = "edited"
	CodeOriginalGone      organize.Code = "original_gone"
	CodeNoExclusiveRename organize.Code = "no_exclusive_rename"
	CodeBundleRefused     organize.Code = "with_another"
	CodeNotCached         organize.Code = "not_cached"
	CodeForeignNFO        organize.Code = "foreign_nfo"
	CodeNotReached        organize.Code = "not_reached"
	CodeUnprovenCopy      organize.Code = "unproven"
	CodeTargetGone        organize.Code = "gone"
	CodeTargetReplaced    organize.Code = "replaced"

	codeOriginalEdited organize.Code = "original_edited" // shown as CodeEdited, with another text
)

// Codes returns all codes that a Problem can have, and their meanings: the codes above, and those of planning that mean
// something else here.
var Codes = wordlist.Table[organize.CodeMeaning](codesJSON)

//go:embed codes.json
var codesJSON []byte

// Meaning returns the explanation of a code as a clause, such as "the disk or the quota is full".
func Meaning(c organize.Code) string {
	for _, m := range Codes() {
		if m.Code == c {
			return m.Meaning
		}
	}
	return c.Meaning()
}

// Problem says why an operation was not carried out or not undone.
type Problem struct {
	Code organize.Code
	Err  error  // the system's error, if any
	Run  string // with CodeMovedAway: the later run that moved the file; "" if unknown
}

func (p *Problem) Error() string { return p.Text().String() }

// Text returns the meaning of the code, and the system's error if there is one.
func (p *Problem) Text() lang.Text {
	switch {
	case p.Run != "":
		return lang.Textf("the run %s has moved it since: undo that run first", p.Run)
	case p.Err == nil:
		return lang.Text(Meaning(p.Code))
	}
	return lang.Textf("%s: %v", lang.Text(Meaning(p.Code)), p.Err)
}

func (p *Problem) Unwrap() error { return p.Err }

func newProblem(c organize.Code) *Problem { return &Problem{Code: c} }

// errnoCodes maps system errors to codes. All other errors get organize.CodeUnreadable.
var errnoCodes = []struct {
	code   organize.Code
	errnos []syscall.Errno
}{
	{organize.CodeExists, []syscall.Errno{syscall.EEXIST, syscall.ENOTEMPTY, syscall.EISDIR}},
	{organize.CodeCrossDevice, []syscall.Errno{syscall.EXDEV}},
	{CodeTooManyLinks, []syscall.Errno{syscall.EMLINK}},
	{CodeNotPermitted, []syscall.Errno{syscall.EPERM, syscall.EACCES, syscall.EROFS}},
	{CodeNoSpace, []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT}},
	{organize.CodeNameTooLong, []syscall.Errno{syscall.ENAMETOOLONG}},
	{organize.CodeOutsideRoot, []syscall.Errno{syscall.ELOOP, syscall.ENOTDIR}},
	{CodeChanged, []syscall.Errno{syscall.ENOENT}},
}

// asProblem converts an error to a Problem, and nil to nil.
func asProblem(err error) *Problem {
	if err == nil {
		return nil
	}
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	code := organize.CodeUnreadable
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		for _, row := range errnoCodes {
			if slices.Contains(row.errnos, errno) {
				code = row.code
			}
		}
	}
	return &Problem{Code: code, Err: err}
}

// skipsNFO reports whether the problem prevents only an NFO file. The rest of the unit is carried out without it.
func (p *Problem) skipsNFO() bool { return p.Code == CodeNotCached || p.Code == CodeForeignNFO }

// leavesAtTarget reports whether the file is at its target. A nil problem means that the operation succeeded. With some
// other problems, the file is there because a rollback could not remove it safely.
func (p *Problem) leavesAtTarget() bool {
	return p == nil || p.Code == CodeOldNameTaken || p.Code == CodeOriginalGone || p.Code == CodeEdited
}

func (p *Problem) status() Status {
	switch {
	case p.isDiskFailure():
		return StatusFailed
	case p.skipsNFO():
		return StatusSkipped
	case p.Code == CodeNotReached:
		return StatusPlanned
	case p.leavesAtTarget():
		return StatusNotRestored
	}
	return StatusRefused
}

// isDiskFailure reports whether the disk and not the file is at fault, so other files will probably fail too.
func (p *Problem) isDiskFailure() bool {
	return p.Code == CodeNoSpace || p.Code == organize.CodeUnreadable
}
