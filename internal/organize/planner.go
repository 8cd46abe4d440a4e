package organize

import (
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/report"
)

// Place is a root with what planning has to know of its file system.
type Place struct {
	Root
	Given   string // the folder as it was named; "" where it was not
	Device  uint64
	NameMax int // most bytes of a name, as the file system says
	// Adrift is set where the numbers of files are made up when the file system is mounted: they are no part of a plan
	// then.
	Adrift bool
	// NoReflink is set where files can't share blocks.
	NoReflink bool
}

// Options say how a library is to be put in order.
type Options struct {
	ID             string
	Made           time.Time
	Mode           Mode
	OrCopy         bool // copy where the mode can't cross file systems
	Layout         Layout
	MinConfidence  float64
	Versions       bool // files of one episode or film get labels that tell them apart
	Follow         bool // extras follow their entry
	RenameExisting bool // files of the library get the names they would get today
	Notes          Notes
	Replace        map[string]string
	Before         func(*Item) Code // why a file that an earlier run has placed is skipped; nil: nobody asks

	Sources []Place
	Targets []Place
	TV      int // which target gets series
	Movies  int // which target gets films
}

// Notes says which files for media servers are written.
type Notes struct {
	Wanted    bool
	Full      bool   // all that is known, and of episodes too; else which entry it is
	Languages string // that are not those of the settings; see Note
}

// reservedBytes are what media servers add to a file's name: "-landscape.jpg".
const reservedBytes = 15

// longestName is how many bytes a name has at most, whatever a file system allows: a library travels.
const longestName = 255

// longestPath is how many bytes a whole path has at most: Linux' PATH_MAX without the zero behind it.
const longestPath = 4095

func (o *Options) namer(target int) namer {
	n := namer{
		max:     min(o.Targets[target].NameMax, longestName) - reservedBytes,
		longest: longestPath - len(o.Targets[target].Path) - 1,
	}
	if len(o.Replace) > 0 {
		var pairs []string
		for _, from := range slices.Sorted(maps.Keys(o.Replace)) {
			pairs = append(pairs, from, o.Replace[from])
		}
		n.replace = strings.NewReplacer(pairs...)
	}
	return n
}

// Planner makes a plan of records. It is for one goroutine.
type Planner struct {
	o           Options
	disk        Disk
	namers      []namer // by target
	given       facts   // what the last record said, and its names
	cleaned     *facts
	folders     folders
	origins     map[string]*origin
	byNeighbour []*video       // extras and files about a folder, which go where the videos around them go
	owned       map[*Item]bool // files that are about a folder by their names, and belong to a video by its
	unowned     []LeftFile     // that no video can be said to own
	reported    map[*Item]bool // files other than videos that are in a unit or listed as left
	foreign     []lang.Text    // warnings about existing NFOs of other entries
	videos      []*video
	all         []*video            // videos, and what was left at once, in the order of the records
	waitsFor    map[*video][]string // paths that other moves of the plan have to free first
	conflicts   conflicts
}

type origin struct {
	given string  // its name, with its slash
	dir   *folder // nil with an error
	err   error
}

type identity struct{ device, inode uint64 }

type video struct {
	given    string // the folder as the record names it, with its slash
	name     string // of the file
	kind     kind
	code     Code // why it is left; "" while it is planned
	why      lang.Text
	dir      *folder
	item     *Item
	source   int
	target   int
	stem     int  // the length of its target without what follows the stem
	renames  bool // it is the library's own file, which gets another name
	there    bool // it is in its folder already, under the name in to
	inPlace  int  // files that need nothing
	parted   int  // files that move away from other names of theirs
	entry    *entry
	work     Work
	facts    *facts
	tags     *tags  // nil: nothing was read of its name
	titles   string // of its episodes
	sidecars []sidecar
	label    string        // that tells it from another version or part
	folder   *folderChoice // the folder it gets
	to       string        // its target
	ops      []Op
}

func (v *video) path() string { return v.given + v.name }

func (v *video) base() string { return v.to[:v.stem] }

// nameKey is a name in a folder of a target: two that are equal are one name to some file system.
type nameKey struct {
	target       int
	folder, name string
}

// key is that of a target of the video's folder.
func (v *video) key(to string) nameKey {
	return nameKey{v.target, v.folder.key, FoldName(path.Base(to))}
}

type facts struct {
	title, original string
	year            int
	ids             report.WorkIDs
}

type tags struct {
	part, version                                                   int
	absolute, edition, resolution, source, video, audio, group, crc string
}

// NewPlanner returns a planner without records.
func NewPlanner(o Options, disk Disk) *Planner {
	p := &Planner{
		o: o, disk: disk,
		folders: folders{
			disk: disk, targets: o.Targets, listed: map[string]*folder{}, chosen: map[choiceKey]*folderChoice{},
		},
		origins: map[string]*origin{}, reported: map[*Item]bool{}, cleaned: &facts{},
		waitsFor: map[*video][]string{}, conflicts: conflicts{}, owned: map[*Item]bool{},
	}
	for i := range o.Targets {
		p.namers = append(p.namers, o.namer(i))
	}
	return p
}

// Plan makes the plan of all records.
func (p *Planner) Plan() *Result {
	p.skipOutside()
	p.skipSecondNames()
	p.assignSidecars()
	p.videos = slices.DeleteFunc(p.videos, func(v *video) bool {
		if v.kind == kindExtra { // what it is depends on the videos around it
			p.byNeighbour = append(p.byNeighbour, v)
		}
		return v.kind == kindExtra
	})
	p.nameAll()
	p.disk.Ahead(p.unlisted())
	renamed := p.meetExisting()
	p.skipSameFolders()
	p.labelSameNames()
	p.videos, p.all = append(p.videos, renamed...), append(p.all, renamed...)
	p.follow()
	for _, v := range p.videos {
		p.operate(v)
	}
	p.skipCollisions()
	p.addNotes()
	return p.result()
}

func (p *Planner) skipSecondNames() {
	firsts := map[identity]*video{}
	for _, v := range p.videos {
		if v.item.Links < 2 || v.item.Inode == 0 {
			continue
		}
		key := identity{v.item.Device, v.item.Inode}
		first, known := firsts[key]
		switch {
		case !known:
			firsts[key] = v
		case first.item == v.item:
			v.skip(SameFile, "it was named before")
		case first.at() < v.at():
			v.skip(SameFile, lang.Textf("the same file as %s", first.path()))
		default:
			first.skip(SameFile, lang.Textf("the same file as %s", v.path()))
			firsts[key] = v
		}
	}
	p.compact()
}

func (v *video) at() string { return join(v.dir.path, v.item.Name) }

func join(dir, name string) string {
	switch {
	case dir == "." || dir == "":
		return name
	case name == ".":
		return dir
	case strings.HasSuffix(dir, "/"):
		return dir + name
	}
	return dir + "/" + name
}

func (p *Planner) compact() {
	p.videos = slices.DeleteFunc(p.videos, func(v *video) bool { return v.code != "" })
}

func (p *Planner) unlisted() []string {
	var dirs []string
	seen := map[string]bool{}
	for _, v := range p.videos {
		if v.folder == nil || v.folder.dir != nil { // nil: a name or folder is wrong, and it is skipped
			continue
		}
		dir := join(p.o.Targets[v.target].Path, v.folder.path)
		if _, known := p.folders.listed[dir]; !known && !seen[dir] {
			seen[dir] = true
			dirs = append(dirs, dir)
		}
	}
	return dirs
}
