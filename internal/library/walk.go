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
	"strings"
	"time"

	"github.com/anivault/anivault/internal/fsx"
	"github.com/anivault/anivault/internal/lang"
)

// Options are the settings of a walk.
type Options struct {
	// Excludes are patterns in gitignore syntax, relative to each root; they win over ignore files.
	Excludes []string
	// Read, if not nil, gets the real path of each folder that the walk reads, and its entries by name in byte order.
	// The walk calls it in its own goroutine, before it yields the folder.
	Read func(real string, entries []Entry)
}

// Entry is an entry of a folder as a walk saw it.
type Entry struct {
	Name string
	Info *fsx.Info // of a regular file with a video's name; nil for others
}

// File is a video, or something that the walk skipped.
type File struct {
	Path    string // the root's path as given, joined with the names below it; bytes as on disk
	Name    string // the last element
	Size    int64  // bytes; of a link's target
	ModTime time.Time
	Skip    lang.Text // why it is skipped; "" for media
	IsDir   bool      // a skipped folder
	// Subtitles are the names of its subtitle files, with the folder for those in a folder of subtitles.
	Subtitles []string
}

// Dir is a folder with its own files, without those of the folders in it.
type Dir struct {
	Path  string
	Abs   string // absolute, links not resolved; "" if Err says that there is nothing to read
	Files []File // by name, in byte order
	Named bool   // its one file is a root; the rest of the folder was not read
	Err   error  // why the folder could not be read in full, or that a root does not exist
}

// Walk yields every folder below roots that has media or something skipped, in order: a folder's own files before its
// folders, both in byte order. A root that is a file is a Dir with that one file; a folder that can't be read is a Dir
// with Err. Each folder is read once. Walk fails with a *PatternError, the context's error, or what yield returned.
func Walk(ctx context.Context, roots []string, o Options, yield func(Dir) error) error {
	w, err := NewWalker(o, yield)
	if err != nil {
		return err
	}
	w.links.roots = realFolders(roots) // all of them: a link may lead to one whose turn comes later
	for _, root := range roots {
		if err := w.root(ctx, root); err != nil {
			return err
		}
	}
	return nil
}

// NewWalker returns a Walker. The error is a *PatternError.
func NewWalker(o Options, yield func(Dir) error) (*Walker, error) {
	excludes, err := parseExcludes(o.Excludes, foldCase)
	if err != nil {
		return nil, err
	}
	links := &links{entered: map[[16]byte]struct{}{}, rootFiles: map[[16]byte]struct{}{}}
	return &Walker{yield: yield, excludes: excludes, onRead: o.Read, links: links}, nil
}

// Root walks one more root. It does not yield again what it yielded for an earlier root.
func (w *Walker) Root(ctx context.Context, root string) error {
	for _, real := range realFolders([]string{root}) {
		if _, entered := w.links.entered[pathHash(real)]; !entered {
			w.links.roots = append(w.links.roots, real)
		}
	}
	return w.root(ctx, root)
}

// Walker is Walk for roots that arrive one by one. It is for one goroutine.
type Walker struct {
	yield    func(Dir) error
	excludes patterns
	onRead   func(real string, entries []Entry) // may be nil
	links    *links
	listing  listing // of the folder that is being read
	// The subtitles in the folder of the latest root that is a file, by video: such roots often share a folder.
	subtitlesDir string
	subtitles    map[string][]string
}

type folder struct {
	path  string // as shown to the user
	abs   string // absolute, links not resolved: patterns match it
	real  string // absolute, links resolved
	name  string
	scope *scope
	above surroundings
	named bool      // a root
	skip  lang.Text // why everything in it is skipped; "" if it is not
}

func (w *Walker) root(ctx context.Context, root string) error {
	fail := func(err error) error { return w.send(ctx, Dir{Path: root, Err: err}) }
	if root == "" {
		return fail(&fs.PathError{Op: "open", Path: "", Err: fs.ErrNotExist})
	}
	abs, err := filepath.Abs(root)
	if err != nil {
		return fail(err)
	}
	info, err := os.Stat(root)
	if errors.Is(err, fs.ErrNotExist) && isLink(root) {
		return w.named(ctx, root, abs, File{Path: root, Name: filepath.Base(abs), Skip: SkipBrokenLink})
	}
	if err != nil {
		return fail(err)
	}
	if !info.IsDir() {
		return w.file(ctx, root, abs, info)
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return fail(err)
	}
	return w.dir(ctx, folder{
		path: root, abs: abs, real: real, name: filepath.Base(abs), named: true,
		scope: scopeAbove(abs, foldCase).with(w.excludes, abs),
	})
}

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

func (w *Walker) file(ctx context.Context, path, abs string, info fs.FileInfo) error {
	name := filepath.Base(abs)
	file := File{Path: path, Name: name, Size: info.Size(), ModTime: info.ModTime()}
	switch reason, ignored := (*scope)(nil).with(w.excludes, filepath.Dir(abs)).decide(abs, false); {
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
	return w.named(ctx, path, abs, file)
}

func (w *Walker) named(ctx context.Context, path, abs string, file File) error {
	real, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if err == nil && !w.links.addRootFile(filepath.Join(real, file.Name), IsVideo(file.Name)) {
		return nil
	}
	out := Dir{Path: filepath.Dir(path), Abs: filepath.Dir(abs), Files: []File{file}, Named: true}
	if file.Skip != SkipNotVideo && file.Skip != SkipSidecar && file.Skip != SkipBrokenLink {
		out.Files[0].Subtitles = w.subtitlesOf(file.Name, out.Abs)
	}
	return w.send(ctx, out)
}

func (w *Walker) subtitlesOf(name, dir string) []string {
	if w.subtitles == nil || w.subtitlesDir != dir {
		w.subtitlesDir, w.subtitles = dir, map[string][]string{}
		var list listing
		_ = list.open(dir) // a folder that can't be read has no subtitles
		var videos []File
		for i := range list.items {
			if list.items[i].video {
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

func (w *Walker) dir(ctx context.Context, f folder) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !w.links.enter(f.real) {
		return nil
	}
	out, below, err := w.read(ctx, f)
	if err != nil {
		return err
	}
	if len(out.Files) > 0 || out.Err != nil {
		if err := w.send(ctx, out); err != nil {
			return err
		}
	}
	for _, child := range below {
		if err := w.dir(ctx, child); err != nil {
			return err
		}
	}
	return nil
}

func (w *Walker) read(ctx context.Context, f folder) (out Dir, below []folder, err error) {
	list := &w.listing
	readErr := list.open(f.path)
	defer list.close()
	scope := f.scope
	if readErr != nil || list.has(IgnoreFile) {
		patterns, err := readIgnoreFile(f.path, foldCase)
		readErr = errors.Join(readErr, err)
		scope = w.belowExcludes(scope, patterns, f.abs)
	}
	if f.skip == "" && !f.named && isExtras(f.name, list.items, f.above) {
		f.skip = SkipExtras
	}
	here := surroundingsOf(list.items, f.named)

	out = Dir{Path: f.path, Abs: f.abs, Err: readErr}
	path, abs, real := inside(f.path), inside(f.abs), inside(f.real)
	for i := range list.items {
		if i%256 == 255 && ctx.Err() != nil {
			return out, nil, ctx.Err()
		}
		it := &list.items[i]
		if it.link {
			it.info, it.err = fsx.Stat(path + it.name)
		}
		switch {
		case it.isFolder():
			child := folder{
				path: path + it.name, abs: abs + it.name, real: real + it.name, name: it.name,
				scope: scope, above: here, skip: f.skip,
			}
			if reason := w.whyNotEntered(&child, it.link); reason != "" {
				out.Files = append(out.Files, File{Path: child.path, Name: child.name, Skip: reason, IsDir: true})
			} else {
				below = append(below, child)
			}
		case it.video:
			if out.Files == nil {
				out.Files = make([]File, 0, len(list.items)-i)
			}
			file := File{Path: it.path, Name: it.name}
			if !it.link {
				it.info, it.err = list.dir.Lstat(it.name)
			}
			if w.judge(&file, it, scope, abs, real, f.skip) {
				out.Files = append(out.Files, file)
			}
		}
	}
	addSubtitles(out.Files, f.path, list.items)
	if w.onRead != nil && readErr == nil {
		w.onRead(f.real, list.entries())
	}
	return out, below, nil
}

func inside(dir string) string {
	return strings.TrimSuffix(filepath.Join(dir, "x"), "x")
}

func (w *Walker) whyNotEntered(child *folder, link bool) lang.Text {
	if reason, ignored := child.scope.decide(child.abs, true); ignored {
		return reason
	}
	if reason := hiddenFolder(child.name); reason != "" {
		return reason
	}
	if !link {
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
	if !w.links.follow(real) {
		return SkipLinkLoop
	}
	return ""
}

func (w *Walker) judge(file *File, it *item, scope *scope, abs, real string, skip lang.Text) (ok bool) {
	if len(w.links.rootFiles) > 0 && w.links.isRootFile(real+it.name) {
		return false // a root already
	}
	if it.err != nil {
		if it.link {
			file.Skip = SkipBrokenLink
			return true
		}
		if errors.Is(it.err, fs.ErrNotExist) {
			return false // removed since the folder was read
		}
	} else {
		file.Size, file.ModTime = it.info.Size, it.info.MTime
	}
	if scope != nil {
		if reason, ignored := scope.decide(abs+it.name, false); ignored {
			file.Skip = reason
			return true
		}
	}
	switch {
	case it.err == nil && !it.info.Type.IsRegular():
		file.Skip = SkipIrregular
	case skip != "":
		file.Skip = skip
	default:
		file.Skip = skipByName(file.Name)
	}
	return true
}

func (w *Walker) belowExcludes(s *scope, list patterns, abs string) *scope {
	if len(w.excludes.list) == 0 {
		return s.with(list, abs)
	}
	return &scope{patterns: s.patterns, base: s.base, above: s.above.with(list, abs)}
}

func (w *Walker) send(ctx context.Context, d Dir) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return w.yield(d)
}
