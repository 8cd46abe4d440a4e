package organize

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/ui"
)

// PlanError lists everything that is wrong with a plan's text, in the order of its lines.
type PlanError struct {
	Problems []Problem
}

// Problem is an error in one line.
type Problem struct {
	Line int // from 1
	Text lang.Text
}

func (e *PlanError) Error() string { return e.Text().String() }

// Text returns the first problem and the number of others.
func (e *PlanError) Text() lang.Text {
	text := lang.Textf("the plan can't be read: line %d: %s", e.Problems[0].Line, e.Problems[0].Text)
	if more := len(e.Problems) - 1; more > 0 {
		return lang.Textf("%s, and %d more", text, more)
	}
	return text
}

// Parse parses a plan's text and checks it: the header, each line, that no source or target occurs twice, and that
// CleanName would not change any target. (Names of folders in the header are exempt.) The error is a *PlanError.
func Parse(text string) (*Plan, error) { return parse(text, false) }

// Check returns the error of Parse, in two thirds of the memory.
func Check(text string) error {
	_, err := parse(text, true)
	return err
}

func parse(text string, checkOnly bool) (*Plan, error) {
	files := strings.Count(text, "\n") / 2 // preallocated, because growing maps take 50% longer for a big plan
	p := parser{
		plan: &Plan{}, sources: make(map[string]int, files), targets: make(map[string]claim, files),
		folders: map[Folder]bool{}, checkOnly: checkOnly,
	}
	if !checkOnly {
		p.plan.Units = make([]Unit, 0, files)
	}
	p.read(strings.TrimPrefix(text, "\ufeff"))
	return p.plan, p.err()
}

type parser struct {
	scanner
	plan      *Plan
	header    int   // index in headers of the next allowed row
	in        *Unit // the last "in" line: source, target and folder of the units after it
	begun     bool  // a unit has begun since the last "in" line
	open      *Op   // the operation that still needs its "to" line
	unknown   bool  // the last line began with an unknown word, so its "to" is skipped
	ended     bool
	checkOnly bool             // keep only the last unit
	sources   map[string]int   // path -> the line that names it
	targets   map[string]claim // by folded path: every target and its parent folders
	into      Folder           // the folder of the last target, with a slash: most targets share it with the next
	above     string           // its folded path, with the root
	folders   map[Folder]bool  // the folders of the header
}

type claim struct {
	line   int // 0: a root, or a folder above one
	folder bool
}

func (p *parser) read(text string) {
	for line := range strings.Lines(text) {
		p.line++
		p.unread = strings.TrimLeft(strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"), " \t")
		if p.ended {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				p.behindEnd()
				return
			}
			continue
		}
		p.readLine()
		if p.line == 1 && len(p.problems) > 0 {
			return // not a plan: skip the rest
		}
	}
	if !p.ended {
		p.line++
		p.problem("the line \"end\" is missing, so the plan is incomplete: make it again")
	}
}

func (p *parser) behindEnd() {
	p.problem("nothing may stand behind \"end\": delete it, or move \"end\" down")
}

func (p *parser) readLine() {
	if p.line == 1 {
		if strings.TrimRight(p.unread, " \t") != version {
			p.problem("a plan begins with %q, not with %s", version, shown(p.unread, 60))
		}
		return
	}
	if p.unread == "" || p.unread[0] == '#' {
		return
	}
	word := p.word()
	if p.readHeader(word) {
		return
	}
	unknown := p.unknown
	if p.unknown = false; unknown && word == "to" {
		return
	}
	if word != "to" {
		if p.open != nil {
			p.problem("a line \"to\" must follow line %d", p.open.Line)
		}
		p.open = nil
	}
	switch word {
	case "in":
		p.readIn()
	case "with":
		p.readWith()
	case "to":
		p.readTo()
	case "nfo":
		p.readNFO()
	case "end":
		if strings.TrimSpace(p.unread) != "" {
			p.behindEnd()
		}
		p.ended = true
	default:
		if verb := VerbOf(word); verb != None {
			if p.in == nil {
				p.problem("a line \"in\" must come first: it says where the files are")
				p.in = &Unit{Dir: "."}
			}
			p.beginUnit()
			p.readSource(verb)
			return
		}
		p.unknown = true
		p.problem("%s is not a word of a plan: in, %s, with, nfo, to, end", shown(word, 40),
			strings.Join(verbs[Link:NFO], ", "))
	}
}

func (p *parser) readIn() {
	p.in = &Unit{
		Source: p.index(len(p.plan.Sources), "source"),
		Target: p.index(len(p.plan.Targets), "target"),
		Dir:    p.name(),
	}
	p.begun = false
	if !isLocal(p.in.Dir) {
		p.problem("%s is not a folder below the source: give its path from there, without ..", ui.Printable(p.in.Dir))
	}
}

func (p *parser) beginUnit() {
	if p.checkOnly {
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

const noUnit = "no unit that this could belong to stands before it: " +
	"begin one with link, copy, move, symlink or reflink"

func (p *parser) readWith() {
	u := p.unit()
	if u == nil {
		p.problem(noUnit)
		return
	}
	verb := u.Ops[0].Verb
	if word, rest := cutWord(p.unread); VerbOf(word) != None {
		verb, p.unread = VerbOf(word), rest
	} else if verb == NFO {
		p.problem("\"with\" continues a unit of a video, and none stands before it")
		return
	}
	p.readSource(verb)
}

func (p *parser) readSource(verb Verb) {
	op := Op{Verb: verb, Line: p.line}
	op.Size, op.MTime, op.Inode, op.Source = p.size(), p.stamp(), p.inode(), p.name()
	u := p.unit()
	if op.Source == "." || !isLocal(op.Source) {
		p.problem("%s is not a name below the folder of \"in\": give its path from there, without ..",
			ui.Printable(op.Source))
	} else if u.Source < len(p.plan.Sources) {
		from := p.plan.SourcePath(u, &op)
		if first, twice := p.sources[from]; twice {
			p.problem("the source of line %d is named again: delete one of them", first)
		}
		p.sources[from] = p.line
	}
	p.begin(op)
}

// readNFO reads a line "nfo". After a video it belongs to that video's unit; after "in" it is a unit of its own, for a
// video that is in place.
func (p *parser) readNFO() {
	if p.in == nil {
		p.problem(noUnit)
		return
	}
	if !p.begun {
		p.beginUnit()
	}
	p.begin(Op{Verb: NFO, Note: p.note(), Line: p.line})
}

// note reads "tv/209867 full in ko-KR".
func (p *parser) note() *Note {
	entry := p.word()
	kind, number, _ := strings.Cut(entry, "/")
	id, err := strconv.Atoi(number)
	if err != nil || id < 1 || kind != "tv" && kind != "movie" {
		p.problem("%s is not an entry, such as tv/209867 or movie/129", shown(entry, 40))
	}
	n := &Note{Entry: Entry{Kind: kind, ID: id}}
	for p.unread != "" {
		switch word := p.word(); {
		case word == "full" && len(n.Episodes) == 0:
			n.Full = true
		case word == "in" && p.unread != "":
			n.Languages = p.word()
		case kind == "tv" && !n.Full && len(n.Episodes) == 0 && n.readEpisodes(word):
			n.Full = true
		default:
			p.problem("%s is not what a line \"nfo\" may say behind the entry: "+
				"full, or episodes as S01E01, and in with a language", shown(word, 40))
			return n
		}
	}
	return n
}

// readEpisodes reads "S01E01E02".
func (n *Note) readEpisodes(word string) bool {
	for i, part := range strings.Split(strings.TrimPrefix(word, "S"), "E") {
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

func (p *parser) readTo() {
	if p.open == nil {
		p.problem("\"to\" follows a line that names a file, and only once: delete this line")
		return
	}
	op, u := p.open, p.unit()
	p.open = nil
	op.To = p.name()
	if u.Target < len(p.plan.Targets) && p.isTarget(u.Target, op.To) {
		p.claim(u.Target, op.To)
	}
}

func (p *parser) ownPart(root int, to string) string {
	if len(p.folders) == 0 || !isLocal(to) {
		return to
	}
	for folder := path.Dir(to); folder != "." && folder != "/"; folder = path.Dir(folder) {
		if p.folders[Folder{root, folder}] {
			return to[len(folder)+1:]
		}
	}
	return to
}

func (p *parser) isTarget(root int, to string) bool {
	own := p.ownPart(root, to)
	if folder, name := path.Split(to); (Folder{root, folder}) == p.into {
		own = name
	}
	if own == "" {
		return false // the name was refused already
	}
	names := strings.Split(own, "/")
	if slices.ContainsFunc(names, func(name string) bool { return name == "" || CleanName(name) != name }) {
		for i, name := range names {
			names[i] = CleanName(name)
		}
		allowed := strings.Join(slices.DeleteFunc(names, func(name string) bool { return name == "" }), "/")
		switch {
		case allowed == "":
			p.problem("%s can't be a name on every system: write another one", ui.Printable(own))
		case FoldName(own) == FoldName(allowed):
			p.problem("%s is not in the normal form of names: write it as composed characters (NFC)", ui.Printable(own))
		default:
			p.problem("%s can't be a name on every system; allowed is %s", ui.Printable(own), ui.Printable(allowed))
		}
		return false
	}
	if size := len(p.plan.Targets[root].Path) + 1 + len(to); size > longestPath {
		p.problem("the path has %d bytes with its root, and %d is the most that programs can open: "+
			"shorten its names, or take folders out", size, longestPath)
		return false
	}
	const most = longestName - reservedBytes
	for _, name := range names {
		if len(name) > most {
			p.problem("the name has %d bytes, but at most %d leave room for the files that servers add: %s",
				len(name), most, ui.Printable(name))
			return false
		}
	}
	return true
}

func (p *parser) claim(root int, to string) {
	if len(p.targets) == 0 {
		for _, root := range p.plan.Targets {
			key := FoldName(path.Clean(root.Path))
			p.targets[key] = claim{folder: true}
			p.claimFolders(path.Dir(key), 0)
		}
	}
	folder, name := path.Split(to)
	if at := (Folder{root, folder}); p.above == "" || at != p.into {
		key := FoldName(path.Join(p.plan.Targets[root].Path, folder))
		p.claimFolders(key, p.line)
		p.into, p.above = at, strings.TrimSuffix(key, "/")+"/"
	}
	key := p.above + FoldName(name)
	switch first, taken := p.targets[key]; {
	case !taken:
		p.targets[key] = claim{line: p.line}
	case !first.folder:
		p.problem("%s is the target of line %d too: give one of them another name, different in more than case",
			ui.Printable(to), first.line)
	case first.line == 0:
		p.problem("the target is a folder that the header names: give the file another name")
	default:
		p.problem("the target is the folder of line %d's: give one of them another name", first.line)
	}
}

func (p *parser) claimFolders(dir string, line int) {
	for ; ; dir = path.Dir(dir) {
		first, taken := p.targets[dir]
		if taken && first.folder {
			return // so are its parents
		}
		if taken {
			p.problem("the target lies below that of line %d, which is a file: give one of them another name", first.line)
		}
		p.targets[dir] = claim{line: line, folder: true}
	}
}
