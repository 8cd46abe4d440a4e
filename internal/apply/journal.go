package apply

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/organize"
)

// journalVersion is the first line's number: a journal of another one is refused. It rises with every change of what stands there.
const journalVersion = 2

// across is the word of a move to another file system.
const across = "across"

// absoluteLinks is the word of a run whose symbolic links hold whole paths.
const absoluteLinks = "absolute"

const journalWords = "anivault journal "

// sumWord begins the last line of the fixed part.
const sumWord = "sum "

// text returns the journal's fixed part: everything that will be done, and below it its SHA-256.
func (r *run) text() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s%d\nid %s\nplan %s\nbegun %s\nmode %s\nlayout %s\n",
		journalWords, journalVersion, r.ID, r.Plan, r.Begun.UTC().Format(time.RFC3339Nano), r.Mode, organize.Quote(r.Layout))
	if r.Absolute {
		b.WriteString(absoluteLinks + " links\n")
	}
	for _, root := range r.Sources {
		fmt.Fprintf(&b, "source %s\n", root)
	}
	for _, root := range r.Targets {
		fmt.Fprintf(&b, "target %s\n", root)
	}
	for i := range r.Dirs {
		d := &r.Dirs[i]
		if d.New {
			fmt.Fprintf(&b, "new %d %s\n", d.Parent, organize.Quote(d.Name))
			continue
		}
		word := "dir"
		if d.Removable {
			word = "leaf"
		}
		fmt.Fprintf(&b, "%s %d %04o %d %d %s %s\n", word, d.Parent, d.Mode, d.UID, d.GID, d.MTime, organize.Quote(d.Name))
	}
	b.Grow(len(r.Steps) * plannedBytes)
	for _, s := range r.Steps {
		o := &r.Ops[s.Op]
		if s.Leg == organize.Aside {
			fmt.Fprintf(&b, "aside %d %d\n", s.Op, o.Temp)
			continue
		}
		b.Write(o.line(b.AvailableBuffer(), s.Op))
	}
	sum := sha256.Sum256(b.Bytes())
	fmt.Fprintf(&b, "%s%s\n", sumWord, hex.EncodeToString(sum[:]))
	return b.Bytes()
}

// plannedBytes is about what a file takes in a journal.
const plannedBytes = 256

// line returns an operation as its two lines, behind what is there.
func (o *op) line(b []byte, index int) []byte {
	word := o.Verb.String()
	if o.Across {
		word = across
	}
	b = append(b, word...)
	for _, n := range []int{index, o.N, o.Unit, o.Bundle} {
		b = strconv.AppendInt(append(b, ' '), int64(n), 10)
	}
	if o.Verb == organize.NFO {
		b = append(o.To.append(append(b, ' ')), "\n  text "...)
		return append(append(b, organize.Quote(o.Text)...), '\n')
	}
	b = strconv.AppendInt(append(b, ' '), o.Size, 10)
	b = o.MTime.Append(append(b, ' '))
	b = strconv.AppendUint(append(b, ' '), o.Inode, 10)
	b = o.Birth.Append(append(b, ' '))
	b = fmt.Appendf(b, " %016x ", o.Sum)
	b = append(o.From.append(b), "\n  to "...)
	return append(o.To.append(b), '\n')
}

// append writes a place as journals have it.
func (p place) append(b []byte) []byte {
	return append(append(strconv.AppendInt(b, int64(p.Dir), 10), ' '), organize.Quote(p.Name)...)
}

// JournalError is a journal that is never acted on.
type JournalError struct {
	Line  int // from 1; 0: all of it
	Why   string
	Newer bool // a later version of anivault wrote it
}

// Error names the line.
func (e *JournalError) Error() string {
	if e.Line == 0 {
		return "the journal can't be trusted: " + e.Why
	}
	return fmt.Sprintf("the journal can't be trusted: line %d: %s", e.Line, e.Why)
}

// readRun reads a journal's fixed part and returns where its marks begin. What it can't read stands in the error; the run then
// holds what came before, for people to see and never to act on.
func readRun(text []byte) (r *run, marks int, err error) {
	j := reader{run: &run{}, text: string(text)}
	j.run.Ops = make([]op, 0, len(text)/plannedBytes)
	j.run.Steps = make([]step, 0, len(text)/plannedBytes)
	if err := j.read(); err != nil {
		return j.run, 0, err
	}
	return j.run, j.at, nil
}

type reader struct {
	run  *run
	text string
	at   int
	line int
	temp map[int]int // operation → the number of its temporary name
}

// next returns the next line; io.EOF behind the last one.
func (j *reader) next() (string, error) {
	i := strings.IndexByte(j.text[j.at:], '\n')
	if i < 0 {
		return "", io.EOF
	}
	s := j.text[j.at : j.at+i]
	j.at += i + 1
	j.line++
	return s, nil
}

func (j *reader) bad(format string, args ...any) error {
	return &JournalError{Line: j.line, Why: fmt.Sprintf(format, args...)}
}

// version reads the first line.
func (j *reader) version() error {
	first, err := j.next()
	number, known := strings.CutPrefix(first, journalWords)
	version, numeric := strconv.Atoi(number)
	switch {
	case err != nil || !known || numeric != nil:
		return j.bad("it is no journal")
	case version > journalVersion:
		return &JournalError{Line: 1, Why: "a newer version of anivault wrote it", Newer: true}
	case version != journalVersion:
		return &JournalError{Line: 1, Why: fmt.Sprintf("its form is number %d, and this version of anivault knows only number %d", version, journalVersion)}
	}
	return nil
}

// header reads the lines before the first folder.
func (j *reader) header() error {
	if err := j.version(); err != nil {
		return err
	}
	for {
		line, err := j.next()
		if err != nil {
			return j.bad("it was cut off")
		}
		word, rest, _ := strings.Cut(line, " ")
		if isFolder(word) {
			return nil
		}
		if err := j.readLine(word, rest); err != nil {
			return err
		}
	}
}

// isFolder reports whether a line that begins with the word is about a folder.
func isFolder(word string) bool { return word == "new" || word == "dir" || word == "leaf" }

func (j *reader) read() error {
	if err := j.version(); err != nil {
		return err
	}
	j.temp = map[int]int{}
	for {
		begins := j.at
		line, err := j.next()
		if err != nil {
			return j.bad("it was cut off")
		}
		word, rest, _ := strings.Cut(line, " ")
		if word+" " == sumWord {
			sum := sha256.Sum256([]byte(j.text[:begins]))
			if rest != hex.EncodeToString(sum[:]) {
				return j.bad("its checksum is wrong")
			}
			return j.whole()
		}
		if err := j.readLine(word, rest); err != nil {
			return err
		}
	}
}

func (j *reader) readLine(word, rest string) (err error) {
	r := j.run
	switch word {
	case "id":
		r.ID = rest
	case "plan":
		r.Plan = rest
	case "begun":
		r.Begun, err = time.Parse(time.RFC3339, rest)
	case "mode":
		r.Mode = organize.Mode(rest)
	case "layout":
		r.Layout, err = organize.Unquote(rest)
	case absoluteLinks:
		if r.Absolute = rest == "links"; !r.Absolute {
			err = lang.Error("links are absolute, nothing else is")
		}
	case "source", "target":
		var root organize.Root
		root, err = organize.ParseRoot(rest)
		if word == "source" {
			r.Sources = append(r.Sources, root)
		} else {
			r.Targets = append(r.Targets, root)
		}
	case "new", "dir", "leaf":
		return j.readFolder(word, rest)
	case "aside":
		return j.readAside(rest)
	case organize.NFO.String():
		return j.readNote(rest)
	default:
		return j.readOp(word, rest)
	}
	if err != nil {
		return j.bad("%v", err)
	}
	return nil
}

// fields reads words and, last, a name.
type fields struct {
	rest string
	err  error
}

func (f *fields) word() string {
	word, rest, _ := strings.Cut(f.rest, " ")
	f.rest = rest
	return word
}

func (f *fields) number(base, bits int) uint64 {
	n, err := strconv.ParseUint(f.word(), base, bits)
	if err != nil && f.err == nil {
		f.err = err
	}
	return n
}

func (f *fields) int() int { return int(f.number(10, 31)) }

func (f *fields) stamp() organize.Stamp {
	s, err := organize.ParseStamp(f.word())
	if err != nil && f.err == nil {
		f.err = err
	}
	return s
}

func (f *fields) name() string {
	s, err := organize.Unquote(f.rest)
	if err != nil && f.err == nil {
		f.err = err
	}
	return s
}

func (j *reader) readFolder(word, rest string) error {
	f := fields{rest: rest}
	d := folder{Parent: -1, New: word == "new", Removable: word == "leaf"}
	if strings.HasPrefix(f.rest, "-1 ") {
		f.rest = f.rest[len("-1 "):]
	} else {
		d.Parent = f.int()
	}
	if !d.New {
		d.Mode, d.UID, d.GID = uint32(f.number(8, 12)), uint32(f.number(10, 32)), uint32(f.number(10, 32))
		d.MTime = f.stamp()
	}
	d.Name = f.name()
	switch {
	case f.err != nil:
		return j.bad("%v", f.err)
	case d.Parent >= len(j.run.Dirs):
		return j.bad("its folder is not there")
	case d.Parent < 0 && (d.New || d.Removable || !j.run.isRoot(d.Name)):
		return j.bad("it is none of the roots")
	case d.Parent >= 0 && !isComponent(d.Name):
		return j.bad("%q is no name", d.Name)
	}
	j.run.Dirs = append(j.run.Dirs, d)
	return nil
}

func (r *run) isRoot(path string) bool {
	for _, roots := range [][]organize.Root{r.Sources, r.Targets} {
		for _, root := range roots {
			if root.Path == path {
				return true
			}
		}
	}
	return false
}

// isComponent reports whether a name is one component of a path.
func isComponent(s string) bool {
	return s != "" && s != "." && s != ".." && !strings.ContainsAny(s, "/\x00")
}

func (j *reader) readAside(rest string) error {
	f := fields{rest: rest}
	o, temp := f.int(), f.int()
	if f.err != nil || f.rest != "" || temp < 1 || j.temp[o] != 0 {
		return j.bad("it is no temporary name")
	}
	j.temp[o] = temp
	j.run.Steps = append(j.run.Steps, step{o, organize.Aside})
	return nil
}

func (j *reader) readOp(word, rest string) error {
	f := fields{rest: rest}
	o := op{Verb: organize.VerbOf(word)}
	if word == across {
		o.Verb, o.Across = organize.Move, true
	}
	index := f.int()
	o.N, o.Unit, o.Bundle = f.int(), f.int(), f.int()
	o.Size, o.MTime, o.Inode, o.Birth = int64(f.number(10, 63)), f.stamp(), f.number(10, 64), f.stamp()
	o.Sum = f.number(16, 64)
	o.From = place{f.int(), f.name()}
	line, err := j.next()
	g := fields{rest: line}
	if err != nil || !strings.HasPrefix(line, "  to ") {
		return j.bad("the line \"to\" is missing")
	}
	g.rest = line[len("  to "):]
	o.To = place{g.int(), g.name()}
	switch {
	case o.Verb == organize.None:
		return j.bad("%q is no word of a journal", word)
	case f.err != nil:
		return j.bad("%v", f.err)
	case g.err != nil:
		return j.bad("%v", g.err)
	case index != len(j.run.Ops):
		return j.bad("its number is wrong")
	case max(o.From.Dir, o.To.Dir) >= len(j.run.Dirs):
		return j.bad("its folder is not there")
	case !isComponent(o.From.Name) || !isComponent(o.To.Name):
		return j.bad("it has no name")
	}
	s := step{Op: index}
	if o.Temp = j.temp[index]; o.Temp > 0 {
		s.Leg = organize.Home
		delete(j.temp, index)
	}
	o.Index = index
	j.run.Ops = append(j.run.Ops, o)
	j.run.Steps = append(j.run.Steps, s)
	return nil
}

// readNote reads a file for media servers, whose content stands on the next line.
func (j *reader) readNote(rest string) error {
	f := fields{rest: rest}
	o := op{Verb: organize.NFO, Index: len(j.run.Ops)}
	index := f.int()
	o.N, o.Unit, o.Bundle = f.int(), f.int(), f.int()
	o.To = place{f.int(), f.name()}
	o.From = o.To
	line, err := j.next()
	text, quoted := strings.CutPrefix(line, "  text ")
	g := fields{rest: text}
	o.Text = g.name()
	o.Size = int64(len(o.Text))
	switch {
	case err != nil || !quoted:
		return j.bad("the line \"text\" is missing")
	case f.err != nil:
		return j.bad("%v", f.err)
	case g.err != nil:
		return j.bad("%v", g.err)
	case index != o.Index:
		return j.bad("its number is wrong")
	case o.To.Dir >= len(j.run.Dirs):
		return j.bad("its folder is not there")
	case !isComponent(o.To.Name):
		return j.bad("it has no name")
	}
	j.run.Ops = append(j.run.Ops, o)
	j.run.Steps = append(j.run.Steps, step{Op: index})
	return nil
}

// whole checks what only the end shows.
func (j *reader) whole() error {
	r := j.run
	switch {
	case !organize.IsID(r.ID) || !organize.IsID(r.Plan):
		return j.bad("it has no id")
	case r.Mode.Verb() == organize.None || len(r.Sources) == 0 || len(r.Targets) == 0:
		return j.bad("its header is not complete")
	case len(j.temp) > 0:
		return j.bad("a file is left under a temporary name")
	}
	return nil
}
