package organize

import (
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"
	"time"

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

// Error names every problem up to the twentieth, one a line.
func (e *PlanError) Error() string {
	const most = 20
	var b strings.Builder
	b.WriteString("the plan can't be read")
	for i, p := range e.Problems {
		if i == most {
			fmt.Fprintf(&b, "\n  and %d more", len(e.Problems)-most)
			break
		}
		fmt.Fprintf(&b, "\n  line %d: %s", p.Line, p.Text)
	}
	return b.String()
}

// Parse reads a plan's text and checks all of it: its headers, each line, that no source and no target stands there twice, and
// that every target is a name that CleanName leaves as it is (below a folder of the header: that the rest is). The error is a
// *PlanError.
func Parse(text string) (*Plan, error) {
	p := newParser(len(text) / plannedBytes)
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
	return &parser{plan: &Plan{}, sources: map[sourceKey]int{}, dirs: map[string]int32{}, targets: newFoldSet(files), folders: map[Folder]bool{}}
}

// sourceKey is the path of a source: the number of its folder, and its name there.
type sourceKey struct {
	dir  int32
	name string
}

// claim is where a target was named, and as what: a file, or the folder of one.
type claim struct {
	line   int // 0: a folder above the target roots
	folder int32
}

type parser struct {
	plan     *Plan
	problems []Problem
	line     int
	header   int   // the next row of headers
	in       *Unit // what `in` said last: source, target and folder of the units that follow
	open     *Op   // the operation whose `to` is awaited
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
		p.problem("the line \"end\" is missing: the plan was cut off")
		return
	}
	for text != "" {
		line, rest, _ := strings.Cut(text, "\n")
		text = rest
		p.line++
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			p.problem("nothing may stand behind \"end\"")
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
	if p.header < len(headers) && p.readHeader(line) {
		return
	}
	word, rest := cutWord(line)
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
		if verb := verbOf(word); verb != None {
			p.readUnit(verb, rest)
			return
		}
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

// headers are the words of the header in their order. One that repeats may come several times, or never unless it is needed.
var headers = []struct {
	word            string
	repeats, needed bool
	read            func(p *parser, rest string)
}{
	{"id", false, true, (*parser).readID},
	{"made", false, true, (*parser).readMade},
	{"mode", false, true, (*parser).readMode},
	{"layout", false, true, (*parser).readLayout},
	{"source", true, true, func(p *parser, rest string) { p.readRoot(&p.plan.Sources, rest) }},
	{"target", true, true, func(p *parser, rest string) { p.readRoot(&p.plan.Targets, rest) }},
	{"folder", true, false, (*parser).readFolder},
}

// readHeader reports whether the line belongs to the header.
func (p *parser) readHeader(line string) bool {
	word, rest := cutWord(line)
	for i := p.header; i < len(headers); i++ {
		h := headers[i]
		if h.word == word {
			p.header = i
			if !h.repeats {
				p.header++
			}
			h.read(p, rest)
			return true
		}
		if h.needed && !p.has(h.word) {
			p.problem("the header's line %q is missing", h.word)
		}
	}
	p.header = len(headers)
	return false
}

func (p *parser) has(repeated string) bool {
	return repeated == "source" && len(p.plan.Sources) > 0 || repeated == "target" && len(p.plan.Targets) > 0
}

func (p *parser) readID(rest string) {
	if !IsID(rest) {
		p.problem("%s is no id of a plan, as 20261122-020431-k3f9", ui.Printable(ui.Cut(rest, 40)))
	}
	p.plan.ID = rest
}

// IsID reports whether s is a plan's id: "20261122-020431-k3f9". It is part of file names.
func IsID(s string) bool {
	const form = "00000000-000000-xxxx"
	if len(s) != len(form) {
		return false
	}
	for i := range len(form) {
		digit, letter := s[i] >= '0' && s[i] <= '9', s[i] >= 'a' && s[i] <= 'z'
		switch form[i] {
		case '0':
			if !digit {
				return false
			}
		case 'x':
			if !digit && !letter {
				return false
			}
		default:
			if s[i] != form[i] {
				return false
			}
		}
	}
	return true
}

func (p *parser) readMade(rest string) {
	t, err := time.Parse(time.RFC3339, rest)
	if err != nil {
		p.problem("%s is no time, as 2026-11-22T02:04:31Z", ui.Printable(ui.Cut(rest, 40)))
	}
	p.plan.Made = t
}

func (p *parser) readMode(rest string) {
	p.plan.Mode = Mode(rest)
	if p.plan.Mode.Verb() == None {
		p.problem("%s is no mode: hardlink, move, symlink, copy, reflink", ui.Printable(ui.Cut(rest, 40)))
	}
}

func (p *parser) readLayout(rest string) {
	if rest == "" {
		p.problem("the layout is missing")
	}
	p.plan.Layout = rest
}

func (p *parser) readRoot(roots *[]Root, rest string) {
	number, rest := cutWord(rest)
	kind, rest := cutWord(rest)
	ino, rest := cutWord(rest)
	born, rest := cutWord(rest)
	r := Root{Type: kind, Inode: p.inode(ino), Path: p.name(rest)}
	if born != "-" {
		r.Birth = p.stamp(born)
	}
	if want := strconv.Itoa(len(*roots) + 1); number != want {
		p.problem("the number is %s, not %s", want, ui.Printable(ui.Cut(number, 20)))
	}
	if !isRooted(r.Path) {
		p.problem("the path is not absolute: %s", ui.Printable(r.Path))
	}
	*roots = append(*roots, r)
}

// isRooted reports whether a path begins at a root of this or another system.
func isRooted(s string) bool {
	return strings.HasPrefix(s, "/") || strings.HasPrefix(s, `\\`) || len(s) > 2 && s[1] == ':'
}

func (p *parser) readFolder(rest string) {
	number, rest := cutWord(rest)
	f := Folder{Target: p.index(number, len(p.plan.Targets), "target"), Path: p.name(rest)}
	if f.Path == "." || !isLocal(f.Path) {
		p.problem("%s is no folder below the target", ui.Printable(f.Path))
	}
	p.plan.Folders = append(p.plan.Folders, f)
	p.folders[f] = true
}

func (p *parser) readIn(rest string) {
	source, rest := cutWord(rest)
	to, rest := cutWord(rest)
	p.in = &Unit{
		Source: p.index(source, len(p.plan.Sources), "source"),
		Target: p.index(to, len(p.plan.Targets), "target"),
		Dir:    p.name(rest),
	}
	if !isLocal(p.in.Dir) {
		p.problem("%s is no folder below the source", ui.Printable(p.in.Dir))
	}
}

// index reads a number from 1 to n and returns it from 0.
func (p *parser) index(word string, n int, what string) int {
	i, err := strconv.Atoi(word)
	if err != nil || i < 1 || i > n {
		p.problem("the header has no %s %s", what, ui.Printable(ui.Cut(word, 20)))
		return 0
	}
	return i - 1
}

func (p *parser) readUnit(verb Verb, rest string) {
	if p.in == nil {
		p.problem("a line \"in\" must come first: it says where the files are")
		p.in = &Unit{Dir: "."}
	}
	if p.forget {
		p.plan.Units = p.plan.Units[:0]
	}
	p.plan.Units = append(p.plan.Units, *p.in)
	p.readSource(verb, rest)
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
		p.problem("no unit that this could belong to stands before it")
		return
	}
	verb := u.Ops[0].Verb
	if word, behind := cutWord(rest); verbOf(word) != None {
		verb, rest = verbOf(word), behind
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
		p.problem("%s is no size in bytes", ui.Printable(ui.Cut(size, 40)))
	}
	op.Size = n
	u := p.unit()
	if op.Source == "." || !isLocal(op.Source) {
		p.problem("%s is no name below the folder of \"in\"", ui.Printable(op.Source))
	} else if u.Source < len(p.plan.Sources) {
		key := p.sourceKey(u, op.Source)
		if first, twice := p.sources[key]; twice {
			p.problem("the source of line %d is named again", first)
		}
		p.sources[key] = p.line
	}
	p.begin(op)
}

// sourceKey returns the key under which a unit's source is known.
func (p *parser) sourceKey(u *Unit, name string) sourceKey {
	dir, name := path.Split(name)
	if dir == "" && p.lastIn.dir == u.Dir && p.lastIn.source == u.Source {
		return sourceKey{p.lastIn.number, name}
	}
	of := join(p.plan.Sources[u.Source].Path, u.Dir)
	if dir != "" {
		of = join(of, strings.TrimSuffix(dir, "/"))
	}
	number, known := p.dirs[of]
	if !known {
		number = int32(len(p.dirs))
		p.dirs[of] = number
	}
	if dir == "" {
		p.lastIn.source, p.lastIn.dir, p.lastIn.number = u.Source, u.Dir, number
	}
	return sourceKey{number, name}
}

func (p *parser) readNFO(rest string) {
	if p.unit() == nil {
		p.problem("no unit that this could belong to stands before it")
		return
	}
	kind, number, _ := strings.Cut(strings.TrimRight(rest, " \t"), "/")
	id, err := strconv.Atoi(number)
	if err != nil || id < 1 || kind != "tv" && kind != "movie" {
		p.problem("%s is no entry, as tv/209867 or movie/129", ui.Printable(ui.Cut(rest, 40)))
	}
	p.begin(Op{Verb: NFO, Entry: Entry{Kind: kind, ID: id}, Line: p.line})
}

func (p *parser) begin(op Op) {
	u := p.unit()
	u.Ops = append(u.Ops, op)
	p.open = &u.Ops[len(u.Ops)-1]
}

func (p *parser) readTo(rest string) {
	if p.open == nil {
		p.problem("\"to\" follows a line that names a file, and only once")
		return
	}
	op, u := p.open, p.unit()
	p.open = nil
	op.To = p.name(rest)
	if u.Target < len(p.plan.Targets) && p.isTarget(u.Target, op.To) {
		p.claim(u.Target, op.To)
	}
}

// isTarget checks a target's names. Folders of the header are there, so they stay as they are.
func (p *parser) isTarget(root int, to string) bool {
	own := to
	for folder := path.Dir(to); folder != "." && folder != "/" && len(p.folders) > 0; folder = path.Dir(folder) {
		if p.folders[Folder{root, folder}] && isLocal(to) {
			own = to[len(folder)+1:]
			break
		}
	}
	if isClean(own) {
		return true
	}
	components := strings.Split(own, "/")
	for i, c := range components {
		components[i] = CleanName(c)
	}
	if own == "" {
		return false // the name was refused already
	}
	p.problem("%s can't be a name on every system; allowed is %s", ui.Printable(own), ui.Printable(strings.Join(components, "/")))
	return false
}

// claim refuses a target that another one has, in whatever case and normal form, or needs as its folder.
func (p *parser) claim(root int, to string) {
	dir, name := path.Split(to)
	if p.last.number == 0 || p.last.root != root || p.last.path != dir {
		p.last.root, p.last.path, p.last.number = root, dir, p.folderOf(p.rootNumber(root), dir)
	}
	switch n := p.targets.first(p.last.number, name); {
	case n < 0:
		p.targets.add(p.last.number, name)
		p.claims = append(p.claims, claim{line: p.line})
	case p.claims[n].folder == 0:
		p.problem("the target is that of line %d", p.claims[n].line)
	case p.claims[n].line == 0:
		p.problem("the target is a folder that the header names")
	default:
		p.problem("the target is the folder of line %d's", p.claims[n].line)
	}
}

// folderOf returns the number of a folder below another one, from 1, and refuses a file on the way.
func (p *parser) folderOf(above int32, dir string) int32 {
	for more := dir != ""; more; {
		var name string
		name, dir, _ = strings.Cut(dir, "/")
		if more = dir != ""; name == "" {
			continue // of a root's path
		}
		n := p.targets.first(above, name)
		if n < 0 {
			n = p.targets.add(above, name)
			p.claims = append(p.claims, claim{line: p.line, folder: int32(n) + 2})
		}
		if p.claims[n].folder == 0 {
			p.problem("the target lies below that of line %d, which is a file", p.claims[n].line)
			p.claims[n].folder = int32(n) + 2
		}
		above = p.claims[n].folder
	}
	return above
}

// rootNumber returns the number of a target root's folder. Roots may lie in each other.
func (p *parser) rootNumber(root int) int32 {
	for len(p.roots) <= root {
		line := p.line
		p.line = 0
		p.roots = append(p.roots, p.folderOf(1, p.plan.Targets[len(p.roots)].Path))
		p.line = line
	}
	return p.roots[root]
}

func (p *parser) readEnd(rest string) {
	if strings.TrimSpace(rest) != "" {
		p.problem("nothing may stand behind \"end\"")
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
		p.problem("%s is no inode: a number, or - where inodes are not stable", ui.Printable(ui.Cut(word, 40)))
	}
	return n
}

func (p *parser) stamp(word string) Stamp {
	s, ok := parseStamp(word)
	if !ok {
		p.problem("%s is no time in seconds, as 1763661791.5", ui.Printable(ui.Cut(word, 40)))
	}
	return s
}

// parseStamp is the inverse of Stamp.String.
func parseStamp(word string) (Stamp, bool) {
	digits, negative := strings.CutPrefix(word, "-")
	whole, fraction, point := strings.Cut(digits, ".")
	sec, err := strconv.ParseUint(whole, 10, 63)
	if err != nil || point && (fraction == "" || len(fraction) > 9) || sec == math.MaxInt64 {
		return Stamp{}, false
	}
	nsec := uint64(0)
	if point {
		if nsec, err = strconv.ParseUint(fraction+"000000000"[len(fraction):], 10, 32); err != nil {
			return Stamp{}, false
		}
	}
	s := Stamp{Sec: int64(sec), Nsec: int32(nsec)}
	if !negative {
		return s, true
	}
	s.Sec = -s.Sec
	if nsec > 0 {
		s.Sec, s.Nsec = s.Sec-1, int32(int64(time.Second)-int64(nsec))
	}
	return s, true
}
