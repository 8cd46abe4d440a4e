package run

import (
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
	"golang.org/x/sync/errgroup"
)

// Producer yields what is to be matched, in the order of the results. It stops at the first error that yield returns.
type Producer func(ctx context.Context, yield func(Batch) error) error

// Walk produces the media files below paths, directory by directory.
func Walk(paths []string, options library.Options) Producer {
	return func(ctx context.Context, yield func(Batch) error) error {
		read := readFrom(paths)
		return library.Walk(ctx, paths, options, func(d library.Dir) error {
			return yieldDir(d, read, yield)
		})
	}
}

func viewOf(f library.File, read func(string) string) string {
	return strings.TrimSuffix(read(f.Path), f.Name)
}

func yieldDir(d library.Dir, read func(string) string, yield func(Batch) error) error {
	// A folder that is not entered (hidden, a recycle bin) gets no record.
	d.Files = slices.DeleteFunc(d.Files, func(f library.File) bool { return f.IsDir })
	if len(d.Files) > 0 {
		b := Batch{Files: d.Files, Path: d.Path, Abs: d.Abs, View: viewOf(d.Files[0], read)}
		if d.Named {
			b.Part = "file " + d.Files[0].Name
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

// Files produces the paths of a list; neighbours in one directory are decided together. A directory is walked, and
// files in it that the list names later are not produced again.
func Files(list io.ReadCloser, null bool, options library.Options) Producer {
	return func(ctx context.Context, yield func(Batch) error) error {
		defer list.Close()
		var together Batch
		alone := readFrom(nil)
		flush := func() error {
			b := together
			together = Batch{}
			if len(b.Files) == 0 {
				return nil
			}
			return yield(b)
		}
		listed := "" // the path of the list that is being walked
		walker, err := library.NewWalker(options, func(d library.Dir) error {
			if !d.Named || d.Path != together.Path || len(together.Files) >= window {
				if err := flush(); err != nil {
					return err
				}
			}
			if !d.Named {
				return yieldDir(d, readFrom([]string{listed}), yield)
			}
			if len(together.Files) == 0 {
				together = Batch{Path: d.Path, Abs: d.Abs, View: viewOf(d.Files[0], alone), Part: "list " + d.Files[0].Name}
			}
			together.Files = append(together.Files, d.Files[0])
			return nil
		})
		if err != nil {
			return err
		}
		err = library.ReadList(list, null, func(path string) error {
			listed = path
			return walker.Root(ctx, path)
		})
		return errors.Join(err, flush())
	}
}

// Names produces the lines of a list; nothing has to exist and every line is media.
func Names(list io.ReadCloser) Producer {
	return func(_ context.Context, yield func(Batch) error) error {
		defer list.Close()
		b := Batch{Media: true}
		err := library.ReadLines(list, func(name string) error {
			b.Files = append(b.Files, library.File{Path: name, Name: filepath.Base(name)})
			if len(b.Files) < window {
				return nil
			}
			full := b
			b = Batch{Media: true}
			return yield(full)
		})
		if err == nil && len(b.Files) > 0 {
			err = yield(b)
		}
		return err
	}
}

// Batch is files that are decided together: the media files of one directory, or a part of a list.
type Batch struct {
	Files []library.File
	// Err is a directory that could not be read, or a path that does not exist, named by Path.
	Err  error
	Path string

	// Abs is the directory of all files, View the text that is read in front of each file's name, Part which of the
	// directory's files these are. Names without a directory have no Abs; their whole path is read.
	Abs, View, Part string
	// Media says that somebody listed the names as media.
	Media bool
}

func windows(b Batch) []Batch {
	if len(b.Files) <= window {
		return []Batch{b}
	}
	var parts []Batch
	for files := range slices.Chunk(b.Files, window) {
		part := b
		part.Files = files
		if len(parts) > 0 {
			part.Part += " " + strconv.Itoa(len(parts))
		}
		parts = append(parts, part)
	}
	return parts
}

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
	const together = 64 // names that one goroutine parses
	jobs := p.jobs
	if jobs == 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	var g errgroup.Group
	g.SetLimit(jobs)
	for start := 0; start < len(lines); start += together {
		g.Go(func() error {
			for i := start; i < min(start+together, len(lines)); i++ {
				one(i)
			}
			return nil
		})
	}
	_ = g.Wait() // one never fails
	return lines
}

// readFrom cuts a path to the part that is read: from its root on, or from its own folder, or one above if that is only
// a season. A login name must not become a title that TMDB is asked about, and a result must not depend on how the path
// was spelled.
func readFrom(roots []string) func(string) string {
	last, front := "", ""
	return func(path string) string {
		from := filepath.Dir(path)
		for _, r := range roots {
			r = filepath.Clean(r)
			if r != filepath.Clean(path) && below(path, r) && len(r) <= len(from) {
				from = r
			}
		}
		rest, err := filepath.Rel(from, path)
		if err != nil {
			return filepath.Base(path)
		}
		if from != last || front == "" {
			last, front = from, folderName(from)
			if onlySeason(front) {
				front = filepath.Join(folderName(filepath.Join(from, "..")), front)
			}
		}
		return filepath.ToSlash(filepath.Join(front, rest))
	}
}

func below(path, root string) bool {
	if root == "." {
		return !filepath.IsAbs(path) && !strings.HasPrefix(path, "..")
	}
	return strings.HasPrefix(path, strings.TrimSuffix(root, string(filepath.Separator))+string(filepath.Separator))
}

func folderName(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	if base := filepath.Base(abs); base != string(filepath.Separator) && base != "." {
		return base
	}
	return ""
}

// onlySeason reports whether a folder's name has a season and no title, such as "Season 2".
func onlySeason(name string) bool {
	f := release.Parse(name + "/x.mkv").Folder
	return f.Title == "" && len(f.Seasons) > 0
}
