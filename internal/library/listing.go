package library

import (
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/fsx"
)

// listing is an open folder with what it holds.
type listing struct {
	dir     fsx.Dir
	entries []entry
	items   []item // by name, in byte order
	path    []byte // the folder's, and behind it the name that was read last
}

// entry is what a folder tells of something in it.
type entry struct {
	name  string
	path  string // with the folder's in front; of videos alone
	isDir bool
	link  bool
	video bool // by its name, and no folder
}

// item is one entry of a folder. Only of links and videos size and time are asked for.
type item struct {
	entry

	// Of a link's target, or of a video, once it was asked about.
	err     error
	mode    fs.FileMode
	size    int64
	modTime time.Time
	// Of a video that is no link, on Linux.
	device, inode, links uint64
}

// open reads another folder. With an error the listing holds what could be read until then.
func (l *listing) open(path string) error {
	l.entries, l.items = l.entries[:0], l.items[:0]
	l.path = append(l.path[:0], inside(path)...)
	folder := len(l.path)
	err := l.dir.Open(path)
	if err != nil {
		return err
	}
	err = l.dir.Each(func(name []byte, kind fs.FileMode) {
		e := entry{isDir: kind == fs.ModeDir, link: kind == fs.ModeSymlink}
		if e.video = !e.isDir && isVideo(name); e.video {
			l.path = append(l.path[:folder], name...)
			e.path = string(l.path) // one text for both
			e.name = e.path[folder:]
		} else {
			e.name = string(name)
		}
		l.entries = append(l.entries, e)
	})
	// they are smaller than items
	slices.SortFunc(l.entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	l.items = slices.Grow(l.items, len(l.entries))
	for _, e := range l.entries {
		l.items = append(l.items, item{entry: e})
	}
	return err
}

// seen returns the items as Options.Read is told of them.
func (l *listing) seen() []Entry {
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
	l.dir.Close()
	if len(l.items) > manyItems {
		l.items, l.entries = nil, nil
	}
	clear(l.items) // so that their names can be freed
	clear(l.entries)
}

// manyItems is how long a listing is kept for the next folder.
const manyItems = 4096

// has reports whether there is an entry of that name in any case: a file system may ignore it.
func (l *listing) has(name string) bool {
	for i := range l.items {
		if it := &l.items[i]; len(it.name) == len(name) && strings.EqualFold(it.name, name) {
			return true
		}
	}
	return false
}

func (it *item) isFolder() bool { return it.isDir || it.link && it.err == nil && it.mode.IsDir() }

func (it *item) note(info fs.FileInfo, err error) {
	if it.err = err; err == nil {
		it.mode, it.size, it.modTime = info.Mode(), info.Size(), info.ModTime()
	}
}

// statIn asks about an item that is no link. What it is, if it is no regular file, makes no difference.
func (it *item) statIn(dir *fsx.Dir) {
	info, err := dir.Lstat(it.name)
	it.err, it.mode, it.size, it.modTime = err, info.Type, info.Size, info.MTime
	it.device, it.inode, it.links = info.Device, info.Inode, info.Links
}
