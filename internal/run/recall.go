package run

import (
	"context"
	"slices"
	"time"

	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/run/results"
)

// intake is a batch on its way through a run, and what is known of it.
type intake struct {
	Batch
	lasting bool     // it can be recognised by a later run
	lines   []*Line  // by file; nil: no name has been read
	groups  []*group // every file is in one
	listed  bool     // the groups are those of the folder's list: nothing in the folder has changed
}

// group is the files of a batch that are decided together, as indices.
type group struct {
	files  []int
	key    results.Key
	known  *results.Known // what is remembered of it; nil: nothing that holds
	series *match.Series  // nil: its names have not been read, or the walk left its files out
}

// recall finds out what is remembered of batches, in three sessions of the cache at most.
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

// list takes the groups of a folder from its list.
func (b *intake) list(l *results.List) {
	b.listed = true
	for i, k := range l.Keys {
		b.groups = append(b.groups, &group{files: l.Files[i], key: k})
	}
}

// read reads the names of a batch and groups them, keeping what is known of the groups.
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

// series is how many series the batch has.
func (b *intake) series() int64 {
	n := int64(0)
	for _, g := range b.groups {
		if b.Files[g.files[0]].Skip == "" {
			n++
		}
	}
	return n
}

// replay reads the records of all files into r. It returns false unless all of them are known.
func (b *intake) replay(r *results.Records) bool {
	r.Reset(len(b.Files))
	for _, g := range b.groups {
		if g.known == nil || !g.known.Into(r, b.Files, g.files) {
			return false
		}
	}
	return true
}

// replayGroup gives the lines of one group the records that are remembered; false if they are not.
func (b *intake) replayGroup(g *group) bool {
	if g.known == nil {
		return false
	}
	var r results.Records
	r.Reset(len(b.Files))
	if !g.known.Into(&r, b.Files, g.files) {
		return false
	}
	for _, i := range g.files {
		b.lines[i].told = &r.List[i]
	}
	return true
}
