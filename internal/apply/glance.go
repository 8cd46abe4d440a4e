package apply

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"sort"
	"strings"
)

// glance reads of a journal what the history tells: its header, how many files it is about, and its marks. What stands between is not
// kept, and its checksum is looked at only with check, so a run of 100,000 files costs no more than one of a single file. The journal is
// closed and can't be acted on. With an error of *JournalError it has what could be read.
func glance(dir Dir, id string, check bool) (*journal, error) {
	file, err := dir.Read(journalName(id))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	g := glancer{file: file}
	info, err := file.Stat()
	if err == nil {
		g.size = info.Size
		err = g.read(id, check)
	}
	if _, broken := errors.AsType[*JournalError](err); err != nil && !broken {
		return nil, err
	}
	if g.journal == nil {
		g.journal = &journal{run: &run{}, marks: newMarks()}
	}
	return g.journal, err
}

type glancer struct {
	file    File
	size    int64
	journal *journal
	sum     int64 // where the line with the checksum begins
}

// window is how much of each end of a journal is read first, and longest what is read of a header: it names roots, a line each.
const window, longest = 16 << 10, 8 << 20

func (g *glancer) read(id string, check bool) error {
	head, err := g.head()
	g.journal = &journal{run: head, marks: newMarks()}
	if err != nil {
		return err
	}
	if head.ID != id {
		return &JournalError{Why: "it is that of another run, " + head.ID}
	}
	tail, err := g.tail()
	if err != nil {
		return err
	}
	sum, marks, whole := strings.Cut(tail, "\n")
	if !whole {
		return &JournalError{Why: "it was cut off"}
	}
	if check {
		text, err := g.text(0, g.sum)
		if err != nil {
			return err
		}
		if now := sha256.Sum256(text); sum != sumWord+hex.EncodeToString(now[:]) {
			return &JournalError{Why: "its checksum is wrong"}
		}
	}
	g.journal.replay([]byte(marks))
	return nil
}

// text returns what stands between two places.
func (g *glancer) text(from, to int64) ([]byte, error) {
	text := make([]byte, to-from)
	n, err := g.file.ReadAt(text, from)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return text[:n], err
}

// head reads the header.
func (g *glancer) head() (*run, error) {
	for most := int64(window); ; most *= 2 {
		text, err := g.text(0, min(most, g.size))
		if err != nil {
			return &run{}, err
		}
		r := reader{run: &run{}, text: string(text)}
		if err = r.header(); err == nil || most >= min(g.size, longest) || r.line == 0 {
			return r.run, err
		}
	}
}

// tail returns what stands from the line with the checksum on, and counts the files before it.
func (g *glancer) tail() (string, error) {
	// Marks are added to a file that was made as long as it will ever be: behind them there are zeros.
	var failed error
	end := int64(sort.Search(int(g.size), func(at int) bool {
		text, err := g.text(int64(at), int64(at)+1)
		failed = errors.Join(failed, err)
		return len(text) == 0 || text[0] == 0
	}))
	for most := int64(window); failed == nil; most *= 2 {
		begin := max(end-most, 0)
		text, err := g.text(begin, end)
		if err != nil {
			return "", err
		}
		if at := bytes.LastIndex(text, []byte("\n"+sumWord)); at >= 0 {
			if files, found := filesOf(text[:at]); found || begin == 0 {
				g.journal.files, g.sum = files, begin+int64(at)+1
				return string(text[at+1:]), nil
			}
		}
		if begin == 0 {
			return "", &JournalError{Why: "it was cut off"}
		}
	}
	return "", failed
}

// filesOf returns how many files a journal is about whose fixed part ends so: the last one's number stands at its beginning. Not found
// means that this begins before the text.
func filesOf(text []byte) (n int, found bool) {
	second := bytes.LastIndex(text, []byte("\n  "))
	first := bytes.LastIndexByte(text[:max(second, 0)], '\n')
	if first < 0 {
		return 0, false
	}
	f := fields{rest: string(text[first+1 : second])}
	f.word()
	n = f.int() + 1
	return n, f.err == nil
}
