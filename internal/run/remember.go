package run

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/run/results"
)

// remembering is the memory of decisions as one run uses it. It never stops a run: what can't be read is decided anew, what
// can't be kept is decided again next time. A nil *remembering remembers nothing.
type remembering struct {
	memory *results.Memory
	recall bool // false: everything is decided anew, and then remembered
	warn   func(error)
}

// warnOf warns of an error of the memory, unless the cache has warned of it.
func (r *remembering) warnOf(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil && !errors.Is(err, cache.ErrLocked) {
		r.warn(err)
	}
}

// folder returns a batch as the memory names it.
func (b *Batch) folder() results.Folder {
	return results.Folder{Files: results.Files{Abs: b.Abs, View: b.View, Media: b.Media, List: b.Files}, Part: b.Part}
}

// lasting reports whether a later run can recognise the batch: each file has a time of change, or is a name and nothing more.
func (b *Batch) lasting() bool {
	for i := range b.Files {
		if b.Abs != "" && b.Files[i].Skip == "" && b.Files[i].ModTime.IsZero() {
			return false
		}
	}
	return len(b.Files) > 0
}

// keeping gathers what is decided about a batch and remembers it when all of it is: a folder costs one write, however many
// series it holds.
type keeping struct {
	memory *remembering
	batch  *intake

	mu    sync.Mutex
	open  int               // groups that are not settled
	fresh []results.Decided // groups that were decided now
}

// keep begins to gather for a batch.
func (r *remembering) keep(b *intake) *keeping {
	if r == nil || !b.lasting {
		return nil
	}
	return &keeping{memory: r, batch: b, open: len(b.groups)}
}

// settled notes that the lines of a group are decided. The call for the last group remembers the batch.
func (k *keeping) settled(ctx context.Context, g *group) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if d, ok := k.batch.decided(g); ok {
		k.fresh = append(k.fresh, d)
	}
	if k.open--; k.open > 0 || k.batch.listed && len(k.fresh) == 0 {
		return
	}
	var l results.List
	for _, g := range k.batch.groups {
		l.Add(g.key, g.files)
	}
	folder := k.batch.folder()
	if err := k.memory.memory.Remember(context.WithoutCancel(ctx), time.Now(), &folder, &l, k.fresh); err != nil {
		k.memory.warn(err)
	}
}

// decided returns what to remember of a group. ok is false where it was replayed or a file has an error.
func (b *intake) decided(g *group) (d results.Decided, ok bool) {
	d = results.Decided{Key: g.key, Records: make([]report.Record, len(g.files))}
	for n, i := range g.files {
		l := b.lines[i]
		if l.told != nil || l.Decision.Err != nil {
			return d, false
		}
		d.Records[n] = l.record(nil)
		d.StandOn(l.Decision)
	}
	return d, true
}
