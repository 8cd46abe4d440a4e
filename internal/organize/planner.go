package organize

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/anivault/anivault/internal/library"
	"github.com/anivault/anivault/internal/report"
)

// Planner makes a plan of records. It is for one goroutine.
type Planner struct {
	o         Options
	disk      Disk
	namers    []namer // by target
	folders   map[string]*folder
	origins   map[string]*origin
	spots     map[spotKey]*spot
	entries   map[entryKey]*entry
	followers []*video       // that go where the videos around them go
	owned     map[*Item]bool // files that are about a folder by their names, and belong to a video by its
	strays    []LeftFile     // that no video can be said to own
	told      map[*Item]bool // files, but for videos, that a unit has or of which it is told why they are left
	foreign   []string       // of files for media servers that are there and about something else
	videos    []*video
	all       []*video // videos, and what was left at once, in the order of the records
	first     map[identity]*video
	needs     map[*video][]string  // paths that other moves of the plan must free first
	rivals    map[*video]*[]*video // of one conflict, which are listed together
}

// origin is a folder as records name it, and what it is.
type origin struct {
	given string  // its name, with its slash
	dir   *folder // nil with an error
	err   error
}

// identity is what makes two names one file.
type identity struct{ device, inode uint64 }

// video is a record with what becomes of it.
type video struct {
	given   string // the folder as the record names it, with its slash
	name    string // of the file
	kind    kind
	code    Code // why it is left; "" while it is planned
	why     string
	dir     *folder
	item    *Item
	source  int
	target  int
	stem    int // the length of its target without what follows the stem
	inPlace int // files that need nothing
	parted  int // files that move away from other names of theirs
	entry   *entry
	work    Work
	facts   facts
	tags    *tags  // nil: nothing was read of its name
	titles  string // of its episodes
	belongs []sidecar
	label   string // that tells it from another version or part
	spot    *spot  // the folder it gets
	to      string // its target
	ops     []Op
}

// path is the file as its record names it.
func (v *video) path() string { return v.given + v.name }

// base is its target without what follows the stem.
func (v *video) base() string { return v.to[:v.stem] }

// facts are what a work's names are made of. All of it are names already (CleanName) once a Planner has them.
type facts struct {
	title, original string
	year            int
	ids             report.WorkIDs
}

// tags are what was read of a file's name, likewise.
type tags struct {
	part, version                                                   int
	absolute, edition, resolution, source, video, audio, group, crc string
}

// Result is a plan and what it leaves.
type Result struct {
	Plan
	InPlace int            // files that are where they belong already
	Foreign []string       // what is to be said of files for media servers that are there and about something else
	Unowned map[string]int // files but for videos that no unit has and that stay where they are, by extension
	Parted  []string       // files with several names that move to another file system, where they have one
}

// Warnings tells what a person should know before the plan is carried out.
func (r *Result) Warnings() []string {
	const most = 240 // UTF-16 units below the root; Windows' limit of 260 with room for a share's name
	long, first := 0, ""
	for i := range r.Units {
		for k := range r.Units[i].Ops {
			to := r.Units[i].Ops[k].To
			if len(to) > most && len(utf16.Encode([]rune(to))) > most {
				long++
				first = cmp.Or(first, to)
			}
		}
	}
	out := r.Foreign
	if long > 0 {
		out = append(out, fmt.Sprintf("long_path: Windows clients may not open %d of the targets, whose paths have more than %d characters: %s", long, most, first))
	}
	if n := len(r.Parted); n > 0 {
		out = append(out, fmt.Sprintf("hard links: %d of the files have other names too, which stay behind as files of their own when these move to another file system; "+
			"undo brings them back as separate files: %s", n, r.Parted[0]))
	}
	return out
}

// NewPlanner returns a planner without records.
func NewPlanner(o Options, disk Disk) *Planner {
	p := &Planner{
		o: o, disk: disk, folders: map[string]*folder{}, origins: map[string]*origin{},
		spots: map[spotKey]*spot{}, entries: map[entryKey]*entry{}, told: map[*Item]bool{},
		first: map[identity]*video{}, needs: map[*video][]string{}, rivals: map[*video]*[]*video{}, owned: map[*Item]bool{},
	}
	for i := range o.Targets {
		p.namers = append(p.namers, o.namer(i))
	}
	return p
}

// Plan makes the plan of all records.
func (p *Planner) Plan() *Result {
	p.leaveOutside()
	p.leaveSecondNames()
	p.own()
	p.setAside()
	p.nameAll()
	p.disk.Ahead(p.toLook())
	p.leaveSameFolders()
	p.tellApart()
	p.follow()
	for _, v := range p.videos {
		p.operate(v)
	}
	p.leaveCollisions()
	p.note()
	return p.result()
}

// leaveSecondNames leaves all names of a file but the first in byte order.
func (p *Planner) leaveSecondNames() {
	for _, v := range p.videos {
		if v.item.Links < 2 || v.item.Inode == 0 {
			continue
		}
		key := identity{v.item.Device, v.item.Inode}
		first, known := p.first[key]
		switch {
		case !known:
			p.first[key] = v
		case first.item == v.item:
			v.leave(SameFile, "it was named before")
		case first.at() < v.at():
			v.leave(SameFile, "the same file as "+first.path())
		default:
			first.leave(SameFile, "the same file as "+v.path())
			p.first[key] = v
		}
	}
	p.compact()
}

// at is where the video is.
func (v *video) at() string { return join(v.dir.path, v.item.Name) }

// join joins a folder and a name below it, of which both are in their shortest form.
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

// compact forgets what is left.
func (p *Planner) compact() {
	p.videos = slices.DeleteFunc(p.videos, func(v *video) bool { return v.code != "" })
}

// result makes the plan of what is not left.
func (p *Planner) result() *Result {
	r := &Result{Plan: Plan{
		ID: p.o.ID, Made: p.o.Made, Mode: p.o.Mode, Layout: p.o.Layout.Name, Folders: p.ownNames(),
	}, Foreign: p.foreign}
	for _, s := range p.o.Sources {
		r.Sources = append(r.Sources, s.Root)
	}
	for _, t := range p.o.Targets {
		r.Targets = append(r.Targets, t.Root)
	}
	r.Units = make([]Unit, 0, len(p.videos))
	for _, v := range p.all {
		if v.item != nil && !library.IsVideo(v.item.Name) {
			p.told[v.item] = true
		}
		if v.code != "" {
			p.tell(r, v)
			continue
		}
		r.InPlace += v.inPlace
		if v.parted > 0 {
			r.Parted = append(r.Parted, v.path())
		}
		for i := range v.belongs {
			s := &v.belongs[i]
			p.told[s.item()] = true
			if s.code != "" {
				r.Left = append(r.Left, p.leftFile(s.dir, s.item().Name, s.code, s.why))
			}
		}
		if len(v.ops) > 0 {
			r.Units = append(r.Units, Unit{
				Source: v.source, Target: v.target, Dir: below(v.dir.path, p.o.Sources[v.source].Path), Ops: v.ops, Work: v.work, Follows: v.kind != isVideo,
			})
		}
	}
	r.Left = append(r.Left, p.strays...)
	r.Unowned = p.unowned()
	return r
}

// leftFile returns what is told of a file that no record is about: it has the form of those that are named as PATH was.
func (p *Planner) leftFile(dir *folder, name string, code Code, why string) LeftFile {
	shown := dir.path
	if source := p.sourceOf(dir.path); source >= 0 {
		if root := &p.o.Sources[source]; root.Given != "" {
			shown = join(root.Given, below(dir.path, root.Path))
		}
	}
	return LeftFile{Path: join(shown, name), Real: join(dir.path, name), Code: code, Why: why}
}

// tell lists a file that is left, with the first of a conflict all of them.
func (p *Planner) tell(r *Result, v *video) {
	group := []*video{v}
	if rivals := p.rivals[v]; rivals != nil {
		group, *rivals = *rivals, nil
	}
	for _, v := range group {
		l := LeftFile{Path: v.path(), Code: v.code, Why: v.why}
		switch at := v.dir; {
		case v.kind == isWide:
			l = p.leftFile(v.dir, v.name, v.code, v.why)
		case at != nil:
			l.Real = join(at.path, v.name)
		default:
			if of := p.origin(v.given); of.err == nil {
				l.Real = join(of.dir.path, v.name)
			}
		}
		r.Left = append(r.Left, l)
	}
}

// unowned counts the files that are in no unit and of which nothing is told, in the folders that a walk has read, else in those that
// planning has.
func (p *Planner) unowned() map[string]int {
	dirs := p.disk.Walked()
	if len(dirs) == 0 {
		dirs = slices.Collect(maps.Keys(p.folders))
	}
	out := map[string]int{}
	for _, dir := range dirs {
		if p.sourceOf(dir) < 0 {
			continue
		}
		f := p.list(dir)
		for i := range f.items {
			if item := &f.items[i]; item.Type == TypeRegular && !library.IsVideo(item.Name) && !p.told[item] {
				out[extension(item.Name)]++
			}
		}
	}
	return out
}
