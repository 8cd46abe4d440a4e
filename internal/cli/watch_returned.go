package cli

import (
	"os"
	"slices"
	"time"

	"github.com/anivault/anivault/internal/apply"
	"github.com/anivault/anivault/internal/organize"
)

// brought is what an undo has brought back, and when.
type brought struct {
	at    time.Time
	files []apply.Identity
}

// returned tells the files that an undo has brought back since a pin or the index has changed: moving them again would put back what
// its user has put back. Only journals that have changed are read.
func (w *watchRun) returned() (func(*organize.Item) bool, error) {
	e, closeEngine, err := openEngine(w.cfg)
	if err != nil {
		return nil, err
	}
	defer closeEngine()
	runs, err := e.Runs()
	if err != nil {
		return nil, err
	}
	var changed time.Time
	for _, file := range w.basisFiles() {
		if info, err := os.Stat(file); err == nil && info.ModTime().After(changed) {
			changed = info.ModTime()
		}
	}
	known := map[apply.Identity]bool{}
	for i := range runs {
		r := &runs[i]
		if r.Err != nil || r.Undone == 0 || r.At.Before(changed) || !slices.Contains(r.Sources, w.tree.Root().Path) {
			continue
		}
		of := w.back[r.ID]
		if !of.at.Equal(r.At) {
			files, err := e.Returned(r.ID)
			if err != nil {
				continue // it can't be told
			}
			of = brought{r.At, files}
			w.back[r.ID] = of
		}
		for _, id := range of.files {
			known[id] = true
		}
	}
	return func(item *organize.Item) bool {
		return known[apply.Identity{Inode: item.Inode, Size: item.Size, MTime: item.MTime}]
	}, nil
}
