package watch

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/fsnotify/fsnotify"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/organize"
	"github.com/anivault/anivault/internal/organize/disk"
)

// Tree is the watched folder on disk.
type Tree struct {
	Root organize.Root // the folder's path and identity
}

// Open returns the tree of a folder as it is now.
func Open(dir string) (*Tree, error) {
	place, err := disk.RootOf(dir)
	return &Tree{place.Root}, err
}

func isMountPoint(dir string) bool {
	here, err := disk.RootOf(dir)
	above, errAbove := disk.RootOf(filepath.Dir(dir))
	isOther := here.Device != above.Device || organize.AreOtherMounts(here.Mount, above.Mount)
	return err == nil && errAbove == nil && isOther
}

// Check implements Disk.
func (t *Tree) Check() error { return CheckSame(t.Root) }

// CheckSame returns an error unless a folder exists and is the same as before.
func CheckSame(before organize.Root) error {
	now, err := disk.RootOf(before.Path)
	switch {
	case err != nil:
		return err
	case now.Root != before:
		return lang.Error("%s is not the same folder as before", before.Path)
	}
	return nil
}

func (t *Tree) fullPath(name string) string {
	return filepath.Join(t.Root.Path, filepath.FromSlash(name))
}

func (t *Tree) Read(dir string) ([]Entry, error) {
	list, err := os.ReadDir(t.fullPath(dir)) // sorted by name
	if err != nil {
		return nil, err
	}
	out := make([]Entry, 0, len(list))
	for _, e := range list {
		entry := Entry{Name: e.Name(), Dir: e.IsDir()}
		if e.Type().IsRegular() {
			info, err := e.Info()
			if err != nil {
				continue // removed since ReadDir
			}
			entry.Size, entry.MTime = info.Size(), info.ModTime().UnixNano()
		}
		out = append(out, entry)
	}
	return out, nil
}

// IsBeingWritten implements Disk.
func (t *Tree) IsBeingWritten(dir, name string) bool {
	file := filepath.Join(t.fullPath(dir), name)
	info, err := os.Lstat(file)
	return err == nil && info.Mode().Type() == fs.FileMode(0) && isOpenForWriting(file)
}

var fileSystemsWithoutNotices = map[string]bool{
	"nfs": true, "cifs": true, "smb2": true, "fuse": true, "9p": true, "ceph": true,
}

// System receives the operating system's notices of changes. The caller must close it.
type System struct {
	tree     *Tree
	watcher  *fsnotify.Watcher
	extraDir string // a folder outside the tree whose changes are noticed too
	ready    chan struct{}
	done     sync.WaitGroup

	mu          sync.Mutex
	changedDirs map[string]bool
	noticesLost bool
}

// Listen starts to receive notices for a tree, and for extraDir, a folder outside it. Some file systems send none.
func Listen(t *Tree, extraDir string) (*System, error) {
	if fileSystemsWithoutNotices[t.Root.Type] {
		return nil, lang.Error("its file system sends no notifications")
	}
	watcher, err := fsnotify.NewBufferedWatcher(64)
	if err != nil {
		return nil, err
	}
	s := &System{
		tree: t, watcher: watcher, extraDir: extraDir, ready: make(chan struct{}, 1), changedDirs: map[string]bool{},
	}
	_ = watcher.Add(extraDir) // on failure, a rescan finds its changes
	s.done.Go(s.listen)
	return s, nil
}

// Close stops receiving notices.
func (s *System) Close() {
	_ = s.watcher.Close()
	s.done.Wait()
}

func (s *System) listen() {
	for {
		select {
		case e, open := <-s.watcher.Events:
			if !open {
				return
			}
			switch {
			// a removed folder sends no more notices
			case e.Name == s.tree.Root.Path && (e.Has(fsnotify.Rename) || e.Has(fsnotify.Remove)):
				s.markAll()
			case e.Op != fsnotify.Chmod:
				s.markDirty(filepath.Dir(e.Name))
			}
		case _, open := <-s.watcher.Errors:
			if !open {
				return
			}
			s.markAll()
		}
	}
}

func (s *System) markAll() {
	s.mu.Lock()
	s.noticesLost = true
	s.mu.Unlock()
	s.wake()
}

func (s *System) markDirty(dir string) {
	if dir != s.extraDir {
		rest, err := filepath.Rel(s.tree.Root.Path, dir)
		if err != nil || !filepath.IsLocal(rest) {
			return
		}
		s.mu.Lock()
		s.changedDirs[filepath.ToSlash(rest)] = true
		s.mu.Unlock()
	}
	s.wake()
}

func (s *System) wake() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// Add implements Notices.
func (s *System) Add(dir string) error { return s.watcher.Add(s.tree.fullPath(dir)) }

// Ready implements Notices.
func (s *System) Ready() <-chan struct{} { return s.ready }

// TakeChanges implements Notices.
func (s *System) TakeChanges() (dirs []string, all bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	dirs, all = slices.Sorted(maps.Keys(s.changedDirs)), s.noticesLost
	clear(s.changedDirs)
	s.noticesLost = false
	return dirs, all
}
