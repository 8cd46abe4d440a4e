// Package disk reads folders and roots for planning. It changes nothing.
package disk

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/anivault/anivault/internal/fsx"
	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/lockfile"
	"github.com/anivault/anivault/internal/organize"
)

// Disk is the file system of this machine. The zero value is ready to use, and safe for concurrent use.
type Disk struct {
	mu    sync.Mutex
	seen  map[string][]library.Entry // by real path: the result of a walk; nil once List has used it
	ahead map[string]listing         // by path: folders that are being listed in advance
}

type listing func() ([]organize.Item, error)

// Ahead lists folders in parallel, for later calls of List.
func (d *Disk) Ahead(dirs []string) {
	ahead, queue := make(map[string]listing, len(dirs)), make(chan listing, len(dirs))
	for _, dir := range dirs {
		list := sync.OnceValues(func() ([]organize.Item, error) { return d.list(dir) })
		ahead[dir] = list
		queue <- list
	}
	close(queue)
	d.mu.Lock()
	d.ahead = ahead
	d.mu.Unlock()
	const listers = 4
	for range min(runtime.GOMAXPROCS(0), listers) {
		go func() {
			for list := range queue {
				_, _ = list()
			}
		}()
	}
}

// Seen remembers the entries that a walk has read, so that List need not read them again.
func (d *Disk) Seen(real string, entries []library.Entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.seen == nil {
		d.seen = map[string][]library.Entry{}
	}
	d.seen[filepath.ToSlash(real)] = entries
}

func (d *Disk) take(dir string) []library.Entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	entries, walked := d.seen[dir]
	if walked {
		d.seen[dir] = nil
	}
	return entries
}

// Walked returns the real paths of the folders passed to Seen, in byte order.
func (d *Disk) Walked() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.seen))
}

// Real returns the absolute path of a folder with symbolic links resolved, with slashes.
func (*Disk) Real(dir string) (string, error) {
	abs, err := filepath.Abs(filepath.FromSlash(dir))
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	return filepath.ToSlash(real), err
}

// List returns a folder's entries, sorted by name in byte order. It does not follow links. A folder that does not exist
// gives no entries and no error.
func (d *Disk) List(dir string) ([]organize.Item, error) {
	d.mu.Lock()
	list := d.ahead[dir]
	delete(d.ahead, dir) // a second call reads the folder again
	d.mu.Unlock()
	if list == nil {
		return d.list(dir)
	}
	return list()
}

func (d *Disk) list(dir string) ([]organize.Item, error) {
	var in fsx.Dir
	if err := in.Open(filepath.FromSlash(dir)); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	defer in.Close()
	entries := d.take(dir)
	if entries == nil {
		err := in.Each(func(name []byte, _ fs.FileMode) {
			entries = append(entries, library.Entry{Name: string(name)})
		})
		if err != nil {
			return nil, err
		}
		slices.SortFunc(entries, func(a, b library.Entry) int { return strings.Compare(a.Name, b.Name) })
	}
	items := make([]organize.Item, 0, len(entries))
	for _, e := range entries {
		info := e.Info
		if info == nil {
			now, err := in.Lstat(e.Name)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				continue // it was removed meanwhile
			case err != nil:
				return nil, err
			}
			info = &now
		}
		item := organize.Item{
			Name: strings.Clone(e.Name), // releases the full path that it may be part of
			Type: organize.TypeOf(info.Type), Size: info.Size, MTime: organize.StampOf(info.MTime),
			Device: info.Device, Inode: info.Inode, Links: info.Links,
		}
		if item.Type == organize.TypeLink {
			item.LinkText, _ = os.Readlink(filepath.Join(dir, e.Name)) // a link that is gone has no text
		}
		items = append(items, item)
	}
	return items, nil
}

const end = 64 << 10

// Ends returns the first and the last 64 KiB of a regular file, or all of a smaller one.
func (*Disk) Ends(file string) ([]byte, error) {
	in, err := lockfile.Open(filepath.FromSlash(file), os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() <= 2*end {
		return io.ReadAll(io.LimitReader(in, 2*end))
	}
	out := make([]byte, 2*end)
	if _, err := in.ReadAt(out[:end], 0); err != nil {
		return nil, err
	}
	_, err = in.ReadAt(out[end:], info.Size()-end)
	return out, err
}

// Root describes a root folder. Its path has symbolic links resolved.
func Root(dir string) (organize.Place, error) {
	path, err := new(Disk).Real(dir)
	if err != nil {
		return organize.Place{}, err
	}
	info, err := fsx.Stat(filepath.FromSlash(path))
	if err != nil {
		return organize.Place{}, err
	}
	if info.Type != fs.ModeDir {
		return organize.Place{}, lang.Error("%s is not a folder", path)
	}
	holds, err := fsx.FileSystemOf(filepath.FromSlash(path))
	place := organize.Place{
		Root:   organize.Root{Type: holds.Type, Inode: info.Inode, Path: path},
		Device: info.Device, NameMax: holds.NameMax,
		UnstableInodes: holds.Type == "vfat" || holds.Type == "exfat", // they assign inodes when they are mounted
	}
	if place.UnstableInodes {
		place.Inode = 0
	}
	if !info.Birth.IsZero() {
		place.Birth = organize.StampOf(info.Birth)
	}
	return place, err
}
