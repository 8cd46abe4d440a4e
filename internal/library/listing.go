package library

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// listing is an open folder with what it holds.
type listing struct {
	dir   *os.File // nil if it could not be opened
	items []item   // by name, in byte order
}

// item is one entry of a folder. Only of links and videos size and time are asked for.
type item struct {
	name  string
	isDir bool
	link  bool
	video bool // by its name, and no folder
	entry fs.DirEntry

	// Of a link's target, or of a video, once it was asked about.
	err     error
	mode    fs.FileMode
	size    int64
	modTime time.Time
	// Of a video that is no link, on Linux.
	device, inode, links uint64
}

// open reads another folder. With an error the listing holds what could be read until then.
func (l *listing) open(path string) (err error) {
	l.items = l.items[:0]
	if l.dir, err = os.Open(path); err != nil {
		l.dir = nil
		return err
	}
	entries, err := l.dir.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) }) // they are smaller than items
	l.items = slices.Grow(l.items, len(entries))
	for _, e := range entries {
		it := item{name: e.Name(), isDir: e.IsDir(), link: e.Type()&fs.ModeSymlink != 0, entry: e}
		it.video = !it.isDir && IsVideo(it.name)
		l.items = append(l.items, it)
	}
	return err
}

// entries are the items for those who are told of them.
func (l *listing) entries() []Entry {
	out, stats := make([]Entry, len(l.items)), make([]Stat, 0, len(l.items))
	for i := range l.items {
		it := &l.items[i]
		out[i].Name = it.name
		if it.video && !it.link && it.err == nil && it.mode.IsRegular() {
			stats = append(stats, Stat{it.size, it.modTime, it.device, it.inode, it.links})
			out[i].Stat = &stats[len(stats)-1]
		}
	}
	return out
}

func (l *listing) close() {
	if l.dir != nil {
		l.dir.Close()
	}
	if len(l.items) > manyItems {
		l.items = nil
	}
	clear(l.items) // so that their names can be freed
}

// manyItems is how long a listing is kept for the next folder.
const manyItems = 4096

// has reports whether there is an entry of that name in any case: a file system may ignore it.
func (l *listing) has(name string) bool {
	return slices.ContainsFunc(l.items, func(it item) bool {
		return len(it.name) == len(name) && strings.EqualFold(it.name, name)
	})
}

// isFolder reports whether the item is a folder or a link to one.
func (it *item) isFolder() bool { return it.isDir || it.link && it.err == nil && it.mode.IsDir() }

// note keeps what the system says.
func (it *item) note(info fs.FileInfo, err error) {
	if it.err = err; err == nil {
		it.mode, it.size, it.modTime = info.Mode(), info.Size(), info.ModTime()
	}
}
