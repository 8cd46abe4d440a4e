package organize

import (
	"io/fs"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unique"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/lazyregexp"
	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/nfo"
	"github.com/anivault/anivault/internal/release"
)

// ItemType is the type of a folder's entry. Plans never change entries of the zero type.
type ItemType uint8

// The types of entries.
const (
	TypeOther   ItemType = iota // a device, a pipe, a socket
	TypeRegular                 // a file
	TypeDir                     // a folder
	TypeLink                    // a symbolic link
)

// TypeOf returns the type for the type bits of a file mode.
func TypeOf(mode fs.FileMode) ItemType { return itemTypes[mode] }

var itemTypes = map[fs.FileMode]ItemType{0: TypeRegular, fs.ModeDir: TypeDir, fs.ModeSymlink: TypeLink}

// Item is an entry of a folder. Symbolic links are not followed.
type Item struct {
	Name     string
	Type     ItemType
	Size     int64 // bytes
	MTime    Stamp
	Device   uint64 // of the file system; for a mount point, of the mounted file system
	Mount    uint64 // the ID of its mount; 0 if unknown
	Inode    uint64 // 0 if inodes are not stable
	Links    uint64 // the number of hard links
	LinkText string // the text of a symbolic link
	Ignored  bool   // an ignore file or an exclude lists it
	isNamed  bool   // a record names it
}

// Disk reads the file system for planning. Paths are absolute and have slashes.
type Disk interface {
	// RealPath returns a folder's absolute path with symbolic links resolved.
	RealPath(dir string) (string, error)
	// List returns a folder's entries, sorted by name in byte order; none and no error for a missing folder.
	List(dir string) ([]Item, error)
	// ReadEnds returns the first and last 64 KiB of a file, or the whole content of a smaller file.
	ReadEnds(file string) ([]byte, error)
	// Prefetch announces the folders that List will be called with next, so that they can be read in parallel.
	Prefetch(dirs []string)
	// WalkedFolders returns the folders that an earlier walk has read; none if there was no walk.
	WalkedFolders() []string
}

type folder struct {
	path         string
	items        []Item
	err          error
	byFoldedName map[string][]*Item // by FoldName; nil until it is needed

	subfolders   map[string][]string          // names by ID and by title; nil until it is needed
	byNFO        map[string]Entry             // of NFOs of folders without an ID, by name; nil until it is needed
	parsedVideos map[float64][]*existingVideo // see existingVideos; nil until it is needed

	videos []*video // the planned videos whose source is this folder
}

func (f *folder) find(name string) *Item {
	i, found := sort.Find(len(f.items), func(i int) int { return strings.Compare(name, f.items[i].Name) })
	if !found {
		return nil
	}
	return &f.items[i]
}

// findSimilar returns the entries whose names are equal to name after FoldName.
func (f *folder) findSimilar(name string) []*Item {
	if len(f.items) == 0 {
		return nil
	}
	if f.byFoldedName == nil {
		f.byFoldedName = make(map[string][]*Item, len(f.items))
		for i := range f.items {
			key := FoldName(f.items[i].Name)
			f.byFoldedName[key] = append(f.byFoldedName[key], &f.items[i])
		}
	}
	return f.byFoldedName[FoldName(name)]
}

// targetFolder is an existing or new folder for planned files.
type targetFolder struct {
	path   string // relative to the target root, with the existing spelling; "." for the root
	key    folderKey
	device uint64
	mount  uint64
	code   Code // why the folder can't be used; "" if it can
	why    lang.Text
	dir    *folder // nil until it is listed
}

// folderKey identifies a folder. It is the same for folders whose paths are equal after FoldName.
type folderKey = unique.Handle[targetFolderKey]

type targetFolderKey struct {
	target int
	path   string
}

// folderIndex lists and remembers the folders that planning looks at.
type folderIndex struct {
	disk           Disk
	opts           *Options
	listedFolders  map[string]*folder
	targetFolders  map[targetFolderKey]*targetFolder
	matchedByTitle []string // folders of shows that were found by title alone
	details        func(Entry) *nfo.Entry
}

func (d *folderIndex) list(dir string) *folder {
	f, known := d.listedFolders[dir]
	if !known {
		f = &folder{path: dir}
		f.items, f.err = d.disk.List(dir)
		d.listedFolders[dir] = f
	}
	return f
}

func (d *folderIndex) contents(target int, at *targetFolder) *folder {
	if at.dir == nil {
		at.dir = d.list(joinPath(d.opts.Targets[target].Path, at.path))
	}
	return at.dir
}

// workKindOf guesses from a folder's content whether it holds a series ("tv") or a "movie"; "" if unclear.
func (d *folderIndex) workKindOf(parent, name string) string {
	dir := d.list(joinPath(parent, name))
	if slices.ContainsFunc(dir.items, func(item Item) bool {
		return item.Type == TypeDir && (library.IsSeasonFolder(item.Name) || seasonOf(dir.path, item.Name) >= 0)
	}) {
		return "tv"
	}
	for _, item := range dir.items {
		if item.Type == TypeDir && discFolder().MatchString(item.Name) {
			return "movie"
		} else if item.Type == TypeDir || !library.IsVideo(item.Name) {
			continue
		}
		// The rest after the folder's name tells "Apollo 13 (1995).mkv" from "[Grp] Show - 13.mkv".
		text, title := item.Name, parseFolderName(name).title
		for _, title := range []string{title, yearSuffix().ReplaceAllString(title, "$1")} {
			before, rest, isCut := strings.Cut(item.Name, title)
			if isCut && text == item.Name && (before == "" || strings.HasSuffix(before, "] ")) {
				text = before + "X" + glued().ReplaceAllString(rest, " $0")
			}
		}
		if r := release.Parse(text); len(r.Episodes) > 0 && r.Year == 0 || len(r.Seasons) > 0 {
			return "tv"
		} else if _, n := splitCounted(text); n > 0 {
			return ""
		}
		return "movie"
	}
	return ""
}

var glued = lazyregexp.New(`^E?\d`)

// splitCounted splits the title in a file's name from a number at its end, which may be an episode's: "Show 3.mkv". n
// is 0 if there is none.
func splitCounted(name string) (title string, n float64) {
	r := release.Parse(name)
	if m := countedTitle().FindStringSubmatch(r.Title); m != nil && r.Kind == release.Unknown && len(r.Seasons) == 0 {
		title = m[1]
		n, _ = strconv.ParseFloat(m[2], 64)
	}
	return title, n
}

var countedTitle = lazyregexp.New(`^(.+?) ?(\d{1,3})$`)

func (d *folderIndex) chooseTarget(target int, planned string) *targetFolder {
	key := targetFolderKey{target, planned}
	if s, known := d.targetFolders[key]; known {
		return s
	}
	var at *targetFolder
	if planned == "." {
		at = &targetFolder{path: ".", device: d.opts.Targets[target].Device, mount: d.opts.Targets[target].Mount}
	} else if at = d.chooseTarget(target, path.Dir(planned)); at.code == "" {
		at = d.chooseSubfolder(target, at, path.Base(planned))
	}
	at.key = unique.Make(targetFolderKey{target, FoldName(at.path)})
	d.targetFolders[key] = at
	return at
}

func (d *folderIndex) chooseSubfolder(target int, parent *targetFolder, name string) *targetFolder {
	f := d.contents(target, parent)
	out := &targetFolder{path: joinPath(parent.path, name), device: parent.device, mount: parent.mount}
	there := f.findSimilar(name)
	if item := f.find(name); item != nil {
		there = []*Item{item}
	}
	switch {
	case f.err != nil:
		out.code, out.why = CodeUnreadable, lang.TextOf(f.err)
	case len(there) > 1:
		out.code, out.why = CodeTwoFolders, lang.Textf("%s and %s", there[0].Name, there[len(there)-1].Name)
	case len(there) == 1:
		out.path = joinPath(parent.path, there[0].Name)
		switch there[0].Type {
		case TypeDir:
			out.device, out.mount = there[0].Device, there[0].Mount
		case TypeLink: // apply follows no links
			out.code, out.why = CodeOutsideRoot, lang.Textf("%s is a link to %s",
				joinPath(f.path, there[0].Name), there[0].LinkText)
		case TypeRegular, TypeOther:
			out.code, out.why = CodeExists, lang.Textf("%s is not a folder", joinPath(f.path, there[0].Name))
		}
	}
	return out
}
