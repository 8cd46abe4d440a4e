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

// remembering keeps decisions between runs, in the cache's database. It never stops a run: what can't be read is
// decided anew, what can't be kept is decided again next time.
type remembering struct {
	memory *results.Memory
	warn   func(error)
}

// recall looks up all batches in one session and returns what is known of each, nil where nothing is.
func (r *remembering) recall(ctx context.Context, batches []Batch) []*results.Known {
	known := make([]*results.Known, len(batches))
	if r == nil {
		return known
	}
	folders := make([]results.Folder, 0, len(batches))
	at := make([]int, 0, len(batches))
	for i := range batches {
		if batches[i].lasting() {
			folders, at = append(folders, batches[i].folder()), append(at, i)
		}
	}
	if len(folders) == 0 {
		return known
	}
	found, err := r.memory.Recall(ctx, time.Now(), folders)
	if err != nil && ctx.Err() == nil && !errors.Is(err, cache.ErrLocked) { // the cache says itself that it is locked
		r.warn(err)
	}
	for i, k := range found {
		known[at[i]] = k
	}
	return known
}

// folder is a batch as the memory knows it.
func (b *Batch) folder() results.Folder {
	return results.Folder{Abs: b.Abs, View: b.View, Part: b.Part, Files: b.Files}
}

// lasting reports whether a batch can be recognised later: its files are there, with a time of change.
func (b *Batch) lasting() bool {
	if b.Abs == "" || len(b.Files) == 0 {
		return false
	}
	for i := range b.Files {
		if b.Files[i].Skip == "" && b.Files[i].ModTime.IsZero() {
			return false
		}
	}
	return true
}

// keeping gathers what is decided about a batch until all of it is, and then keeps it: a folder is one entry, however many
// series it holds. A nil *keeping keeps nothing.
type keeping struct {
	memory *remembering
	batch  Batch
	known  *results.Known // what was recalled of it
	lines  []*Line

	mu     sync.Mutex
	open   int // groups that are not decided yet
	groups []results.Group
}

// keep begins to gather for a batch of some groups.
func (r *remembering) keep(b Batch, known *results.Known, lines []*Line, groups int) *keeping {
	if r == nil || !b.lasting() {
		return nil
	}
	return &keeping{memory: r, batch: b, known: known, lines: lines, open: groups}
}

// group notes a group whose lines are decided. Whoever brings the last one writes it all down, before its lines are told.
func (k *keeping) group(ctx context.Context, g results.Group) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	certain := true
	for _, i := range g.Files {
		certain = certain && k.lines[i].Decision.Err == nil
	}
	if certain {
		k.groups = append(k.groups, g)
	}
	if k.open--; k.open > 0 {
		return
	}
	k.write(ctx)
}

// write keeps what was gathered; the lock is held, or nobody else has k.
func (k *keeping) write(ctx context.Context) {
	records := make([]report.Record, len(k.lines))
	for i, l := range k.lines {
		records[i] = l.record(nil)
	}
	if err := k.memory.memory.Remember(context.WithoutCancel(ctx), time.Now(), k.batch.folder(), k.known, records, k.groups); err != nil {
		k.memory.warn(err)
	}
}
