package apply

import "github.com/anivault/anivault/internal/organize"

// foresight is what the names of a run will hold while it is put back, as far as they don't hold it now.
type foresight struct {
	*working
	holds map[place]int    // the operation whose file a name will hold; -1: none
	left  map[uint64]bool  // inodes whose name was left
	right map[int]*Problem // of folders: why no name in them can be changed
}

// foresee finds what can't be put back, by the rules of undoing and in its order, and changes nothing.
func (w *working) foresee(wanted []bool) {
	f := foresight{w, map[place]int{}, map[uint64]bool{}, map[int]*Problem{}}
	tooBig := w.tooBig(wanted)
	for at := len(w.run.Steps) - 1; at >= 0; at-- {
		s := w.run.Steps[at]
		if !wanted[s.Op] || tooBig[s.Op] || w.codes[s.Op] != nil {
			continue
		}
		w.trim()
		w.codes[s.Op] = f.back(s)
	}
}

// back is engine.back.
func (f *foresight) back(s step) *Problem {
	o := &f.run.Ops[s.Op]
	from, to := f.run.ends(s)
	switch {
	case o.Verb == organize.Link:
		return f.unlink(s.Op, from, to)
	case o.Verb == organize.Symlink:
		_, there, ours, err := f.points(o)
		return f.unpoint(s.Op, there, ours, err)
	case o.Verb == organize.NFO:
		_, there, file, same, err := f.reads(o)
		return f.unwrite(o, there, file, same, err)
	case o.copies() && s.Leg != organize.Aside:
		return f.copyBack(s.Op, from, to)
	}
	lies, err := f.at(o, to)
	if err != nil {
		return failed(err)
	}
	if !lies.ours {
		for _, at := range []place{o.From, from} {
			if home, err := f.at(o, at); err != nil || home.ours {
				return failedOr(err)
			}
		}
		if s.Leg == organize.Aside || f.journal.progress.file(s.Op).notDone != "" {
			return nil
		}
		return problem(MovedOn)
	}
	free, err := f.isFree(o, from)
	switch {
	case err != nil:
		return failed(err)
	case !free:
		return problem(Occupied)
	}
	return f.moved(s.Op, lies.info, to, from)
}

// moved notes that a file goes from one name to another, if both folders let it.
func (f *foresight) moved(i int, info Info, from, to place) *Problem {
	for _, dir := range []int{from.Dir, to.Dir} {
		if p := f.writable(dir); p != nil {
			return p
		}
	}
	f.holds[from], f.holds[to] = -1, i
	if info.Links == 1 {
		f.left[info.Inode] = true
	}
	return nil
}

// at returns what will lie at a place, compared with an operation's file.
func (f *foresight) at(o *op, at place) (finding, error) {
	if holder, known := f.holds[at]; known {
		ours := holder == o.Index
		return finding{there: holder >= 0, ours: ours, same: ours}, nil
	}
	_, found, err := f.find(o, at)
	return found, err
}

// isFree reports whether a name can be given to an operation's file.
func (f *foresight) isFree(o *op, at place) (bool, error) {
	lies, err := f.at(o, at)
	if err != nil || !lies.there || lies.ours {
		return err == nil, err
	}
	if i, made := f.newAt[at]; made && lies.info.Type == organize.TypeDir {
		return f.emptied(i), nil
	}
	return f.left[lies.info.Inode], nil // a file system that folds names has it under another spelling
}

// emptied reports whether a folder that the run has made will hold nothing any more.
func (f *foresight) emptied(i int) bool {
	dir, err := f.get(i)
	if err != nil {
		return isMissing(err)
	}
	names, err := dir.Names()
	for _, name := range names {
		at := place{i, name}
		holder, known := f.holds[at]
		below, made := f.newAt[at]
		if !(known && holder < 0) && !(made && f.emptied(below)) {
			return false
		}
	}
	return err == nil
}

// unlink is engine.unlinkBack.
func (f *foresight) unlink(i int, from, to place) *Problem {
	o := &f.run.Ops[i]
	linked, err := f.at(o, to)
	if err != nil {
		return failed(err)
	}
	original, err := f.at(o, from)
	switch {
	case err != nil:
		return failed(err)
	case linked.ours && original.ours:
		f.holds[to] = -1
		return f.writable(to.Dir)
	case linked.ours:
		return problem(OriginalGone)
	case !linked.there, original.ours:
		return nil
	}
	return problem(MovedOn)
}

// unpoint is engine.unpoint.
func (f *foresight) unpoint(i int, there, ours bool, err error) *Problem {
	switch {
	case err != nil:
		return failed(err)
	case ours:
		f.holds[f.run.Ops[i].To] = -1
		return f.writable(f.run.Ops[i].To.Dir)
	case there:
		return f.strayed(i)
	}
	return nil
}

// unwrite is engine.unwrite.
func (f *foresight) unwrite(o *op, there, file, same bool, err error) *Problem {
	if p := f.wouldKeepNote(o, there, file, same, err); p != nil || !there || !same {
		return p
	}
	f.holds[o.To] = -1
	return f.writable(o.To.Dir)
}

// copyBack is engine.copyBack.
func (f *foresight) copyBack(i int, from, to place) *Problem {
	o, known := &f.run.Ops[i], f.journal.progress.file(i).copy
	_, now, there, err := f.lies(to)
	if err != nil {
		return failed(err)
	}
	original, err := f.at(o, from)
	if err != nil {
		return failed(err)
	}
	ours := there && known != nil && known.is(now, f.journal.progress.unstableInodes)
	switch p := f.unproven(i, there, ours, now, original); {
	case p != nil && p.Code == Occupied:
		if free, err := f.isFree(o, from); err != nil || !free {
			return p
		}
	case p != nil || !ours:
		return p
	case original.ours:
		f.holds[to] = -1
		return f.writable(to.Dir)
	}
	return f.moved(i, now, to, from)
}

// writable says why no name can be changed in a folder, or in the one above it that is there.
func (f *foresight) writable(dir int) *Problem {
	dir, _, err := f.nearest(dir)
	if isElse(err) {
		return nil // a file that leaves it first
	}
	p, known := f.right[dir]
	if !known {
		p = f.folders.writable(dir)
		f.right[dir] = p
	}
	return p
}

// tooBig returns the operations whose files have to be copied back to a file system that has no room for them: what they need and
// one in a hundred.
func (w *working) tooBig(wanted []bool) map[int]bool {
	need, free, on := map[uint64]int64{}, map[uint64]uint64{}, map[int]uint64{}
	for i := range w.run.Ops {
		o := &w.run.Ops[i]
		if !wanted[i] || !o.Across {
			continue
		}
		w.trim()
		_, now, err := w.look(o.To)
		known := w.journal.progress.file(i).copy
		if err != nil || known == nil || !known.is(now, w.journal.progress.unstableInodes) {
			continue
		}
		if _, original, err := w.find(o, o.From); err != nil || original.there {
			continue
		}
		_, dir, err := w.nearest(o.From.Dir)
		if err != nil {
			continue
		}
		if info, err := dir.Stat(); err == nil {
			on[i] = info.Device
			need[info.Device] += now.Size
			if room, err := dir.Free(); err == nil {
				free[info.Device] = room
			} else {
				free[info.Device] = ^uint64(0)
			}
		}
	}
	out := map[int]bool{}
	for i, device := range on {
		if n := need[device]; uint64(n+n/100) > free[device] {
			out[i], w.codes[i] = true, problem(NoSpace)
		}
	}
	return out
}
