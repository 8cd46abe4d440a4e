package apply

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
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

// stepField is a field of a step's JSON object. Steps are written and read without reflection, with their fields in a
// fixed order, because reflection takes three times as long and there is a line for each file.
type stepField struct {
	name  string // with its quotes and colon
	value any
}

// quotedString is a string that is escaped by [organize.Quote], because file names need not be UTF-8 but JSON must be.
type quotedString string

// fields lists the fields of a step. For a step to a temporary name (isFirstOfTwo), most of them are zero.
func (o *op) fields(isFirstOfTwo *bool) []stepField {
	return []stepField{
		{`"aside":`, isFirstOfTwo},
		{`"verb":`, &o.Verb},
		{`"file":`, &o.Index},
		{`"n":`, &o.N},
		{`"unit":`, &o.Unit},
		{`"bundle":`, &o.Bundle},
		{`"across":`, &o.CrossDevice},
		{`"size":`, &o.Size},
		{`"mtime":`, &o.MTime},
		{`"birth":`, &o.BirthTime},
		{`"inode":`, &o.Inode},
		{`"ends":`, &o.EndsSum},
		{`"from_folder":`, &o.From.Dir},
		{`"from":`, (*quotedString)(&o.From.Name)},
		{`"to_folder":`, &o.To.Dir},
		{`"to":`, (*quotedString)(&o.To.Name)},
		{`"text":`, (*quotedString)(&o.Text)},
		{`"temp":`, &o.TempNumber},
	}
}

var (
	escapeJSON   = strings.NewReplacer(`\`, `\\`, `"`, `\"`) // organize.Quote escapes everything else
	unescapeJSON = strings.NewReplacer(`\\`, `\`, `\"`, `"`)
)

// appendFields appends the JSON line of a step. It leaves out zero fields.
func appendFields(b []byte, fields []stepField) []byte {
	b = append(b, '{')
	for _, f := range fields {
		start, zero := len(b), false
		b = append(b, f.name...)
		switch v := f.value.(type) {
		case *bool:
			b, zero = strconv.AppendBool(b, *v), !*v
		case *int:
			b, zero = strconv.AppendInt(b, int64(*v), 10), *v == 0
		case *int64:
			b, zero = strconv.AppendInt(b, *v, 10), *v == 0
		case *uint64:
			b, zero = strconv.AppendUint(b, *v, 10), *v == 0
		case *organize.Stamp:
			b, zero = append(v.Append(append(b, '"')), '"'), *v == organize.Stamp{}
		case *organize.Verb:
			b, zero = append(append(append(b, '"'), v.String()...), '"'), *v == organize.VerbNone
		case *quotedString:
			if zero = *v == ""; !zero {
				b = append(append(append(b, '"'), escapeJSON.Replace(organize.Quote(string(*v)))...), '"')
			}
		}
		if b = append(b, ','); zero {
			b = b[:start]
		}
	}
	b[len(b)-1] = '}'
	return append(b, '\n')
}

var errNotStep = lang.Error("it is not a step")

func readFields(line string, fields []stepField) error {
	rest, end := strings.CutPrefix(line, "{")
	if !end {
		return errNotStep
	}
	for _, f := range fields {
		after, there := strings.CutPrefix(rest, f.name)
		if !there {
			continue
		}
		var value string
		if value, rest = cutValue(after); len(rest) == 0 {
			return errNotStep
		}
		if err := f.parse(value); err != nil {
			return err
		}
		end = rest[0] == '}'
		rest = rest[1:]
	}
	if !end || len(rest) > 0 {
		return errNotStep
	}
	return nil
}

func cutValue(text string) (value, rest string) {
	if len(text) == 0 || text[0] != '"' {
		n := max(strings.IndexAny(text, ",}"), 0)
		return text[:n], text[n:]
	}
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return text[1:i], text[i+1:]
		}
	}
	return "", ""
}

func (f stepField) parse(s string) (err error) {
	switch v := f.value.(type) {
	case *bool:
		*v, err = strconv.ParseBool(s)
	case *int:
		*v, err = strconv.Atoi(s)
	case *int64:
		*v, err = strconv.ParseInt(s, 10, 64)
	case *uint64:
		*v, err = strconv.ParseUint(s, 10, 64)
	case *organize.Stamp:
		*v, err = organize.ParseStamp(s)
	case *organize.Verb:
		if s == organize.VerbNFO.String() {
			*v = organize.VerbNFO
		} else if *v = organize.ParseVerb(s); *v == organize.VerbNone {
			return lang.Error("%q is not a verb", s)
		}
	case *quotedString:
		if strings.Contains(s, `\`) {
			s = unescapeJSON.Replace(s)
		}
		s, err = organize.Unquote(s)
		*v = quotedString(s)
	}
	return err
}

func checksumLine(text []byte) []byte {
	sum := sha256.Sum256(text)
	return fmt.Appendf(nil, "{\"sha256\":\"%s\"}\n", hex.EncodeToString(sum[:]))
}

func (r *run) encode() []byte {
	line := func(of any) []byte {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		_ = e.Encode(of) // a header and a folder always have a JSON form
		return b.Bytes()
	}
	first := header{journalFormat, r.runHeader, len(r.Dirs), len(r.Ops), math.MaxInt}
	const usual = 330        // typical bytes per line
	room := len(line(first)) // for the first line, which holds the length of the others
	b := make([]byte, room, room+(len(r.Dirs)+len(r.Steps)+1)*usual)
	for _, d := range r.Dirs {
		d.Name = organize.Quote(d.Name)
		b = append(b, line(d)...)
	}
	var o op
	var aside bool
	fields := o.fields(&aside)
	for _, s := range r.Steps {
		o = r.Ops[s.Op]
		if aside = s.Kind == organize.StepToTemp; aside {
			o = op{Index: o.Index, TempNumber: o.TempNumber}
		} else if o.Verb == organize.VerbNFO {
			o.From = place{}
		}
		b = appendFields(b, fields)
	}
	first.Bytes = len(b) - room + len(checksumLine(nil))
	text := line(first)
	b = b[room-len(text):]
	copy(b, text)
	return append(b, checksumLine(b)...)
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
		return h, 0, &JournalError{Line: 1, Why: "its header is invalid"}
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

// readRun reads a journal's fixed part and returns the offset of its marks.
func readRun(text []byte) (r *run, marksOffset int, err error) {
	h, length, err := readHeader(text)
	if err != nil {
		return nil, 0, err
	}
	sum, marksOffset, err := h.checkFixedPart(text, length)
	if err != nil {
		return nil, 0, err
	}
	lines := strings.Split(string(text[length:sum]), "\n")
	if len(lines)-1 < h.Folders {
		return nil, 0, &JournalError{Why: "folders are missing"}
	}
	r = &run{runHeader: h.runHeader}
	for i, line := range lines[:h.Folders] {
		if err := r.readFolder(line); err != nil {
			return nil, 0, &JournalError{Line: i + 2, Why: lang.TextOf(err)}
		}
	}
	if err := r.readSteps(lines[h.Folders:len(lines)-1], h.Folders+2); err != nil {
		return nil, 0, err
	}
	if len(r.Ops) != h.Files {
		return nil, 0, &JournalError{Why: "files are missing"}
	}
	return r, marksOffset, nil
}

func (r *run) readFolder(line string) error {
	var d folder
	err := json.Unmarshal([]byte(line), &d)
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

func (r *run) readSteps(lines []string, number int) error {
	ops := make([]op, len(lines)) // the first of an operation's two steps has no verb
	var o op
	var aside bool
	fields := o.fields(&aside)
	for i, line := range lines {
		o, aside = op{}, false
		err := readFields(line, fields)
		switch {
		case err == nil && aside != (o.Verb == organize.VerbNone):
			err = errNotStep
		case o.Verb == organize.VerbNFO:
			o.From = o.To
		}
		if err != nil {
			return &JournalError{Line: number + i, Why: lang.TextOf(err)}
		}
		ops[i] = o
	}
	temps := map[int]int{} // by operation: the number of its temporary name
	r.Ops, r.Steps = ops[:0], make([]step, 0, len(lines))
	for i := range ops {
		if err := r.addStep(ops[i], temps); err != nil {
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
