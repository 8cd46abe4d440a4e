package apply

import (
	"crypto/rand"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/organize"
)

// run is the fixed part of a journal: everything to do, and the state of files and folders before the run.
type run struct {
	runHeader
	Dirs       []folder      // parents come before their children
	Ops        []op          // in the order of their last steps
	Steps      []step        // in the order of execution
	DirPaths   []string      // the paths of Dirs; set by indexPaths
	NewFolders map[place]int // index in Dirs of the folders that the run creates, by place; set by indexPaths
}

type runHeader struct {
	ID            string          `json:"id"` // the plan's ID, unless another run has it
	PlanID        string          `json:"plan"`
	Begun         time.Time       `json:"begun"`
	Mode          organize.Mode   `json:"mode"`
	Layout        string          `json:"layout"`
	AbsoluteLinks bool            `json:"absolute_links,omitempty"` // create symbolic links with absolute paths
	PartPrefix    string          `json:"parts"`                    // random prefix for the names of unfinished copies
	Sources       []organize.Root `json:"sources"`
	Targets       []organize.Root `json:"targets"`
}

type folder struct {
	Name      string         `json:"folder"`              // the name; for a root, the whole path
	Parent    int            `json:"parent"`              // index in Dirs; -1 for a root
	New       bool           `json:"new,omitempty"`       // the run creates it
	Removable bool           `json:"removable,omitempty"` // the run removes it once it is empty
	Mode      uint32         `json:"mode,omitempty"`
	UID       uint32         `json:"uid,omitempty"`
	GID       uint32         `json:"gid,omitempty"`
	MTime     organize.Stamp `json:"mtime,omitzero"`
}

type op struct {
	Index       int // index in Ops
	N           int // the file's number in the plan, from 1
	Unit        int // the unit's number in the plan, from 1
	Bundle      int // the first of the units that are carried out or rolled back together, from 1
	Verb        organize.Verb
	CrossDevice bool // a move to another file system
	Size        int64
	MTime       organize.Stamp
	BirthTime   organize.Stamp
	Inode       uint64
	EndsSum     uint64 // hash of both ends of the file, if its inode may change; 0 if not computed
	From        place  // for an NFO file, the same as To
	To          place
	Text        string // the content of an NFO file
	TempNumber  int    // the number of the move's temporary name in the source's folder; 0 if it needs none
}

// isInode reports whether a file has the operation's inode. Inodes are used again, so the file must also have the birth
// time or, if that is unknown, the planned size and time.
func (o *op) isInode(info Info) bool {
	return info.Inode == o.Inode && (info.BirthTime == o.BirthTime ||
		o.BirthTime == organize.Stamp{} && info.Size == o.Size && info.MTime == o.MTime)
}

func (o *op) copiesContent() bool {
	return o.Verb == organize.VerbCopy || o.Verb == organize.VerbReflink || o.CrossDevice
}

type place struct {
	Dir  int // index in Dirs
	Name string
}

type step struct {
	Op   int // index in Ops
	Kind organize.StepKind
}

func (r *run) dirPath(dir int) string {
	if dir < len(r.DirPaths) {
		return r.DirPaths[dir]
	}
	d := &r.Dirs[dir]
	if d.Parent < 0 {
		return d.Name
	}
	return path.Join(r.dirPath(d.Parent), d.Name)
}

func (r *run) indexPaths() {
	r.DirPaths, r.NewFolders = nil, map[place]int{}
	for i := range r.Dirs {
		r.DirPaths = append(r.DirPaths, r.dirPath(i))
		if d := &r.Dirs[i]; d.New {
			r.NewFolders[place{d.Parent, d.Name}] = i
		}
	}
}

// existingBase returns the nearest parent of a folder, or the folder itself, that existed before the run.
func (r *run) existingBase(dir int) int {
	for r.Dirs[dir].New {
		dir = r.Dirs[dir].Parent
	}
	return dir
}

func (r *run) sourcePath(o *op) string {
	if o.Verb == organize.VerbNFO {
		return ""
	}
	return r.pathOf(o.From)
}

func (r *run) pathOf(p place) string { return strings.TrimSuffix(r.dirPath(p.Dir), "/") + "/" + p.Name }

func (r *run) tempPlace(o *op) place {
	return place{o.From.Dir, organize.TempName(r.ID, o.TempNumber)}
}

func (r *run) stepPlaces(s step) (from, to place) {
	o := &r.Ops[s.Op]
	from, to = o.From, o.To
	if s.Kind == organize.StepToTemp {
		to = r.tempPlace(o)
	} else if s.Kind == organize.StepFromTemp {
		from = r.tempPlace(o)
	}
	return from, to
}

func (r *run) touchedDirs() []bool {
	out := make([]bool, len(r.Dirs))
	for i := range r.Ops {
		o := &r.Ops[i]
		out[o.To.Dir] = true
		if o.Verb == organize.VerbMove {
			out[o.From.Dir] = true
		}
	}
	for i := range r.Dirs {
		if d := &r.Dirs[i]; d.Parent >= 0 && (d.New || d.Removable) {
			out[d.Parent] = true
		}
		out[i] = out[i] || r.isProbed(i) // the probe creates a folder in it
	}
	return out
}

func (r *run) isTargetRoot(dir int) bool {
	d := &r.Dirs[dir]
	return d.Parent < 0 && slices.ContainsFunc(r.Targets, func(t organize.Root) bool { return t.Path == d.Name })
}

// NewID returns an ID for a plan or a run: the time and four random characters, such as 20060102-150405-k3x9.
func NewID(at time.Time) string {
	const letters = "0123456789abcdefghijklmnopqrstuvwxyz"
	random := make([]byte, 4)
	_, _ = rand.Read(random) // rand.Read never fails
	for i, b := range random {
		random[i] = letters[int(b)%len(letters)]
	}
	return at.UTC().Format("20060102-150405-") + string(random)
}
