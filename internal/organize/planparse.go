package organize

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/ui"
)

// PlanError is a plan's text that can't be carried out: what is wrong with it, in the order of its lines.
type PlanError struct {
	Problems []Problem
}

// Problem is what is wrong with a line.
type Problem struct {
	Line int // from 1
	Text string
}

// Error names the first problem.
func (e *PlanError) Error() string {
	text := fmt.Sprintf("the plan can't be read: line %d: %s", e.Problems[0].Line, e.Problems[0].Text)
	if more := len(e.Problems) - 1; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

// Parse reads a plan's text and checks all of it: its headers, each line, that no source and no target stands there twice, and
// that every target is a name that CleanName leaves as it is and not too long (below a folder of the header: that the rest is).
// The error is a *PlanError.
func Parse(text string) (*Plan, error) {
	files := len(text) / plannedBytes
	p := newParser(files)
	p.plan.Units = make([]Unit, 0, files)
	return p.plan, p.parse(text)
}

// Check reports what Parse would refuse.
func Check(text string) error {
	p := newParser(len(text) / plannedBytes)
	p.forget = true
	return p.parse(text)
}

// plannedBytes is about what a file takes in a plan's text.
const plannedBytes = 256

func newParser(files int) *parser {
	return &parser{plan: &Plan{}, sources: make(map[sourceKey]int, files), dirs: map[string]int32{}, targets: newFoldSet(files), folders: map[Folder]bool{}}
}

type parser struct {
	plan     *Plan
	problems []Problem
	line     int
	header   int   // the next row of headers
	in       *Unit // what `in` said last: source, target and folder of the units that follow
	begun    bool  // a unit has begun since
	open     *Op   // the operation whose `to` is awaited
	lost     bool  // the word of the last line is unknown, so its `to` is passed over
	ended    bool
	forget   bool // only the last unit is kept
	sources  map[sourceKey]int
	dirs     map[string]int32 // the numbers of sourceKey
	lastIn   struct {         // the folder of the source that was read last
		source int
		dir    string
		number int32
	}
	targets *foldSet // every target and each folder above it, in the place that is the number of its folder
	claims  []claim  // by their numbers there
	roots   []int32  // the numbers of the plan's targets
	last    struct { // the folder of the target that was read last
		root   int
		path   string
		number int32
	}
	folders map[Folder]bool // those of the plan
}

func (p *parser) parse(text string) error {
	p.read(strings.TrimPrefix(text, "\ufeff"))
	if len(p.problems) > 0 {
		return &PlanError{Problems: p.problems}
	}
	return nil
}

func (p *parser) problem(format string, args ...any) {
	p.problems = append(p.problems, Problem{Line: p.line, Text: fmt.Sprintf(format, args...)})
}

func (p *parser) read(text string) {
	for text != "" && !p.ended {
		line, rest, _ := strings.Cut(text, "\n")
		text = rest
		p.line++
		p.readLine(strings.TrimLeft(strings.TrimSuffix(line, "\r"), " \t"))
		if p.line == 1 && len(p.problems) > 0 {
			return // not a plan: nothing else of it means anything
		}
	}
	if !p.ended {
		p.line++
		p.problem("the line \"end\" is missing, so the plan was cut off: make it again")
		return
	}
	for text != "" {
		line, rest, _ := strings.Cut(text, "\n")
		text = rest
		p.line++
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			p.problem("nothing may stand behind \"end\": delete it, or move \"end\" down")
			return
		}
	}
}

func (p *parser) readLine(line string) {
	if p.line == 1 {
		if strings.TrimRight(line, " \t") != version {
			p.problem("a plan begins with %q, not with %s", version, ui.Printable(ui.Cut(line, 60)))
		}
		return
	}
	if line == "" || line[0] == '#' {
		return
	}
	word, rest := cutWord(line)
	if p.readHeader(word, rest) {
		return
	}
	lost := p.lost
	if p.lost = false; lost && word == "to" {
		return
	}
	if p.open != nil && word != "to" && word != "end" {
		p.problem("a line \"to\" must follow line %d", p.open.Line)
		p.open = nil
	}
	switch word {
	case "in":
		p.readIn(rest)
	case "with":
		p.readWith(rest)
	case "to":
		p.readTo(rest)
	case "nfo":
		p.readNFO(rest)
	case "end":
		p.readEnd(rest)
	default:
		if verb := VerbOf(word); verb != None {
			p.readUnit(verb, rest)
			return
		}
		p.lost = true
		p.problem("%s is no word of a plan: in, %s, with, nfo, to, end", ui.Printable(ui.Cut(word, 40)), strings.Join(verbs[Link:NFO], ", "))
	}
}

// cutWord splits a line behind its first word and the spaces that follow it.
func cutWord(line string) (word, rest string) {
	i := strings.IndexAny(line, " \t")
	if i < 0 {
		return line, ""
	}
	return line[:i], strings.TrimLeft(line[i:], " \t")
}

func (p *parser) readIn(rest string) {
	source, rest := cutWord(rest)
	to, rest := cutWord(rest)
	p.in = &Unit{
		Source: p.index(source, len(p.plan.Sources), "source"),
		Target: p.index(to, len(p.plan.Targets), "target"),
		Dir:    p.name(rest),
	}
	p.begun = false
	if !isLocal(p.in.Dir) {
		p.problem("%s is no folder below the source: name one by its path from there, without ..", ui.Printable(p.in.Dir))
	}
}

// index reads a number from 1 to n and returns it from 0.
func (p *parser) index(word string, n int, what string) int {
	i, err := strconv.Atoi(word)
	switch {
	case n == 0:
		p.problem("the header's line %q is missing: put it back, or make the plan again", what)
		return 0
	case err != nil || i < 1 || i > n:
		p.problem("the header has no %s %s: take one from 1 to %d", what, ui.Printable(ui.Cut(word, 20)), n)
		return 0
	}
	return i - 1
}

func (p *parser) readUnit(verb Verb, rest string) {
	if p.in == nil {
		p.problem("a line \"in\" must come first: it says where the files are")
		p.in = &Unit{Dir: "."}
	}
	p.beginUnit()
	p.readSource(verb, rest)
}

func (p *parser) beginUnit() {
	if p.forget {
		p.plan.Units = p.plan.Units[:0]
	}
	p.plan.Units = append(p.plan.Units, *p.in)
	p.begun = true
}

func (p *parser) unit() *Unit {
	if len(p.plan.Units) == 0 {
		return nil
	}
	return &p.plan.Units[len(p.plan.Units)-1]
}

func (p *parser) readWith(rest string) {
	u := p.unit()
	if u == nil {
		p.problem("no unit that this could belong to stands before it: begin one with link, copy, move, symlink or reflink")
		return
	}
	verb := u.Ops[0].Verb
	if word, behind := cutWord(rest); VerbOf(word) != None {
		verb, rest = VerbOf(word), behind
	} else if verb == NFO {
		p.problem("\"with\" continues a unit of a video, and none stands before it")
		return
	}
	p.readSource(verb, rest)
}

// readSource reads a file's precondition and name, and begins an operation of the last unit.
func (p *parser) readSource(verb Verb, rest string) {
	size, rest := cutWord(rest)
	mtime, rest := cutWord(rest)
	ino, rest := cutWord(rest)
	op := Op{Verb: verb, MTime: p.stamp(mtime), Inode: p.inode(ino), Source: p.name(rest), Line: p.line}
	n, err := strconv.ParseInt(size, 10, 64)
	if err != nil || n < 0 {
		p.problem("%s is no size in bytes; leave size, time and inode as they were", ui.Printable(ui.Cut(size, 40)))
	}
	op.Size = n
	u := p.unit()
	if op.Source == "." || !isLocal(op.Source) {
		p.problem("%s is no name below the folder of \"in\": name it by its path from there, without ..", ui.Printable(op.Source))
	} else if u.Source < len(p.plan.Sources) {
		key := p.sourceKey(u, op.Source)
		if first, twice := p.sources[key]; twice {
			p.problem("the source of line %d is named again: delete one of them", first)
		}
		p.sources[key] = p.line
	}
	p.begin(op)
}

// readNFO reads what a file for media servers is about. Behind a video it belongs to it; behind "in" it is a unit of its own, of a
// video that is where it belongs.
func (p *parser) readNFO(rest string) {
	if p.in == nil {
		p.problem("no unit that this could belong to stands before it: begin one with link, copy, move, symlink or reflink")
		return
	}
	if !p.begun {
		p.beginUnit()
	}
	p.begin(Op{Verb: NFO, Note: p.note(rest), Line: p.line})
}

// note reads "tv/209867 full in ko-KR".
func (p *parser) note(text string) *Note {
	entry, rest := cutWord(text)
	kind, number, _ := strings.Cut(entry, "/")
	id, err := strconv.Atoi(number)
	if err != nil || id < 1 || kind != "tv" && kind != "movie" {
		p.problem("%s is no entry, as tv/209867 or movie/129", ui.Printable(ui.Cut(entry, 40)))
	}
	n := &Note{Entry: Entry{Kind: kind, ID: id}}
	for rest != "" {
		var word string
		word, rest = cutWord(rest)
		switch {
		case word == "full" && len(n.Episodes) == 0:
			n.Full = true
		case word == "in" && rest != "":
			n.Languages, rest = cutWord(rest)
		case kind == "tv" && !n.Full && len(n.Episodes) == 0 && n.readEpisodes(word):
			n.Full = true
		default:
			p.problem("%s is not what a line \"nfo\" may say behind the entry: full, or episodes as S01E01, and in with a language", ui.Printable(ui.Cut(word, 40)))
			return n
		}
	}
	return n
}

// readEpisodes reads "S01E01E02".
func (n *Note) readEpisodes(word string) bool {
	parts := strings.Split(strings.TrimPrefix(word, "S"), "E")
	for i, part := range parts {
		number, err := strconv.ParseUint(part, 10, 31)
		switch {
		case err != nil:
			return false
		case i == 0:
			n.Season = int(number)
		default:
			n.Episodes = append(n.Episodes, int(number))
		}
	}
	return word[0] == 'S' && len(n.Episodes) > 0
}

func (p *parser) begin(op Op) {
	u := p.unit()
	u.Ops = append(u.Ops, op)
	p.open = &u.Ops[len(u.Ops)-1]
}

func (p *parser) readTo(rest string) {
	if p.open == nil {
		p.problem("\"to\" follows a line that names a file, and only once: delete this line")
		return
	}
	op, u := p.open, p.unit()
	p.open = nil
	op.To = p.name(rest)
	if u.Target < len(p.plan.Targets) && p.isTarget(u.Target, op.To) {
		p.claim(u.Target, op.To)
	}
}

func (p *parser) readEnd(rest string) {
	if strings.TrimSpace(rest) != "" {
		p.problem("nothing may stand behind \"end\": delete it, or move \"end\" down")
	}
	if p.open != nil {
		p.problem("a line \"to\" must follow line %d", p.open.Line)
	}
	p.ended = true
}

// name reads the name at the end of a line; "" where it was refused.
func (p *parser) name(text string) string {
	name, err := Unquote(text)
	if err != nil {
		p.problem("%v", err)
	}
	return name
}

func (p *parser) inode(word string) uint64 {
	if word == "-" {
		return 0
	}
	n, err := strconv.ParseUint(word, 10, 64)
	if err != nil || n == 0 {
		p.problem("%s is no inode; leave size, time and inode as they were", ui.Printable(ui.Cut(word, 40)))
	}
	return n
}

func (p *parser) stamp(word string) Stamp {
	s, ok := parseStamp(word)
	if !ok {
		p.problem("%s is no time in seconds, as 1763661791.5; leave size, time and inode as they were", ui.Printable(ui.Cut(word, 40)))
	}
	return s
}
