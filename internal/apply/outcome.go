package apply

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"syscall"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/organize"
)

// Status is the result for one file.
type Status string

// The statuses of files.
const (
	StatusPlanned Status = "planned"  // it can be carried out
	StatusInPlace Status = "in_place" // an earlier run has carried it out
	StatusLeft    Status = "left"     // an NFO file that is not written; its unit goes on without it
	StatusDone    Status = "done"
	StatusRefused Status = "refused" // it can't be carried out
	StatusFailed  Status = "failed"  // it failed, and its bundle was rolled back
	StatusUndone  Status = "undone"
	StatusKept    Status = "kept" // it can't be put back safely
)

// Result is the result for one file.
type Result struct {
	N, Unit        int // in the plan, from 1
	Verb           organize.Verb
	Source, Target string
	Size           int64
	Copied         bool // with StatusDone: the file was copied
	Status         Status
	Problem        *Problem // set if Status is left, refused, failed or kept
}

// Outcome is the result of a run.
type Outcome struct {
	Run        string // "" if no run began
	Results    []Result
	Unfinished bool // it was interrupted: Resume finishes it, Undo puts it back
	Why        error
	// The folders of series and films that changed, if the run has finished.
	Changed        []string
	BadCRC         []string // copied files whose content doesn't match the CRC-32 in their name
	LostAttributes []string // copies that could not keep all extended attributes or the access list
	Damaged        int      // unreadable marks of the journal
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

// UnfinishedError reports that an interrupted run must be finished, undone or abandoned first.
type UnfinishedError struct {
	Run   string
	Stage Stage
	Gone  error // a *MountError if one of its folders is missing
}

// ErrAtWork reports that another process works on the run.
var ErrAtWork = lang.Error("another process works on this run")

func (e *UnfinishedError) Error() string { return e.Text().String() }

// Text includes the run's ID.
func (e *UnfinishedError) Text() lang.Text { return lang.Textf("the run %s was interrupted", e.Run) }

// MountError reports that a root is missing, or is not the folder that the plan was made with.
type MountError struct {
	Path string
	Err  error  // nil if another folder is there
	Run  string // the run that needs the folder; "" for a plan
	Cut  bool   // the run was interrupted
}

func (e *MountError) Error() string { return e.Text().String() }

// Text includes the folder's path.
func (e *MountError) Text() lang.Text {
	if e.Err != nil {
		err := e.Err
		if of, ok := errors.AsType[*fs.PathError](err); ok {
			err = of.Err // the message has the path already
		}
		return lang.Textf("%s is not there: %v", e.Path, err)
	}
	return lang.Textf("%s is not the folder that the plan was made with", e.Path)
}

// Unwrap returns the system's error.
func (e *MountError) Unwrap() error { return e.Err }

func (x *execution) outcome(out *Outcome, err error) (*Outcome, error) {
	out.Unfinished, out.Why, out.Damaged = x.w.journal.progress.stage.Unfinished(), x.stopped, x.w.journal.progress.damaged
	for i, f := range x.w.journal.progress.files {
		if f.badCRC {
			out.BadCRC = append(out.BadCRC, x.w.run.pathOf(x.w.run.Ops[i].From))
		}
		if f.lostAttributes {
			out.LostAttributes = append(out.LostAttributes, x.w.run.pathOf(x.w.run.Ops[i].To))
		}
	}
	if x.w.journal.progress.stage == Done {
		out.Changed = x.changedFolders()
	}
	return out, err
}

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

func (x *execution) fillStatuses(out *Outcome, done Status) {
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
		case x.w.journal.progress.files[i].back:
			r.Status = StatusUndone
		case p == nil:
			r.Status, r.Copied = done, x.w.run.Ops[i].copies()
		case p.Code == NotReached:
			r.Status = StatusPlanned
		case done == StatusUndone && !p.isLeft():
			r.Status, r.Problem = StatusKept, p
		default:
			r.Status, r.Problem = p.status(), p
		}
	}
}

func (x *execution) changedFolders() []string {
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

// entryFolder returns the path of the series or film folder that contains a folder; "" outside the target roots. A
// custom template may nest folders in any way, so entryFolder then returns the folder itself.
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

// The codes of this package, in addition to those of planning.
const (
	Changed      organize.Code = "changed"
	NotPermitted organize.Code = "not_permitted"
	TooManyLinks organize.Code = "too_many_links"
	NoSpace      organize.Code = "no_space"
	Occupied     organize.Code = "occupied"
	MovedOn      organize.Code = "moved_on"
	Edited       organize.Code = "edited"
	OriginalGone organize.Code = "original_gone"
	NotMounted   organize.Code = "not_mounted"
	NoExclusive  organize.Code = "no_exclusive_rename"
	WithAnother  organize.Code = "with_another"
	NotCached    organize.Code = "not_cached"
	ForeignNFO   organize.Code = "foreign_nfo"
	NotReached   organize.Code = "not_reached"
	Unproven     organize.Code = "unproven"
	Gone         organize.Code = "gone"
	Replaced     organize.Code = "replaced"

	originalEdited organize.Code = "original_edited" // shown as Edited, with another text
)

var meanings = []struct {
	code organize.Code
	text string
}{
	{Changed, "it is not the file that was planned: gone, changed or replaced since"},
	{organize.Exists, "something else is there"},
	{organize.CrossDevice, "its target is on another file system"},
	{NotPermitted, "the system does not allow it"},
	{TooManyLinks, "the file system allows no more hard links to it"},
	{NoSpace, "the disk or the quota is full"},
	{organize.NameTooLong, "its name is too long"},
	{organize.OutsideRoot, "a link, or something that is not a folder, is in the way: name the real folder with --to"},
	{Occupied, "something else has its old name"},
	{MovedOn, "it is no longer where the run left it"},
	{Edited, "it was changed since"},
	{OriginalGone, "the original is gone: this is its last name"},
	{NotMounted, "the folder is missing, or is a different one: a disk may not be mounted"},
	{NoExclusive, "the file system can't rename without replacing"},
	{organize.SameFile, "it takes the name of another name of the same file"},
	{WithAnother, "it belongs to a file that can't be carried out"},
	{NotCached, "what TMDB says about it is no longer in the cache"},
	{ForeignNFO, "another file is there, about something else"},
	{organize.NoReflink, "the file system can't share blocks between files"},
	{organize.NoSymlink, "the file system has no symbolic links"},
	{Unproven, "nothing proves that this copy is the run's"},
	{Gone, "it is no longer there: somebody moved or removed it"},
	{Replaced, "something else is there now"},
	{NotReached, "the run ended before it"},
	{organize.NotRegular, "not a regular file"},
	{organize.Unreadable, "the system failed"},
}

// Codes returns all codes that a Problem may have.
func Codes() []organize.Code {
	var out []organize.Code
	for _, m := range meanings {
		out = append(out, m.code)
	}
	return out
}

// Meaning returns the text of a code, as a clause.
func Meaning(c organize.Code) string {
	for _, m := range meanings {
		if m.code == c {
			return m.text
		}
	}
	return c.Meaning()
}

// Problem says why an operation was not carried out or not put back.
type Problem struct {
	Code organize.Code
	Err  error  // the system's error; nil if there is none
	Run  string // with MovedOn: the later run that moved the file; "" if unknown
}

func (p *Problem) Error() string { return p.Text().String() }

// Text returns the code's meaning and the system's error.
func (p *Problem) Text() lang.Text {
	switch {
	case p.Run != "":
		return lang.Textf("the run %s has moved it since: undo that run first", p.Run)
	case p.Err == nil:
		return lang.Text(Meaning(p.Code))
	}
	return lang.Textf("%s: %v", lang.Text(Meaning(p.Code)), p.Err)
}

// Unwrap returns the system's error.
func (p *Problem) Unwrap() error { return p.Err }

func problem(c organize.Code) *Problem { return &Problem{Code: c} }

// errnos maps system errors to codes. Any other error is organize.Unreadable.
var errnos = []struct {
	code   organize.Code
	errnos []syscall.Errno
}{
	{organize.Exists, []syscall.Errno{syscall.EEXIST, syscall.ENOTEMPTY, syscall.EISDIR}},
	{organize.CrossDevice, []syscall.Errno{syscall.EXDEV}},
	{TooManyLinks, []syscall.Errno{syscall.EMLINK}},
	{NotPermitted, []syscall.Errno{syscall.EPERM, syscall.EACCES, syscall.EROFS}},
	{NoSpace, []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT}},
	{organize.NameTooLong, []syscall.Errno{syscall.ENAMETOOLONG}},
	{organize.OutsideRoot, []syscall.Errno{syscall.ELOOP, syscall.ENOTDIR}},
	{Changed, []syscall.Errno{syscall.ENOENT}},
}

// failed converts an error to a Problem; nil stays nil.
func failed(err error) *Problem {
	if err == nil {
		return nil
	}
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	code := organize.Unreadable
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		for _, row := range errnos {
			if slices.Contains(row.errnos, errno) {
				code = row.code
			}
		}
	}
	return &Problem{Code: code, Err: err}
}

func (p *Problem) isLeft() bool { return p.Code == NotCached || p.Code == ForeignNFO }

// status returns the status of a file that was not carried out.
func (p *Problem) status() Status {
	switch {
	case p.isTrouble():
		return StatusFailed
	case p.isLeft():
		return StatusLeft
	case p.Code == NotReached:
		return StatusPlanned
	}
	return StatusRefused
}

// isTrouble reports whether the disk rather than the file has a problem, so other files will probably fail too.
func (p *Problem) isTrouble() bool { return p.Code == NoSpace || p.Code == organize.Unreadable }
