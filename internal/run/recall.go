package run

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/run/results"
)

type intake struct {
	Batch
	lasting bool     // it can be recognised by a later run
	lines   []*Line  // by file; nil: no name has been read
	groups  []*group // every file is in one
	listed  bool     // the groups are those of the folder's list: nothing in the folder has changed
}

type group struct {
	files  []int
	key    results.Key
	known  *results.Known // what is remembered of it; nil: nothing that holds
	series *match.Series  // nil: its names have not been read, or the walk left its files out
}

func (p *pipeline) recall(ctx context.Context, batches []Batch) []*intake {
	in := make([]*intake, len(batches))
	var folders []results.Folder
	var of []*intake
	for i, b := range batches {
		in[i] = &intake{Batch: b, lasting: p.remember != nil && b.lasting()}
		if in[i].lasting && b.Abs != "" && p.remember.recall {
			folders, of = append(folders, b.folder()), append(of, in[i])
		}
	}
	if len(folders) > 0 {
		lists, err := p.remember.memory.Lists(ctx, folders)
		p.remember.warnOf(ctx, err)
		for i, l := range lists {
			if l != nil {
				of[i].list(l)
			}
		}
	}
	var keys []results.Key
	var groups []*group
	for _, b := range in {
		if !b.listed && b.Err == nil {
			p.read(b)
		}
		if b.lasting && p.remember.recall {
			for _, g := range b.groups {
				keys, groups = append(keys, g.key), append(groups, g)
			}
		}
	}
	if len(keys) > 0 {
		known, err := p.remember.memory.Recall(ctx, time.Now(), keys)
		p.remember.warnOf(ctx, err)
		for i, k := range known {
			groups[i].known = k
		}
	}
	return in
}

func (b *intake) list(l *results.List) {
	b.listed = true
	for i, k := range l.Keys {
		b.groups = append(b.groups, &group{files: l.Files[i], key: k})
	}
}

func (p *pipeline) read(b *intake) {
	before := b.groups
	b.groups = nil
	b.lines = p.parse(b.Batch)
	var media []match.File
	var leftOut []int
	for i, l := range b.lines {
		if l.File.Skip != "" {
			leftOut = append(leftOut, i)
			continue
		}
		media = append(media, match.File{Index: i, Release: l.Release, Media: b.Media})
	}
	if len(leftOut) > 0 {
		b.groups = append(b.groups, &group{files: leftOut})
	}
	for _, s := range match.Group(media) {
		g := &group{series: &s}
		for _, f := range s.Files {
			g.files = append(g.files, f.Index)
		}
		b.groups = append(b.groups, g)
	}
	if !b.lasting {
		return
	}
	files := b.folder().Files
	for _, g := range b.groups {
		g.key = p.remember.memory.Key(files, g.files)
		if i := slices.IndexFunc(before, func(o *group) bool { return o.key == g.key }); i >= 0 {
			g.known = before[i].known
		}
	}
}

func (b *intake) series() int64 {
	n := int64(0)
	for _, g := range b.groups {
		if b.Files[g.files[0]].Skip == "" {
			n++
		}
	}
	return n
}

func (b *intake) replay(r *results.RecordBuffer) bool {
	r.Reset(len(b.Files))
	for _, g := range b.groups {
		if g.known == nil || !g.known.Into(r, b.Files, g.files) {
			return false
		}
	}
	return true
}

func (b *intake) replayGroup(g *group) bool {
	if g.known == nil {
		return false
	}
	var r results.RecordBuffer
	r.Reset(len(b.Files))
	if !g.known.Into(&r, b.Files, g.files) {
		return false
	}
	for _, i := range g.files {
		b.lines[i].replayed = &r.List[i]
	}
	return true
}

// runMemory is the memory of decisions in one run, and never stops it. A nil *runMemory remembers nothing.
type runMemory struct {
	memory *results.Memory
	recall bool // false: everything is decided anew, and then remembered
	warn   func(error)
}

func (r *runMemory) warnOf(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil && !errors.Is(err, cache.ErrLocked) {
		r.warn(err)
	}
}

func (b *Batch) folder() results.Folder {
	return results.Folder{Files: results.Files{Abs: b.Abs, View: b.View, Media: b.Media, List: b.Files}, Part: b.Part}
}

func (b *Batch) lasting() bool {
	for i := range b.Files {
		if b.Abs != "" && b.Files[i].Skip == "" && b.Files[i].ModTime.IsZero() {
			return false
		}
	}
	return len(b.Files) > 0
}

// recorder remembers a batch once all of it is decided: a folder costs one write, however many series it holds.
type recorder struct {
	memory *runMemory
	batch  *intake

	mu    sync.Mutex
	open  int               // groups that are not settled
	fresh []results.Decided // groups that were decided now
}

func (r *runMemory) recorder(b *intake) *recorder {
	if r == nil || !b.lasting {
		return nil
	}
	return &recorder{memory: r, batch: b, open: len(b.groups)}
}

func (k *recorder) settled(ctx context.Context, g *group) {
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

func (b *intake) decided(g *group) (d results.Decided, ok bool) {
	d = results.Decided{Key: g.key, Records: make([]report.Record, len(g.files))}
	for n, i := range g.files {
		l := b.lines[i]
		if l.replayed != nil || l.Decision.Err != nil {
			return d, false
		}
		d.Records[n] = l.record(nil)
		d.StandOn(l.Decision)
	}
	return d, true
}
