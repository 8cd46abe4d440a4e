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

// The stages. Applying and Undoing are those of a run that is at work or was interrupted.
const (
	Planned  Stage = "planned" // written down, and nothing done
	Applying Stage = "apply"   // at work, or interrupted
	Done     Stage = "done"    // at its end
	Undoing  Stage = "undo"    // being put back, or interrupted in it
	Undone   Stage = "undone"  // put back
	Kept     Stage = "kept"    // put back but for what could not be put back safely
	// Abandoned is an interrupted run that its user has given up: it stands in no other run's way.
	Abandoned Stage = "abandoned"
)

// Unfinished reports whether a run was interrupted, if it is not at work.
func (s Stage) Unfinished() bool { return s == Planned || s == Applying || s == Undoing }

// progress is what a journal's marks say. What was done they don't say: that is read from the file system.
type progress struct {
	stage   Stage
	undoing bool      // it was being put back when it was interrupted
	at      time.Time // of the stage
	findings
	probed    bool
	files     []fileProgress
	folders   []folderProgress
	returning []int // files that are back once the undo has ended
	damaged   int   // marks that can't be read, with others behind them
}

type fileProgress struct {
	copy     *copyMark     // what its copy is known by
	returned *copyMark     // the same of the copy that came back
	notDone  organize.Code // why it was not done
	kept     organize.Code // why it was not put back
	back     bool          // an undo that came to its end has put it back; no run touches it again

	lostAttributes bool // its copy could not keep all attributes; in no mark, as is the next
	badCRC         bool // its content has not the CRC-32 of its name
}

type folderProgress struct {
	after   organize.Stamp // its time when the run had ended; zero: not known
	changed bool           // others have changed it since: its time stays
	lost    bool           // it was not there when undoing began
}

// mark is one line behind a journal's fixed part. In its form in the file a CRC-32C of the rest comes last.
type mark struct {
	Mark   string          `json:"mark"`
	At     time.Time       `json:"at,omitzero"` // of a stage
	File   *int            `json:"file,omitempty"`
	Folder *int            `json:"folder,omitempty"`
	Code   organize.Code   `json:"code,omitempty"`
	Time   *organize.Stamp `json:"time,omitempty"`
	Copy   *copyMark       `json:"copy,omitempty"`
	Probe  *findings       `json:"probe,omitempty"`
}

// copyMark is what a copy of ours is known by: the proof that a file is ours, marked before the copy gets its name.
type copyMark struct {
	Inode uint64         `json:"inode"`
	Size  int64          `json:"size"`
	MTime organize.Stamp `json:"mtime"`
	Birth organize.Stamp `json:"birth,omitzero"`
	Sum   uint64         `json:"xxh64,omitempty"` // of its content; 0 of a clone
	Mode  uint32         `json:"mode,omitempty"`  // of what it was made of
}

// findings are what trying out the file systems has found.
type findings struct {
	MoveByLink     bool `json:"move_by_link,omitempty"`    // nothing can be renamed without replacing
	UnstableInodes bool `json:"unstable_inodes,omitempty"` // a renamed file has another inode
	OneWay         bool `json:"one_way,omitempty"`         // nothing can be brought back to a source's file system
}

// The words of marks that are no stages.
const (
	markProbe    = "probe"
	markAfter    = "after"    // a folder's time at the end
	markChanged  = "changed"  // by others
	markLost     = "lost"     // a folder
	markCopied   = "copied"   // a file
	markReturned = "returned" // the copy that came back
	markNotDone  = "not_done"
	markKept     = "kept"
	markBack     = "back"
	markOK       = "ok" // what was not done is done, what was kept is back
)

func newProgress(files, folders int) progress {
	return progress{stage: Planned, files: make([]fileProgress, files), folders: make([]folderProgress, folders)}
}

// room is how much is set aside for marks, the undo's too, so that a full disk can't stop it.
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
	text, _ := json.Marshal(m) // there is nothing in it that has no form in JSON
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

// replay takes over all marks that are whole, and returns where the next one goes: behind the last line, over what was
// torn when it was written. A line before that which can't be read is damaged: it stays, and those behind it count.
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
			break // the undo was interrupted in writing them
		}
		p.files[i].back, p.files[i].kept = true, ""
	}
	p.returning = nil
}

// mark adds a line. The next sync returns the error if it could not be written.
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

// enter begins a stage, durably, once all marks before it are durable: no power loss leaves a gap before it.
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
