package run

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/run/results"
	"github.com/anivault/anivault/internal/slicesx"
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

	replayed bool // its records are those that are stored
}

func (p *pipeline) recallBatches(ctx context.Context, batches []Batch) []*batchState {
	in := make([]*batchState, len(batches))
	var folders []results.Folder
	var of []*batchState
	for i, b := range batches {
		in[i] = &batchState{Batch: b, rememberable: p.Memory != nil && b.isRememberable()}
		if in[i].rememberable && b.AbsDir != "" && !p.Refresh {
			folders, of = append(folders, b.Folder), append(of, in[i])
		}
	}
	if len(folders) > 0 {
		lists, err := p.Memory.Lists(ctx, folders)
		p.warnUnlessLocked(ctx, err)
		for i, l := range lists {
			if l == nil {
				continue
			}
			of[i].unchanged = true
			for n, k := range l.Keys {
				of[i].groups = append(of[i].groups, &group{files: l.Files[n], key: k})
			}
		}
	}
	var keys []results.Key
	var groups []*group
	for _, b := range in {
		if !b.unchanged && b.Err == nil {
			p.readNames(b)
		}
		if b.rememberable && !p.Refresh {
			for _, g := range b.groups {
				keys, groups = append(keys, g.key), append(groups, g)
			}
		}
	}
	known, err := p.Memory.Recall(ctx, time.Now(), keys)
	p.warnUnlessLocked(ctx, err)
	for i, k := range known {
		groups[i].stored = k
	}
	return in
}

func (p *pipeline) readNames(b *batchState) {
	before := b.groups
	b.groups = nil
	b.lines = p.parse(b.Batch)
	media := make([]match.File, 0, len(b.lines))
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
		files := slicesx.Map(s.Files, func(f match.File) int { return f.Index })
		b.groups = append(b.groups, &group{series: &s, files: files})
	}
	if !b.rememberable {
		return
	}
	for _, g := range b.groups {
		g.key = p.Memory.Key(&b.Folder, g.files)
		if i := slices.IndexFunc(before, func(o *group) bool { return o.key == g.key }); i >= 0 {
			g.stored, g.replayed = before[i].stored, before[i].replayed
		}
	}
}

func (b *batchState) countSeries() int64 {
	return int64(slicesx.Count(b.groups, func(g *group) bool { return b.Files[g.files[0]].Skip == "" }))
}

// replay reads the stored records, and reports whether it has those of all files of the batch.
func (b *batchState) replay() (records []report.Record, all bool) {
	records, all = make([]report.Record, len(b.Files)), true
	for _, g := range b.groups {
		g.replayed = g.stored != nil && g.stored.ReadRecords(records, b.Files, g.files)
		all = all && g.replayed
	}
	return records, all
}

// warnUnlessLocked reports that stored decisions could not be read, which never stops the run.
func (p *pipeline) warnUnlessLocked(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil && !errors.Is(err, cache.ErrLocked) {
		p.Warn(err)
	}
}

func (b *Batch) isRememberable() bool {
	return len(b.Files) > 0 && !slices.ContainsFunc(b.Files, func(f library.File) bool {
		return b.AbsDir != "" && f.Skip == "" && f.ModTime.IsZero()
	})
}

// recorder stores the decisions of a batch with one write, once all its groups are finished.
type recorder struct {
	pipeline *pipeline
	batch    *batchState

	mu           sync.Mutex
	unfinished   int                     // number of groups that are not finished
	newlyDecided []results.DecidedSeries // groups decided in this run
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
	ctx = context.WithoutCancel(ctx)
	if err := k.pipeline.Memory.Remember(ctx, time.Now(), &k.batch.Folder, &l, k.newlyDecided); err != nil {
		k.pipeline.Warn(err)
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
		l.storedRecord = &d.Records[n]
		d.AddSources(l.Decision)
	}
	return d, true
}
