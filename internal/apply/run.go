package apply

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anivault/anivault/internal/lang"
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

type journal struct {
	run        *run
	progress   progress
	file       File
	appending  sync.Mutex // for what follows, and progress
	nextOffset int64      // offset of the next mark
	err        error      // the first error of writing a mark; sync returns it
}

func journalName(id string) string { return id + ".journal" }

// newJournalName returns the name of a journal until it is completely written.
func newJournalName(id string) string { return "." + id + ".journal.new" }

func newJournal(dir Dir, r *run) (_ *journal, err error) {
	name := newJournalName(r.ID)
	file, err := dir.Create(name)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			file.Close()
			_ = dir.Unlink(name) // the journal is incomplete, so the run has not changed anything yet
		}
	}()
	if err := file.Lock(); err != nil {
		return nil, err
	}
	text := r.encode()
	if _, err := file.WriteAt(text, 0); err != nil {
		return nil, err
	}
	if err := file.Allocate(int64(len(text)) + r.reservedBytes()); err != nil {
		return nil, err
	}
	if err := file.Sync(); err != nil {
		return nil, err
	}
	linked, err := renameExclusive(dir, name, dir, journalName(r.ID), false)
	if linked && err == nil {
		err = dir.Unlink(name)
	}
	if err != nil {
		return nil, err
	}
	if err := dir.Sync(); err != nil {
		return nil, err
	}
	return &journal{run: r, progress: newProgress(len(r.Ops), len(r.Dirs)), file: file, nextOffset: int64(len(text))}, nil
}

// openJournal reads a whole journal. A writable one is also locked; if another process holds the lock, the error is
// ErrAtWork. If the journal can't be trusted, the error wraps a *JournalError.
func openJournal(dir Dir, id string, writable bool) (_ *journal, err error) {
	open := dir.OpenForReading
	if writable {
		open = dir.OpenForWriting
	}
	file, err := open(journalName(id))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			file.Close()
		}
	}()
	if writable {
		if err := file.Lock(); err != nil {
			return nil, err
		}
	}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	text, err := readRange(file, 0, info.Size)
	if err != nil {
		return nil, err
	}
	r, at, err := readRun(text)
	if err == nil && r.ID != id {
		err = &JournalError{Why: lang.Textf("it belongs to another run, %s", r.ID)}
	}
	if err != nil {
		return nil, lang.Error("the run %s: %w", id, err)
	}
	j := &journal{run: r, progress: newProgress(len(r.Ops), len(r.Dirs)), file: file}
	j.nextOffset = int64(at + j.progress.replay(text[at:]))
	if int64(len(text)) < int64(at)+r.reservedBytes() {
		j.progress.damagedMarks++ // journals are created at their full length, so this one was truncated
	}
	return j, nil
}

func readRange(f File, from, to int64) ([]byte, error) {
	text := make([]byte, to-from)
	n, err := f.ReadAt(text, from)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return text[:n], err
}

// readSummary reads only a journal's header and marks, so its cost does not depend on the number of files. With check
// it also reads the rest to verify the checksum. If the error is a *JournalError, the Run holds the information that
// could be read.
func readSummary(dir Dir, id string, check bool) (*Run, error) {
	file, err := dir.OpenForReading(journalName(id))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	const longestHeader = 8 << 20 // it lists the roots
	text, err := bufio.NewReader(io.NewSectionReader(file, 0, min(info.Size, longestHeader))).ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	h, length, err := readHeader(text)
	marks := int64(length + h.Bytes)
	switch {
	case err != nil:
	case h.ID != id:
		err = &JournalError{Why: lang.Textf("it belongs to another run, %s", h.ID)}
	case marks > info.Size:
		err = &JournalError{Why: "its end is missing"}
	case check:
		if text, err = readRange(file, 0, marks); err == nil {
			_, _, err = h.checkFixedPart(text, length)
		}
	}
	p := newProgress(0, 0)
	if err == nil {
		const few = 64 << 10 // zeros follow the last mark
		text, err = readRange(file, marks, min(info.Size, marks+few))
		if err == nil && len(text) == few && text[few-1] != 0 {
			text, err = readRange(file, marks, info.Size)
		}
		if p = newProgress(0, h.Folders); bytes.Contains(text, []byte(`"file":`)) {
			p = newProgress(h.Files, h.Folders)
		}
		p.replay(text)
	}
	out := p.summary(h.runHeader, h.Files)
	return &out, err
}
