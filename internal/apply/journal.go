package apply

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/organize"
)

// journalFormat must be raised whenever the content of journals changes. Journals in other formats are refused.
const journalFormat = 3

// header is the first line of a journal. It is followed by one line per folder, one line per step, and the SHA-256 of
// all these lines; together they are the fixed part. The marks come last. Each line is a JSON object.
type header struct {
	Format int `json:"anivault_journal"`
	runHeader
	Folders int `json:"folders"`
	Files   int `json:"files"`
	Bytes   int `json:"bytes"` // the length of the fixed part after this line
}

// stepLine is the JSON object of a step, without the fields that are zero. For a step to a temporary name (Aside), only
// Index and Temp are set.
type stepLine struct {
	Aside bool   `json:"aside,omitempty"`
	Verb  string `json:"verb,omitempty"`
	op
	FromDir  int    `json:"from_folder,omitempty"`
	FromName quoted `json:"from,omitempty"`
	ToDir    int    `json:"to_folder,omitempty"`
	ToName   quoted `json:"to,omitempty"`
	Content  quoted `json:"text,omitempty"`
	Temp     int    `json:"temp,omitempty"`
}

// quoted is a string that is escaped by [organize.Quote], because file names need not be UTF-8 but JSON must be.
type quoted string

func (q quoted) MarshalText() ([]byte, error) { return []byte(organize.Quote(string(q))), nil }

func (q *quoted) UnmarshalText(text []byte) error {
	name, err := organize.Unquote(string(text))
	*q = quoted(name)
	return err
}

func (r *run) stepLine(s step) stepLine {
	o := r.Ops[s.Op]
	if s.Kind == organize.StepToTemp {
		return stepLine{Aside: true, op: op{Index: o.Index}, Temp: o.TempNumber}
	}
	line := stepLine{
		Verb: o.Verb.String(), op: o, ToDir: o.To.Dir, ToName: quoted(o.To.Name), Content: quoted(o.Text), Temp: o.TempNumber,
	}
	if o.Verb != organize.VerbNFO {
		line.FromDir, line.FromName = o.From.Dir, quoted(o.From.Name)
	}
	return line
}

var errNotStep = lang.Error("it is not a step")

// readStep reads the line of a step. The operation of a step to a temporary name has no verb.
func readStep(text []byte) (op, error) {
	var line stepLine
	err := json.Unmarshal(text, &line)
	o := line.op
	o.Verb, o.From, o.To = organize.ParseVerb(line.Verb), place{line.FromDir, string(line.FromName)},
		place{line.ToDir, string(line.ToName)}
	o.Text, o.TempNumber = string(line.Content), line.Temp
	if line.Verb == organize.VerbNFO.String() {
		o.Verb, o.From = organize.VerbNFO, o.To
	}
	if err != nil || line.Aside != (o.Verb == organize.VerbNone) {
		return op{}, errNotStep
	}
	return o, nil
}

func checksumLine(text []byte) []byte {
	sum := sha256.Sum256(text)
	return fmt.Appendf(nil, "{\"sha256\":\"%s\"}\n", hex.EncodeToString(sum[:]))
}

func (r *run) encode() []byte {
	var lines bytes.Buffer
	encoder := newJSONEncoder(&lines)
	for i := range r.Dirs {
		d := r.Dirs[i]
		d.Name = organize.Quote(d.Name)
		_ = encoder.Encode(d) // a folder always has a JSON form, as have the steps
	}
	for _, s := range r.Steps {
		_ = encoder.Encode(r.stepLine(s))
	}
	size := lines.Len() + len(checksumLine(nil))
	var b bytes.Buffer
	b.Grow(size + 4096)
	_ = newJSONEncoder(&b).Encode(header{journalFormat, r.runHeader, len(r.Dirs), len(r.Ops), size})
	b.Write(lines.Bytes())
	b.Write(checksumLine(b.Bytes()))
	return b.Bytes()
}

func newJSONEncoder(w io.Writer) *json.Encoder {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e
}

// JournalError reports a journal that can't be trusted, so its run can be neither resumed nor undone.
type JournalError struct {
	Line  int // the line number, from 1; 0 for the whole journal
	Why   lang.Text
	Newer bool // a newer version of anivault wrote it
}

func (e *JournalError) Error() string { return e.Text().String() }

// Text returns the reason and the line number.
func (e *JournalError) Text() lang.Text {
	if e.Line == 0 {
		return lang.Textf("the journal can't be trusted: %s", e.Why)
	}
	return lang.Textf("the journal can't be trusted: line %d: %s", e.Line, e.Why)
}

// readHeader reads the first line and returns its length. With an error, the header has what could be read.
func readHeader(text []byte) (h header, length int, err error) {
	line, _, whole := bytes.Cut(text, []byte("\n"))
	err = json.Unmarshal(line, &h)
	switch {
	case h.Format > journalFormat:
		return h, 0, &JournalError{Line: 1, Why: "a newer version of anivault wrote it", Newer: true}
	case err != nil || !whole || h.Format != journalFormat:
		return h, 0, &JournalError{Line: 1, Why: "it is not a journal"}
	case !organize.IsID(h.ID) || !organize.IsID(h.PlanID) || !organize.IsID(h.PartPrefix):
		return h, 0, &JournalError{Line: 1, Why: "it has no id"}
	case h.Begun.IsZero() || h.Mode.Verb() == organize.VerbNone || len(h.Sources) == 0 || len(h.Targets) == 0:
		return h, 0, &JournalError{Line: 1, Why: "its header is not complete"}
	case h.Bytes < 0 || h.Bytes > math.MaxInt32 || h.Folders < 0 || h.Files < 0 || max(h.Folders, h.Files) > h.Bytes:
		return h, 0, &JournalError{Line: 1, Why: "its header is not possible"}
	}
	return h, len(line) + 1, nil
}

func (h *header) checkFixedPart(text []byte, length int) (sum, marksOffset int, err error) {
	marksOffset = length + h.Bytes
	sum = marksOffset - len(checksumLine(nil))
	switch {
	case marksOffset > len(text) || sum < length:
		return 0, 0, &JournalError{Why: "its end is missing"}
	case !bytes.Equal(text[sum:marksOffset], checksumLine(text[:sum])):
		return 0, 0, &JournalError{Why: "its checksum is wrong"}
	}
	return sum, marksOffset, nil
}

// readRun reads a journal's fixed part and returns the offset of its marks. With an error, the run holds only the
// header, which is good only for display.
func readRun(text []byte) (r *run, marksOffset int, err error) {
	h, length, err := readHeader(text)
	r = &run{runHeader: h.runHeader}
	if err != nil {
		return r, 0, err
	}
	sum, marksOffset, err := h.checkFixedPart(text, length)
	if err != nil {
		return r, 0, err
	}
	lines := bytes.Split(text[length:sum], []byte("\n"))
	if len(lines)-1 < h.Folders {
		return r, 0, &JournalError{Why: "folders are missing"}
	}
	whole := *r
	for i, line := range lines[:h.Folders] {
		if err := whole.readFolder(line); err != nil {
			return r, 0, &JournalError{Line: i + 2, Why: lang.TextOf(err)}
		}
	}
	if err := whole.readSteps(lines[h.Folders:len(lines)-1], h.Folders+2); err != nil {
		return r, 0, err
	}
	if len(whole.Ops) != h.Files {
		return r, 0, &JournalError{Why: "files are missing"}
	}
	return &whole, marksOffset, nil
}

func (r *run) readFolder(line []byte) error {
	var d folder
	err := json.Unmarshal(line, &d)
	if err == nil {
		d.Name, err = organize.Unquote(d.Name)
	}
	isRoot := func(root organize.Root) bool { return root.Path == d.Name }
	switch {
	case err != nil:
		return err
	case d.Parent >= len(r.Dirs):
		return lang.Error("its folder is not there")
	case d.Parent < 0 && (d.New || d.Removable || !slices.ContainsFunc(slices.Concat(r.Sources, r.Targets), isRoot)):
		return lang.Error("it is not one of the roots")
	case d.Parent >= 0 && !isPathComponent(d.Name):
		return lang.Error("%q is not a name", d.Name)
	}
	r.Dirs = append(r.Dirs, d)
	return nil
}

func (r *run) readSteps(lines [][]byte, number int) error {
	temps := map[int]int{} // by operation: the number of its temporary name
	r.Ops, r.Steps = make([]op, 0, len(lines)), make([]step, 0, len(lines))
	for i, line := range lines {
		o, err := readStep(line)
		if err == nil {
			err = r.addStep(o, temps)
		}
		if err != nil {
			return &JournalError{Line: number + i, Why: lang.TextOf(err)}
		}
	}
	if len(temps) > 0 {
		return &JournalError{Why: "a file still has a temporary name"}
	}
	return nil
}

func (r *run) addStep(o op, temps map[int]int) error {
	if o.Verb == organize.VerbNone {
		if o.TempNumber < 1 || temps[o.Index] != 0 {
			return lang.Error("it is not a temporary name")
		}
		temps[o.Index] = o.TempNumber
		r.Steps = append(r.Steps, step{o.Index, organize.StepToTemp})
		return nil
	}
	switch {
	case o.Index != len(r.Ops):
		return lang.Error("its number is wrong")
	case o.TempNumber != temps[o.Index]:
		return lang.Error("its temporary name is wrong")
	case min(o.From.Dir, o.To.Dir) < 0 || max(o.From.Dir, o.To.Dir) >= len(r.Dirs):
		return lang.Error("its folder is not there")
	case !isPathComponent(o.From.Name) || !isPathComponent(o.To.Name):
		return lang.Error("it has no name")
	case o.Size < 0 || o.Verb == organize.VerbNFO && o.Size != int64(len(o.Text)):
		return lang.Error("its size is wrong")
	}
	s := step{Op: o.Index}
	if o.TempNumber > 0 {
		s.Kind = organize.StepFromTemp
		delete(temps, o.Index)
	}
	r.Ops, r.Steps = append(r.Ops, o), append(r.Steps, s)
	return nil
}

func isPathComponent(s string) bool {
	return s != "" && s != "." && s != ".." && !strings.ContainsAny(s, "/\x00")
}
