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
	name  string
	path  string // with its folder; set for videos only
	isDir bool
	link  bool
	video bool // its name is a video's, and it is not a folder

	info fsx.Info // of a video, or of a link's target, after stat
	err  error    // from stat
}

func (l *listing) open(path string) error {
	l.items = l.items[:0]
	if err := l.dir.Open(path); err != nil {
		return err
	}
	folder := inside(path)
	err := l.dir.EachEntry(func(name []byte, kind fs.FileMode) {
		it := item{name: string(name), isDir: kind == fs.ModeDir, link: kind == fs.ModeSymlink}
		if it.video = !it.isDir && IsVideo(it.name); it.video {
			it.path = folder + it.name
			it.name = it.path[len(folder):] // one text for both
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
		if it.video && !it.link && it.err == nil && it.info.Type.IsRegular() {
			info := it.info
			out[i].Info = &info
		}
	}
	return out
}

func (l *listing) close() {
	l.dir.Close()
	clear(l.items) // so that their names can be freed
}

func (l *listing) has(name string) bool {
	return slices.ContainsFunc(l.items, func(it item) bool { return strings.EqualFold(it.name, name) })
}

func (it *item) isFolder() bool { return it.isDir || it.link && it.err == nil && it.info.Type.IsDir() }

// links makes the walk read each folder once. It skips a link to a folder that the walk reaches anyway, so that loops
// end.
type links struct {
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
			continue // the walk will say so
		}
		if info, err := os.Stat(real); err == nil && info.IsDir() {
			out = append(out, real)
		}
	}
	return out
}

// pathHash identifies a path in 16 bytes, so that a library of a hundred thousand folders costs a few megabytes.
func pathHash(real string) [16]byte {
	sum := sha256.Sum256([]byte(real))
	return [16]byte(sum[:16])
}

func (l *links) enter(real string) bool {
	k := pathHash(real)
	if _, seen := l.entered[k]; seen {
		return false
	}
	l.entered[k] = struct{}{}
	return true
}

// follow reports whether to enter a link to the folder real. It is false if the walk has read the folder or will reach
// it, or if the folder holds a root. The walk never reaches hidden folders below a root.
func (l *links) follow(real string) bool {
	if _, seen := l.entered[pathHash(real)]; seen {
		return false
	}
	for _, root := range l.roots {
		if rel, ok := below(root, real); ok && !inHiddenFolder(rel) {
			return false
		}
		if _, ok := below(real, root); ok {
			return false
		}
	}
	return true
}

func below(dir, path string) (rel string, ok bool) {
	if dir == path {
		return "", true
	}
	return strings.CutPrefix(path, inside(dir))
}

func inHiddenFolder(rel string) bool {
	for name := range strings.SplitSeq(rel, string(filepath.Separator)) {
		if hiddenFolder(name) != "" {
			return true
		}
	}
	return false
}

func (l *links) addRootFile(real string, video bool) bool {
	if l.isRootFile(real) {
		return false
	}
	if _, seen := l.entered[pathHash(filepath.Dir(real))]; seen && video {
		return false
	}
	l.rootFiles[pathHash(real)] = struct{}{}
	return true
}

func (l *links) isRootFile(real string) bool {
	_, seen := l.rootFiles[pathHash(real)]
	return seen
}
