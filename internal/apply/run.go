package apply

import (
	"crypto/rand"
	"path"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/organize"
)

// run is the fixed part of a journal: everything to do, and the state of the files and folders before it.
type run struct {
	runHeader
	Dirs  []folder      // parents come before their children
	Ops   []op          // in the order in which they finish
	Steps []step        // in the order of execution
	Paths []string      // of Dirs; set by findPaths
	Made  map[place]int // the folders to create, by place; set by findPaths
}

type runHeader struct {
	ID       string          `json:"id"` // the plan's, unless another run has that ID
	Plan     string          `json:"plan"`
	Begun    time.Time       `json:"begun"`
	Mode     organize.Mode   `json:"mode"`
	Layout   string          `json:"layout"`
	Absolute bool            `json:"absolute_links,omitempty"` // symbolic links hold absolute paths
	Parts    string          `json:"parts"`                    // random; the names of unfinished copies begin with it
	Sources  []organize.Root `json:"sources"`
	Targets  []organize.Root `json:"targets"`
}

type folder struct {
	Name      string         `json:"folder"`              // a root's is its path
	Parent    int            `json:"parent"`              // index in Dirs; -1 for a root
	New       bool           `json:"new,omitempty"`       // the run creates it
	Removable bool           `json:"removable,omitempty"` // the run removes it once it is empty
	Mode      uint32         `json:"mode,omitempty"`
	UID       uint32         `json:"uid,omitempty"`
	GID       uint32         `json:"gid,omitempty"`
	MTime     organize.Stamp `json:"mtime,omitzero"`
}

type op struct {
	Index  int // index in Ops
	N      int // in the plan, from 1
	Unit   int // in the plan, from 1
	Bundle int // the first unit of those that must be carried out together
	Verb   organize.Verb
	Across bool // a move to another file system
	Size   int64
	MTime  organize.Stamp
	Birth  organize.Stamp
	Inode  uint64
	Sum    uint64 // of both ends of the file, if its file system may not keep inodes; 0: unknown
	From   place  // an NFO file's is the same as To
	To     place
	Text   string // the content of an NFO file
	Temp   int    // the number of the temporary name, in the source's folder, that a move goes through; 0: none
}

func (o *op) copies() bool { return o.Verb == organize.Copy || o.Verb == organize.Reflink || o.Across }

type place struct {
	Dir  int
	Name string
}

type step struct {
	Op  int // index in Ops
	Leg organize.Leg
}

func (r *run) path(dir int) string {
	if dir < len(r.Paths) {
		return r.Paths[dir]
	}
	d := &r.Dirs[dir]
	if d.Parent < 0 {
		return d.Name
	}
	return path.Join(r.path(d.Parent), d.Name)
}

func (r *run) findPaths() {
	r.Paths, r.Made = nil, map[place]int{}
	for i := range r.Dirs {
		r.Paths = append(r.Paths, r.path(i))
		if d := &r.Dirs[i]; d.New {
			r.Made[place{d.Parent, d.Name}] = i
		}
	}
}

func (r *run) base(dir int) int {
	for r.Dirs[dir].New {
		dir = r.Dirs[dir].Parent
	}
	return dir
}

func (r *run) sourceOf(o *op) string {
	if o.Verb == organize.NFO {
		return ""
	}
	return r.pathOf(o.From)
}

func (r *run) pathOf(p place) string { return strings.TrimSuffix(r.path(p.Dir), "/") + "/" + p.Name }

func (r *run) temp(o *op) place {
	return place{o.From.Dir, organize.TempName(r.ID, o.Temp)}
}

func (r *run) ends(s step) (from, to place) {
	o := &r.Ops[s.Op]
	from, to = o.From, o.To
	switch s.Leg {
	case organize.Aside:
		to = r.temp(o)
	case organize.Home:
		from = r.temp(o)
	case organize.Whole:
	}
	return from, to
}

func (r *run) touched() []bool {
	out := make([]bool, len(r.Dirs))
	for i := range r.Ops {
		o := &r.Ops[i]
		out[o.To.Dir] = true
		if o.Verb == organize.Move {
			out[o.From.Dir] = true
		}
	}
	for i := range r.Dirs {
		if d := &r.Dirs[i]; d.Parent >= 0 && (d.New || d.Removable) {
			out[d.Parent] = true
		}
	}
	for i := range r.Dirs {
		out[i] = out[i] || r.isProbed(i) // the probe creates a folder in it
	}
	return out
}

func (r *run) isTarget(dir int) bool {
	d := &r.Dirs[dir]
	if d.Parent >= 0 {
		return false
	}
	for _, t := range r.Targets {
		if t.Path == d.Name {
			return true
		}
	}
	return false
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
