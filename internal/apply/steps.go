package apply

import (
	"context"
	"errors"
	"io"
	"sync"
	"syscall"

	"github.com/cespare/xxhash/v2"

	"github.com/anivault/anivault/internal/organize"
)

// engine is one run at work.
type engine struct {
	folders
	ctx     context.Context // of apply or undo; when it ends a copy under way is given up
	journal *journal
	touched []bool
	newAt   map[place]int // the folders that the run makes
	making  *sync.Mutex   // held while one of them is made
	asRoot  bool
	poured  func(at int64) // told how far a copy is; may be nil
	codes   []*Problem     // by operation: why it is not where it is to be
	bare    []int          // operations whose copies could not keep all attributes
	badCRC  []int          // operations whose content has not the CRC-32 of their name
}

// finding is what lies under a name, compared with what an operation is about.
type finding struct {
	info  Info
	there bool // something lies there
	ours  bool // it is the operation's file, edited or not
	same  bool // and has the size and time that were planned
}

// find looks at a name for an operation's file.
func (e *engine) find(o *op, at place) (Dir, finding, error) {
	dir, err := e.get(at.Dir)
	if err != nil {
		if isMissing(err) || isElse(err) {
			err = nil
		}
		return nil, finding{}, err
	}
	info, err := dir.Lstat(at.Name)
	if err != nil {
		if isMissing(err) {
			err = nil
		}
		return dir, finding{}, err
	}
	f := finding{info: info, there: true}
	if info.Type != organize.TypeRegular {
		return dir, f, nil
	}
	f.same = info.Size == o.Size && info.MTime == o.MTime
	if e.journal.progress.unstableInodes && o.Sum != 0 || o.Inode == 0 { // without a sum it comes from a file system that keeps inodes
		if f.same {
			sum, err := ends(dir, at.Name, info.Size)
			if err != nil {
				return dir, f, err
			}
			f.same = sum == o.Sum
		}
		f.ours = f.same // without inodes one that was edited is another file
		return dir, f, nil
	}
	f.ours = info.Inode == o.Inode && info.Birth == o.Birth
	f.same = f.same && f.ours
	if back := e.journal.progress.file(o.Index).returned; back != nil && !f.ours && back.is(info, false) {
		f.ours, f.same = true, back.matches(info) // it has been on another file system
	}
	return dir, f, nil
}

// end is how much of each end of a file stands for its content where inodes don't tell files apart.
const end = 64 << 10

// ends returns the XXH64 of the first and last 64 KiB of a file.
func ends(dir Dir, name string, size int64) (uint64, error) {
	f, err := dir.Read(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	sum := xxhash.New()
	for _, part := range [][2]int64{{0, min(size, end)}, {max(size-end, end), size}} {
		if part[1] <= part[0] {
			continue
		}
		if _, err := io.Copy(sum, io.NewSectionReader(f, part[0], part[1]-part[0])); err != nil {
			return 0, err
		}
	}
	return max(sum.Sum64(), 1), nil
}

// forward carries a step out; one that is done already stays done.
func (e *engine) forward(s step) *Problem {
	o := &e.run.Ops[s.Op]
	from, to := e.run.ends(s)
	switch {
	case o.Verb == organize.NFO:
		return e.write(o)
	case o.Verb == organize.Symlink:
		return e.point(o, from)
	case o.Verb == organize.Link:
		return e.link(o, from, to)
	case o.Across && e.journal.progress.oneWay:
		return problem(NoExclusive)
	case o.copies() && s.Leg != organize.Aside:
		return e.copyForward(s.Op, from, to)
	}
	dir, f, err := e.find(o, from)
	switch {
	case err != nil:
		return failed(err)
	case !f.same && o.copies():
		return e.passedOver(s.Op, to)
	case !f.same:
		return e.passed(o, to, o.To)
	}
	into, err := e.make(to.Dir)
	if err != nil {
		return failed(err)
	}
	return e.shift(o, dir, from, into, to, true)
}

// passed is nil if the file is already at one of the places; the step was done before.
func (e *engine) passed(o *op, places ...place) *Problem {
	for _, at := range places {
		if _, f, err := e.find(o, at); err != nil {
			return failed(err)
		} else if f.ours {
			return nil
		}
	}
	return problem(Changed)
}

// passedOver is passed for the first half of a move to another file system.
func (e *engine) passedOver(i int, temp place) *Problem {
	if _, f, err := e.find(&e.run.Ops[i], temp); err != nil {
		return failed(err)
	} else if f.ours {
		return nil
	}
	known := e.journal.progress.file(i).copy
	if _, now, err := e.look(e.run.Ops[i].To); err == nil && known != nil && known.is(now, e.journal.progress.unstableInodes) {
		return nil
	}
	return problem(Changed)
}

// link gives a file one more name. What the new name then leads to is looked at, not what lay under the old one before.
func (e *engine) link(o *op, from, to place) *Problem {
	dir, err := e.get(from.Dir)
	switch {
	case isMissing(err) || isElse(err):
		return e.passed(o, to)
	case err != nil:
		return failed(err)
	}
	into, err := e.make(to.Dir)
	if err != nil {
		return failed(err)
	}
	err = dir.Link(from.Name, into, to.Name)
	_, f, looked := e.find(o, to)
	switch {
	case err == nil && f.same, errors.Is(err, syscall.EEXIST) && f.ours:
		return nil
	case err != nil:
		if _, source, err := e.find(o, from); err == nil && !source.same {
			return problem(Changed)
		}
		return failed(err)
	case looked != nil:
		return failed(looked)
	}
	// The source is not what it was: this is a name of something else, which keeps its own.
	if f.there && f.info.Links > 1 {
		if err := into.Unlink(to.Name); err != nil {
			return failed(err)
		}
	}
	return problem(Changed)
}

// shift gives a file another name, in the kernel's one step or by a link. It never replaces. With same the file must have the
// size and time that were planned, else it may have been edited.
func (e *engine) shift(o *op, dir Dir, from place, into Dir, to place, same bool) *Problem {
	var err error
	byLink := e.journal.progress.moveByLink
	if !byLink {
		err = dir.Rename(from.Name, into, to.Name)
		byLink = cantExclude(err)
	}
	if byLink {
		err = dir.Link(from.Name, into, to.Name)
		if cantLink(err) {
			return &Problem{Code: NoExclusive, Err: err}
		}
	}
	_, f, looked := e.find(o, to)
	if looked != nil {
		return failed(looked)
	}
	switch {
	case err == nil && f.ours && (f.same || !same):
		if byLink {
			return e.unlink(o, dir, from, into, to)
		}
		return nil
	case err == nil && byLink:
		if f.there && f.info.Links > 1 { // as in link
			err = into.Unlink(to.Name)
		}
	case err == nil:
		err = into.Rename(to.Name, dir, from.Name) // the source was replaced a moment ago
	case f.ours:
		return e.afterError(o, dir, from, into, to, f, err)
	default:
		return failed(err)
	}
	if err != nil {
		return failed(err)
	}
	return problem(Changed)
}

// afterError is called where a step has failed and the file is at its target all the same: it was cut off between link and
// unlink, or a server has done what it said had failed.
func (e *engine) afterError(o *op, dir Dir, from place, into Dir, to place, at finding, err error) *Problem {
	_, f, looked := e.find(o, from)
	switch {
	case looked != nil:
		return failed(looked)
	case !f.ours:
		return nil
	case e.journal.progress.unstableInodes && !f.info.isAlso(at.info):
		return failed(err) // two files may be alike
	}
	return e.unlink(o, dir, from, into, to)
}

// cantExclude reports whether a file system can't rename without replacing.
func cantExclude(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EOPNOTSUPP)
}

// isAlso reports whether two names that lead to files which are alike lead to one: where each name has an inode of its own, it is the
// one that had its number of names changed at that nanosecond.
func (i Info) isAlso(other Info) bool {
	one := i.Inode == other.Inode || i.Changed.Nsec != 0 && i.Changed == other.Changed
	return one && i.Links > 1 && i.Links == other.Links
}

// cantLink reports whether a file system has no hard links.
func cantLink(err error) bool {
	return errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EOPNOTSUPP)
}

// unlink removes one of two names of a file, once the other is durable.
func (e *engine) unlink(o *op, dir Dir, from place, into Dir, to place) *Problem {
	if err := into.Sync(); err != nil {
		return failed(err)
	}
	_, kept, err := e.find(o, to)
	if err != nil {
		return failed(err)
	}
	_, gone, err := e.find(o, from)
	switch {
	case err != nil:
		return failed(err)
	case !gone.there:
		return nil
	case !kept.ours || !gone.ours || gone.info.Links < 2:
		return problem(Changed)
	}
	if from.Dir == to.Dir { // where a file system folds names, two of them can be one
		if two, err := e.twice(o, from.Dir); err != nil {
			return failed(err)
		} else if !two {
			return problem(organize.Exists)
		}
	}
	return remove(dir, from.Name)
}

// remove takes a name away; one that is gone already is none.
func remove(dir Dir, name string) *Problem {
	if err := dir.Unlink(name); err != nil && !isMissing(err) {
		return failed(err)
	}
	return nil
}

// twice reports whether an operation's file has two names in a folder.
func (e *engine) twice(o *op, dir int) (bool, error) {
	d, err := e.get(dir)
	if err != nil {
		return false, err
	}
	names, err := d.Names()
	n := 0
	for _, name := range names {
		if _, f, err := e.find(o, place{dir, name}); err == nil && f.ours {
			n++
		}
	}
	return n > 1, err
}

// back puts a step back; one that was never done stays so.
func (e *engine) back(s step) *Problem {
	o := &e.run.Ops[s.Op]
	from, to := e.run.ends(s)
	switch {
	case o.Verb == organize.Link:
		return e.unlinkBack(s.Op, from, to)
	case o.Verb == organize.Symlink:
		return e.unpoint(s.Op)
	case o.Verb == organize.NFO:
		return e.unwrite(o)
	case o.copies() && s.Leg != organize.Aside:
		return e.copyBack(s.Op, from, to)
	}
	dir, f, err := e.find(o, to)
	if err != nil {
		return failed(err)
	}
	if !f.ours {
		if p := e.passed(o, o.From, from); p == nil || p.Code != Changed {
			return p
		}
		if s.Leg == organize.Aside || e.journal.progress.file(s.Op).notDone != "" {
			return nil // its second half has said where it stays; or it was never done
		}
		return problem(MovedOn)
	}
	into, err := e.make(from.Dir)
	if err != nil {
		return failed(err)
	}
	if i, made := e.newAt[from]; made {
		e.pruneFrom(i) // a folder that took the file's name
	}
	p := e.shift(o, dir, to, into, from, false)
	if p != nil && p.Code == organize.Exists {
		p.Code = Occupied
	}
	return p
}

// unlinkBack takes a name away that the run has given, if the file keeps its first.
func (e *engine) unlinkBack(i int, from, to place) *Problem {
	o := &e.run.Ops[i]
	dir, linked, err := e.find(o, to)
	if err != nil {
		return failed(err)
	}
	_, original, err := e.find(o, from)
	switch {
	case err != nil:
		return failed(err)
	case linked.ours && original.ours && linked.info.Links > 1:
		return remove(dir, to.Name)
	case linked.ours:
		return problem(OriginalGone)
	case !linked.there, original.ours:
		return nil // never made, taken away already, or replaced: all that was there before is
	}
	return problem(MovedOn)
}
