package organize

import (
	"strconv"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/lazyregexp"
	"github.com/anivault/anivault/internal/ui"
)

const planFirstLine = "anivault plan 1"

// headerLines lists the header's lines in order. Some may repeat. Only a plan without units may lack a source.
var headerLines = []struct {
	word            string
	repeats, needed bool
	read            func(*parser)
}{
	{"id", false, true, (*parser).readID},
	{"made", false, true, (*parser).readCreated},
	{"mode", false, true, (*parser).readMode},
	{"layout", false, true, (*parser).readLayout},
	{"source", true, false, func(p *parser) { p.readRoot(&p.plan.Sources) }},
	{"target", true, true, func(p *parser) { p.readRoot(&p.plan.Targets) }},
	{"folder", true, false, (*parser).readFolder},
}

func (p *parser) readHeader(word string) bool {
	for i, h := range headerLines {
		switch {
		case h.word == word && i < p.nextHeader:
			p.addProblem("the header has its line %q further up: delete this one, or move it there", word)
			return true
		case h.word == word:
			p.nextHeader = i
			if !h.repeats {
				p.nextHeader++
			}
			h.read(p)
			return true
		case i >= p.nextHeader && h.needed && (h.word != "target" || len(p.plan.Targets) == 0):
			p.addProblem("the header's line %q is missing: put it back, or make the plan again", h.word)
		}
	}
	p.nextHeader = len(headerLines)
	return false
}

func (p *parser) readID() {
	if p.plan.ID = p.unread; !IsID(p.unread) {
		p.addProblem("%s is not a plan ID, such as 20261122-020431-k3f9", excerpt(p.unread, 40))
	}
}

var idPattern = lazyregexp.New(`^\d{8}-\d{6}-[0-9a-z]{4}$`)

// IsID reports whether s has the form of a plan's ID, such as "20261122-020431-k3f9". It is important that nothing else
// passes, because IDs become parts of file names.
func IsID(s string) bool { return idPattern().MatchString(s) }

func (p *parser) readCreated() {
	var err error
	if p.plan.Created, err = time.Parse(time.RFC3339, p.unread); err != nil {
		p.addProblem("%s is not a time, such as 2026-11-22T02:04:31Z", excerpt(p.unread, 40))
	}
}

func (p *parser) readMode() {
	if p.plan.Mode = Mode(p.unread); p.plan.Mode.Verb() == VerbNone {
		p.addProblem("%s is not a mode: hardlink, move, symlink, copy, reflink", excerpt(p.unread, 40))
	}
}

func (p *parser) readLayout() {
	if p.plan.Layout = p.unread; p.unread == "" {
		p.addProblem("the layout is missing")
	}
}

func (p *parser) readRoot(roots *[]Root) {
	number, want := p.scanWord(), strconv.Itoa(len(*roots)+1)
	*roots = append(*roots, p.scanRoot())
	if number != want {
		p.addProblem("the number is %s, not %s", want, excerpt(number, 20))
	}
}

func (s *scanner) scanRoot() Root {
	r := Root{Type: s.scanWord(), Inode: s.scanInode()}
	if born, rest := cutWord(s.unread); born == "-" {
		s.unread = rest
	} else {
		r.Birth = s.scanStamp()
	}
	r.Path = s.scanName()
	// Accept the absolute paths of other systems too.
	if p := r.Path; !strings.HasPrefix(p, "/") && !strings.HasPrefix(p, `\\`) && (len(p) < 3 || p[1] != ':') {
		s.addProblem("the path is not absolute: %s", ui.Printable(p))
	}
	return r
}

// MarshalText implements encoding.TextMarshaler.
func (r Root) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *Root) UnmarshalText(text []byte) error {
	s := scanner{line: 1, unread: string(text)}
	*r = s.scanRoot()
	return s.err()
}

func (p *parser) readFolder() {
	f := Folder{Target: p.scanIndex(len(p.plan.Targets), "target"), Path: p.scanName()}
	if f.Path == "." || !isLocal(f.Path) {
		p.addProblem("%s is not a folder below the target", ui.Printable(f.Path))
	}
	p.plan.Folders = append(p.plan.Folders, f)
	p.folders[f] = true
}
