package organize

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/slicesx"
	"github.com/anivault/anivault/internal/ui"
)

// PlanError lists all problems in a plan's text, in the order of its lines.
type PlanError struct{ Problems []LineProblem }

// LineProblem is a problem in one line of a plan's text.
type LineProblem struct {
	Line int // the line number, from 1
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

// Parse parses and checks a plan's text. It requires a complete header and valid lines. No source or target may occur
// twice, and CleanName must leave each target unchanged, except for folders that the header lists. The error is a
// *PlanError.
func Parse(text string) (*Plan, error) {
	files := strings.Count(text, "\n  to ") // an estimate: growing the maps would take 50% longer for a big plan
	p := parser{
		plan:    &Plan{Units: make([]Unit, 0, files)},
		sources: make(map[string]int, files), targets: make(map[string]pathClaim, files), folders: map[Folder]bool{},
	}
	p.readLines(strings.TrimPrefix(text, "\ufeff"))
	return p.plan, p.err()
}

type parser struct {
	scanner
	plan          *Plan
	nextHeader    int                  // index in headerLines of the next line that may occur
	inLine        *Unit                // the last "in" line, which says where the following files are; nil for none
	unitBegun     bool                 // a unit has begun since the last "in" line
	pendingOp     *Op                  // the operation that still needs its "to" line; nil for none
	skipNextTo    bool                 // the last line began with an unknown word, so skip its "to" line
	endReached    bool                 // the line "end" has been read
	sources       map[string]int       // by path: the line that names it
	targets       map[string]pathClaim // every target and its parent folders, by path after FoldName
	lastFolder    Folder               // the folder of the last target, with a final slash
	lastFolderKey string               // full path of lastFolder after FoldName
	folders       map[Folder]bool      // the folders that the header lists
}

// pathClaim says that a target, or a folder above one, uses a path.
type pathClaim struct {
	line     int // the first line that uses the path; 0 for a root or a folder above one
	isFolder bool
}

func (p *parser) readLines(text string) {
	for line := range strings.Lines(text) {
		p.line++
		p.unread = strings.TrimLeft(strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"), " \t")
		if p.endReached {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				p.addProblem(afterEndMessage)
				return
			}
			continue
		}
		p.readLine()
		if p.line == 1 && len(p.problems) > 0 {
			return // not a plan, so other problems don't matter
		}
	}
	if !p.endReached {
		p.line++
		p.addProblem("the line \"end\" is missing, so the plan is incomplete: make it again")
	}
}

const afterEndMessage = "nothing may follow \"end\": delete it, or move \"end\" down"

func (p *parser) readLine() {
	if p.line == 1 {
		if strings.TrimRight(p.unread, " \t") != planFirstLine {
			p.addProblem("a plan begins with %q, not with %q", planFirstLine, excerpt(p.unread, 60))
		}
		return
	}
	if p.unread == "" || p.unread[0] == '#' {
		return
	}
	word := p.scanWord()
	if p.readHeader(word) {
		return
	}
	unknown := p.skipNextTo
	if p.skipNextTo = false; unknown && word == "to" {
		return
	}
	if word != "to" {
		if p.pendingOp != nil {
			p.addProblem("a line \"to\" must follow line %d", p.pendingOp.Line)
		}
		p.pendingOp = nil
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
			p.addProblem(afterEndMessage)
		}
		p.endReached = true
	default:
		if verb := ParseVerb(word); verb != VerbNone {
			if p.inLine == nil {
				p.addProblem("a line \"in\" must come first: it says where the files are")
				p.inLine = &Unit{Dir: "."}
			}
			p.beginUnit()
			p.readSource(verb)
			return
		}
		p.skipNextTo = true
		p.addProblem("%s is not a word of a plan: in, %s, with, nfo, to, end", excerpt(word, 40),
			strings.Join(verbWords[VerbLink:VerbNFO], ", "))
	}
}

func (p *parser) readIn() {
	p.inLine = &Unit{
		Source: p.scanIndex(len(p.plan.Sources), "source"),
		Target: p.scanIndex(len(p.plan.Targets), "target"),
		Dir:    p.scanName(),
	}
	p.unitBegun = false
	if !isLocal(p.inLine.Dir) {
		p.addProblem("%s is not a folder below the source: give its path from there, without ..", ui.Printable(p.inLine.Dir))
	}
}

func (p *parser) beginUnit() {
	p.plan.Units = append(p.plan.Units, *p.inLine)
	p.unitBegun = true
}

func (p *parser) lastUnit() *Unit {
	if len(p.plan.Units) == 0 {
		return nil
	}
	return &p.plan.Units[len(p.plan.Units)-1]
}

const noUnitMessage = "there is no unit before this line that it could belong to: begin one with link, copy, " +
	"move, symlink or reflink"

func (p *parser) readWith() {
	u := p.lastUnit()
	if u == nil {
		p.addProblem(noUnitMessage)
		return
	}
	verb := u.Ops[0].Verb
	if word, rest := cutWord(p.unread); ParseVerb(word) != VerbNone {
		verb, p.unread = ParseVerb(word), rest
	} else if verb == VerbNFO {
		p.addProblem("\"with\" continues the unit of a video, and there is none before it")
		return
	}
	p.readSource(verb)
}

func (p *parser) readSource(verb Verb) {
	op := Op{Verb: verb, Line: p.line}
	op.Size, op.MTime, op.Inode, op.Source = p.scanSize(), p.scanStamp(), p.scanInode(), p.scanName()
	u := p.lastUnit()
	if op.Source == "." || !isLocal(op.Source) {
		p.addProblem("%s is not a name below the folder of \"in\": give its path from there, without ..",
			ui.Printable(op.Source))
	} else if u.Source < len(p.plan.Sources) {
		from := p.plan.SourcePath(u, &op)
		if first, twice := p.sources[from]; twice {
			p.addProblem("the source of line %d is named again: delete one of them", first)
		}
		p.sources[from] = p.line
	}
	p.addOp(op)
}

// readNFO reads a line "nfo". After a video, the NFO belongs to the unit of that video. After "in", it is a unit of its
// own, whose video is already in place.
func (p *parser) readNFO() {
	if p.inLine == nil {
		p.addProblem(noUnitMessage)
		return
	}
	if !p.unitBegun {
		p.beginUnit()
	}
	p.addOp(Op{Verb: VerbNFO, NFO: p.scanNFO(), Line: p.line})
}

// scanNFO reads the rest of a line "nfo", such as "tv/209867 full in ko-KR".
func (p *parser) scanNFO() *NFOSpec {
	entry := p.scanWord()
	kind, number, _ := strings.Cut(entry, "/")
	id, err := strconv.Atoi(number)
	if err != nil || id < 1 || kind != "tv" && kind != "movie" {
		p.addProblem("%s is not an entry, such as tv/209867 or movie/129", excerpt(entry, 40))
	}
	n := &NFOSpec{Entry: Entry{Kind: kind, ID: id}}
	for p.unread != "" {
		switch word := p.scanWord(); {
		case word == "full" && len(n.Episodes) == 0:
			n.Full = true
		case word == "in" && p.unread != "":
			n.Languages = p.scanWord()
		case word == "order" && kind == "tv" && len(n.Episodes) == 0 && p.unread != "":
			n.Order = p.scanWord()
		case word == "as" && len(n.Episodes) > 0 && n.Named.Episodes == nil:
			n.Named.Season, n.Named.Episodes = parseEpisodeNumbers(p.scanWord(), len(n.Episodes))
			if n.Named.Episodes == nil {
				p.addProblem("there must be as many episodes after \"as\" as before it, such as S01E01")
			}
		case kind == "tv" && !n.Full && len(n.Episodes) == 0 && n.Order == "":
			if n.Season, n.Episodes = parseEpisodeNumbers(word, 0); n.Episodes != nil {
				n.Full = true
				continue
			}
			fallthrough
		default:
			p.addProblem("%s can't follow the entry in a line \"nfo\"; allowed are \"full\", \"order\", episodes such as "+
				"S01E01, and \"in\" with a language", excerpt(word, 40))
			return n
		}
	}
	return n
}

// parseEpisodeNumbers parses "S01E01E02". It returns no episodes if the word has another form, or if count is not 0 and
// they are not as many.
func parseEpisodeNumbers(word string, count int) (season int, episodes []int) {
	for i, part := range strings.Split(strings.TrimPrefix(word, "S"), "E") {
		number, err := strconv.ParseUint(part, 10, strconv.IntSize-1)
		switch {
		case err != nil:
			return 0, nil
		case i == 0:
			season = int(number)
		default:
			episodes = append(episodes, int(number))
		}
	}
	if !strings.HasPrefix(word, "S") || count > 0 && count != len(episodes) {
		return 0, nil
	}
	return season, episodes
}

func (p *parser) addOp(op Op) {
	u := p.lastUnit()
	u.Ops = append(u.Ops, op)
	p.pendingOp = &u.Ops[len(u.Ops)-1]
}

func (p *parser) readTo() {
	if p.pendingOp == nil {
		p.addProblem("\"to\" may only follow a line that names a file, and only once: delete this line")
		return
	}
	op, u := p.pendingOp, p.lastUnit()
	p.pendingOp = nil
	op.To = p.scanName()
	if u.Target < len(p.plan.Targets) && p.isValidTarget(u.Target, op.To) {
		p.claimTarget(u.Target, op.To)
	}
}

// newPart returns the part of a target that is not one of the header's existing folders.
func (p *parser) newPart(root int, target string) string {
	if len(p.folders) == 0 || !isLocal(target) {
		return target
	}
	for folder := path.Dir(target); folder != "." && folder != "/"; folder = path.Dir(folder) {
		if p.folders[Folder{root, folder}] {
			return target[len(folder)+1:]
		}
	}
	return target
}

func (p *parser) isValidTarget(root int, to string) bool {
	own := p.newPart(root, to)
	if folder, name := path.Split(to); (Folder{root, folder}) == p.lastFolder {
		own = name
	}
	if own == "" {
		return false // scanName has already reported the problem
	}
	names := strings.Split(own, "/")
	if slices.ContainsFunc(names, func(name string) bool { return name == "" || CleanName(name) != name }) {
		names = slicesx.Map(names, CleanName)
		allowed := strings.Join(slices.DeleteFunc(names, func(name string) bool { return name == "" }), "/")
		switch {
		case allowed == "":
			p.addProblem("%s is not a valid name on every system: choose another", ui.Printable(own))
		case FoldName(own) == FoldName(allowed):
			p.addProblem("%s is not in the normal form of names: write it as composed characters (NFC)", ui.Printable(own))
		default:
			p.addProblem("%s is not a valid name on every system; allowed is %s", ui.Printable(own), ui.Printable(allowed))
		}
		return false
	}
	if size := len(p.plan.Targets[root].Path) + 1 + len(to); size > maxPathBytes {
		p.addProblem("the path has %d bytes with its root, and %d is the most that programs can open: "+
			"shorten its names, or take folders out", size, maxPathBytes)
		return false
	}
	const most = maxNameBytes - serverSuffixBytes
	for _, name := range names {
		if len(name) > most {
			p.addProblem("the name has %d bytes, but at most %d leave room for the files that servers add: %s",
				len(name), most, ui.Printable(name))
			return false
		}
	}
	return true
}

func (p *parser) claimTarget(root int, to string) {
	if len(p.targets) == 0 {
		for _, root := range p.plan.Targets {
			key := FoldName(path.Clean(root.Path))
			p.targets[key] = pathClaim{isFolder: true}
			p.claimFolders(path.Dir(key), 0)
		}
	}
	folder, name := path.Split(to)
	if at := (Folder{root, folder}); p.lastFolderKey == "" || at != p.lastFolder {
		key := FoldName(path.Join(p.plan.Targets[root].Path, folder))
		p.claimFolders(key, p.line)
		p.lastFolder, p.lastFolderKey = at, strings.TrimSuffix(key, "/")+"/"
	}
	key := p.lastFolderKey + FoldName(name)
	switch first, taken := p.targets[key]; {
	case !taken:
		p.targets[key] = pathClaim{line: p.line}
	case !first.isFolder:
		p.addProblem("%s is also the target of line %d: rename one of them; another case is not enough",
			ui.Printable(to), first.line)
	case first.line == 0:
		p.addProblem("the target is a folder in the header: give the file another name")
	default:
		p.addProblem("the target is the folder of line %d's target: rename one of them", first.line)
	}
}

func (p *parser) claimFolders(dir string, line int) {
	for ; ; dir = path.Dir(dir) {
		first, taken := p.targets[dir]
		if taken && first.isFolder {
			return // then its parents are claimed too
		}
		if taken {
			p.addProblem("the target is inside the target of line %d, which is a file: rename one of them", first.line)
		}
		p.targets[dir] = pathClaim{line: line, isFolder: true}
	}
}
