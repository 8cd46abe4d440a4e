package apply

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/anivault/anivault/internal/organize"
)

// Stage is the state of a run.
type Stage string

// The stages. A run in StageApplying or StageUndoing is in progress, or was interrupted.
const (
	StagePlanned      Stage = "planned" // the journal is written; no file has been changed
	StageApplying     Stage = "apply"
	StageDone         Stage = "done" // finished
	StageUndoing      Stage = "undo"
	StageUndone       Stage = "undone" // all files are put back
	StagePartlyUndone Stage = "kept"   // undone, except for files that could not be put back safely
	// StageAbandoned is an interrupted run that the user gave up, so that new runs may begin.
	StageAbandoned Stage = "abandoned"
)

// IsUnfinished reports whether a run is in progress or was interrupted.
func (s Stage) IsUnfinished() bool {
	return s == StagePlanned || s == StageApplying || s == StageUndoing
}

// progress is the content of a journal's marks. Which steps were done is visible in the file system instead.
type progress struct {
	stage      Stage
	isUndo     bool      // the current or abandoned stage is an undo
	stageBegun time.Time // when the stage began
	probeResults
	probed        bool
	files         []fileProgress
	folders       []folderProgress
	pendingUndone []int // operations put back by an undo whose final stage has not been read yet
	damagedMarks  int   // unreadable lines, except an incomplete last one
}

type fileProgress struct {
	targetCopy   *copyMark     // identifies the copy at the target
	returnedCopy *copyMark     // identifies the copy back at the source
	notDone      organize.Code // why the operation was not carried out; "" if it was
	notRestored  organize.Code // why the file could not be put back; "" if it could
	undone       bool          // a finished undo has put the file back, so Resume and Undo ignore it

	lostAttributes bool // the copy could not keep all attributes; not in the journal
	badCRC         bool // the content doesn't match the CRC-32 in the name; not in the journal
}

type folderProgress struct {
	endTime      organize.Stamp // modification time when the run ended; zero if unknown
	changedSince bool           // another program changed the folder after the run, so its time is not restored
	missing      bool           // the folder did not exist when the undo began
}

// mark is one line after a journal's fixed part. In the file, each line ends with a CRC-32C of the rest of the line.
type mark struct {
	Mark   string          `json:"mark"`
	At     time.Time       `json:"at,omitzero"` // set only for stages
	File   *int            `json:"file,omitempty"`
	Folder *int            `json:"folder,omitempty"`
	Code   organize.Code   `json:"code,omitempty"`
	Time   *organize.Stamp `json:"time,omitempty"`
	Copy   *copyMark       `json:"copy,omitempty"`
	Probe  *probeResults   `json:"probe,omitempty"`
}

// copyMark identifies a copy by the run. It is written before the copy's final name, to prove whose file it is.
type copyMark struct {
	Inode     uint64         `json:"inode"`
	Size      int64          `json:"size"`
	MTime     organize.Stamp `json:"mtime"`
	BirthTime organize.Stamp `json:"birth,omitzero"`
	Sum       uint64         `json:"xxh64,omitempty"` // of the content; 0 for a reflink
	Mode      uint32         `json:"mode,omitempty"`  // the mode of the original
}

// probeResults are the results of probing the file systems of the roots.
type probeResults struct {
	MoveByLink     bool `json:"move_by_link,omitempty"`    // the file system can't rename without replacing
	UnstableInodes bool `json:"unstable_inodes,omitempty"` // a renamed file gets another inode
	CannotMoveBack bool `json:"one_way,omitempty"`         // a source's file system can neither rename nor link
}

// The kinds of marks. The names of stages are used as well.
const (
	markProbe       = "probe"
	markEndTime     = "after"    // the time of a folder at the end of the run
	markChanged     = "changed"  // another program has changed the folder
	markMissing     = "lost"     // the folder no longer exists
	markCopied      = "copied"   // identifies a copy at the target
	markReturned    = "returned" // identifies a copy back at the source
	markNotDone     = "not_done"
	markNotRestored = "kept"
	markUndone      = "back"
	markOK          = "ok" // clears an earlier not_done or kept
)

func newProgress(files, folders int) progress {
	return progress{stage: StagePlanned, files: make([]fileProgress, files), folders: make([]folderProgress, folders)}
}

// reservedBytes is how many bytes to reserve for marks, so that even with a full disk an undo can write its marks.
func (r *run) reservedBytes() int64 {
	room := 4096 + 96*int64(len(r.Ops)) + 220*int64(len(r.Dirs))
	for i := range r.Ops {
		if r.Ops[i].copiesContent() {
			room += 400
		}
	}
	return room
}

func endWithCRC(text []byte) string {
	return fmt.Sprintf(`,"crc":"%08x"}`, crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)))
}

// replay applies the marks and returns the offset for the next one. An incomplete last line comes from an interrupted
// write, and the next mark overwrites it. Other unreadable lines are counted as damaged and skipped.
func (p *progress) replay(text []byte) (end int) {
	text = bytes.TrimRight(text, "\x00")
	for {
		line, _, whole := bytes.Cut(text[end:], []byte("\n"))
		if !whole {
			return end
		}
		end += len(line) + 1
		var m mark
		at := len(line) - len(endWithCRC(nil))
		if at >= 0 && string(line[at:]) == endWithCRC(line[:at]) && json.Unmarshal(line, &m) == nil {
			p.applyMark(&m)
		} else {
			p.damagedMarks++
		}
	}
}

func (p *progress) applyMark(m *mark) {
	switch {
	case !m.At.IsZero():
		p.enterStage(Stage(m.Mark), m.At)
	case m.Probe != nil:
		p.probed, p.probeResults = true, *m.Probe
	case m.Folder != nil && *m.Folder >= 0 && *m.Folder < len(p.folders):
		switch f := &p.folders[*m.Folder]; m.Mark {
		case markEndTime:
			if m.Time != nil {
				f.endTime = *m.Time
			}
		case markChanged:
			f.changedSince = true
		case markMissing:
			f.missing = true
		}
	case m.File != nil && *m.File >= 0 && *m.File < len(p.files):
		p.applyFileMark(*m.File, m)
	}
}

func (p *progress) applyFileMark(i int, m *mark) {
	if m.Mark == markUndone {
		p.pendingUndone = append(p.pendingUndone, i)
		return
	}
	switch f := &p.files[i]; m.Mark {
	case markCopied:
		f.targetCopy = m.Copy
	case markReturned:
		f.returnedCopy = m.Copy
	case markNotDone:
		f.notDone = m.Code
	case markNotRestored:
		f.notRestored = m.Code
	case markOK:
		f.notDone, f.notRestored = "", ""
	}
}

func (p *progress) enterStage(s Stage, at time.Time) {
	p.stage, p.stageBegun = s, at
	p.isUndo = s == StageUndoing || s == StageAbandoned && p.isUndo
	for _, i := range p.pendingUndone {
		if s.IsUnfinished() {
			break // the undo was interrupted before its final stage
		}
		p.files[i].undone, p.files[i].notRestored = true, ""
	}
	p.pendingUndone = nil
}

// appendMark writes a mark. If that fails, the next sync returns the error.
func (j *journal) appendMark(m mark) {
	j.appending.Lock()
	defer j.appending.Unlock()
	j.progress.applyMark(&m)
	text, _ := json.Marshal(&m) // a mark always has a JSON form
	text = text[:len(text)-1]
	text = append(text, endWithCRC(text)+"\n"...)
	if _, err := j.file.WriteAt(text, j.nextOffset); err != nil {
		j.err = cmp.Or(j.err, err)
		return
	}
	j.nextOffset += int64(len(text))
}

func (j *journal) appendFileMark(i int, word string, code organize.Code) {
	j.appendMark(mark{Mark: word, File: new(i), Code: code})
}

// sync flushes the journal to the disk and returns the first error of writing a mark.
func (j *journal) sync() error {
	if err := j.file.Sync(); err != nil {
		return err
	}
	j.appending.Lock()
	defer j.appending.Unlock()
	err := j.err
	j.err = nil
	return err
}

// enterStage begins a stage and flushes the journal. It flushes the earlier marks first, so that after a power loss the
// journal can't have the stage without them.
func (j *journal) enterStage(s Stage, now time.Time) error {
	if err := j.sync(); err != nil {
		return err
	}
	j.appendMark(mark{Mark: string(s), At: now.UTC()})
	return j.sync()
}

func (j *journal) close() {
	if j.file != nil {
		j.file.Close()
	}
}
