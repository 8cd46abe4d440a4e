package apply

import "github.com/anivault/anivault/internal/organize"

// undoPreview is what the names of a run will hold while it is put back, as far as they don't hold it now: steps are
// noted and not taken.
type undoPreview struct {
	w       *worker
	holds   map[place]int    // the operation whose file a name will hold; -1: none
	left    map[uint64]bool  // inodes whose name was left
	refused map[int]*Problem // of folders: why no name in them can be changed
}

// see returns what will lie at a place that was noted.
func (v *undoPreview) see(o *op, at place) (sight, bool) {
	holder, known := v.holds[at]
	switch {
	case !known:
		return sight{}, false
	case holder < 0:
		return sight{what: nothing}, true
	case holder == o.Index:
		return sight{what: same}, true
	}
	return sight{what: other}, true
}

// goes reports whether something else at a place will be gone by then: a folder that the run has made, or a file of
// another spelling.
func (v *undoPreview) goes(at place, info Info) bool {
	if i, made := v.w.run.Made[at]; made && info.Type == organize.TypeDir {
		return v.emptied(i)
	}
	return v.left[info.Inode]
}

// emptied reports whether a folder that the run has made will hold nothing any more.
func (v *undoPreview) emptied(i int) bool {
	dir, err := v.w.dirs.get(i)
	if err != nil {
		return isMissing(err)
	}
	names, err := dir.Names()
	for _, name := range names {
		at := place{i, name}
		holder, known := v.holds[at]
		below, made := v.w.run.Made[at]
		if !(known && holder < 0) && !(made && v.emptied(below)) {
			return false
		}
	}
	return err == nil
}

// take notes what a step changes, if it could be taken.
func (v *undoPreview) take(i int, a act, from, to place, info Info) *Problem {
	switch a {
	case actUnlink:
		v.holds[to] = -1
		return v.writable(to.Dir)
	case actRename:
		if s, err := v.w.see(&v.w.run.Ops[i], from); err != nil {
			return failed(err)
		} else if s.what&(nothing|ours) == 0 {
			return problem(Occupied)
		}
	case actFetch:
	default:
		return nil
	}
	for _, dir := range []int{to.Dir, from.Dir} {
		if p := v.writable(dir); p != nil {
			return p
		}
	}
	v.holds[to], v.holds[from] = -1, i
	if info.Links == 1 {
		v.left[info.Inode] = true
	}
	return nil
}

// writable says why no name can be changed in a folder, or in the one above it that is there.
func (v *undoPreview) writable(dir int) *Problem {
	dir, _, err := v.w.dirs.nearest(dir)
	if isElse(err) {
		return nil // a file that leaves it first
	}
	p, known := v.refused[dir]
	if !known {
		p = v.w.dirs.writable(dir)
		v.refused[dir] = p
	}
	return p
}
