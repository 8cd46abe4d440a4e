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
	ctx      context.Context // of apply or undo; when it ends a copy under way is given up
	dirs     folders
	run      *run
	journal  *journal
	preview  *undoPreview // nil: what is decided is done
	ended    bool         // the run had come to its end when its undo began
	onCopied func(at int64)
}

// sumOfEnds is how much of each end of a file stands for its content where inodes don't tell files apart.
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

// link gives a file one more name. What the new name then leads to is looked at, not what lay under the old one before.
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
	// The source is not what it was: this is a name of something else, which keeps its own.
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

// rename gives a file another name, in the kernel's one step or by a link. It never replaces. With asPlanned the file
// must have the size and time that were planned, else it may have been edited.
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
		err = into.Rename(to.Name, dir, from.Name) // the source was replaced a moment ago
	case isOurs: // interrupted between link and unlink, or a server has done what it said had failed
		source, looked := w.see(o, from)
		switch {
		case looked != nil:
			return failed(looked)
		case source.what&ours == 0:
			return nil
		case w.journal.progress.UnstableInodes && !source.info.isAlso(target.info):
			return failed(err) // two files may be alike
		}
		return w.dropOldName(o, dir, from, into, to)
	}
	if err != nil {
		return failed(err)
	}
	return problem(Changed)
}

// rename gives a file another name and replaces none. Where the file system can't promise that in one step, or byLink
// is set, the file gets the other name by a link and keeps the first one.
func rename(dir Dir, from string, into Dir, to string, byLink bool) (linked bool, err error) {
	if !byLink {
		if err = dir.Rename(from, into, to); !cantExclude(err) {
			return false, err
		}
	}
	err = dir.Link(from, into, to)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EOPNOTSUPP) {
		err = &Problem{Code: NoExclusive, Err: err} // it has no hard links either
	}
	return true, err
}

func cantExclude(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EOPNOTSUPP)
}

// isAlso reports whether two names that lead to files which are alike lead to one: where each name has an inode of its
// own, it is the one that had its number of names changed at that nanosecond.
func (i Info) isAlso(other Info) bool {
	one := i.Inode == other.Inode || i.Changed.Nsec != 0 && i.Changed == other.Changed
	return one && i.Links > 1 && i.Links == other.Links
}

// dropOldName removes one of two names of a file, once the other is durable.
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
	if from.Dir == to.Dir { // where a file system folds names, two of them can be one
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

func (w *worker) unlink(o *op, source, target glimpse, from, to place) *Problem {
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
	err = into.Symlink(w.run.leads(o), o.To.Name)
	if errors.Is(err, syscall.EPERM) {
		return &Problem{Code: NotPermitted, Err: err}
	}
	if err != nil {
		if s, looked := w.see(o, o.To); looked != nil || s.what != same {
			return failed(err)
		}
	}
	return nil
}

// leads returns the text of an operation's symbolic link.
func (r *run) leads(o *op) string {
	source := r.pathOf(o.From)
	if !r.Absolute {
		if relative, err := filepath.Rel(r.path(o.To.Dir), source); err == nil {
			return relative
		}
	}
	return source
}
