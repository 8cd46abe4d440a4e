// Package apply carries out plans and undoes them. It is the only part of anivault that changes a library.
//
// At every moment, each original file exists in full under its old name, its new name, or both. (While files swap
// names, one of them has a temporary name in its old folder.) A run never replaces an existing file. It removes a file
// only as the source of a move, and only after it has verified the target. Before its first change, a run writes all
// its steps to a journal. Which steps were done is visible in the file system, not in the journal. So a run can be
// interrupted at any point, and then be finished ([Engine.Resume]) or undone ([Engine.Undo]).
package apply

import (
	"context"
	"io"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/lazyregexp"
	"github.com/anivault/anivault/internal/organize"
)

// FS opens folders. The engine does everything else through open folders, not by path.
type FS interface {
	// Root returns the identity of the folder at path: its inode, birth time and file system.
	Root(path string) (organize.Root, error)
	// Open opens the folder at an absolute path without symbolic links.
	Open(path string) (Dir, error)
	// MayLink reports whether the system lets this user create hard links to the file.
	MayLink(info Info) bool
}

// Dir is an open folder. Names are single path components. No method follows symbolic links. Errors wrap syscall.Errno.
type Dir interface {
	io.Closer
	Stat() (Info, error)
	// CheckWritable returns an error if this user may not create and remove names in the folder.
	CheckWritable() error
	// Lstat describes a file in the folder. If the file does not exist, the error is ENOENT.
	Lstat(name string) (Info, error)
	Names() ([]string, error)
	// OpenDir opens a subfolder. If the name belongs to something else, the error is ENOTDIR or ELOOP.
	OpenDir(name string) (Dir, error)

	// Mkdir creates a folder with mode 0700.
	Mkdir(name string) error
	Rmdir(name string) error
	Unlink(name string) error
	// Link gives a file a second name. If that name is taken, the error is EEXIST.
	Link(name string, to Dir, newName string) error
	// Rename never replaces a file. If the new name is taken, the error is EEXIST. If the file system can't rename without
	// replacing, the error is EINVAL, ENOSYS or EOPNOTSUPP.
	Rename(name string, to Dir, newName string) error
	// SetMode, SetOwner and SetMTime change the folder itself. SetMTime keeps the access time.
	SetMode(mode uint32) error
	SetOwner(uid, gid uint32) error
	SetMTime(t organize.Stamp) error
	// Sync flushes the folder's names to the disk. SyncFS flushes its whole file system.
	Sync() error
	SyncFS() error

	// Symlink creates a symbolic link to text, or fails with EEXIST. Readlink returns the text of a link.
	Symlink(text, name string) error
	Readlink(name string) (string, error)
	// FreeBytes returns how many bytes this user may still write to the folder's file system.
	FreeBytes() (uint64, error)

	// Create creates a new file. The other two open an existing file.
	Create(name string) (File, error)
	OpenForWriting(name string) (File, error)
	OpenForReading(name string) (File, error)
}

// File is an open regular file.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Stat() (Info, error)
	// Allocate makes the file at least size bytes long and reserves disk space for them.
	Allocate(size int64) error
	// Truncate sets the length of the file. If that makes it longer, the new part is a hole.
	Truncate(size int64) error
	// Clone makes the file share the disk blocks of another file (a reflink).
	Clone(from File) error
	// CopyMetadata copies the extended attributes and access list of another file, and sets the mode and times in info
	// and, if owner is true, the owner. whole is false if the owner or some attributes could not be copied.
	CopyMetadata(from File, info Info, owner bool) (whole bool, err error)
	// Lock locks the file until it is closed, or returns ErrAtWork if another process holds the lock.
	Lock() error
	// DropCache makes later reads come from the disk, if the system supports that.
	DropCache()
	Sync() error
}

var errNotRegular = lang.Error("not a regular file")

// Info describes a file or folder.
type Info struct {
	Type      organize.ItemType
	Mode      uint32 // permission bits, with setuid, setgid and sticky
	UID, GID  uint32
	Size      int64
	MTime     organize.Stamp
	BirthTime organize.Stamp // zero if the file system doesn't record it
	CTime     organize.Stamp // the last change of content, metadata or number of links; zero if unknown
	Inode     uint64
	Device    uint64
	Mount     uint64 // the ID of the mount; 0 if unknown
	Links     uint64
}

// Engine carries out plans and undoes them. Only one Engine at a time may use Journals, with one journal per run.
type Engine struct {
	System       FS
	Journals     Dir
	Now          func() time.Time
	InheritOwner bool           // give new folders the owner of their parent folder
	Workers      int            // how many goroutines check sources, link and rename; 0 means 1
	Progress     func(Progress) // called after each file; may be nil
	// OnBegin is called with the ID of a run that begins or continues, before it changes anything; may be nil.
	OnBegin func(run string)
	// NFOContent returns the content of an NFO file, using only cached data; nil if the cache lacks some of it.
	NFOContent func(ctx context.Context, n *organize.NFOSpec) []byte
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
	// PlannedAt is when the making of the plan began. If a run has changed one of the plan's libraries since then, Apply
	// changes nothing and returns ErrOutdated. Zero means that somebody has read the plan, and it is carried out anyway.
	PlannedAt time.Time
}

// ErrOutdated reports that the library is no longer the one that the plan was made for.
var ErrOutdated = lang.Error("another run has changed the library since the plan was made")

func (opts *Options) isOutdated(p *organize.Plan, runs []Run, now time.Time) bool {
	return !opts.PlannedAt.IsZero() && slices.ContainsFunc(runs, func(r Run) bool {
		return r.StageBegun.After(opts.PlannedAt) && !r.StageBegun.After(now) && // a later time: the clock was set back
			slices.ContainsFunc(p.Targets, func(t organize.Root) bool { return slices.Contains(r.Targets, t.Path) })
	})
}

// Apply checks a plan and carries it out. If any part of it is impossible, Apply changes nothing, unless opts.Partial
// is set. If Apply returns an *UnfinishedError, a *MountError or an error about the journal, it has changed nothing.
func (e *Engine) Apply(ctx context.Context, p *organize.Plan, opts Options) (*Outcome, error) {
	if err := e.requireNoUnfinished(); err != nil {
		return nil, err
	}
	runs, err := e.Runs()
	if err != nil {
		return nil, err
	}
	if opts.isOutdated(p, runs, e.Now()) {
		return nil, ErrOutdated
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
	for slices.ContainsFunc(runs, func(r Run) bool { return r.ID == c.run.ID }) { // an earlier run of this plan has the ID
		c.run.ID = NewID(e.Now())
	}
	c.run.PlanID, c.run.Begun, c.run.PartPrefix = p.ID, e.Now().UTC(), NewID(e.Now())
	if len(runs) > 0 && !runs[0].Begun.Before(c.run.Begun) { // the clock was set back: the last run is the latest one
		c.run.Begun = runs[0].Begun.Add(1)
	}
	j, err := newJournal(e.Journals, c.run)
	if err != nil {
		return nil, lang.Error("write the journal in the data folder: %w", err)
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
	x.worker.firstTime = true
	err = x.apply(ctx)
	x.fillStatuses(out, StatusDone)
	out, err = x.completeOutcome(out, err)
	if err == nil && !out.Unfinished && !slices.ContainsFunc(x.problems, (*Problem).leavesAtTarget) {
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

// Statuses that only Verify returns.
const (
	StatusOK        Status = "ok"       // unchanged at its target
	StatusEdited    Status = "edited"   // at its target, but changed after the run
	StatusMovedAway Status = "moved_on" // a later run has moved it
	StatusGone      Status = "gone"     // nothing is at its target
	StatusReplaced  Status = "replaced" // another file is at its target
	StatusBadCRC    Status = "bad_crc"  // its content doesn't match the CRC-32 in its name
)

// Verify checks that each file is still where the run put it. It skips files that were put back. For an interrupted
// run, it also reports which files are still at their source. With deep, it reads copies and files with a CRC-32 in
// their name, and checks their content.
func (e *Engine) Verify(ctx context.Context, id string, deep bool) (*Outcome, error) {
	j, err := openJournal(e.Journals, id, false)
	if err != nil {
		return nil, err
	}
	x := e.newExecution(j)
	x.worker.ctx = ctx
	defer x.close()
	if gone := e.checkRoots(j.run.Targets); gone != nil {
		return nil, gone
	}
	out := &Outcome{Run: id, Results: x.results(), DamagedMarks: j.progress.damagedMarks}
	checked := out.Results[:0]
	for i, r := range out.Results {
		if j.progress.files[i].undone || j.progress.stage == StageUndone {
			continue
		}
		if code := j.progress.files[i].notDone; code != "" {
			r.Problem = newProblem(code)
			if r.Status = r.Problem.status(); r.Status == StatusFailed {
				r.Status = StatusRefused // StatusFailed would mean that Verify failed
			}
		} else if r.Status, err = x.verify(&j.run.Ops[i], deep); err != nil {
			r.Status, r.Problem = StatusFailed, asProblem(err)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		checked = append(checked, r)
	}
	out.Results = checked
	e.findLaterMoves(out, j.run.Begun)
	return out, nil
}

func (x *execution) verify(o *op, deep bool) (Status, error) {
	x.dirs.trim()
	target, err := x.worker.observe(o, o.To)
	interrupted := x.progress.stage.IsUnfinished() || x.progress.stage == StageAbandoned
	switch {
	case err != nil:
		return "", err
	case interrupted && (x.isStillAt(o, o.From) || o.TempNumber > 0 && x.isStillAt(o, x.run.tempPlace(o))):
		return x.progress.sourceStatus(), nil
	case target.state == stateMissing:
		return StatusGone, nil
	case target.state == stateEdited && o.Verb != organize.VerbSymlink:
		return StatusEdited, nil
	case target.state != stateSame:
		return StatusReplaced, nil
	case !deep || o.Verb == organize.VerbSymlink || o.Verb == organize.VerbNFO:
		return StatusOK, nil
	}
	return x.verifyContent(o)
}

// verifyContent compares a file's content with the checksum of its copy and with the CRC-32 in its name.
func (x *execution) verifyContent(o *op) (Status, error) {
	wanted, named := namedCRC(o)
	made := x.progress.files[o.Index].targetCopy
	hashed := made != nil && made.Sum != 0
	if !named && !hashed {
		return StatusOK, nil
	}
	dir, err := x.dirs.get(o.To.Dir)
	if err != nil {
		return "", err
	}
	sum, crc, err := x.worker.hashContent(dir, o.To.Name, o.Size)
	switch {
	case err != nil:
		return "", err
	case hashed && sum != made.Sum:
		return StatusEdited, nil
	case named && crc != wanted:
		return StatusBadCRC, nil
	}
	return StatusOK, nil
}

var crcInName = lazyregexp.New(`[\[(]([0-9A-Fa-f]{8})[\])]`)

// namedCRC returns the CRC-32 in a video's name, such as "[8D7F2A11]". It ignores eight decimal digits, which may be a
// date. It also ignores files other than videos, because the name of a subtitle carries the CRC-32 of its video.
func namedCRC(o *op) (crc uint32, named bool) {
	if organize.RoleOf(o.From.Name) != organize.RoleVideo {
		return 0, false
	}
	for _, found := range crcInName().FindAllStringSubmatch(path.Base(o.From.Name), -1) {
		if _, err := strconv.Atoi(found[1]); err == nil {
			continue
		}
		n, err := strconv.ParseUint(found[1], 16, 32)
		return uint32(n), err == nil
	}
	return 0, false
}
