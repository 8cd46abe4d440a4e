package apply

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/anivault/anivault/internal/organize"
)

// The codes of files that are not put where a plan says, besides those of planning.
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

	originalEdited organize.Code = "original_edited" // Edited, of which the one that was not copied is meant
)

var meanings = []struct {
	code organize.Code
	text string
}{
	{Changed, "it is not the file that was planned: gone, changed or replaced since"},
	{organize.Exists, "something else is there"},
	{organize.CrossDevice, "its target is on another file system"},
	{NotPermitted, "the system does not allow it"},
	{TooManyLinks, "the file system allows it no more names"},
	{NoSpace, "the disk or the quota is full"},
	{organize.NameTooLong, "its name is too long"},
	{organize.OutsideRoot, "a link, or what is no folder, is in the way: name the real folder with --to"},
	{Occupied, "something else has its old name"},
	{MovedOn, "it is no longer where the run left it"},
	{Edited, "it was changed since"},
	{OriginalGone, "the original is gone: this is its last name"},
	{NotMounted, "the folder is not there, or another one is: a disk may not be mounted"},
	{NoExclusive, "the file system can't rename without replacing"},
	{organize.SameFile, "it takes the name of another name of the same file"},
	{WithAnother, "it belongs to one that can't be carried out"},
	{NotCached, "what TMDB says of it is not in the cache any more"},
	{ForeignNFO, "another file is there, about something else"},
	{organize.NoReflink, "the file system can't share blocks between files"},
	{Unproven, "nothing proves that this copy is the run's"},
	{NotReached, "the run ended before it"},
	{organize.NotRegular, "not a regular file"},
	{organize.Unreadable, "the system failed"},
}

// Codes returns the codes of files that are not put where a plan says.
func Codes() []organize.Code {
	var out []organize.Code
	for _, m := range meanings {
		out = append(out, m.code)
	}
	return out
}

// Meaning returns what a code says, a clause.
func Meaning(c organize.Code) string {
	for _, m := range meanings {
		if m.code == c {
			return m.text
		}
	}
	return c.Meaning()
}

// Problem says why an operation was not carried out, or not put back.
type Problem struct {
	Code organize.Code
	Err  error  // of the system; nil where the code says it all
	Run  string // with MovedOn: the later run that has moved the file; "" where none is known
}

// Error implements error.
func (p *Problem) Error() string {
	switch {
	case p.Run != "":
		return fmt.Sprintf("the run %s has moved it on: undo that first", p.Run)
	case p.Err == nil:
		return Meaning(p.Code)
	}
	return fmt.Sprintf("%s: %v", Meaning(p.Code), p.Err)
}

// Unwrap returns what the system said.
func (p *Problem) Unwrap() error { return p.Err }

// problem returns a Problem of the code; nil means that there is nothing more to say.
func problem(c organize.Code) *Problem { return &Problem{Code: c} }

// errnos says which code an error of the system is; any other is "io".
var errnos = []struct {
	errno syscall.Errno
	code  organize.Code
}{
	{syscall.EEXIST, organize.Exists},
	{syscall.ENOTEMPTY, organize.Exists},
	{syscall.EISDIR, organize.Exists},
	{syscall.EXDEV, organize.CrossDevice},
	{syscall.EMLINK, TooManyLinks},
	{syscall.EPERM, NotPermitted},
	{syscall.EACCES, NotPermitted},
	{syscall.EROFS, NotPermitted},
	{syscall.ENOSPC, NoSpace},
	{syscall.EDQUOT, NoSpace},
	{syscall.ENAMETOOLONG, organize.NameTooLong},
	{syscall.ELOOP, organize.OutsideRoot},
	{syscall.ENOTDIR, organize.OutsideRoot},
	{syscall.ENOENT, Changed},
}

// failed returns the Problem of an error; one that is a Problem already stays it.
func failed(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	for _, row := range errnos {
		if errors.Is(err, row.errno) {
			return &Problem{Code: row.code, Err: err}
		}
	}
	return &Problem{Code: organize.Unreadable, Err: err}
}

// isLeft reports whether a file for media servers is not written, and all else goes on.
func (p *Problem) isLeft() bool { return p.Code == NotCached || p.Code == ForeignNFO }

// failedOr is failed where there may be no error.
func failedOr(err error) *Problem {
	if err == nil {
		return nil
	}
	return failed(err)
}

// isTrouble reports whether a problem is the disk's and not the file's: others will most likely meet it too.
func (p *Problem) isTrouble() bool { return p.Code == NoSpace || p.Code == organize.Unreadable }
