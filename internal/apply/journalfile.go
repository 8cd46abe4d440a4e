package apply

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/anivault/anivault/internal/lang"
)

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
