package library

import (
	"crypto/sha256"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/anivault/anivault/internal/fsx"
)

type listing struct {
	dir   fsx.Dir
	items []item // by name, in byte order
}

type item struct {
	name    string
	path    string // path with the folder; set for videos only
	isDir   bool
	isLink  bool
	isVideo bool // the name is a video's, and the item is not a folder

	info fsx.Info // of a video, or of a link's target, after stat
	err  error    // from stat
}

func (l *listing) open(path string) error {
	l.items = l.items[:0]
	if err := l.dir.Open(path); err != nil {
		return err
	}
	folder := withSeparator(path)
	err := l.dir.EachEntry(func(name []byte, kind fs.FileMode) {
		it := item{name: string(name), isDir: kind == fs.ModeDir, isLink: kind == fs.ModeSymlink}
		if it.isVideo = !it.isDir && IsVideo(it.name); it.isVideo {
			it.path = folder + it.name
			it.name = it.path[len(folder):] // both share their memory
		}
		l.items = append(l.items, it)
	})
	slices.SortFunc(l.items, func(a, b item) int { return strings.Compare(a.name, b.name) })
	return err
}

func (l *listing) entries() []Entry {
	out := make([]Entry, len(l.items))
	for i := range l.items {
		it := &l.items[i]
		out[i].Name = it.name
		if it.isVideo && !it.isLink && it.err == nil && it.info.Type.IsRegular() {
			info := it.info
			out[i].Info = &info
		}
	}
	return out
}

func (l *listing) close() {
	l.dir.Close()
	clear(l.items) // so that the garbage collector can free their names
}

func (l *listing) hasName(name string) bool {
	return slices.ContainsFunc(l.items, func(it item) bool { return strings.EqualFold(it.name, name) })
}

func (it *item) isFolder() bool {
	return it.isDir || it.isLink && it.err == nil && it.info.Type.IsDir()
}

// linkTracker makes the walk read each folder once. It skips links to folders that the walk reaches anyway.
type linkTracker struct {
	roots     []string // real paths of the roots that are folders
	entered   map[[16]byte]struct{}
	rootFiles map[[16]byte]struct{} // files given as roots, by pathHash
}

func realFolders(roots []string) (out []string) {
	for _, r := range roots {
		abs, err := filepath.Abs(r)
		if err != nil {
			continue
		}
		real, err := filepath.EvalSymlinks(abs)
		if err != nil {
			continue // the walk reports the error
		}
		if info, err := os.Stat(real); err == nil && info.IsDir() {
			out = append(out, real)
		}
	}
	return out
}

// pathHash identifies a path in 16 bytes, so that a library of a hundred thousand folders costs a few megabytes.
func pathHash(realPath string) [16]byte {
	sum := sha256.Sum256([]byte(realPath))
	return [16]byte(sum[:16])
}

func (l *linkTracker) markEntered(realPath string) bool {
	k := pathHash(realPath)
	if _, seen := l.entered[k]; seen {
		return false
	}
	l.entered[k] = struct{}{}
	return true
}

// shouldFollow reports whether to enter a link to the folder realPath. It returns false if the walk reads the folder
// anyway, or if a root is inside the folder. The walk reaches no hidden folders below a root.
func (l *linkTracker) shouldFollow(realPath string) bool {
	if _, seen := l.entered[pathHash(realPath)]; seen {
		return false
	}
	for _, root := range l.roots {
		if rel, ok := relativePath(root, realPath); ok && !inHiddenFolder(rel) {
			return false
		}
		if _, ok := relativePath(realPath, root); ok {
			return false
		}
	}
	return true
}

func relativePath(dir, path string) (rel string, ok bool) {
	if dir == path {
		return "", true
	}
	return strings.CutPrefix(path, withSeparator(dir))
}

func inHiddenFolder(rel string) bool {
	for name := range strings.SplitSeq(rel, string(filepath.Separator)) {
		if hiddenFolder(name) != "" {
			return true
		}
	}
	return false
}

func (l *linkTracker) addRootFile(realPath string, video bool) bool {
	if l.isRootFile(realPath) {
		return false
	}
	if _, seen := l.entered[pathHash(filepath.Dir(realPath))]; seen && video {
		return false
	}
	l.rootFiles[pathHash(realPath)] = struct{}{}
	return true
}

func (l *linkTracker) isRootFile(realPath string) bool {
	_, seen := l.rootFiles[pathHash(realPath)]
	return seen
}
