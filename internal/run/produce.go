package run

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/anivault/anivault/internal/library"
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

// viewOf returns the text that is read in front of the name of every file in a file's folder.
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

// Files produces the paths of a list. Neighbours in the list that are in one directory are decided together. A directory is
// walked, and files in it that the list names later are not produced again.
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
