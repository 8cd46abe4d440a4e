package apply

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/anivault/anivault/internal/organize"
)

// Stage is how far a run has come.
type Stage string

// The stages. A run in Applying or Undoing is at work or was interrupted.
const (
	Planned  Stage = "planned" // the journal is written, nothing is changed
	Applying Stage = "apply"   // at work, or interrupted
	Done     Stage = "done"    // finished
	Undoing  Stage = "undo"    // being undone, or interrupted while being undone
	Undone   Stage = "undone"  // everything is put back
	Kept     Stage = "kept"    // undone, except for files that could not be put back safely
	// Abandoned is an interrupted run that the user gave up. New runs may begin.
	Abandoned Stage = "abandoned"
)

// Unfinished reports whether a run is at work or was interrupted.
func (s Stage) Unfinished() bool { return s == Planned || s == Applying || s == Undoing }

// progress is the content of a journal's marks. They don't record which steps were done; the file system shows that.
type progress struct {
	stage   Stage
	undoing bool      // the interrupted stage is an undo
	at      time.Time // when the stage began
	findings
	probed    bool
	files     []fileProgress
	folders   []folderProgress
	returning []int // put back by an undo that has not finished yet
	damaged   int   // unreadable marks before the last line
}

type fileProgress struct {
	copy     *copyMark     // identifies the copy at the target
	returned *copyMark     // identifies the copy that came back to the source
	notDone  organize.Code // why it was not carried out
	kept     organize.Code // why it was not put back
	back     bool          // a finished undo has put it back; no later run of Resume or Undo touches it

	lostAttributes bool // the copy could not keep all attributes; not in the journal
	badCRC         bool // the content doesn't match the CRC-32 in the name; not in the journal
}

type folderProgress struct {
	after   organize.Stamp // its time when the run ended; zero: unknown
	changed bool           // somebody else has changed it since, so its time is not restored
	lost    bool           // it did not exist when the undo began
}

// mark is one line after a journal's fixed part. In the file, each line ends with a CRC-32C of the rest.
type mark struct {
	Mark   string          `json:"mark"`
	At     time.Time       `json:"at,omitzero"` // of stages only
	File   *int            `json:"file,omitempty"`
	Folder *int            `json:"folder,omitempty"`
	Code   organize.Code   `json:"code,omitempty"`
	Time   *organize.Stamp `json:"time,omitempty"`
	Copy   *copyMark       `json:"copy,omitempty"`
	Probe  *findings       `json:"probe,omitempty"`
}

// copyMark identifies a copy that the run made. It is written before the copy gets its final name, so it proves that a
// file is the run's.
type copyMark struct {
	Inode uint64         `json:"inode"`
	Size  int64          `json:"size"`
	MTime organize.Stamp `json:"mtime"`
	Birth organize.Stamp `json:"birth,omitzero"`
	Sum   uint64         `json:"xxh64,omitempty"` // of the content; 0 for a reflink
	Mode  uint32         `json:"mode,omitempty"`  // of the original
}

// findings are the results of probing the file systems.
type findings struct {
	MoveByLink     bool `json:"move_by_link,omitempty"`    // the file system can't rename without replacing
	UnstableInodes bool `json:"unstable_inodes,omitempty"` // a renamed file gets another inode
	OneWay         bool `json:"one_way,omitempty"`         // a source's file system can't take files back
}

// The kinds of marks, besides the stages.
const (
	markProbe    = "probe"
	markAfter    = "after"    // a folder's time at the end of the run
	markChanged  = "changed"  // a folder that somebody else changed
	markLost     = "lost"     // a folder that no longer exists
	markCopied   = "copied"   // a copy at the target
	markReturned = "returned" // a copy back at the source
	markNotDone  = "not_done"
	markKept     = "kept"
	markBack     = "back"
	markOK       = "ok" // clears an earlier not_done or kept
)

func newProgress(files, folders int) progress {
	return progress{stage: Planned, files: make([]fileProgress, files), folders: make([]folderProgress, folders)}
}

// room is how many bytes are reserved for marks, including those of an undo, so a full disk can't stop it.
func (r *run) room() int64 {
	room := 4096 + 96*int64(len(r.Ops)) + 220*int64(len(r.Dirs))
	for i := range r.Ops {
		if r.Ops[i].copies() {
			room += 400
		}
	}
	return room
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const crcFormat = `,"crc":"%08x"}`

func (m *mark) line() []byte {
	text, _ := json.Marshal(m) // a mark always has a JSON form
	text = text[:len(text)-1]
	return append(fmt.Appendf(text, crcFormat, crc32.Checksum(text, castagnoli)), '\n')
}

func readMark(line []byte) (m mark, whole bool) {
	at := len(line) - len(fmt.Sprintf(crcFormat, 0))
	if at < 0 || string(line[at:]) != fmt.Sprintf(crcFormat, crc32.Checksum(line[:at], castagnoli)) {
		return m, false
	}
	return m, json.Unmarshal(line, &m) == nil
}

// replay reads the marks and returns the offset for the next one. An incomplete last line is a torn write: the next
// mark overwrites it. Other unreadable lines are counted as damaged and skipped.
func (p *progress) replay(text []byte) (end int) {
	text = bytes.TrimRight(text, "\x00")
	for {
		line, _, whole := bytes.Cut(text[end:], []byte("\n"))
		if !whole {
			return end
		}
		end += len(line) + 1
		if m, ok := readMark(line); ok {
			p.take(&m)
		} else {
			p.damaged++
		}
	}
}

func (p *progress) take(m *mark) {
	switch {
	case !m.At.IsZero():
		p.enter(Stage(m.Mark), m.At)
	case m.Probe != nil:
		p.probed, p.findings = true, *m.Probe
	case m.Folder != nil && *m.Folder >= 0 && *m.Folder < len(p.folders):
		switch f := &p.folders[*m.Folder]; m.Mark {
		case markAfter:
			if m.Time != nil {
				f.after = *m.Time
			}
		case markChanged:
			f.changed = true
		case markLost:
			f.lost = true
		}
	case m.File != nil && *m.File >= 0 && *m.File < len(p.files):
		p.takeFile(*m.File, m)
	}
}

func (p *progress) takeFile(i int, m *mark) {
	if m.Mark == markBack {
		p.returning = append(p.returning, i)
		return
	}
	switch f := &p.files[i]; m.Mark {
	case markCopied:
		f.copy = m.Copy
	case markReturned:
		f.returned = m.Copy
	case markNotDone:
		f.notDone = m.Code
	case markKept:
		f.kept = m.Code
	case markOK:
		f.notDone, f.kept = "", ""
	}
}

func (p *progress) enter(s Stage, at time.Time) {
	p.stage, p.at = s, at
	p.undoing = s == Undoing || s == Abandoned && p.undoing
	for _, i := range p.returning {
		if s.Unfinished() {
			break // the undo was interrupted while writing these marks
		}
		p.files[i].back, p.files[i].kept = true, ""
	}
	p.returning = nil
}

// mark appends a line. If writing it fails, the next sync returns the error.
func (j *journal) mark(m mark) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.progress.take(&m)
	text := m.line()
	if _, err := j.file.WriteAt(text, j.end); err != nil {
		if j.err == nil {
			j.err = err
		}
		return
	}
	j.unsynced = true
	j.end += int64(len(text))
}

func (j *journal) markFile(i int, word string, code organize.Code) {
	j.mark(mark{Mark: word, File: new(i), Code: code})
}

func (j *journal) markFolder(i int, word string) { j.mark(mark{Mark: word, Folder: new(i)}) }

func (j *journal) sync() error {
	if err := j.file.Sync(); err != nil {
		return err
	}
	err := j.err
	j.err, j.unsynced = nil, false
	return err
}

// enter begins a stage durably. It first makes all earlier marks durable, so a power loss can't lose one of them and
// keep the stage.
func (j *journal) enter(s Stage, now time.Time) error {
	if j.unsynced {
		if err := j.sync(); err != nil {
			return err
		}
	}
	j.mark(mark{Mark: string(s), At: now.UTC().Truncate(time.Second)})
	return j.sync()
}

func (j *journal) close() {
	if j.file != nil {
		j.file.Close()
	}
}
