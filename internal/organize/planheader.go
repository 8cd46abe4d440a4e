package organize

import (
	"strconv"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/lazyregexp"
	"github.com/anivault/anivault/internal/ui"
)

const version = "anivault plan 1"

// headers lists the lines of the header in their order. A line with repeats may occur several times. A plan without
// units may have no source.
var headers = []struct {
	word            string
	repeats, needed bool
	read            func(*parser)
}{
	{"id", false, true, (*parser).readID},
	{"made", false, true, (*parser).readMade},
	{"mode", false, true, (*parser).readMode},
	{"layout", false, true, (*parser).readLayout},
	{"source", true, false, func(p *parser) { p.readRoot(&p.plan.Sources) }},
	{"target", true, true, func(p *parser) { p.readRoot(&p.plan.Targets) }},
	{"folder", true, false, (*parser).readFolder},
}

func (p *parser) readHeader(word string) bool {
	for i, h := range headers {
		switch {
		case h.word == word && i < p.header:
			p.problem("the header has its line %q further up: delete this one, or move it there", word)
			return true
		case h.word == word:
			p.header = i
			if !h.repeats {
				p.header++
			}
			h.read(p)
			return true
		case i >= p.header && h.needed && (h.word != "target" || len(p.plan.Targets) == 0):
			p.problem("the header's line %q is missing: put it back, or make the plan again", h.word)
		}
	}
	p.header = len(headers)
	return false
}

func (p *parser) readID() {
	if p.plan.ID = p.unread; !IsID(p.unread) {
		p.problem("%s is not a plan ID, such as 20261122-020431-k3f9", shown(p.unread, 40))
	}
}

var idForm = lazyregexp.New(`^\d{8}-\d{6}-[0-9a-z]{4}$`)

// IsID reports whether s is a plan's ID, such as "20261122-020431-k3f9". IDs are parts of file names.
func IsID(s string) bool { return idForm().MatchString(s) }

func (p *parser) readMade() {
	var err error
	if p.plan.Made, err = time.Parse(time.RFC3339, p.unread); err != nil {
		p.problem("%s is not a time, such as 2026-11-22T02:04:31Z", shown(p.unread, 40))
	}
}

func (p *parser) readMode() {
	if p.plan.Mode = Mode(p.unread); p.plan.Mode.Verb() == None {
		p.problem("%s is not a mode: hardlink, move, symlink, copy, reflink", shown(p.unread, 40))
	}
}

func (p *parser) readLayout() {
	if p.plan.Layout = p.unread; p.unread == "" {
		p.problem("the layout is missing")
	}
}

func (p *parser) readRoot(roots *[]Root) {
	number, want := p.word(), strconv.Itoa(len(*roots)+1)
	*roots = append(*roots, p.root())
	if number != want {
		p.problem("the number is %s, not %s", want, shown(number, 20))
	}
}

func (s *scanner) root() Root {
	r := Root{Type: s.word(), Inode: s.inode()}
	if born, rest := cutWord(s.unread); born == "-" {
		s.unread = rest
	} else {
		r.Birth = s.stamp()
	}
	r.Path = s.name()
	// Accept the absolute paths of other systems too.
	if p := r.Path; !strings.HasPrefix(p, "/") && !strings.HasPrefix(p, `\\`) && (len(p) < 3 || p[1] != ':') {
		s.problem("the path is not absolute: %s", ui.Printable(p))
	}
	return r
}

// MarshalText implements encoding.TextMarshaler.
func (r Root) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *Root) UnmarshalText(text []byte) error {
	s := scanner{line: 1, unread: string(text)}
	*r = s.root()
	return s.err()
}

func (p *parser) readFolder() {
	f := Folder{Target: p.index(len(p.plan.Targets), "target"), Path: p.name()}
	if f.Path == "." || !isLocal(f.Path) {
		p.problem("%s is not a folder below the target", ui.Printable(f.Path))
	}
	p.plan.Folders = append(p.plan.Folders, f)
	p.folders[f] = true
}
