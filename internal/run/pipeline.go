// Package run carries files from a walk or a list through the deciders to records, in the order in which the files
// came.
//
// A directory is read (produce.go). If nothing of it has changed since it was decided, its records are replayed from
// the memory of results (recall.go). Otherwise its names are parsed and grouped into series, each series is decided
// once, each file is placed, and the records are written (pipeline.go).
package run

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anivault/anivault/internal/decide"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/report"
	"github.com/anivault/anivault/internal/run/results"
	"golang.org/x/sync/semaphore"
)

const (
	heldLines = 3000
	// window bounds how many files of one directory are decided together. It is below heldLines, or a large directory
	// could never be admitted.
	window = 500
	// Batches are looked up in the cache together, because a session costs as much as reading a small directory: at most
	// maxBatches of them, until they have enoughFiles files, or the first has waited for batchWait.
	maxBatches  = 200
	enoughFiles = 2000
	batchWait   = 5 * time.Millisecond
)

// Line is one file and its decision.
type Line struct {
	Path     string
	Name     string // the part of the path that was read
	Release  release.Release
	Decision match.Decision
	File     library.File

	replayed *report.Record // replayed; nil: Decision says what became of the file
	done     chan struct{}
}

func (l *Line) record(explain report.ErrorFunc) report.Record {
	if l.replayed != nil {
		return *l.replayed
	}
	r := report.FromDecision(l.Path, l.Release, l.Decision, explain)
	r.Subtitles = l.File.Subtitles
	return r
}

// Decider decides the files of one series. One that needs a person waits for its turn, which follows the order of
// files.
type Decider interface {
	Turn() decide.Turn
	Decide(ctx context.Context, s match.Series, t decide.Turn, decided func(match.File, match.Decision))
}

// Config is what a run needs.
type Config struct {
	Decider  Decider
	Underway int              // how many series are decided at the same time
	Patience Patience         // with series whose requests fail
	Jobs     int              // how many names are parsed at the same time; 0: one per CPU
	Memory   *results.Memory  // of decisions; nil: none
	Anew     bool             // decide everything anew, and remember it
	Explain  report.ErrorFunc // what errors are called in records
	Counts   *Counts          // nil: nobody asks how far the run is
	Warn     func(error)      // called from any goroutine
}

// Counts are what a run has found so far.
type Counts struct {
	Files, Series atomic.Int64
	Walked        atomic.Bool // all folders have been read
}

// Run decides what produce yields and calls emit with each record, in order, from one goroutine; what a record points
// to is valid during the call only. It calls pause, if not nil, whenever the next record has to be waited for. When ctx
// ends, it emits what was decided by then and returns the context's cause.
func Run(ctx context.Context, c Config, produce Producer, emit func(report.Record) error, pause func() error) error {
	p := &pipeline{
		decider: c.Decider, underway: c.Underway, jobs: c.Jobs, emitRecord: emit, pause: pause,
		counts: c.Counts, patience: c.Patience,
	}
	if c.Memory != nil {
		p.remember = &runMemory{memory: c.Memory, recall: !c.Anew, warn: c.Warn}
	}
	return p.run(ctx, produce, func(l *Line) error { return emit(l.record(c.Explain)) })
}

// pipeline is one run: one goroutine reads directories, one recalls or decides them, one writes. At most heldLines
// lines wait, so memory does not grow with the library and output starts before the walk ends.
type pipeline struct {
	decider    Decider
	underway   int
	jobs       int
	patience   Patience
	aside      *aside
	remember   *runMemory
	emitRecord func(report.Record) error // gets the records of directories that are remembered whole, in place of emit
	pause      func() error              // called before the next line has to be waited for; nil: nobody wants to know
	counts     *Counts
	spare      sync.Pool // of *results.Records that have been written: a library is replayed a quarter slower without
}

func (p *pipeline) run(ctx context.Context, produce Producer, emit func(*Line) error) error {
	if p.counts == nil {
		p.counts = new(Counts)
	}
	p.aside = &aside{changed: make(chan struct{}, 1)}
	work, cancel := context.WithCancel(ctx)
	defer cancel()
	held := semaphore.NewWeighted(heldLines)
	found := make(chan Batch, heldLines) // never blocks: each holds at least one place of held
	out := make(chan portion, heldLines)

	var failure error // of produce; read when out is closed
	go func() {
		defer close(found)
		defer p.counts.Walked.Store(true)
		failure = produce(work, func(b Batch) error {
			for _, part := range windows(b) {
				if len(part.Files) == 0 && part.Err == nil {
					continue
				}
				places := max(1, int64(len(part.Files)))
				if !held.TryAcquire(places) {
					p.aside.change(func() { p.aside.full = true })
					err := held.Acquire(work, places)
					p.aside.change(func() { p.aside.full = false })
					if err != nil {
						return err
					}
				}
				p.counts.Files.Add(max(1, int64(len(part.Files)))) // before the walk can end
				found <- part
			}
			return work.Err()
		})
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

func (p *pipeline) decideAll(ctx context.Context, found <-chan Batch, out chan<- portion) {
	series := make(chan struct{}, max(1, p.underway))
	var resolving sync.WaitGroup
	resolving.Go(func() { p.askAgain(ctx, series) })
	defer resolving.Wait()
	defer p.aside.change(func() { p.aside.walked = true })
	batches := make([]Batch, 0, maxBatches)
	for {
		batches = p.gather(found, batches[:0])
		if len(batches) == 0 {
			return
		}
		for _, b := range p.recall(ctx, batches) {
			if ctx.Err() != nil {
				break // the reader of directories stops by itself
			}
			p.admit(ctx, b, out, series, &resolving)
		}
	}
}

func (p *pipeline) gather(found <-chan Batch, batches []Batch) []Batch {
	b, ok := <-found
	if !ok {
		return batches
	}
	batches = append(batches, b)
	if p.remember == nil || !p.remember.recall {
		return batches
	}
	enough := time.NewTimer(batchWait)
	defer enough.Stop()
	for files := len(b.Files); files < enoughFiles && len(batches) < maxBatches; files += len(b.Files) {
		select {
		case b, ok = <-found:
			if !ok {
				return batches
			}
			batches = append(batches, b)
		case <-enough.C:
			return batches
		}
	}
	return batches
}

func undecided(l *Line) bool { return errors.Is(l.Decision.Err, context.Canceled) }

func (p *pipeline) admit(ctx context.Context, b *intake, out chan<- portion, series chan struct{},
	resolving *sync.WaitGroup,
) {
	if b.Err != nil {
		out <- portion{lines: []*Line{failedLine(b.Batch)}} // out never blocks: it has as many places as lines may be held
		return
	}
	records, ok := p.spare.Get().(*results.RecordBuffer)
	if !ok {
		records = new(results.RecordBuffer)
	}
	if b.replay(records) {
		p.counts.Series.Add(b.series())
		out <- portion{replayed: records}
		return
	}
	p.spare.Put(records)
	if b.lines == nil {
		p.read(b)
	}
	p.counts.Series.Add(b.series())
	out <- portion{lines: b.lines}
	keep := p.remember.recorder(b)
	for _, g := range b.groups {
		if b.replayGroup(g) {
			p.settle(ctx, keep, b, g)
			continue
		}
		if g.series == nil {
			for _, i := range g.files {
				b.lines[i].Decision = match.Decision{Outcome: match.Outcome{Status: match.Skipped, Reason: b.lines[i].File.Skip}}
			}
			p.settle(ctx, keep, b, g)
			continue
		}
		select {
		case series <- struct{}{}:
		case <-ctx.Done():
			for _, i := range g.files {
				b.lines[i].Decision.Err = context.Canceled
			}
			p.settle(ctx, keep, b, g)
			continue
		}
		q := &question{b: b, g: g, keep: keep}
		if p.patience.Tries != nil {
			q.tries = p.patience.Tries()
		}
		p.aside.change(func() { p.aside.underway++ })
		t := p.decider.Turn()
		resolving.Go(func() { p.ask(ctx, q, t, series) })
	}
}

func (p *pipeline) settle(ctx context.Context, keep *recorder, b *intake, g *group) {
	keep.settled(ctx, g)
	for _, i := range g.files {
		close(b.lines[i].done)
	}
}

func failedLine(b Batch) *Line {
	l := &Line{
		Path: b.Path, Decision: match.Decision{Outcome: match.Outcome{Status: match.Failed, Err: b.Err}},
		done: make(chan struct{}),
	}
	close(l.done)
	return l
}

type portion struct {
	lines    []*Line
	replayed *results.RecordBuffer
}

func (p *pipeline) write(out <-chan portion, emit func(*Line) error, written func(lines int), cancel func()) error {
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
		var next portion
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
		if next.replayed != nil {
			for i := range next.replayed.List {
				if failed == nil {
					fail(p.emitRecord(next.replayed.List[i]))
				}
			}
			written(len(next.replayed.List))
			p.spare.Put(next.replayed)
		}
		for _, line := range next.lines {
			select {
			case <-line.done:
			default:
				rest()
				<-line.done
			}
			if failed == nil && !undecided(line) {
				fail(emit(line))
			}
			written(1)
		}
	}
}
