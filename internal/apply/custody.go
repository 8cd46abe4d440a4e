package apply

import "github.com/anivault/anivault/internal/organize"

// pass is a folder's time before something that this program did, and behind it.
type pass struct{ was, left organize.Stamp }

// custody is what other runs of the history have made of folders. Runs can be put back in any order: once all that were at a folder
// are, it is as it was before the first.
type custody struct {
	undos map[string][]pass // by path: what putting a run back, or a part of it, has made of a folder
	runs  map[string][]pass // by path: what runs had made of it that are put back now
	made  map[string]bool   // the folders that runs had made which are put back now
}

// coarse is how many seconds a file's time may lag behind, on any file system.
const coarse = 3

// custody reads the journals of all runs but one that were written to since that one began: what others did before, it has found.
func (e *Engine) custody(but string) custody {
	c := custody{map[string][]pass{}, map[string][]pass{}, map[string]bool{}}
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
			switch path := j.run.path(i); {
			case d.New:
				c.made[path] = c.made[path] || undone
			case undone && after != (organize.Stamp{}) && after != d.MTime:
				c.runs[path] = append(c.runs[path], pass{d.MTime, after})
				fallthrough
			default:
				c.undos[path] = append(c.undos[path], m.passes[i]...)
			}
		}
	}
	return c
}

// explains reports whether putting back other runs has made a folder's time what it is now from what it was.
func (c *custody) explains(path string, now, was organize.Stamp) bool {
	return follow(c.undos[path], now, was) == was
}

// first returns the time that a folder had before the runs that are put back, of which one had left it as the run at hand found it.
func (c *custody) first(path string, found organize.Stamp) organize.Stamp {
	return follow(c.runs[path], found, organize.Stamp{})
}

// follow goes back from a time through what has made it what it is, each once, until it is the one looked for or nothing leads on.
func follow(passes []pass, now, until organize.Stamp) organize.Stamp {
	used := make([]bool, len(passes))
	for i := 0; i < len(passes); i++ {
		if now == until {
			break
		}
		if p := passes[i]; !used[i] && p.left == now {
			now, used[i], i = p.was, true, -1
		}
	}
	return now
}

// pruneOthers removes the folders that other runs had made and that only this one's files have kept, deepest first. The folder above
// keeps its time, unless it is this run's to set.
func (w *working) pruneOthers() {
	for i := len(w.run.Dirs) - 1; i >= 0; i-- {
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
		_ = parent.SetMTime(info.MTime) // that it could not be set harms nobody
	}
}

// noteLeft writes down what putting back has made of the times of folders, for when another run is put back.
func (w *working) noteLeft() {
	m := &w.journal.marks
	for i := range w.run.Dirs {
		if _, known := m.was[i]; !known {
			continue
		}
		dir, err := w.get(i)
		if err != nil {
			continue
		}
		if info, err := dir.Stat(); err == nil {
			w.journal.mark("left %d %s", i, info.MTime)
		}
	}
}
