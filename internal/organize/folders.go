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

// ItemType is the type of a folder's entry. Plans never touch entries of the zero type.
type ItemType uint8

// The types of entries.
const (
	TypeOther   ItemType = iota // a device, a pipe, a socket
	TypeRegular                 // a file
	TypeDir                     // a folder
	TypeLink                    // a symbolic link
)

// TypeOf returns the type for the type bits of a file mode.
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

// Item is an entry of a folder. Symbolic links are not followed.
type Item struct {
	Name     string
	Type     ItemType
	Size     int64 // bytes
	MTime    Stamp
	Device   uint64 // of the file system; for a mount point, of the mounted one
	Inode    uint64 // 0 if inodes are not stable
	Links    uint64 // the number of hard links
	LinkText string // the text of a symbolic link
}

// Disk reads the file system for planning. Paths are absolute and have slashes.
type Disk interface {
	// Real returns the folder's path with symbolic links resolved.
	Real(dir string) (string, error)
	// List returns a folder's entries, sorted by name in byte order. A folder that does not exist gives no entries and no
	// error.
	List(dir string) ([]Item, error)
	// Ends returns the first and the last 64 KiB of a file, or all of a smaller one.
	Ends(file string) ([]byte, error)
	// Ahead announces the folders that List will be called with next, so they can be read in parallel.
	Ahead(dirs []string)
	// Walked returns the folders that a walk has read, if there was one.
	Walked() []string
}

type folder struct {
	path  string
	items []Item
	err   error
	names map[string][]*Item // by FoldName; nil: not built yet

	subfolders map[string][]string // names of folders by ID, or by title without one; nil: not built yet
	named      map[Entry][]string  // names of folders without an ID, by the work that an NFO in them names
	existing   []existingVideo     // nil: not built yet

	videos []*video // the planned videos in it
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
	path   string // below the target, with existing names; "." for the target itself
	key    string // the folded path
	device uint64
	code   Code
	why    lang.Text
	dir    *folder // nil: not listed yet
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
	byTitle []string // folders of shows that were found by title alone
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
		case TypeLink: // carrying out the plan follows no links
			out.code, out.why = OutsideRoot, lang.Textf("%s is a link to %s", join(f.path, there[0].Name), there[0].LinkText)
		case TypeRegular, TypeOther:
			out.code, out.why = Exists, lang.Textf("%s is not a folder", join(f.path, there[0].Name))
		}
	}
	return out
}
