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

type batchState struct {
	Batch
	rememberable bool     // a later run can recognise it, so its decisions can be stored
	lines        []*Line  // one per file; nil: the names are not parsed yet
	groups       []*group // each file is in exactly one
	unchanged    bool     // nothing in the folder has changed, and groups is the stored list
}

type group struct {
	files  []int
	key    results.Key
	stored *results.StoredSeries // its stored decisions; nil: none that are valid
	series *match.Series         // nil: its names are not parsed, or its files are skipped
}

func (p *pipeline) recallBatches(ctx context.Context, batches []Batch) []*batchState {
	in := make([]*batchState, len(batches))
	var folders []results.Folder
	var of []*batchState
	for i, b := range batches {
		in[i] = &batchState{Batch: b, rememberable: p.memory != nil && b.isRememberable()}
		if in[i].rememberable && b.AbsDir != "" && p.memory.mayRecall {
			folders, of = append(folders, b.folder()), append(of, in[i])
		}
	}
	if len(folders) > 0 {
		lists, err := p.memory.results.Lists(ctx, folders)
		p.memory.warnUnlessLocked(ctx, err)
		for i, l := range lists {
			if l != nil {
				of[i].useList(l)
			}
		}
	}
	var keys []results.Key
	var groups []*group
	for _, b := range in {
		if !b.unchanged && b.Err == nil {
			p.readNames(b)
		}
		if b.rememberable && p.memory.mayRecall {
			for _, g := range b.groups {
				keys, groups = append(keys, g.key), append(groups, g)
			}
		}
	}
	if len(keys) > 0 {
		known, err := p.memory.results.Recall(ctx, time.Now(), keys)
		p.memory.warnUnlessLocked(ctx, err)
		for i, k := range known {
			groups[i].stored = k
		}
	}
	return in
}

func (b *batchState) useList(l *results.SeriesList) {
	b.unchanged = true
	for i, k := range l.Keys {
		b.groups = append(b.groups, &group{files: l.Files[i], key: k})
	}
}

func (p *pipeline) readNames(b *batchState) {
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
		media = append(media, match.File{Index: i, Release: l.Release, MatchExtra: b.ListedAsMedia})
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
	if !b.rememberable {
		return
	}
	files := b.folder().Files
	for _, g := range b.groups {
		g.key = p.memory.results.Key(files, g.files)
		if i := slices.IndexFunc(before, func(o *group) bool { return o.key == g.key }); i >= 0 {
			g.stored = before[i].stored
		}
	}
}

func (b *batchState) countSeries() int64 {
	n := int64(0)
	for _, g := range b.groups {
		if b.Files[g.files[0]].Skip == "" {
			n++
		}
	}
	return n
}

func (b *batchState) replayAll(r *results.RecordBuffer) bool {
	r.Reset(len(b.Files))
	for _, g := range b.groups {
		if g.stored == nil || !g.stored.ReadRecords(r, b.Files, g.files) {
			return false
		}
	}
	return true
}

func (b *batchState) replayGroup(g *group) bool {
	if g.stored == nil {
		return false
	}
	var r results.RecordBuffer
	r.Reset(len(b.Files))
	if !g.stored.ReadRecords(&r, b.Files, g.files) {
		return false
	}
	for _, i := range g.files {
		b.lines[i].storedRecord = &r.Records[i]
	}
	return true
}

// storedDecisions gives one run access to stored decisions. Failures never stop the run. Nil stores nothing.
type storedDecisions struct {
	results   *results.Memory
	mayRecall bool // false: every series is decided again, and stored
	warn      func(error)
}

func (r *storedDecisions) warnUnlessLocked(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil && !errors.Is(err, cache.ErrLocked) {
		r.warn(err)
	}
}

func (b *Batch) folder() results.Folder {
	return results.Folder{
		Files:  results.Files{AbsDir: b.AbsDir, NamePrefix: b.NamePrefix, ListedAsMedia: b.ListedAsMedia, List: b.Files},
		PartID: b.PartID,
	}
}

func (b *Batch) isRememberable() bool {
	for i := range b.Files {
		if b.AbsDir != "" && b.Files[i].Skip == "" && b.Files[i].ModTime.IsZero() {
			return false
		}
	}
	return len(b.Files) > 0
}

// recorder stores the decisions of a batch with one write, once all its groups are finished.
type recorder struct {
	memory *storedDecisions
	batch  *batchState

	mu           sync.Mutex
	unfinished   int                     // number of groups that are not finished
	newlyDecided []results.DecidedSeries // groups decided in this run
}

func (r *storedDecisions) recorder(b *batchState) *recorder {
	if r == nil || !b.rememberable {
		return nil
	}
	return &recorder{memory: r, batch: b, unfinished: len(b.groups)}
}

func (k *recorder) finishGroup(ctx context.Context, g *group) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if d, ok := k.batch.decidedSeries(g); ok {
		k.newlyDecided = append(k.newlyDecided, d)
	}
	if k.unfinished--; k.unfinished > 0 || k.batch.unchanged && len(k.newlyDecided) == 0 {
		return
	}
	var l results.SeriesList
	for _, g := range k.batch.groups {
		l.Add(g.key, g.files)
	}
	folder := k.batch.folder()
	if err := k.memory.results.Remember(context.WithoutCancel(ctx), time.Now(), &folder, &l, k.newlyDecided); err != nil {
		k.memory.warn(err)
	}
}

func (b *batchState) decidedSeries(g *group) (d results.DecidedSeries, ok bool) {
	d = results.DecidedSeries{Key: g.key, Records: make([]report.Record, len(g.files))}
	for n, i := range g.files {
		l := b.lines[i]
		if l.storedRecord != nil || l.Decision.Err != nil {
			return d, false
		}
		d.Records[n] = l.record(nil)
		d.AddSources(l.Decision)
	}
	return d, true
}
