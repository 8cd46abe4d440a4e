package organize

import (
	"slices"
	"strings"
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
	// Ahead says which folders are listed next, in that order.
	Ahead(dirs []string)
	// Walked returns the folders that a walk has read, where one was made.
	Walked() []string
}

// folder is a folder that was listed.
type folder struct {
	path  string
	items []Item
	err   error
	names map[string][]*Item // by what FoldName makes of their names; nil: nobody has asked
	ids   map[int][]int      // by the id that a folder's name ends with

	videos []*video // that are planned from it
}

// find returns the item of that very name; nil for none.
func (f *folder) find(name string) *Item {
	i, found := slices.BinarySearchFunc(f.items, name, func(item Item, name string) int { return strings.Compare(item.Name, name) })
	if !found {
		return nil
	}
	return &f.items[i]
}

// alike returns the items that some file system takes for that name.
func (f *folder) alike(name string) []*Item {
	if f.names == nil {
		f.names = make(map[string][]*Item, len(f.items))
		for i := range f.items {
			key := FoldName(f.items[i].Name)
			f.names[key] = append(f.names[key], &f.items[i])
		}
	}
	return f.names[FoldName(name)]
}
