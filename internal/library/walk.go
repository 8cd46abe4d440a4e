// Package library reads a media library: it walks folders, tells media from everything else, and says why it skips a
// file or a folder.
//
// A root is read even if it is hidden, called "Extras" or listed in an ignore file, as with fd and ripgrep. A root that
// is a file must be media, and the rules for names apply to it (samples, trailers, creditless openings, menus,
// --exclude), because a shell's *.mkv names files too; ignore files do not apply to it.
package library

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/fsx"
	"github.com/anivault/anivault/internal/lang"
)

// Options are the settings of a walk.
type Options struct {
	// Excludes are patterns in gitignore syntax, relative to each root; they win over ignore files.
	Excludes []string
	// OnRead, if not nil, is called for each folder that the walk reads, with its real path and its entries by name in
	// byte order. The call is in the walk's goroutine, before the walk yields the folder.
	OnRead func(real string, entries []Entry)
	// IsPinned, if not nil, reports whether the user says what a file is. Such a file is media, whatever its name says.
	IsPinned func(abs string) bool
}

// Entry is an entry of a folder as a walk saw it.
type Entry struct {
	Name    string
	Info    *fsx.Info // of a regular file with a video's name; nil for others
	Ignored bool      // an ignore file or an exclude lists it; false for a video: see File.Skip
}

// File is a video, or something that the walk skipped.
type File struct {
	Path    string // the root's path as given, joined with the names below it; bytes as on disk
	Name    string // last element of Path
	Size    int64  // in bytes; the target's if it is a link
	ModTime time.Time
	Skip    lang.Text // why it is skipped; "" for media
	IsDir   bool      // a skipped folder
	// Subtitles are the names of its subtitle files, prefixed with the folder's name if they are in a folder of subtitles.
	Subtitles []string
}

// Dir is a folder with the files directly in it.
type Dir struct {
	Path       string
	Abs        string // absolute, links not resolved; "" if Err says that there is nothing to read
	Files      []File // by name, in byte order
	IsRootFile bool   // its only file is a root; the rest of the folder was not read
	Err        error  // why the folder could not be read in full, or that a root does not exist
}

// Walk yields every folder below roots that has media or something skipped, in order: a folder's own files before its
// folders, both in byte order. A root that is a file is a Dir with that one file; a folder that can't be read is a Dir
// with Err. Each folder is read once. Walk fails with a *PatternError, the context's error, or what yield returned.
func Walk(ctx context.Context, roots []string, o Options, yield func(Dir) error) error {
	w, err := NewWalker(o, yield)
	if err != nil {
		return err
	}
	w.links.roots = realFolders(roots) // all roots, because a link may lead to a later one
	for _, root := range roots {
		if err := w.walkRoot(ctx, root); err != nil {
			return err
		}
	}
	return nil
}

// NewWalker returns a Walker. It fails with a *PatternError.
func NewWalker(o Options, yield func(Dir) error) (*Walker, error) {
	excludes, err := parseExcludes(o.Excludes, ignoresCase)
	if err != nil {
		return nil, err
	}
	links := &linkTracker{entered: map[string]bool{}, rootFiles: map[string]bool{}}
	return &Walker{yield: yield, excludes: excludes, options: o, links: links}, nil
}

// Root walks one more root. It does not yield files again that it has yielded for an earlier root.
func (w *Walker) Root(ctx context.Context, root string) error {
	for _, real := range realFolders([]string{root}) {
		if !w.links.entered[real] {
			w.links.roots = append(w.links.roots, real)
		}
	}
	return w.walkRoot(ctx, root)
}

// Walker walks roots that arrive one by one; see Walk. Only one goroutine may use it.
type Walker struct {
	yield    func(Dir) error
	excludes patterns
	options  Options
	links    *linkTracker
	listing  listing // of the folder that is being read
	// subtitles has the subtitles in subtitlesDir, the folder of the latest root that is a file, by video. It is a cache,
	// because such roots often share a folder.
	subtitlesDir string
	subtitles    map[string][]string
}

type folder struct {
	path       string // as the user sees it
	abs        string // absolute, links not resolved; patterns are compared with it
	real       string // absolute, links resolved
	name       string
	scope      *ignoreScope
	parent     folderContext
	isRoot     bool
	skipReason lang.Text // why everything in the folder is skipped; "" if nothing is
}

func (w *Walker) walkRoot(ctx context.Context, root string) error {
	fail := func(err error) error { return w.emit(ctx, Dir{Path: root, Err: err}) }
	if root == "" {
		return fail(&fs.PathError{Op: "open", Path: "", Err: fs.ErrNotExist})
	}
	abs, err := filepath.Abs(root)
	if err != nil {
		return fail(err)
	}
	info, err := os.Stat(root)
	if _, linkErr := os.Readlink(root); linkErr == nil && errors.Is(err, fs.ErrNotExist) {
		return w.emitRootFile(ctx, root, abs, File{Path: root, Name: filepath.Base(abs), Skip: SkipBrokenLink})
	}
	if err != nil {
		return fail(err)
	}
	if !info.IsDir() {
		return w.walkRootFile(ctx, root, abs, info)
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return fail(err)
	}
	return w.walkDir(ctx, folder{
		path: root, abs: abs, real: real, name: filepath.Base(abs), isRoot: true,
		scope: scopeAbove(abs, ignoresCase).extendedBy(w.excludes, abs),
	})
}

func (w *Walker) walkRootFile(ctx context.Context, path, abs string, info fs.FileInfo) error {
	name := filepath.Base(abs)
	file := File{Path: path, Name: name, Size: info.Size(), ModTime: info.ModTime()}
	switch reason, ignored := (*ignoreScope)(nil).extendedBy(w.excludes, filepath.Dir(abs)).ignoreReason(abs, false); {
	case ignored:
		file.Skip = reason
	case IsSidecar(name):
		file.Skip = SkipSidecar
	case !IsVideo(name):
		file.Skip = SkipNotVideo
	case !info.Mode().IsRegular():
		file.Skip = SkipIrregular
	default:
		file.Skip = skipByName(name)
	}
	return w.emitRootFile(ctx, path, abs, file)
}

func (w *Walker) emitRootFile(ctx context.Context, path, abs string, file File) error {
	real, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if realPath := filepath.Join(real, file.Name); err == nil {
		if w.links.rootFiles[realPath] || IsVideo(file.Name) && w.links.entered[filepath.Dir(realPath)] {
			return nil
		}
		w.links.rootFiles[realPath] = true
	}
	out := Dir{Path: filepath.Dir(path), Abs: filepath.Dir(abs), Files: []File{file}, IsRootFile: true}
	if file.Skip != SkipNotVideo && file.Skip != SkipSidecar && file.Skip != SkipBrokenLink {
		out.Files[0].Subtitles = w.subtitlesOf(file.Name, out.Abs)
	}
	return w.emit(ctx, out)
}

func (w *Walker) subtitlesOf(name, dir string) []string {
	if w.subtitles == nil || w.subtitlesDir != dir {
		w.subtitlesDir, w.subtitles = dir, map[string][]string{}
		var list listing
		_ = list.open(dir) // a folder that can't be read has no subtitles
		var videos []File
		for i := range list.items {
			if list.items[i].isVideo {
				videos = append(videos, File{Name: list.items[i].name})
			}
		}
		addSubtitles(videos, dir, list.items)
		list.close()
		for _, v := range videos {
			w.subtitles[v.Name] = v.Subtitles
		}
	}
	return w.subtitles[name]
}

func (w *Walker) walkDir(ctx context.Context, f folder) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if w.links.entered[f.real] {
		return nil
	}
	w.links.entered[f.real] = true
	out, below, err := w.readDir(ctx, f)
	if err != nil {
		return err
	}
	if len(out.Files) > 0 || out.Err != nil {
		if err := w.emit(ctx, out); err != nil {
			return err
		}
	}
	for _, child := range below {
		if err := w.walkDir(ctx, child); err != nil {
			return err
		}
	}
	return nil
}

func (w *Walker) readDir(ctx context.Context, f folder) (out Dir, below []folder, err error) {
	list := &w.listing
	readErr := list.open(f.path)
	defer list.close()
	scope := f.scope
	isIgnoreFile := func(it item) bool { return strings.EqualFold(it.name, IgnoreFile) }
	if readErr != nil || slices.ContainsFunc(list.items, isIgnoreFile) {
		patterns, err := readIgnoreFile(f.path, ignoresCase)
		readErr = errors.Join(readErr, err)
		if len(w.excludes.list) == 0 {
			scope = scope.extendedBy(patterns, f.abs)
		} else {
			scope = &ignoreScope{patterns: scope.patterns, base: scope.base, parent: scope.parent.extendedBy(patterns, f.abs)}
		}
	}
	if f.skipReason == "" && !f.isRoot && isExtrasFolder(f.name, list.items, f.parent) {
		f.skipReason = SkipExtras
	}
	here := folderContextOf(list.items, f.isRoot)

	out = Dir{Path: f.path, Abs: f.abs, Err: readErr}
	out.Files = make([]File, 0, list.videos)
	path, abs, real := withSeparator(f.path), withSeparator(f.abs), withSeparator(f.real)
	for i := range list.items {
		if i%256 == 255 && ctx.Err() != nil {
			return out, nil, ctx.Err()
		}
		it := &list.items[i]
		if it.isLink {
			it.info, it.err = fsx.Stat(path + it.name)
		}
		switch {
		case it.isFolder():
			child := folder{
				path: path + it.name, abs: abs + it.name, real: real + it.name, name: it.name,
				scope: scope, parent: here, skipReason: f.skipReason,
			}
			if reason := w.folderSkipReason(&child, it.isLink); reason != "" {
				out.Files = append(out.Files, File{Path: child.path, Name: child.name, Skip: reason, IsDir: true})
			} else {
				below = append(below, child)
			}
		case it.isVideo:
			file := File{Path: path + it.name, Name: it.name}
			if !it.isLink {
				it.info, it.err = list.dir.Lstat(it.name)
			}
			if w.classify(&file, it, scope, abs, real, f.skipReason) {
				out.Files = append(out.Files, file)
			}
		}
	}
	addSubtitles(out.Files, f.path, list.items)
	if w.options.OnRead != nil && readErr == nil {
		w.options.OnRead(f.real, list.entries(scope, abs))
	}
	return out, below, nil
}

func withSeparator(dir string) string { return strings.TrimSuffix(filepath.Join(dir, "x"), "x") }

func (w *Walker) folderSkipReason(child *folder, isLink bool) lang.Text {
	if reason, ignored := child.scope.ignoreReason(child.abs, true); ignored {
		return reason
	}
	if reason := hiddenFolder(child.name); reason != "" {
		return reason
	}
	if !isLink {
		return ""
	}
	real, err := filepath.EvalSymlinks(child.path)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return SkipBrokenLink
	}
	child.real = real
	if !w.links.shouldFollow(real) {
		return SkipLinkLoop
	}
	return ""
}

func (w *Walker) classify(
	file *File, it *item, scope *ignoreScope, abs, realPath string, skipReason lang.Text,
) (ok bool) {
	if len(w.links.rootFiles) > 0 && w.links.rootFiles[realPath+it.name] {
		return false // the walk has already yielded it as a root
	}
	if it.err != nil {
		if it.isLink {
			file.Skip = SkipBrokenLink
			return true
		}
		if errors.Is(it.err, fs.ErrNotExist) {
			return false // the item was removed after the folder was read
		}
	} else {
		file.Size, file.ModTime = it.info.Size, it.info.MTime
	}
	if scope != nil {
		if reason, ignored := scope.ignoreReason(abs+it.name, false); ignored {
			file.Skip = reason
			return true
		}
	}
	switch {
	case it.err == nil && !it.info.Type.IsRegular():
		file.Skip = SkipIrregular
	case w.options.IsPinned != nil && w.options.IsPinned(abs+it.name):
	case skipReason != "":
		file.Skip = skipReason
	default:
		file.Skip = skipByName(file.Name)
	}
	return true
}

func (w *Walker) emit(ctx context.Context, d Dir) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return w.yield(d)
}
