package app

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/match"
	"github.com/anivault/anivault/internal/release"
)

// The pipeline of `match`: a directory is read, its names are parsed and grouped into series, each series
// is resolved once, each file is placed, and lines leave in the order in which the files came.
//
// At most heldLines lines wait for their turn, so memory does not grow with the library and output starts
// before the walk ends.

const (
	heldLines = 1000
	// window bounds how many files of one directory are looked at together. It is below heldLines, or a
	// large directory could never be admitted whole.
	window = 500
)

// Batch is what is decided together: the media files of one directory, or a stretch of a list.
type Batch struct {
	Files []library.File
	// Err is a directory that could not be read, or a path that does not exist, named by Path.
	Err  error
	Path string
	// Read says what of a file's path is read as its name; nil: all of it.
	Read func(path string) string
	// Media says that each of Files was named as media: an extra is matched to its work instead of being skipped.
	Media bool
}

// Line is one file with all that was found out about it.
type Line struct {
	Path     string
	Name     string // what of the path was read
	Release  release.Release
	Decision match.Decision
	File     library.File

	done chan struct{}
}

// matcher decides the files of one series, each exactly once, in any order. A matcher that needs a person waits for
// the series' turn first.
type matcher interface {
	Decide(ctx context.Context, s match.Series, t turn, decided func(match.File, match.Decision))
}

// pipeline runs batches from produce through m and hands every decided line to emit, in order, from one
// goroutine. underway is how many series are resolved at the same time; jobs how many names are parsed
// at the same time, 0 meaning one per CPU.
//
// It returns emit's or produce's error. When ctx ends, lines that were decided by then are still emitted
// and the context's error is returned.
type pipeline struct {
	matcher  matcher
	underway int
	jobs     int
	remember memory  // nil: none
	turns    *turns  // of series that may need a person; nil: none does
	counts   *counts // nil: nobody asks how far it is
}

// memory is what an earlier run found out about files that have not changed since.
type memory interface {
	// Recall returns what is known of each line, nil where nothing is.
	Recall(ctx context.Context, lines []*Line) []*match.Decision
	// Remember keeps decisions for later runs.
	Remember(ctx context.Context, lines []*Line)
}

func (p *pipeline) run(ctx context.Context, produce func(context.Context, func(Batch) error) error, emit func(*Line) error) error {
	if p.counts == nil {
		p.counts = new(counts)
	}
	work, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := make(chan *Line, heldLines)
	held := make(chan struct{}, heldLines)
	series := make(chan struct{}, max(1, p.underway))
	var resolving sync.WaitGroup

	produced := make(chan error, 1)
	go func() {
		defer close(lines)
		defer p.counts.walked.Store(true)
		produced <- produce(work, func(b Batch) error {
			for _, part := range windows(b) {
				if err := p.admit(work, part, held, lines, series, &resolving); err != nil {
					return err
				}
			}
			return work.Err()
		})
	}()

	var failed error
	for line := range lines {
		<-line.done
		<-held
		if failed != nil || undecided(line) {
			continue
		}
		if failed = emit(line); failed != nil {
			cancel()
		}
	}
	resolving.Wait()
	err := <-produced
	switch {
	case failed != nil:
		return failed
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return err
}

// undecided reports whether the run ended before the line could be decided.
func undecided(l *Line) bool { return errors.Is(l.Decision.Err, context.Canceled) }

// windows cuts a batch into parts of at most window files.
func windows(b Batch) []Batch {
	if len(b.Files) <= window {
		return []Batch{b}
	}
	var parts []Batch
	for files := b.Files; len(files) > 0; {
		n := min(window, len(files))
		parts = append(parts, Batch{Files: files[:n], Path: b.Path, Read: b.Read, Media: b.Media})
		files = files[n:]
	}
	return parts
}

// admit waits for room, hands the part's lines on in order and starts deciding them.
func (p *pipeline) admit(ctx context.Context, b Batch, held chan struct{}, out chan<- *Line, series chan struct{}, resolving *sync.WaitGroup) error {
	if b.Err != nil {
		p.counts.files.Add(1)
		return p.hand(ctx, held, out, failedLine(b))
	}
	p.counts.files.Add(int64(len(b.Files)))
	lines := p.parse(b.Files, b.Read)
	for _, l := range lines {
		if err := p.hand(ctx, held, out, l); err != nil {
			// Lines that were handed over are waited for; let the writer pass them.
			for _, l := range lines {
				l.Decision.Err = context.Canceled
				finish(l)
			}
			return err
		}
	}
	var open []*Line
	for _, l := range lines {
		if l.File.Skip != "" {
			l.Decision = match.Decision{Status: match.Skipped, Reason: l.File.Skip}
			finish(l)
			continue
		}
		open = append(open, l)
	}
	files := make([]match.File, len(open))
	for i, l := range open {
		files[i] = match.File{Index: i, Release: l.Release, Media: b.Media}
	}
	all := match.Group(files)
	p.counts.series.Add(int64(len(all)))
	groups := p.unknown(ctx, all, open)
	for gi, s := range groups {
		select {
		case series <- struct{}{}:
		case <-ctx.Done():
			for _, s := range groups[gi:] {
				for _, f := range s.Files {
					open[f.Index].Decision.Err = context.Canceled
					finish(open[f.Index])
				}
			}
			return ctx.Err()
		}
		resolving.Add(1)
		t := p.turns.next()
		go func() {
			defer func() { t.over(); <-series; resolving.Done() }()
			p.decide(ctx, s, t, open)
		}()
	}
	return nil
}

// unknown finishes the series of which every file is remembered and returns the others. A series with one new file
// is decided whole: its files are evidence for each other.
func (p *pipeline) unknown(ctx context.Context, groups []match.Series, lines []*Line) []match.Series {
	if p.remember == nil || len(lines) == 0 {
		return groups
	}
	known := p.remember.Recall(ctx, lines)
	return slices.DeleteFunc(groups, func(s match.Series) bool {
		if slices.ContainsFunc(s.Files, func(f match.File) bool { return known[f.Index] == nil }) {
			return false
		}
		for _, f := range s.Files {
			lines[f.Index].Decision = *known[f.Index]
			finish(lines[f.Index])
		}
		return true
	})
}

// decide decides the files of one series.
func (p *pipeline) decide(ctx context.Context, s match.Series, t turn, lines []*Line) {
	own := make([]*Line, 0, len(s.Files))
	p.matcher.Decide(ctx, s, t, func(f match.File, d match.Decision) {
		l := lines[f.Index]
		l.Decision = d
		own = append(own, l)
	})
	if p.remember != nil {
		p.remember.Remember(ctx, own)
	}
	for _, l := range own {
		finish(l)
	}
}

func finish(l *Line) { close(l.done) }

// hand puts a line into the output's order once there is room for it.
func (p *pipeline) hand(ctx context.Context, held chan struct{}, out chan<- *Line, l *Line) error {
	select {
	case held <- struct{}{}:
		out <- l // never blocks: as many places as may be held
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// failedLine is the line of a directory that could not be read or a path that does not exist.
func failedLine(b Batch) *Line {
	l := &Line{Path: b.Path, Decision: match.Decision{Status: match.Failed, Err: b.Err}, done: make(chan struct{})}
	finish(l)
	return l
}

// parse reads the names of a part, on several cores where that pays.
func (p *pipeline) parse(files []library.File, read func(string) string) []*Line {
	if read == nil {
		read = filepath.ToSlash
	}
	lines := make([]*Line, len(files))
	one := func(i int) {
		f := files[i]
		name := read(f.Path)
		lines[i] = &Line{Path: f.Path, Name: name, File: f, Release: release.Parse(name), done: make(chan struct{})}
		lines[i].Release.Path = f.Path // pins and groups go by where the file lies
	}
	const worthSharing = 64
	jobs := p.jobs
	if jobs == 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	if len(files) < worthSharing || jobs == 1 {
		for i := range files {
			one(i)
		}
		return lines
	}
	var g errgroup.Group
	g.SetLimit(jobs)
	for start := 0; start < len(files); start += worthSharing {
		g.Go(func() error {
			for i := start; i < min(start+worthSharing, len(files)); i++ {
				one(i)
			}
			return nil
		})
	}
	_ = g.Wait() // one never fails
	return lines
}
