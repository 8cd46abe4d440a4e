// Package run takes files from a walk or a list, has the deciders decide them, and emits one record per file, in the
// files' order.
//
// A producer yields the files of a directory (produce.go). If nothing in the directory has changed since it was last
// decided, its records are replayed from the memory of results (recall.go). Otherwise the run parses the names and
// groups them into series, decides each series once, places each file in it, and emits the records (pipeline.go).
package run

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/run/results"
	"golang.org/x/sync/semaphore"
)

const (
	maxHeldLines = 3000
	// maxBatchFiles limits the files of a batch. It is below maxHeldLines, because a larger batch could never start.
	maxBatchFiles = 500
	// Batches are looked up in the memory of results together, because one lookup costs as much as reading a small
	// directory. A lookup starts when maxLookupBatches or lookupFiles are there, or lookupWait after the first batch.
	maxLookupBatches = 200
	lookupFiles      = 2000
	lookupWait       = 10 * time.Millisecond
)

// Line is one file and its decision.
type Line struct {
	Path     string
	Release  release.Release
	Decision match.Decision
	File     library.File

	storedRecord *report.Record // of an earlier run, or to be stored by this one; nil: Decision is the result
	done         chan struct{}
}

func (l *Line) record(explain report.ErrorFunc) report.Record {
	if l.storedRecord != nil {
		return *l.storedRecord
	}
	r := report.FromDecision(l.Path, l.Release, l.Decision, explain)
	r.Subtitles = l.File.Subtitles
	return r
}

// Decider decides the files of one series.
type Decider interface {
	Decide(ctx context.Context, s match.Series, decided func(match.File, match.Decision))
}

// Config configures a run.
type Config struct {
	Decider       Decider
	MaxConcurrent int              // how many series may be decided at the same time
	Retry         RetryPolicy      // for series whose requests fail
	ParseJobs     int              // how many names may be parsed at the same time; 0: one per CPU
	Memory        *results.Memory  // earlier decisions; nil: neither replayed nor stored
	Refresh       bool             // ignore earlier decisions, and replace them
	ExplainError  report.ErrorFunc // describes errors in records
	Counts        *Counts          // updated while the run goes on; may be nil
	Warn          func(error)      // reports a problem that does not stop the run; called from any goroutine
}

// Counts are what a run has found so far.
type Counts struct {
	Files, Series atomic.Int64
	Walked        atomic.Bool // all folders have been read
}

// Run decides the files that produce yields and calls emit with each record, in order, from one goroutine. Before it
// has to wait for the next record, it calls pause, if not nil. When ctx ends, it emits the records decided by then and
// returns the context's cause.
func Run(ctx context.Context, c Config, produce Producer, emit func(report.Record) error, pause func() error) error {
	p := &pipeline{Config: c, emitRecord: emit, pause: pause}
	return p.run(ctx, produce, func(l *Line) error { return emit(l.record(c.ExplainError)) })
}

// pipeline is the state of one run: one goroutine reads directories, one replays or decides them, one emits records. At
// most maxHeldLines lines wait to be emitted, so memory does not grow with the library and output starts before the
// walk ends.
type pipeline struct {
	Config
	deferred   *deferredQueue
	emitRecord func(report.Record) error // called instead of emit for directories that are replayed as a whole
	pause      func() error              // called before waiting for the next line; may be nil

	lastFront    string // for parsedPrefix
	lastIsSeason bool   // lastFront only names a season
}

func (p *pipeline) run(ctx context.Context, produce Producer, emit func(*Line) error) error {
	p.Counts = cmp.Or(p.Counts, new(Counts))
	p.deferred = &deferredQueue{changed: make(chan struct{}, 1)}
	work, cancel := context.WithCancel(ctx)
	defer cancel()
	held := semaphore.NewWeighted(maxHeldLines)
	found := make(chan Batch, maxHeldLines) // sending never blocks: each batch holds at least one of held's places
	out := make(chan outputPart, maxHeldLines)

	var failure error // produce's error; read after out is closed
	go func() {
		defer close(found)
		failure = produce(work, func(b Batch) error {
			for _, part := range splitBatch(b) {
				if len(part.Files) == 0 && part.Err == nil {
					continue
				}
				places := max(1, int64(len(part.Files)))
				if !held.TryAcquire(places) {
					p.deferred.update(func() { p.deferred.outputFull = true })
					err := held.Acquire(work, places)
					p.deferred.update(func() { p.deferred.outputFull = false })
					if err != nil {
						return err
					}
				}
				p.Counts.Files.Add(places) // before Walked can become true
				found <- part
			}
			return work.Err()
		})
		p.Counts.Walked.Store(failure == nil)
	}()
	go func() {
		defer close(out)
		p.decideAll(work, found, out)
	}()
	failed := p.write(out, emit, func(lines int) { held.Release(int64(lines)) }, cancel)
	switch {
	case failed != nil:
		return failed
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return failure
}

func (p *pipeline) decideAll(ctx context.Context, found <-chan Batch, out chan<- outputPart) {
	series := semaphore.NewWeighted(max(1, int64(p.MaxConcurrent)))
	var resolving sync.WaitGroup
	resolving.Go(func() { p.runDeferred(ctx, series) })
	defer func() {
		resolving.Wait()
		if p.Memory == nil {
			return
		}
		if err := p.Memory.Flush(context.WithoutCancel(ctx), time.Now()); err != nil {
			p.Warn(err)
		}
	}()
	defer p.deferred.update(func() { p.deferred.walkDone = true })
	batches := make([]Batch, 0, maxLookupBatches)
	for {
		batches = p.gatherBatches(found, batches[:0])
		if len(batches) == 0 {
			return
		}
		for _, b := range p.recallBatches(ctx, batches) {
			if ctx.Err() != nil {
				break // the producer sees ctx too, and stops
			}
			p.startBatch(ctx, b, out, series, &resolving)
		}
	}
}

func (p *pipeline) gatherBatches(found <-chan Batch, batches []Batch) []Batch {
	b, ok := <-found
	if !ok {
		return batches
	}
	batches = append(batches, b)
	if p.Memory == nil || p.Refresh {
		return batches
	}
	enough := time.After(lookupWait)
	for files := len(b.Files); files < lookupFiles && len(batches) < maxLookupBatches; files += len(b.Files) {
		select {
		case b, ok = <-found:
			if !ok {
				return batches
			}
			batches = append(batches, b)
		case <-enough:
			return batches
		}
	}
	return batches
}

func (p *pipeline) startBatch(ctx context.Context, b *batchState, out chan<- outputPart, slots *semaphore.Weighted,
	resolving *sync.WaitGroup,
) {
	if b.Err != nil {
		l := &Line{Path: b.Path, done: make(chan struct{})}
		l.Decision.Status, l.Decision.Err = match.Failed, b.Err
		close(l.done)
		out <- outputPart{lines: []*Line{l}} // out has a place for every held line: never blocks
		return
	}
	records, all := b.replay()
	if all {
		p.Counts.Series.Add(b.countSeries())
		out <- outputPart{replayed: records}
		return
	}
	if b.lines == nil {
		p.readNames(b)
	}
	p.Counts.Series.Add(b.countSeries())
	out <- outputPart{lines: b.lines}
	var keep *recorder // nil if the batch's decisions can't be stored
	if b.rememberable {
		keep = &recorder{pipeline: p, batch: b, unfinished: len(b.groups)}
	}
	for _, g := range b.groups {
		var done func(i int)
		switch {
		case g.replayed:
			done = func(i int) { b.lines[i].storedRecord = &records[i] }
		case g.series == nil:
			done = func(i int) {
				b.lines[i].Decision.Status, b.lines[i].Decision.Reason = match.Skipped, b.lines[i].File.Skip
			}
		case slots.Acquire(ctx, 1) != nil:
			done = func(i int) { b.lines[i].Decision.Err = context.Canceled }
		default:
			q := &seriesTask{batch: b, group: g, recorder: keep}
			if p.Retry.NewCounter != nil {
				q.attempts = p.Retry.NewCounter()
			}
			p.deferred.update(func() { p.deferred.inFlight++; p.deferred.firstTries++ })
			resolving.Go(func() { p.decideSeries(ctx, q, slots) })
			continue
		}
		for _, i := range g.files {
			done(i)
		}
		p.finishGroup(ctx, keep, b, g)
	}
}

func (p *pipeline) finishGroup(ctx context.Context, recorder *recorder, b *batchState, g *group) {
	recorder.finishGroup(ctx, g)
	for _, i := range g.files {
		close(b.lines[i].done)
	}
}

type outputPart struct {
	lines    []*Line
	replayed []report.Record
}

func (p *pipeline) write(out <-chan outputPart, emit func(*Line) error, written func(lines int), cancel func()) error {
	var failed error
	fail := func(err error) {
		if failed == nil && err != nil {
			failed = err
			cancel()
		}
	}
	rest := func() {
		if failed == nil && p.pause != nil {
			fail(p.pause())
		}
	}
	for {
		var next outputPart
		var ok bool
		select {
		case next, ok = <-out:
		default:
			rest()
			next, ok = <-out
		}
		if !ok {
			return failed
		}
		for i := range next.replayed {
			if failed == nil {
				fail(p.emitRecord(next.replayed[i]))
			}
		}
		written(len(next.replayed))
		for _, line := range next.lines {
			select {
			case <-line.done:
			default:
				rest()
				<-line.done
			}
			if failed == nil && !errors.Is(line.Decision.Err, context.Canceled) {
				fail(emit(line))
			}
			written(1)
		}
	}
}
