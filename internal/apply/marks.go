package apply

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/organize"
)

// Stage is how far a run has come.
type Stage string

// The stages. Applying and Undoing are those of a run that is at work or was cut off.
const (
	Planned  Stage = "planned" // written down, and nothing done
	Applying Stage = "apply"   // at work, or cut off
	Done     Stage = "done"    // at its end
	Undoing  Stage = "undo"    // being put back, or cut off in it
	Undone   Stage = "undone"  // put back
	Kept     Stage = "kept"    // put back but for what could not be put back safely
	// Abandoned is a run that was cut off and that its user has given up: it stands in no other run's way.
	Abandoned Stage = "abandoned"
)

// Unfinished reports whether a run was cut off, if it is not at work.
func (s Stage) Unfinished() bool { return s == Planned || s == Applying || s == Undoing }

// marks are what a journal says behind its fixed part. What was done they don't say: that is read from the file system.
type marks struct {
	stage    Stage
	undoing  bool      // it was being put back when it was cut off
	at       time.Time // of the stage
	probed   bool
	byLink   bool                   // nothing can be renamed without replacing, so files are moved by links
	loose    bool                   // inodes are not stable over a rename
	stuck    bool                   // what leaves a source's file system can't be brought back to it
	after    map[int]organize.Stamp // the times of folders when the run had ended
	keep     map[int]bool           // folders that others have changed since: their times are left
	lost     map[int]bool           // folders that were not there when undoing began
	copies   map[int]*copied        // by operation: its copy
	returned map[int]*copied        // by operation: the copy that came back
	not      map[int]organize.Code  // by operation: why it was not done
	kept     map[int]organize.Code  // by operation: why it was not put back
	back     map[int]bool           // by operation: an undo that came to its end has put it back; no run touches it again
	backNext []int                  // those that will be, if the next mark is that of the end
}

// journal is an open journal: a run, and marks that are added to it, by several lanes at once.
type journal struct {
	run   *run
	files int // it is about
	marks marks
	file  File
	end   int64  // where the next mark goes
	chain uint32 // the CRC of the last mark, over which that of the next one goes
	err   error  // the first mark that could not be written
	mu    sync.Mutex
}

// passed reports whether a mark says that a file was not carried out, or not put back.
func (j *journal) passed(i int) (not, kept bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.marks.not[i] != "", j.marks.kept[i] != ""
}

// The words of marks that say what a copy is known by.
const (
	markCopied   = "copied"
	markReturned = "returned"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func newMarks() marks {
	return marks{
		stage: Planned, after: map[int]organize.Stamp{}, keep: map[int]bool{},
		lost: map[int]bool{}, copies: map[int]*copied{}, returned: map[int]*copied{}, not: map[int]organize.Code{}, kept: map[int]organize.Code{}, back: map[int]bool{},
	}
}

// room is how much is set aside for marks, the undo's too, so that a full disk can't stop it.
func (r *run) room() int64 {
	room := 4096 + 64*int64(len(r.Ops)) + 250*int64(len(r.Dirs))
	for i := range r.Ops {
		if r.Ops[i].copies() {
			room += 320
		}
	}
	return room
}

func journalName(id string) string { return id + ".journal" }

// unwritten is the name of a journal until it is complete.
func unwritten(id string) string { return "." + id + ".journal.new" }

// newJournal writes a run down, durably, before anything of it is done.
func newJournal(dir Dir, r *run) (_ *journal, err error) {
	name := unwritten(r.ID)
	file, err := dir.Create(name)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			file.Close()
			_ = dir.Unlink(name) // it was never complete, and nothing was done by it
		}
	}()
	if err := file.Lock(); err != nil {
		return nil, err
	}
	text := r.text()
	if _, err := file.WriteAt(text, 0); err != nil {
		return nil, err
	}
	if err := file.Allocate(int64(len(text)) + r.room()); err != nil {
		return nil, err
	}
	if err := file.Sync(); err != nil {
		return nil, err
	}
	if err := publish(dir, name, journalName(r.ID)); err != nil {
		return nil, err
	}
	if err := dir.Sync(); err != nil {
		return nil, err
	}
	return &journal{run: r, files: len(r.Ops), marks: newMarks(), file: file, end: int64(len(text))}, nil
}

// publish gives a file its name, and replaces none.
func publish(dir Dir, from, to string) error {
	err := dir.Rename(from, dir, to)
	if !cantExclude(err) {
		return err
	}
	if err := dir.Link(from, dir, to); err != nil {
		return err
	}
	return dir.Unlink(from)
}

// cantExclude reports whether a file system can't rename without replacing.
func cantExclude(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EOPNOTSUPP)
}

// openJournal reads a journal whole; one that may be written is locked, ErrAtWork where another process has it. The error wraps a
// *JournalError where it can't be trusted.
func openJournal(dir Dir, id string, writable bool) (*journal, error) {
	open := dir.Read
	if writable {
		open = dir.Edit
	}
	file, err := open(journalName(id))
	if err != nil {
		return nil, err
	}
	var text []byte
	if writable {
		err = file.Lock()
	}
	if err == nil {
		text, err = readAll(file)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	r, at, err := readRun(text)
	if err == nil && r.ID != id {
		err = &JournalError{Why: "it is that of another run, " + r.ID}
	}
	if err != nil {
		file.Close()
		return nil, lang.Error("the run %s: %w", id, err)
	}
	j := &journal{run: r, files: len(r.Ops), marks: newMarks(), file: file, end: int64(at)}
	j.replay(text[at:])
	return j, nil
}

func readAll(f File) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	text := make([]byte, info.Size)
	n, err := f.ReadAt(text, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return text[:n], err
}

// replay takes over the marks up to the first one that is torn.
func (j *journal) replay(text []byte) {
	for {
		i := bytes.IndexByte(text, '\n')
		if i < 0 {
			return
		}
		line, crc, found := cutLast(string(text[:i]))
		sum := crc32.Update(j.chain, castagnoli, []byte(line))
		if !found || crc != fmt.Sprintf("%08x", sum) {
			return
		}
		j.marks.take(line, j.files)
		j.chain = sum
		j.end += int64(i) + 1
		text = text[i+1:]
	}
}

func cutLast(line string) (before, last string, found bool) {
	i := strings.LastIndexByte(line, ' ')
	if i < 0 {
		return "", "", false
	}
	return line[:i], line[i+1:], true
}

// take understands one mark of a run of so many files. One of an unknown word is passed over.
func (m *marks) take(line string, files int) {
	f := fields{rest: line}
	word := f.word()
	switch s := Stage(word); s {
	case Applying, Done, Undoing, Undone, Kept, Abandoned:
		if at, err := time.Parse(time.RFC3339, f.rest); err == nil { // else it is "kept" of one file
			m.enter(s, at)
			return
		}
	case Planned:
	}
	if word == "probe" {
		m.probed, m.byLink, m.loose, m.stuck = true, f.word() == "link", f.word() == "loose", f.word() == "stuck"
		return
	}
	i := f.int()
	if f.err != nil {
		return
	}
	switch word {
	case "after":
		m.after[i] = f.stamp()
	case "keep":
		m.keep[i] = true
	case "lost":
		m.lost[i] = true
	case markCopied, markReturned:
		made := &copied{inode: f.number(10, 64), size: int64(f.number(10, 63)), mtime: f.stamp(), birth: f.stamp(), sum: f.number(16, 64)}
		if f.rest != "" {
			made.mode = uint32(f.number(8, 12))
		}
		if f.err != nil || i >= files {
			return
		}
		if word == markCopied {
			m.copies[i] = made
		} else {
			m.returned[i] = made
		}
	case "not":
		if i < files {
			m.not[i] = organize.Code(f.rest)
		}
	case "kept":
		if i < files {
			m.kept[i] = organize.Code(f.rest)
		}
	case "back":
		m.backNext = append(m.backNext, i)
	case "ok":
		delete(m.not, i)
		delete(m.kept, i)
	}
}

// enter takes over a stage.
func (m *marks) enter(s Stage, at time.Time) {
	m.stage, m.at = s, at
	m.undoing = s == Undoing || s == Abandoned && m.undoing
	for _, i := range m.backNext {
		if s.Unfinished() {
			break // the undo was cut off in writing them
		}
		m.back[i] = true
		delete(m.kept, i)
	}
	m.backNext = nil
}

// mark adds a line. That it could not be written is told by the next sync.
func (j *journal) mark(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	line := fmt.Sprintf(format, args...)
	j.marks.take(line, j.files)
	sum := crc32.Update(j.chain, castagnoli, []byte(line))
	text := fmt.Appendf(nil, "%s %08x\n", line, sum)
	if _, err := j.file.WriteAt(text, j.end); err != nil {
		if j.err == nil {
			j.err = err
		}
		return
	}
	j.chain = sum
	j.end += int64(len(text))
}

// sync makes the marks durable.
func (j *journal) sync() error {
	if err := j.file.Sync(); err != nil {
		return err
	}
	err := j.err
	j.err = nil
	return err
}

// enter begins a stage, durably.
func (j *journal) enter(s Stage, now time.Time) error {
	j.mark("%s %s", s, now.UTC().Format(time.RFC3339))
	return j.sync()
}

func (j *journal) close() {
	if j.file != nil {
		j.file.Close()
	}
}
