package organize

import (
	"strconv"
	"strings"
	"time"

	"github.com/anivault/anivault/internal/ui"
)

// headers are the words of the header in their order. One that repeats may come several times, or never unless it is needed: a plan
// of nothing may have no source.
var headers = []struct {
	word            string
	repeats, needed bool
	read            func(p *parser, rest string)
}{
	{"id", false, true, (*parser).readID},
	{"made", false, true, (*parser).readMade},
	{"mode", false, true, (*parser).readMode},
	{"layout", false, true, (*parser).readLayout},
	{"source", true, false, func(p *parser, rest string) { p.readRoot(&p.plan.Sources, rest) }},
	{"target", true, true, func(p *parser, rest string) { p.readRoot(&p.plan.Targets, rest) }},
	{"folder", true, false, (*parser).readFolder},
}

// readHeader reports whether the line belongs to the header.
func (p *parser) readHeader(word, rest string) bool {
	for i := range p.header {
		if headers[i].word == word {
			p.problem("the header has its line %q further up: delete this one, or move it there", word)
			return true
		}
	}
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
			p.problem("the header's line %q is missing: put it back, or make the plan again", h.word)
		}
	}
	p.header = len(headers)
	return false
}

func (p *parser) has(repeated string) bool {
	return repeated == "target" && len(p.plan.Targets) > 0
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
