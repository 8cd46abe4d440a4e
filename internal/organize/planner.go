package organize

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/report"
)

// Place is a root and the properties of its file system.
type Place struct {
	Root
	Given   string // the path as the user wrote it; "" if it was not given
	Device  uint64
	NameMax int // most bytes of a name that the file system allows
	// UnstableInodes is set if inodes change when the file system is mounted again. Plans then leave them out.
	UnstableInodes bool
	// NoReflink is set if the file system can't share blocks between files.
	NoReflink bool
}

// Options control how a library is organized.
type Options struct {
	ID             string
	Made           time.Time
	Mode           Mode
	OrCopy         bool // copy if the mode can't cross file systems
	Layout         Layout
	MinConfidence  float64
	Versions       bool // label several files of one episode or film as versions
	Follow         bool // extras go with their series or film
	RenameExisting bool // give the library's own files the names that they would get today
	Notes          Notes
	Replace        map[string]string
	Before         func(*Item) Code // returns why a file that an earlier run placed is skipped; may be nil

	Sources []Place
	Targets []Place
	TV      int // which target gets series
	Movies  int // which target gets films
}

// Notes says which NFO files are written.
type Notes struct {
	Wanted    bool
	Full      bool   // everything known, and NFOs of episodes; otherwise only the entry's IDs
	Languages string // if they differ from the settings; see Note
}

// reservedBytes is the longest suffix that media servers add to a file's name: "-landscape.jpg".
const reservedBytes = 15

// longestName is the most bytes of a name on any file system, so that a library can be copied to another one.
const longestName = 255

// longestPath is the most bytes of a path: Linux's PATH_MAX without the final zero.
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

// Planner makes a plan from records. It is not safe for concurrent use.
type Planner struct {
	o           Options
	disk        Disk
	namers      []namer // by target
	record      facts   // of the last record, uncleaned
	cleaned     *facts
	folders     folders
	origins     map[string]*origin
	byNeighbour []*video       // extras and files about a whole folder: they go where the videos around them go
	owned       map[*Item]bool // files that look as if they were about a folder, but belong to a video
	unowned     []LeftFile     // sidecars without a certain video
	reported    map[*Item]bool // files other than videos that are in a unit or listed as left
	foreign     []lang.Text    // warnings about existing NFOs of other entries
	videos      []*video
	all         []*video            // videos and skipped files, in the order of the records
	waitsFor    map[*video][]string // paths that other moves of the plan must free first
	conflicts   conflicts
}

type origin struct {
	recordDir string  // the folder's name with a slash
	dir       *folder // nil with an error
	err       error
}

type identity struct{ device, inode uint64 }

type video struct {
	recordDir string // the folder as the record names it, with a slash
	name      string // of the file
	kind      kind
	code      Code // why it is skipped; "" while it is planned
	why       lang.Text
	dir       *folder
	item      *Item
	source    int
	target    int
	stem      int  // the length of to without its extension
	renames   bool // a file of the library that gets another name
	there     bool // it is already in its folder, under the name in to
	inPlace   int  // files that are in place already
	parted    int  // hard-linked files that move to another file system
	entry     *entry
	work      Work
	facts     *facts
	tags      *tags  // nil: the name was not parsed
	titles    string // of the episodes
	ownTitle  string // the title in the file's name
	sidecars  []sidecar
	label     string        // distinguishes it from another version or part
	folder    *folderChoice // its target folder
	to        string        // its target path
	ops       []Op
}

func (v *video) path() string { return v.recordDir + v.name }

func (v *video) base() string { return v.to[:v.stem] }

// nameKey is a name in a target folder. Two names with equal keys are the same name on some file system.
type nameKey struct {
	target       int
	folder, name string
}

// key returns the key of a name in the video's target folder.
func (v *video) key(to string) nameKey {
	return nameKey{v.target, v.folder.key, FoldName(strings.TrimPrefix(to, v.folder.path+"/"))}
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

// NewPlanner returns a Planner without records.
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

// Plan makes the plan for all records.
func (p *Planner) Plan() *Result {
	p.skipOutside()
	p.skipSecondNames()
	p.assignSidecars()
	p.videos = slices.DeleteFunc(p.videos, func(v *video) bool {
		if v.kind == kindExtra { // its place depends on the videos around it
			p.byNeighbour = append(p.byNeighbour, v)
		}
		return v.kind == kindExtra
	})
	p.nameAll()
	p.disk.Ahead(p.folders.unlisted(p.videos))
	renamed := p.meetExisting()
	p.skipSameFolders()
	p.labelSameNames()
	p.videos, p.all = append(p.videos, renamed...), append(p.all, renamed...)
	p.videos = dropSkipped(p.videos)
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
	p.videos = dropSkipped(p.videos)
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

// dropSkipped returns the videos that the plan still places.
func dropSkipped(videos []*video) []*video {
	return slices.DeleteFunc(videos, func(v *video) bool { return v.code != "" })
}

func (d *folders) unlisted(videos []*video) []string {
	var dirs []string
	seen := map[string]bool{}
	for _, v := range videos {
		if v.folder == nil || v.folder.dir != nil { // nil: the video is about to be skipped
			continue
		}
		dir := join(d.targets[v.target].Path, v.folder.path)
		if _, known := d.listed[dir]; !known && !seen[dir] {
			seen[dir] = true
			dirs = append(dirs, dir)
		}
	}
	return dirs
}
