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
	mu         sync.Mutex
	walked     map[string][]library.Entry // results of a walk by real path; nil once List has returned them
	prefetched map[string]listFunc        // folders that are being listed in advance, by path
}

type listFunc func() ([]organize.Item, error)

// Prefetch lists folders in parallel for later calls of List.
func (d *Disk) Prefetch(dirs []string) {
	ahead, queue := make(map[string]listFunc, len(dirs)), make(chan listFunc, len(dirs))
	for _, dir := range dirs {
		list := sync.OnceValues(func() ([]organize.Item, error) { return d.list(dir) })
		ahead[dir] = list
		queue <- list
	}
	close(queue)
	d.mu.Lock()
	d.prefetched = ahead
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

// AddWalked stores the entries of a folder that a walk has read, so that List need not read them again.
func (d *Disk) AddWalked(real string, entries []library.Entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.walked == nil {
		d.walked = map[string][]library.Entry{}
	}
	d.walked[filepath.ToSlash(real)] = entries
}

// WalkedFolders returns the real paths of the folders passed to AddWalked, in byte order.
func (d *Disk) WalkedFolders() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.walked))
}

// RealPath returns the absolute path of a folder with slashes and with symbolic links resolved.
func (*Disk) RealPath(dir string) (string, error) {
	abs, err := filepath.Abs(filepath.FromSlash(dir))
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	return filepath.ToSlash(real), err
}

// List returns a folder's entries, sorted by name in byte order. It does not follow links. For a folder that does not
// exist, it returns no entries and no error.
func (d *Disk) List(dir string) ([]organize.Item, error) {
	d.mu.Lock()
	list := d.prefetched[dir]
	delete(d.prefetched, dir) // so that a second call reads the folder again
	d.mu.Unlock()
	if list == nil {
		return d.list(dir)
	}
	return list()
}

func (d *Disk) list(dir string) ([]organize.Item, error) {
	in, err := fsx.OpenDir(filepath.FromSlash(dir))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	defer in.Close()
	d.mu.Lock()
	entries := d.walked[dir]
	if entries != nil {
		d.walked[dir] = nil
	}
	d.mu.Unlock()
	if entries == nil {
		names, err := in.Readdirnames(-1)
		if err != nil {
			return nil, err
		}
		for _, name := range slices.Sorted(slices.Values(names)) {
			entries = append(entries, library.Entry{Name: name})
		}
	}
	items := make([]organize.Item, 0, len(entries))
	for _, e := range entries {
		info := e.Info
		if info == nil {
			now, err := in.Lstat(e.Name)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				continue // removed since ReadDir
			case err != nil:
				return nil, err
			}
			info = &now
		}
		item := organize.Item{
			Name: strings.Clone(e.Name), // Name may be part of a full path, which this lets the garbage collector free
			Type: organize.TypeOf(info.Type), Size: info.Size, MTime: organize.StampOf(info.MTime),
			Device: info.Device, Mount: info.Mount, Inode: info.Inode, Links: info.Links, Ignored: e.Ignored,
		}
		if item.Type == organize.TypeLink {
			item.LinkText, _ = os.Readlink(filepath.Join(dir, e.Name)) // "" if the link was removed meanwhile
		}
		items = append(items, item)
	}
	return items, nil
}

const endSize = 64 << 10

// ReadEnds returns the first and last 64 KiB of a regular file, or the whole content of a smaller file.
func (*Disk) ReadEnds(file string) ([]byte, error) {
	in, err := lockfile.Open(filepath.FromSlash(file), os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() <= 2*endSize {
		return io.ReadAll(io.LimitReader(in, 2*endSize))
	}
	out := make([]byte, 2*endSize)
	if _, err := in.ReadAt(out[:endSize], 0); err != nil {
		return nil, err
	}
	_, err = in.ReadAt(out[endSize:], info.Size()-endSize)
	return out, err
}

// RootOf describes a root folder. Symbolic links in its path are resolved.
func RootOf(dir string) (organize.RootInfo, error) {
	path, err := new(Disk).RealPath(dir)
	if err != nil {
		return organize.RootInfo{}, err
	}
	info, err := fsx.Stat(filepath.FromSlash(path))
	if err != nil {
		return organize.RootInfo{}, err
	}
	if info.Type != fs.ModeDir {
		return organize.RootInfo{}, lang.Error("%s is not a folder", path)
	}
	holds, err := fsx.FileSystemOf(filepath.FromSlash(path))
	place := organize.RootInfo{
		Root:   organize.Root{Type: holds.Type, Inode: info.Inode, Path: path},
		Device: info.Device, Mount: info.Mount, NameMax: holds.NameMax,
		UnstableInodes: holds.Type == "vfat" || holds.Type == "exfat", // these assign new inodes when they are mounted
	}
	if place.UnstableInodes {
		place.Inode = 0
	}
	if !info.BirthTime.IsZero() &&
		holds.Type != "overlay" { // on overlay, the first change of a folder may change its birth time
		place.Birth = organize.StampOf(info.BirthTime)
	}
	return place, err
}
