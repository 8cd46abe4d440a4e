package organize

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/release"
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

// TypeOf returns the type of an entry by the type bits of its mode.
func TypeOf(mode fs.FileMode) ItemType {
	switch mode {
	case 0:
		return TypeRegular
	case fs.ModeDir:
		return TypeDir
	case fs.ModeSymlink:
		return TypeLink
	default:
		return TypeOther
	}
}

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

type folder struct {
	path  string
	items []Item
	err   error
	names map[string][]*Item // by what FoldName makes of their names; nil: nobody has asked

	subfolders map[string][]string // names of folders by id, or by title where they have none; nil: nobody has asked
	named      map[Entry][]string  // names of folders without an id, by the work that an NFO in them names
	existing   []existingVideo     // nil: nobody has asked

	videos []*video // that are planned from it
}

func (f *folder) find(name string) *Item {
	i, found := slices.BinarySearchFunc(f.items, name,
		func(item Item, name string) int { return strings.Compare(item.Name, name) })
	if !found {
		return nil
	}
	return &f.items[i]
}

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

type folderChoice struct {
	path   string // below the target, under the name that it has or will have; "." for the target itself
	key    string // path, as names are compared
	device uint64
	code   Code
	why    lang.Text
	dir    *folder // what it holds; nil: nobody has looked
}

type choiceKey struct {
	target int
	path   string
}

type folders struct {
	disk    Disk
	targets []Place
	listed  map[string]*folder
	chosen  map[choiceKey]*folderChoice
	byTitle []string // shows' folders that were found by their title alone
}

func (d *folders) list(dir string) *folder {
	f, known := d.listed[dir]
	if !known {
		f = &folder{path: dir}
		f.items, f.err = d.disk.List(dir)
		d.listed[dir] = f
	}
	return f
}

func (d *folders) contents(target int, at *folderChoice) *folder {
	if at.dir == nil {
		at.dir = d.list(join(d.targets[target].Path, at.path))
	}
	return at.dir
}

func (d *folders) kindOf(parent, name string) string {
	items := d.list(join(parent, name)).items
	if slices.ContainsFunc(items, func(item Item) bool {
		return item.Type == TypeDir && library.IsSeasonFolder(item.Name)
	}) {
		return "tv"
	}
	for _, item := range items {
		if item.Type == TypeDir || !library.IsVideo(item.Name) {
			continue
		}
		if r := release.Parse(item.Name); len(r.Episodes) > 0 && !strings.HasPrefix(item.Name, name) {
			return "tv"
		}
		return "movie"
	}
	return ""
}

func (d *folders) choose(target int, planned string) *folderChoice {
	key := choiceKey{target, planned}
	if s, known := d.chosen[key]; known {
		return s
	}
	var at *folderChoice
	if planned == "." {
		at = &folderChoice{path: ".", device: d.targets[target].Device}
	} else if at = d.choose(target, path.Dir(planned)); at.code == "" {
		at = d.chooseIn(target, at, path.Base(planned))
	}
	at.key = FoldName(at.path)
	d.chosen[key] = at
	return at
}

func (d *folders) chooseIn(target int, parent *folderChoice, name string) *folderChoice {
	f := d.contents(target, parent)
	out := &folderChoice{path: join(parent.path, name), device: parent.device}
	var there []*Item
	for _, item := range f.alike(name) {
		if item.Name == name {
			there = []*Item{item}
			break
		}
		there = append(there, item)
	}
	switch {
	case f.err != nil:
		out.code, out.why = Unreadable, lang.TextOf(f.err)
	case len(there) > 1:
		out.code, out.why = TwoFolders, lang.Textf("%s and %s", there[0].Name, there[len(there)-1].Name)
	case len(there) == 1:
		out.path = join(parent.path, there[0].Name)
		switch there[0].Type {
		case TypeDir:
			out.device = there[0].Device
		case TypeLink: // none is followed when the plan is carried out
			out.code, out.why = OutsideRoot, lang.Textf("%s is a link to %s", join(f.path, there[0].Name), there[0].Leads)
		case TypeRegular, TypeOther:
			out.code, out.why = Exists, lang.Textf("%s is not a folder", join(f.path, there[0].Name))
		}
	}
	return out
}
