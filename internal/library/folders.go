package library

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/anivault/anivault/internal/fsx"
	"github.com/anivault/anivault/internal/lang"
)

type listing struct {
	dir    fsx.Dir
	items  []item // by name, in byte order
	videos int    // how many items have isVideo
}

type item struct {
	name    string
	isDir   bool
	isLink  bool
	isVideo bool // the name is a video's, and the item is not a folder

	info fsx.Info // of a video, or of a link's target, after stat
	err  error    // from stat
}

func (l *listing) open(path string) (err error) {
	l.items, l.videos = l.items[:0], 0
	if l.dir, err = fsx.OpenDir(path); err != nil {
		return err
	}
	entries, err := l.dir.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		it := item{name: e.Name(), isDir: e.IsDir(), isLink: e.Type() == fs.ModeSymlink}
		if !it.isDir && IsVideo(it.name) {
			it.isVideo = true
			l.videos++
		}
		l.items = append(l.items, it)
	}
	return err
}

func (l *listing) entries(scope *ignoreScope, abs string) []Entry {
	out, infos := make([]Entry, len(l.items)), make([]fsx.Info, 0, l.videos)
	for i := range l.items {
		it := &l.items[i]
		out[i].Name = it.name
		if it.isVideo && !it.isLink && it.err == nil && it.info.Type.IsRegular() {
			infos = append(infos, it.info)
			out[i].Info = &infos[len(infos)-1]
		}
		if !it.isVideo {
			_, out[i].Ignored = scope.ignoreReason(abs+it.name, it.isFolder())
		}
	}
	return out
}

func (l *listing) close() {
	l.dir.Close()
	clear(l.items) // so that the garbage collector can free their names
}

func (it *item) isFolder() bool {
	return it.isDir || it.isLink && it.err == nil && it.info.Type.IsDir()
}

// linkTracker makes the walk read each folder once. It skips links to folders that the walk reaches anyway. All its
// paths are real.
type linkTracker struct {
	roots     []string // the roots that are folders
	entered   map[string]bool
	rootFiles map[string]bool // files given as roots
}

func realFolders(roots []string) (out []string) {
	for _, r := range roots {
		abs, _ := filepath.Abs(r) // the walk reports errors
		real, _ := filepath.EvalSymlinks(abs)
		if info, err := os.Stat(real); err == nil && info.IsDir() {
			out = append(out, real)
		}
	}
	return out
}

// shouldFollow reports whether to enter a link to the folder realPath. It returns false if the walk reads the folder
// anyway, or if a root is inside the folder. The walk reaches no hidden folders below a root.
func (l *linkTracker) shouldFollow(realPath string) bool {
	if l.entered[realPath] {
		return false
	}
	isHidden := func(name string) bool { return hiddenFolder(name) != "" }
	for _, root := range l.roots {
		rel, ok := relativePath(root, realPath)
		if ok && !slices.ContainsFunc(strings.Split(rel, string(filepath.Separator)), isHidden) {
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

// MaxLine is the maximum length of a list's entry, in bytes. Paths are far shorter.
const MaxLine = 1 << 20

// ErrUTF16 means that a list is UTF-16, as PowerShell's ">" writes it.
var ErrUTF16 = lang.Error("the list is UTF-16: write it as UTF-8 (PowerShell: | Out-File -Encoding utf8)")

// ReadList calls fn with each entry of a list, empty ones included. Entries are lines, or end with a NUL byte if
// nulSeparated. Their bytes are kept as they are. It stops at fn's first error.
func ReadList(r io.Reader, nulSeparated bool, fn func(entry string) error) error {
	buffered := bufio.NewReaderSize(r, 64<<10)
	end := byte('\n')
	if nulSeparated {
		end = 0
	} else if err := skipBOM(buffered); err != nil {
		return err
	}
	for n := 1; ; n++ {
		entry, err := readEntry(buffered, end)
		last := errors.Is(err, io.EOF)
		switch {
		case errors.Is(err, errTooLong):
			return lang.Error("entry %d of the list is longer than %d bytes (is it a list of names?)", n, MaxLine)
		case err != nil && !last:
			return lang.Error("read list: %w", err)
		case last && len(entry) == 0:
			return nil
		}
		if !nulSeparated {
			entry = bytes.TrimSuffix(entry, []byte{'\r'})
		}
		if err := fn(string(entry)); err != nil || last {
			return err
		}
	}
}

var errTooLong = errors.New("too long")

func readEntry(r *bufio.Reader, end byte) ([]byte, error) {
	var entry []byte
	for {
		part, err := r.ReadSlice(end)
		entry = append(entry, part...)
		if err == nil {
			entry = entry[:len(entry)-1]
		}
		switch {
		case len(entry) > MaxLine:
			return nil, errTooLong
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		}
		return entry, err
	}
}

func skipBOM(r *bufio.Reader) error {
	start, _ := r.Peek(3)
	switch {
	case bytes.HasPrefix(start, []byte("\xef\xbb\xbf")):
		_, err := r.Discard(3)
		return err
	case bytes.HasPrefix(start, []byte("\xff\xfe")), bytes.HasPrefix(start, []byte("\xfe\xff")):
		return ErrUTF16
	}
	return nil
}
