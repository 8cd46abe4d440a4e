package organize

import (
	"sort"
)

// ItemType is what an entry of a folder is. The zero value is what no plan touches.
type ItemType uint8

// The types of entries.
const (
	TypeOther   ItemType = iota // a device, a pipe, a socket
	TypeRegular                 // a file
	TypeDir                     // a folder
	TypeLink                    // a symbolic link
)

// Item is an entry of a folder, links not followed.
type Item struct {
	Name   string
	Type   ItemType
	Size   int64 // bytes
	MTime  Stamp
	Device uint64 // of the file system; of a mount point that of what is mounted there
	Inode  uint64 // 0 where inodes are not stable
	Links  uint64 // how many names the file has
	Leads  string // of a link: its text
}

// Disk answers what planning asks of the file system. Paths are absolute and have slashes.
type Disk interface {
	// Real returns the folder's path with links resolved.
	Real(dir string) (string, error)
	// List returns the entries of a folder by name in byte order; none and no error where it is not there.
	List(dir string) ([]Item, error)
	// Ends returns the first and the last 64 KiB of a file, all of a smaller one.
	Ends(file string) ([]byte, error)
}

// folder is a folder that was listed.
type folder struct {
	path  string
	items []Item
	err   error
	fold  map[string][]int // by foldName
	ids   map[int][]int    // by the id that a folder's name ends with
}

// find returns the item of that very name; nil for none.
func (f *folder) find(name string) *Item {
	i := sort.Search(len(f.items), func(i int) bool { return f.items[i].Name >= name })
	if i < len(f.items) && f.items[i].Name == name {
		return &f.items[i]
	}
	return nil
}

// alike returns the items that some file system takes for that name.
func (f *folder) alike(name string) []int {
	if len(f.items) == 0 {
		return nil
	}
	if f.fold == nil {
		f.fold = make(map[string][]int, len(f.items))
		for i := range f.items {
			key := foldName(f.items[i].Name)
			f.fold[key] = append(f.fold[key], i)
		}
	}
	return f.fold[foldName(name)]
}
