// Package disk answers what planning asks of the file system: what there is in a folder, and what a root is known by.
// It changes nothing.
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

// Disk is the file system of this machine. The zero value is ready, and for several goroutines.
type Disk struct {
	mu    sync.Mutex
	seen  map[string][]library.Entry // by real path: what a walk has just read, until it is asked for; nil from then on
	ahead map[string]listing         // by path: folders that are listed before anybody asks
}

type listing func() ([]organize.Item, error)

// Ahead lists folders on other cores, for List. A folder that is needed before its turn is listed at once.
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

// Seen keeps what a walk has read of a folder, so that List need not ask again.
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

// Walked returns the real paths of the folders that a walk has read, in byte order.
func (d *Disk) Walked() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.seen))
}

// Real returns the folder's path with links resolved, with slashes.
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
	delete(d.ahead, dir) // who asks again wants to know what is there then
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
				continue // it went away meanwhile
			case err != nil:
				return nil, err
			}
			info = &now
		}
		item := organize.Item{
			Name: strings.Clone(e.Name), // it may be the end of a path, which is not needed any more
			Type: organize.TypeOf(info.Type), Size: info.Size, MTime: organize.StampOf(info.MTime),
			Device: info.Device, Inode: info.Inode, Links: info.Links,
		}
		if item.Type == organize.TypeLink {
			item.Leads, _ = os.Readlink(filepath.Join(dir, e.Name)) // one that is gone leads nowhere
		}
		items = append(items, item)
	}
	return items, nil
}

const end = 64 << 10

// Ends returns the first and the last 64 KiB of a regular file, all of a smaller one.
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

// Root returns what planning knows of a folder that is a root. Its path has links resolved.
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
		Adrift: holds.Type == "vfat" || holds.Type == "exfat", // they make the numbers up when they are mounted
	}
	if place.Adrift {
		place.Inode = 0
	}
	if !info.Birth.IsZero() {
		place.Birth = organize.StampOf(info.Birth)
	}
	return place, err
}
