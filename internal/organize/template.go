package organize

import (
	_ "embed" // for the table of fields
	"slices"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/wordlist"
)

// Template is the pattern of a path. It has fields in braces, and optional pieces in angle brackets. A piece is omitted
// if one of its fields is empty.
type Template struct {
	text  string
	nodes []node
}

// node is a field, an optional piece, or literal text.
type node struct {
	text      string
	field     field
	minDigits int    // the length to which numbers are padded with zeros; 0 for no padding
	optional  []node // the nodes of an optional piece; nil for other nodes
}

type field uint8

const (
	noField field = iota
	fieldTitle
	fieldOriginalTitle
	fieldYear
	fieldTMDB
	fieldTVDB
	fieldIMDB
	fieldAniDB
	fieldAniList
	fieldMAL
	fieldSeason
	fieldEpisode
	fieldOrder
	fieldTVDBSeason
	fieldTVDBEpisode
	fieldAniDBEpisode
	fieldAbsoluteEpisode
	fieldAbsolute
	fieldEpisodeTitle
	fieldPart
	fieldEdition
	fieldResolution
	fieldSource
	fieldVideo
	fieldAudio
	fieldGroup
	fieldVersion
	fieldCRC
	fieldName
	fieldCount // the number of constants above
)

// Field describes a field of templates.
type Field struct {
	Name   string
	Number bool
	Doc    string
}

// Fields returns the fields in the order of the constants, without noField.
var Fields = wordlist.Table[Field](fieldsJSON)

//go:embed fields.json
var fieldsJSON []byte

// TemplateError is a syntax error in a template.
type TemplateError struct {
	Template string
	Position int       // the position of the error in characters, from 1
	Problem  lang.Text // what is wrong
	Field    string    // the unknown field; "" for other problems
}

func (e *TemplateError) Error() string { return e.Text().String() }

// Text returns the problem and its position.
func (e *TemplateError) Text() lang.Text {
	return lang.Textf("template %q: %s at character %d", e.Template, e.Problem, e.Position)
}

// ParseTemplate parses a template. The error is a *TemplateError.
func ParseTemplate(text string) (Template, error) {
	p := templateParser{text: text}
	nodes, err := p.parseSequence(false)
	if err != nil {
		return Template{}, err
	}
	at := 0
	for part := range strings.SplitSeq(text, "/") { // such as "..", or "" before the first slash
		if CleanName(part) == "" {
			return Template{}, p.errorAt(at, "a path below --to can't have %q between slashes; leave it out", part)
		}
		at += len(part) + 1
	}
	return Template{text: text, nodes: nodes}, nil
}

type templateParser struct {
	text   string
	offset int // of the next byte to parse
}

func (p *templateParser) errorAt(at int, format string, args ...any) *TemplateError {
	return &TemplateError{Template: p.text, Position: len([]rune(p.text[:at])) + 1, Problem: lang.Textf(format, args...)}
}

func (p *templateParser) parseSequence(optional bool) ([]node, error) {
	begin := p.offset - 1
	nodes := []node{}
	var literal strings.Builder
	flush := func() {
		if literal.Len() > 0 {
			nodes = append(nodes, node{text: literal.String()})
			literal.Reset()
		}
	}
	for p.offset < len(p.text) {
		c := p.text[p.offset]
		doubled := p.offset+1 < len(p.text) && p.text[p.offset+1] == c
		switch {
		case (c == '{' || c == '}') && doubled:
			literal.WriteByte(c)
			p.offset += 2
		case c == '{':
			flush()
			n, err := p.parseField()
			if err != nil {
				return nil, err
			}
			nodes = append(nodes, n)
		case c == '}':
			return nil, p.errorAt(p.offset, "a } without a {; write }} for the character")
		case c == '<' && optional:
			return nil, p.errorAt(p.offset, "a < inside < >")
		case c == '<':
			flush()
			p.offset++
			inner, err := p.parseSequence(true)
			if err != nil {
				return nil, err
			}
			nodes = append(nodes, node{optional: inner})
		case c == '>' && optional:
			flush()
			p.offset++
			return nodes, nil
		case c == '>':
			return nil, p.errorAt(p.offset, "a > that closes nothing")
		default:
			literal.WriteByte(c)
			p.offset++
		}
	}
	if optional {
		return nil, p.errorAt(begin, "a < that is not closed")
	}
	flush()
	return nodes, nil
}

func (p *templateParser) parseField() (node, error) {
	begin := p.offset
	end := strings.IndexByte(p.text[begin:], '}')
	if end < 0 {
		return node{}, p.errorAt(begin, "a { without a }; write {{ for the character")
	}
	p.offset = begin + end + 1
	name, width, padded := strings.Cut(p.text[begin+1:begin+end], ":")
	n := node{field: field(slices.IndexFunc(Fields(), func(f Field) bool { return f.Name == name }) + 1)}
	if n.field == noField {
		err := p.errorAt(begin, "there is no field %q", name)
		err.Field = name
		return node{}, err
	}
	if !padded {
		return n, nil
	}
	w, err := strconv.Atoi(width)
	switch {
	case err != nil || w < 1 || w > 9:
		return node{}, p.errorAt(begin, "%q is not a number of digits from 1 to 9", width)
	case !Fields()[n.field-1].Number:
		return node{}, p.errorAt(begin, "%s is not a number: it has no digits to pad", name)
	}
	n.minDigits = w
	return n, nil
}

func (t Template) hasField(f field) bool { return hasField(t.nodes, f) }

func hasField(nodes []node, f field) bool {
	return slices.ContainsFunc(nodes, func(n node) bool { return n.field == f || hasField(n.optional, f) })
}

// fieldValues holds the text of each field: cleaned names and unpadded numbers. Empty fields are "".
type fieldValues [fieldCount]string

func (t Template) render(v *fieldValues) string {
	return string(appendRendered(make([]byte, 0, 128), t.nodes, v))
}

func appendRendered(b []byte, nodes []node, v *fieldValues) []byte {
	for i := range nodes {
		switch n := &nodes[i]; {
		case n.optional != nil:
			isEmpty := func(n node) bool { return n.field != noField && v[n.field] == "" }
			if !slices.ContainsFunc(n.optional, isEmpty) {
				b = appendRendered(b, n.optional, v)
			}
		case n.field != noField:
			b = appendPadded(b, v[n.field], n.minDigits)
		default:
			b = append(b, n.text...)
		}
	}
	return b
}

// appendPadded appends s, with each number in it padded to at least width digits: "1-E2" becomes "01-E02".
func appendPadded(b []byte, s string, width int) []byte {
	const decimals = "0123456789"
	for s != "" && width > 0 {
		after := strings.TrimLeft(s, decimals)
		for digits := len(s) - len(after); digits > 0 && digits < width; digits++ {
			b = append(b, '0')
		}
		rest := strings.TrimLeftFunc(after, func(r rune) bool { return r < '0' || r > '9' })
		if strings.HasPrefix(after, ".") { // 12.5 is one number
			rest = strings.TrimLeft(rest, decimals)
		}
		b = append(b, s[:len(s)-len(rest)]...)
		s = rest
	}
	return append(b, s...)
}
