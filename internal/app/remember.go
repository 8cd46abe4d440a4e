package app

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/anivault/anivault/cache"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/results"
	"github.com/anivault/anivault/internal/version"
)

// remembering keeps decisions between runs, in the cache's database. It never stops a run: what can't be read is
// decided anew, what can't be kept is decided again next time.
type remembering struct {
	memory *results.Memory
	warn   func(error)
}

// memory is the memory of this run's question; nil where everything has to be decided anew.
func (a *App) memory() memory {
	if a.opts.Refresh || a.opts.Anew || a.opts.Ask != nil {
		return nil
	}
	bucket, err := a.cache.Bucket(results.Bucket)
	if err != nil {
		a.warn(err)
		return nil
	}
	return &remembering{
		memory: results.New(bucket, results.Question{
			Upstream: a.cfg.TMDB.BaseURL.String(), Language: a.cfg.TMDB.Language, Type: a.cfg.Match.Type,
			MinConfidence: a.cfg.Match.MinConfidence, IncludeAdult: a.cfg.Match.IncludeAdult,
		}, results.Basis{Program: version.Build(), Pins: a.matcher.choices.digest, Index: a.matcher.index.digest()}),
		warn: a.warn,
	}
}

// Recall implements memory. Names without a file are never remembered.
func (r *remembering) Recall(ctx context.Context, lines []*Line) []*match.Decision {
	known := make([]*match.Decision, len(lines))
	var files []results.File
	var at []int
	for i, l := range lines {
		if f, ok := fileOf(l); ok {
			files, at = append(files, f), append(at, i)
		}
	}
	if len(files) == 0 {
		return known
	}
	found, err := r.memory.Recall(ctx, time.Now(), files)
	if err != nil && ctx.Err() == nil && !errors.Is(err, cache.ErrLocked) { // the cache says itself that it is locked
		r.warn(err)
	}
	for i, d := range found {
		known[at[i]] = d
	}
	return known
}

// Remember implements memory.
func (r *remembering) Remember(ctx context.Context, lines []*Line) {
	var entries []results.Entry
	for _, l := range lines {
		if f, ok := fileOf(l); ok {
			entries = append(entries, results.Entry{File: f, Decision: l.Decision})
		}
	}
	if len(entries) == 0 {
		return
	}
	if err := r.memory.Remember(context.WithoutCancel(ctx), time.Now(), entries...); err != nil {
		r.warn(err)
	}
}

// fileOf is the file as the memory knows it; false for a name from a list that no file stands behind.
func fileOf(l *Line) (results.File, bool) {
	if l.File.ModTime.IsZero() {
		return results.File{}, false
	}
	abs, err := filepath.Abs(l.Path)
	if err != nil {
		return results.File{}, false
	}
	return results.File{Path: l.Name, Abs: abs, Size: l.File.Size, ModTime: l.File.ModTime}, true
}
