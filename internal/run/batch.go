// Package run carries files from a walk or a list through the deciders to records, in the order in which the files came.
//
// A directory is read (produce.go). If nothing of it has changed since it was decided, its records are replayed from the memory
// of results (remember.go). Otherwise its names are parsed and grouped into series, each series is decided once, each file is
// placed (pipeline.go), and the records are written (output.go).
package run

import (
	"path/filepath"
	"runtime"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/release"
)

// Batch is files that are decided together: the media files of one directory, or a part of a list.
type Batch struct {
	Files []library.File
	// Err is a directory that could not be read, or a path that does not exist, named by Path.
	Err  error
	Path string

	// Abs is the directory of all files, View the text that is read in front of each file's name, Part which of the directory's
	// files these are. Names without a directory have no Abs; their whole path is read.
	Abs, View, Part string
	// Media says that somebody listed the names as media.
	Media bool
}

// windows cuts a batch into parts of at most window files.
func windows(b Batch) []Batch {
	if len(b.Files) <= window {
		return []Batch{b}
	}
	var parts []Batch
	for files := b.Files; len(files) > 0; {
		n := min(window, len(files))
		part := b
		part.Files = files[:n]
		if len(parts) > 0 {
			part.Part += " " + strconv.Itoa(len(parts))
		}
		parts = append(parts, part)
		files = files[n:]
	}
	return parts
}

// parse reads the names of a batch, on several cores if there are many.
func (p *pipeline) parse(b Batch) []*Line {
	lines := make([]*Line, len(b.Files))
	one := func(i int) {
		f := b.Files[i]
		name, parse := filepath.ToSlash(f.Path), release.Parse
		if b.Abs != "" {
			name, parse = b.View+f.Name, release.ParseFile
		}
		lines[i] = &Line{Path: f.Path, Name: name, File: f, Release: parse(name), done: make(chan struct{})}
		lines[i].Release.Path = f.Path // pins and groups depend on where the file is
	}
	files := b.Files
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
