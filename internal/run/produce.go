package run

import (
	"cmp"
	"context"
	"errors"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/release"
	"github.com/anivault/anivault/internal/run/results"
	"golang.org/x/sync/errgroup"
)

// Producer calls yield with the files to match, in the order of the results. It stops at yield's first error.
type Producer func(ctx context.Context, yield func(Batch) error) error

// Walk produces the media files below paths, directory by directory.
func Walk(paths []string, options library.Options) Producer {
	return func(ctx context.Context, yield func(Batch) error) error {
		return library.Walk(ctx, paths, options, func(d library.Dir) error {
			return yieldDir(d, paths, yield)
		})
	}
}

func yieldDir(d library.Dir, roots []string, yield func(Batch) error) error {
	// A folder that is skipped as a whole (hidden, a recycle bin) gets no record.
	d.Files = slices.DeleteFunc(d.Files, func(f library.File) bool { return f.IsDir })
	if len(d.Files) > 0 {
		b := Batch{Path: d.Path}
		b.Files, b.AbsDir, b.NamePrefix = d.Files, d.Abs, namePrefix(roots, d.Path, d.Abs)
		if d.IsRootFile {
			b.PartID = "file " + d.Files[0].Name
		}
		if err := yield(b); err != nil {
			return err
		}
	}
	if d.Err != nil {
		return yield(Batch{Path: d.Path, Err: d.Err})
	}
	return nil
}

// Files produces the paths of a list. Adjacent paths in the same directory are decided together. A directory in the
// list is walked; if the list also names files in it later, they are not produced again.
func Files(list io.ReadCloser, nulSeparated bool, options library.Options) Producer {
	return func(ctx context.Context, yield func(Batch) error) error {
		defer list.Close()
		var together Batch
		flush := func() error {
			b := together
			if together = (Batch{}); len(b.Files) == 0 {
				return nil
			}
			return yield(b)
		}
		listed := "" // the list's entry that is being walked
		walker, err := library.NewWalker(options, func(d library.Dir) error {
			if !d.IsRootFile || d.Path != together.Path || len(together.Files) >= maxBatchFiles {
				if err := flush(); err != nil {
					return err
				}
			}
			if !d.IsRootFile {
				return yieldDir(d, []string{listed}, yield)
			}
			if len(together.Files) == 0 {
				together.Path, together.AbsDir = d.Path, d.Abs
				together.NamePrefix, together.PartID = namePrefix(nil, d.Path, d.Abs), "list "+d.Files[0].Name
			}
			together.Files = append(together.Files, d.Files[0])
			return nil
		})
		if err != nil {
			return err
		}
		err = library.ReadList(list, nulSeparated, func(path string) error {
			if path == "" {
				return nil
			}
			listed = path
			return walker.Root(ctx, path)
		})
		return errors.Join(err, flush())
	}
}

// Names produces the lines of a list as file names. The files need not exist, and every name counts as media.
func Names(list io.ReadCloser) Producer {
	return func(_ context.Context, yield func(Batch) error) error {
		defer list.Close()
		var b Batch
		b.ListedAsMedia = true
		err := library.ReadList(list, false, func(name string) error {
			if strings.TrimSpace(name) == "" {
				return nil
			}
			b.Files = append(b.Files, library.File{Path: name, Name: filepath.Base(name)})
			if len(b.Files) < maxBatchFiles {
				return nil
			}
			full := b
			b.Files = nil
			return yield(full)
		})
		if err == nil && len(b.Files) > 0 {
			err = yield(b)
		}
		return err
	}
}

// Batch is a set of files that are decided together: the media files of one directory, or part of a list.
type Batch struct {
	results.Folder
	Path string
	Err  error // why Path could not be read, or that it does not exist; then there are no files
}

func splitBatch(b Batch) []Batch {
	if len(b.Files) <= maxBatchFiles {
		return []Batch{b}
	}
	var parts []Batch
	for files := range slices.Chunk(b.Files, maxBatchFiles) {
		part := b
		part.Files = files
		if len(parts) > 0 {
			part.PartID += " " + strconv.Itoa(len(parts))
		}
		parts = append(parts, part)
	}
	return parts
}

func (p *pipeline) parse(b Batch) []*Line {
	lines, prefix := make([]*Line, len(b.Files)), p.parsedPrefix(&b.Folder)
	one := func(i int) {
		f := b.Files[i]
		name, parse := filepath.ToSlash(f.Path), release.Parse
		if b.AbsDir != "" {
			name, parse = prefix+f.Name, release.ParseFile
		}
		lines[i] = &Line{Path: f.Path, File: f, Release: parse(name), done: make(chan struct{})}
		lines[i].Release.Path = f.Path // pins and grouping need the full path
	}
	const together = 64 // names parsed by one goroutine in a row
	var g errgroup.Group
	g.SetLimit(cmp.Or(p.ParseJobs, runtime.GOMAXPROCS(0)))
	for start := 0; start < len(lines); start += together {
		g.Go(func() error {
			for i := start; i < min(start+together, len(lines)); i++ {
				one(i)
			}
			return nil
		})
	}
	_ = g.Wait() // parsing never fails
	return lines
}

// namePrefix returns the names of the folders from the root that the folder dir is in down to dir, or without a root
// that of dir. abs is dir's absolute path. The folders further up are left out: a login name must not become a title
// that TMDB is asked about, and the result must not depend on how the path was written.
func namePrefix(roots []string, dir, abs string) string {
	dir = filepath.Clean(dir)
	from := dir
	for _, r := range roots {
		if r = filepath.Clean(r); (r == dir || isBelow(dir, r)) && len(r) <= len(from) {
			from = r
		}
	}
	rest, err := filepath.Rel(from, dir)
	if err != nil {
		return ""
	}
	front := folderName(strings.TrimSuffix(abs, filepath.Join(string(filepath.Separator), rest)))
	if front+rest == "." {
		return ""
	}
	return filepath.ToSlash(filepath.Join(front, rest)) + "/"
}

// parsedPrefix returns the text that is parsed in front of a folder's names: its NamePrefix, and if that begins with a
// folder that only names a season, the folder above. A folder that is replayed as a whole does not need it.
func (p *pipeline) parsedPrefix(f *results.Folder) string {
	front, _, _ := strings.Cut(f.NamePrefix, "/")
	if front != p.lastFront {
		read := release.Parse(front + "/x.mkv").Folder
		p.lastFront, p.lastIsSeason = front, read.Title == "" && len(read.Seasons) > 0 // such as "Season 2"
	}
	if !p.lastIsSeason {
		return f.NamePrefix
	}
	above := folderName(strings.TrimSuffix(filepath.ToSlash(f.AbsDir)+"/", f.NamePrefix))
	return strings.TrimPrefix(above+"/", "/") + f.NamePrefix
}

func isBelow(path, root string) bool {
	if root == "." {
		return !filepath.IsAbs(path) && !strings.HasPrefix(path, "..")
	}
	return strings.HasPrefix(path, strings.TrimSuffix(root, string(filepath.Separator))+string(filepath.Separator))
}

func folderName(abs string) string {
	base := filepath.Base(abs)
	if base == string(filepath.Separator) || base == "." {
		return ""
	}
	return base
}
