package apply

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"syscall"

	"github.com/cespare/xxhash/v2"

	"github.com/anivault/anivault/internal/organize"
)

type worker struct {
	ctx      context.Context // of Apply or Undo; canceling it stops the current copy
	dirs     folders
	run      *run
	journal  *journal
	preview  *undoPreview // nil: carry out the steps
	ended    bool         // the run had finished when its undo began
	onCopied func(at int64)
}

// sumOfEnds is how many bytes of each end are hashed to identify a file whose inode may change.
const sumOfEnds = 64 << 10

func ends(dir Dir, name string, size int64) (uint64, error) {
	f, err := dir.Read(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	sum := xxhash.New()
	for _, part := range [][2]int64{{0, min(size, sumOfEnds)}, {max(size-sumOfEnds, sumOfEnds), size}} {
		if part[1] <= part[0] {
			continue
		}
		if _, err := io.Copy(sum, io.NewSectionReader(f, part[0], part[1]-part[0])); err != nil {
			return 0, err
		}
	}
	return max(sum.Sum64(), 1), nil
}

// link creates a hard link. It checks the file under the new name, because the old name may have been replaced
// meanwhile.
func (w *worker) link(o *op, from, to place) *Problem {
	dir, err := w.dirs.get(from.Dir)
	if isMissing(err) || isElse(err) {
		if s, err := w.see(o, to); err != nil || s.what&ours != 0 {
			return failed(err)
		}
		return problem(Changed)
	}
	if err != nil {
		return failed(err)
	}
	into, err := w.dirs.make(to.Dir)
	if err != nil {
		return failed(err)
	}
	err = dir.Link(from.Name, into, to.Name)
	target, looked := w.see(o, to)
	switch {
	case err == nil && target.what == same, errors.Is(err, syscall.EEXIST) && target.what&ours != 0:
		return nil
	case err != nil:
		if source, err := w.see(o, from); err == nil && source.what != same {
			return problem(Changed)
		}
		return failed(err)
	case looked != nil:
		return failed(looked)
	}
	// The source was replaced: remove the new name if the file has another one.
	if target.what != nothing && target.info.Links > 1 {
		if err := into.Unlink(to.Name); err != nil {
			return failed(err)
		}
	}
	return problem(Changed)
}

func (w *worker) renameBack(o *op, dir Dir, from, to place) *Problem {
	into, err := w.dirs.make(from.Dir)
	if err != nil {
		return failed(err)
	}
	if i, made := w.run.Made[from]; made {
		w.dirs.pruneFrom(i) // a folder that took the file's name
	}
	p := w.rename(o, dir, to, into, from, false)
	if p != nil && p.Code == organize.Exists {
		p.Code = Occupied
	}
	return p
}

// rename renames a file, in one step or by a hard link, and never replaces one. With asPlanned, the file must have its
// planned size and time.
func (w *worker) rename(o *op, dir Dir, from place, into Dir, to place, asPlanned bool) *Problem {
	byLink, err := rename(dir, from.Name, into, to.Name, w.journal.progress.MoveByLink)
	target, looked := w.see(o, to)
	isOurs := target.what&ours != 0
	switch {
	case looked != nil:
		return failed(looked)
	case err == nil && isOurs && (target.what != edited || !asPlanned):
		if byLink {
			return w.dropOldName(o, dir, from, into, to)
		}
		return nil
	case err == nil && byLink:
		if target.what != nothing && target.info.Links > 1 { // as in link
			err = into.Unlink(to.Name)
		}
	case err == nil:
		err = into.Rename(to.Name, dir, from.Name) // the source was replaced just now: rename that file back
	case isOurs: // interrupted in between, or a file server wrongly reported a failure
		source, looked := w.see(o, from)
		switch {
		case looked != nil:
			return failed(looked)
		case source.what&ours == 0:
			return nil
		case w.journal.progress.UnstableInodes && !source.info.isAlso(target.info):
			return failed(err) // they may be two files with equal content
		}
		return w.dropOldName(o, dir, from, into, to)
	}
	if err != nil {
		return failed(err)
	}
	return problem(Changed)
}

// rename renames a file without replacing one. If the file system can't do that in one step, or byLink is set, it
// creates a hard link instead and keeps the old name.
func rename(dir Dir, from string, into Dir, to string, byLink bool) (linked bool, err error) {
	if !byLink {
		if err = dir.Rename(from, into, to); !cantExclude(err) {
			return false, err
		}
	}
	err = dir.Link(from, into, to)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EOPNOTSUPP) {
		err = &Problem{Code: NoExclusive, Err: err} // no hard links either
	}
	return true, err
}

func cantExclude(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EOPNOTSUPP)
}

// isAlso reports whether two names with equal content are hard links of one file. If each name has its own inode
// number, as on some FUSE file systems, an equal ctime tells: creating the link sets it for both.
func (i Info) isAlso(other Info) bool {
	one := i.Inode == other.Inode || i.Changed.Nsec != 0 && i.Changed == other.Changed
	return one && i.Links > 1 && i.Links == other.Links
}

// dropOldName removes the old name of a file once the new one is durable.
func (w *worker) dropOldName(o *op, dir Dir, from place, into Dir, to place) *Problem {
	if err := into.Sync(); err != nil {
		return failed(err)
	}
	kept, err := w.see(o, to)
	if err != nil {
		return failed(err)
	}
	gone, err := w.see(o, from)
	switch {
	case err != nil:
		return failed(err)
	case gone.what == nothing:
		return nil
	case kept.what&ours == 0 || gone.what&ours == 0 || gone.info.Links < 2:
		return problem(Changed)
	}
	if from.Dir == to.Dir { // on a case-insensitive file system, two names may be one entry
		names, err := dir.Names()
		if err != nil {
			return failed(err)
		}
		n := 0
		for _, name := range names {
			if s, err := w.see(o, place{from.Dir, name}); err == nil && s.what&ours != 0 {
				n++
			}
		}
		if n < 2 {
			return problem(organize.Exists)
		}
	}
	return remove(dir, from.Name)
}

func remove(dir Dir, name string) *Problem {
	err := dir.Unlink(name)
	if isMissing(err) {
		return nil
	}
	return failed(err)
}

func (w *worker) unlink(o *op, source, target lazyObservation, from, to place) *Problem {
	if o.Verb == organize.Link && target.info.Links < 2 {
		return problem(OriginalGone)
	}
	if back := w.journal.progress.files[o.Index].returned; o.Across && back != nil &&
		back.is(source.info, w.journal.progress.UnstableInodes) {
		if p := proven(back, source.dir, from.Name); p != nil {
			return p
		}
		if err := source.dir.Sync(); err != nil {
			return failed(err)
		}
	}
	if p := remove(target.dir, to.Name); p != nil || !o.copies() {
		return p
	}
	return w.discard(o.Index, from, true)
}

func (w *worker) symlink(o *op) *Problem {
	into, err := w.dirs.make(o.To.Dir)
	if err != nil {
		return failed(err)
	}
	err = into.Symlink(w.run.linkText(o), o.To.Name)
	switch {
	case errors.Is(err, syscall.EPERM):
		return &Problem{Code: NotPermitted, Err: err}
	case errors.Is(err, syscall.ENOSYS), errors.Is(err, syscall.EOPNOTSUPP):
		return &Problem{Code: organize.NoSymlink, Err: err}
	case err != nil:
		if s, looked := w.see(o, o.To); looked != nil || s.what != same {
			return failed(err)
		}
	}
	return nil
}

// linkText returns the text of an operation's symbolic link.
func (r *run) linkText(o *op) string {
	source := r.pathOf(o.From)
	if !r.Absolute {
		if relative, err := filepath.Rel(r.path(o.To.Dir), source); err == nil {
			return relative
		}
	}
	return source
}
