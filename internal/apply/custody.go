package apply

import (
	"slices"

	"github.com/anivault/anivault/internal/organize"
)

// pass is a folder's time before something that this program did, and behind it.
type pass struct{ was, left organize.Stamp }

// custody is what other runs of the history have made of folders. Runs can be put back in any order: once all that were at a folder
// are, it is as it was before the first.
type custody struct {
	undos map[string][]pass // by path: what putting a run back, or a part of it, has made of a folder
	runs  map[string][]pass // by path: what runs had made of it that are put back now
	backs map[string][]pass // by path: those of undos by which these were put back
	made  map[string]bool   // the folders that runs had made which are put back now
}

// coarse is how many seconds a file's time may lag behind, on any file system.
const coarse = 3

// custody reads the journals of all runs but one that were written to since that one began: what others did before, it has found.
func (e *Engine) custody(but string) custody {
	c := custody{map[string][]pass{}, map[string][]pass{}, map[string][]pass{}, map[string]bool{}}
	ids, err := e.ids()
	if err != nil {
		return c
	}
	own, _ := e.Journals.Lstat(journalName(but)) // without its birth all are read
	for _, id := range ids {
		info, err := e.Journals.Lstat(journalName(id))
		if err != nil || id == but || own.Birth.Sec > info.MTime.Sec+coarse {
			continue
		}
		j, err := openJournal(e.Journals, id, false)
		if err != nil {
			continue // it can't be told
		}
		j.close()
		j.run.findPaths()
		m := &j.marks
		for i := range j.run.Dirs {
			d, after := &j.run.Dirs[i], m.after[i]
			undone := m.stage == Undone
			path := j.run.path(i)
			if d.New {
				c.made[path] = c.made[path] || undone
				continue
			}
			c.undos[path] = append(c.undos[path], m.passes[i]...)
			if undone && after != (organize.Stamp{}) && after != d.MTime {
				c.runs[path] = append(c.runs[path], pass{d.MTime, after})
			}
			if undone {
				c.backs[path] = append(c.backs[path], m.passes[i]...)
			}
		}
	}
	return c
}

// explains reports whether putting back other runs, or earlier a part of the one at hand, has made a folder's time what it is now from
// what it was.
func (c *custody) explains(path string, own []pass, now, was organize.Stamp) bool {
	undos := slices.Concat(own, c.undos[path])
	for used := make([]bool, len(undos)); now != was; {
		i := leading(undos, used, now)
		if i < 0 {
			return false
		}
		now = undos[i].was
	}
	return true
}

// first returns the time that a folder had before the runs that are put back, of which one had left it as the run at hand found it,
// maybe with undos in between. What undos alone have changed stays: it was so before this run.
func (c *custody) first(path string, found organize.Stamp) organize.Stamp {
	runs := c.runs[path]
	all := slices.Concat(runs, c.backs[path])
	used := make([]bool, len(all))
	now := found
	for i := leading(all, used, now); i >= 0; i = leading(all, used, now) {
		now = all[i].was
		if i < len(runs) {
			found = now
		}
	}
	return found
}

// leading takes a pass that led to a time and was not taken yet; -1 where there is none.
func leading(passes []pass, used []bool, now organize.Stamp) int {
	for i, p := range passes {
		if !used[i] && p.left == now {
			used[i] = true
			return i
		}
	}
	return -1
}

// pruneOthers removes the folders that other runs had made and that only this one's files have kept, deepest first. The folder above
// keeps its time, unless it is this run's to set.
func (w *working) pruneOthers() {
	for i := len(w.run.Dirs) - 1; i >= 0; i-- {
		w.trim()
		d := &w.run.Dirs[i]
		if d.New || d.Parent < 0 || !w.others.made[w.run.path(i)] {
			continue
		}
		parent, err := w.get(d.Parent)
		if err != nil {
			continue
		}
		info, err := parent.Stat()
		if err != nil || !w.removed(i) || w.touched[d.Parent] {
			continue
		}
		if parent, err = w.get(d.Parent); err == nil {
			_ = parent.SetMTime(info.MTime) // that it could not be set harms nobody
		}
	}
}

// noteLeft writes down what putting back has made of the times of folders, for when another run is put back.
func (w *working) noteLeft() {
	m := &w.journal.marks
	for i := range w.run.Dirs {
		if _, known := m.was[i]; !known {
			continue
		}
		w.trim()
		dir, err := w.get(i)
		if err != nil {
			continue
		}
		if info, err := dir.Stat(); err == nil {
			w.journal.mark("left %d %s", i, info.MTime)
		}
	}
}
