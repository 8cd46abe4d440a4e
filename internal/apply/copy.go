package apply

import (
	"errors"
	"hash/crc32"
	"io"
	"syscall"

	"github.com/cespare/xxhash/v2"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/organize"
)

// is reports whether that copy lies there, edited or not.
func (m *copyMark) is(info Info, loose bool) bool {
	if loose {
		return m.matches(info)
	}
	return info.Type == organize.TypeRegular && info.Inode == m.Inode && info.Birth == m.Birth
}

// matches reports whether it has the size and time that it was made with.
func (m *copyMark) matches(info Info) bool {
	return info.Type == organize.TypeRegular && info.Size == m.Size && info.MTime == m.MTime
}

// part is the name that a copy has until it is whole: nobody can guess it, so what has that name is ours. Going back it has another.
func (r *run) part(i int, at place, back bool) place {
	suffix := ".part"
	if back {
		suffix = ".back.part"
	}
	return place{at.Dir, organize.TempName(r.Parts, i+1) + suffix}
}

// duplicate makes a copy of a file under another name, which it gets when it is whole and durable. known is the mark of an
// earlier copy, nil for none; word is that of the mark; seen is what lay there when it was looked at.
func (e *engine) duplicate(i int, dir Dir, from, to place, seen Info, known *copyMark, word string) *Problem {
	into, err := e.make(to.Dir)
	if err != nil {
		return failed(err)
	}
	part := e.run.part(i, to, word == markReturned)
	loose := e.journal.progress.unstableInodes
	info, err := into.Lstat(part.Name)
	there := err == nil
	switch {
	case err != nil && !isMissing(err):
		return failed(err)
	case known != nil && !there: // it has its name already, or was never durable
		if now, err := into.Lstat(to.Name); err == nil && known.is(now, loose) && known.matches(now) {
			return e.durable(into)
		}
		known = nil
	case there && (known == nil || !known.is(info, loose) || !known.matches(info)):
		if err := into.Unlink(part.Name); err != nil { // a copy that was cut off
			return failed(err)
		}
		known = nil
	}
	if known == nil {
		var p *Problem
		if known, p = e.fill(i, dir, from, into, part, seen, word == markReturned); p != nil {
			if left := remove(into, part.Name); left != nil {
				return left
			}
			return p
		}
		e.journal.mark(mark{Mark: word, File: new(i), Copy: known})
		if err := e.journal.sync(); err != nil {
			return failed(err)
		}
	}
	if p := e.publish(known, into, part, to); p != nil {
		return p
	}
	return e.durable(into)
}

// publish gives a whole file its name, and replaces none.
func (e *engine) publish(known *copyMark, into Dir, part, to place) *Problem {
	err := errors.ErrUnsupported
	if !e.journal.progress.moveByLink {
		err = into.Rename(part.Name, into, to.Name)
	}
	if errors.Is(err, errors.ErrUnsupported) || cantExclude(err) {
		if err = into.Link(part.Name, into, to.Name); err == nil {
			err = into.Unlink(part.Name)
		} else if cantLink(err) {
			err = &Problem{Code: NoExclusive, Err: err}
		}
	}
	now, looked := into.Lstat(to.Name)
	ours := looked == nil && known.is(now, e.journal.progress.unstableInodes)
	if err != nil { // with ours it had its name, and its first one too
		if left := remove(into, part.Name); left != nil {
			return left
		}
		if !ours {
			return failed(err)
		}
	}
	return nil
}

func (e *engine) durable(dir Dir) *Problem {
	if err := dir.Sync(); err != nil {
		return failed(err)
	}
	return nil
}

// fill makes the copy and gives it the times, mode and owner of its source. A source that changes meanwhile is no source. What comes
// back as it went gets the time that it had: the other file system may not have kept all of it.
func (e *engine) fill(i int, dir Dir, from place, into Dir, part place, seen Info, back bool) (*copyMark, *Problem) {
	source, err := dir.Read(from.Name)
	if err != nil {
		return nil, failed(err)
	}
	defer source.Close()
	before, err := source.Stat()
	if err != nil {
		return nil, failed(err)
	}
	if !isAsBefore(seen, before) {
		return nil, problem(Changed)
	}
	target, err := into.Create(part.Name)
	if err != nil {
		return nil, failed(err)
	}
	defer target.Close()
	sum, o := uint64(0), &e.run.Ops[i]
	crc, named := namedCRC(o)
	named = named && from == o.From
	check := crc32.NewIEEE()
	if o.Verb == organize.Reflink {
		if err := target.Clone(source); err != nil {
			return nil, &Problem{Code: organize.NoReflink, Err: err}
		}
		named = false
	} else if sum, err = pour(e.ctx, source, target, before.Size, func(read []byte, at int64) {
		if named {
			_, _ = check.Write(read)
		}
		if e.poured != nil {
			e.poured(at)
		}
	}); err != nil {
		return nil, failed(err)
	}
	worn := before
	if gone := e.journal.progress.file(i).copy; back && gone != nil && gone.matches(before) {
		worn.MTime = e.run.Ops[i].MTime
		if gone.Mode != 0 {
			worn.Mode = gone.Mode
		}
	}
	whole, err := target.Dress(source, worn, e.asRoot)
	if err != nil {
		return nil, failed(err)
	}
	if err := target.Sync(); err != nil {
		return nil, failed(err)
	}
	after, err := source.Stat()
	if err != nil {
		return nil, failed(err)
	}
	if !isAsBefore(before, after) {
		return nil, problem(Changed)
	}
	made, err := target.Stat()
	if err != nil {
		return nil, failed(err)
	}
	if !whole {
		e.bare = append(e.bare, i)
	}
	if named && check.Sum32() != crc {
		e.badCRC = append(e.badCRC, i)
	}
	return &copyMark{Inode: made.Inode, Size: made.Size, MTime: made.MTime, Birth: made.Birth, Sum: sum, Mode: before.Mode}, nil
}

// isAsBefore reports whether a file is the one that it was a moment ago, and unchanged.
func isAsBefore(before, now Info) bool {
	return now.Size == before.Size && now.MTime == before.MTime && now.Inode == before.Inode
}

// proven is nil if a copy reads back from the disk as it was written.
func (e *engine) proven(known *copyMark, dir Dir, name string) *Problem {
	f, err := dir.Read(name)
	if err != nil {
		return failed(err)
	}
	defer f.Close()
	f.DropCache()
	sum := xxhash.New()
	if _, err := io.Copy(sum, io.NewSectionReader(f, 0, known.Size+1)); err != nil {
		return failed(err)
	}
	if sum.Sum64() != known.Sum {
		return &Problem{Code: organize.Unreadable, Err: syscall.EIO}
	}
	return nil
}

// copyForward carries out a copy, a clone, or a move to another file system.
func (e *engine) copyForward(i int, from, to place) *Problem {
	o := &e.run.Ops[i]
	if p := e.discard(i, from, true); p != nil { // of an undo that was cut off
		return p
	}
	known := e.journal.progress.file(i).copy
	dir, f, err := e.find(o, from)
	if err != nil {
		return failed(err)
	}
	if !f.same {
		if known != nil {
			if _, now, err := e.look(to); err == nil && known.is(now, e.journal.progress.unstableInodes) {
				return nil // done before; the source is gone as it should be, or by others
			}
		}
		return problem(Changed)
	}
	if p := e.duplicate(i, dir, from, to, f.info, known, markCopied); p != nil || o.Verb != organize.Move {
		return p
	}
	return e.release(i, from, to, e.journal.progress.file(i).copy)
}

// release removes the source of a copy that is proven, if it is still what it was.
func (e *engine) release(i int, from, to place, known *copyMark) *Problem {
	into, err := e.get(to.Dir)
	if err != nil {
		return failed(err)
	}
	if p := e.proven(known, into, to.Name); p != nil {
		return p
	}
	if p := e.durable(into); p != nil {
		return p
	}
	if now, err := into.Lstat(to.Name); err != nil || !known.is(now, e.journal.progress.unstableInodes) || !known.matches(now) {
		return problem(Changed)
	}
	dir, f, err := e.find(&e.run.Ops[i], from)
	switch {
	case err != nil:
		return failed(err)
	case !f.there:
		return nil
	case !f.same:
		return problem(Changed)
	}
	return remove(dir, from.Name)
}

// lies returns what lies at a place, if anything does.
func (e *engine) lies(at place) (dir Dir, info Info, there bool, err error) {
	dir, info, err = e.look(at)
	if isMissing(err) || isElse(err) {
		return dir, Info{}, false, nil
	}
	return dir, info, err == nil, err
}

// look returns what lies at a place; an error where nothing does.
func (e *engine) look(at place) (Dir, Info, error) {
	dir, err := e.get(at.Dir)
	if err != nil {
		return nil, Info{}, err
	}
	info, err := dir.Lstat(at.Name)
	return dir, info, err
}

// discard removes what a copy that was cut off has left in a folder.
func (e *engine) discard(i int, at place, back bool) *Problem {
	dir, err := e.get(at.Dir)
	if err == nil {
		if _, err = dir.Lstat(e.run.part(i, at, back).Name); err == nil {
			err = dir.Unlink(e.run.part(i, at, back).Name)
		}
	}
	if err != nil && !isMissing(err) && !isElse(err) {
		return failed(err)
	}
	return nil
}

// copyBack takes a copy away again, or brings a file back from another file system.
func (e *engine) copyBack(i int, from, to place) *Problem {
	if p := e.discard(i, to, false); p != nil {
		return p
	}
	o, m := &e.run.Ops[i], &e.journal.progress
	known, returned := m.file(i).copy, m.file(i).returned
	dir, now, there, err := e.lies(to)
	if err != nil {
		return failed(err)
	}
	_, original, err := e.find(o, from)
	if err != nil {
		return failed(err)
	}
	ours := there && known != nil && known.is(now, m.unstableInodes)
	if p := e.unproven(i, there, ours, now, original); p != nil {
		return p
	}
	switch {
	case !ours:
		return e.discard(i, from, true)
	case original.ours:
		return e.takeAway(i, dir, from, to, returned != nil && returned.is(original.info, m.unstableInodes))
	}
	// It is brought back, edited or not.
	if p := e.duplicate(i, dir, to, from, now, returned, markReturned); p != nil {
		if p.Code == organize.Exists {
			p.Code = Occupied
		}
		return p
	}
	return e.takeAway(i, dir, from, to, true)
}

// unproven says why a copy is not taken away, and what was moved to another file system not brought back.
func (e *engine) unproven(i int, there, ours bool, now Info, original finding) *Problem {
	o, m := &e.run.Ops[i], &e.journal.progress
	back := m.file(i).returned != nil && original.there && m.file(i).returned.is(original.info, m.unstableInodes)
	switch {
	case !ours && (original.ours || m.file(i).notDone != "" || !there && o.Verb != organize.Move):
		return nil
	case !ours:
		return problem(MovedOn)
	case original.ours && !back && !m.file(i).copy.matches(now):
		return problem(Edited)
	case original.ours && !back && !original.same:
		return &Problem{Code: Edited, Err: errOriginalEdited}
	case original.ours:
		return nil
	case o.Verb != organize.Move:
		return problem(OriginalGone)
	case original.there:
		return problem(Occupied)
	}
	return nil
}

// errOriginalEdited says of a copy that it is not the one that was changed.
var errOriginalEdited = lang.Error("the original was, and not the copy")

// takeAway removes the copy at a target, whose source is there; one that came back is read first.
func (e *engine) takeAway(i int, dir Dir, from, to place, back bool) *Problem {
	if back {
		into, err := e.get(from.Dir)
		if err != nil {
			return failed(err)
		}
		if p := e.proven(e.journal.progress.file(i).returned, into, from.Name); p != nil {
			return p
		}
		if p := e.durable(into); p != nil {
			return p
		}
	}
	if p := remove(dir, to.Name); p != nil {
		return p
	}
	return e.discard(i, from, true)
}
