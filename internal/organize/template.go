package organize

import (
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/lang"
)

// Template is the pattern of a path: fields in braces, and optional pieces in angle brackets. A piece is left out if
// one of its fields is empty.
type Template struct {
	text  string
	nodes []node
}

type node struct {
	text     string
	field    field
	width    int    // the minimum number of digits
	optional []node // not nil: an optional piece
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
	fields // the number of fields
)

var fieldTable = [fields]struct {
	name   string
	number bool
	doc    string
}{
	fieldTitle:         {"title", false, "the entry's title"},
	fieldOriginalTitle: {"original_title", false, "the entry's title in its own language"},
	fieldYear:          {"year", true, "of the first broadcast or the release"},
	fieldTMDB:          {"tmdb", true, "TMDB's id"},
	fieldTVDB:          {"tvdb", true, "TVDB's id"},
	fieldIMDB:          {"imdb", false, "IMDb's id, with its tt"},
	fieldAniDB:         {"anidb", true, "AniDB's id of the file's season and episodes"},
	fieldAniList:       {"anilist", true, "AniList's id of the same"},
	fieldMAL:           {"mal", true, "MyAnimeList's id of the same"},
	fieldSeason:        {"season", true, "TMDB's season"},
	fieldEpisode:       {"episode", true, "TMDB's episode; of several 01-E02, for kodi 01E02"},
	fieldAbsolute:      {"absolute", true, "the episode as the file's own name counts it over all seasons"},
	fieldEpisodeTitle:  {"episode_title", false, "the episode's title; of two or three joined by +"},
	fieldPart:          {"part", true, "the part of an episode or film that is in several files"},
	fieldEdition:       {"edition", false, "such as Director's Cut"},
	fieldResolution:    {"resolution", false, "such as 1080p"},
	fieldSource:        {"source", false, "such as BluRay"},
	fieldVideo:         {"video", false, "the video codec"},
	fieldAudio:         {"audio", false, "the audio codec"},
	fieldGroup:         {"group", false, "the release group"},
	fieldVersion:       {"version", true, "2 for v2"},
	fieldCRC:           {"crc", false, "the CRC-32 in the file's name"},
	fieldName:          {"name", false, "the source's name without its extension"},
}

// FieldNames returns the names and descriptions of a template's fields.
func FieldNames() (names, docs []string) {
	for _, f := range fieldTable[1:] {
		names, docs = append(names, f.name), append(docs, f.doc)
	}
	return names, docs
}

// TemplateError is a syntax error in a template.
type TemplateError struct {
	Template string
	At       int       // in characters, from 1
	Problem  lang.Text // a clause
	Field    string    // the unknown field; "" for other problems
}

func (e *TemplateError) Error() string { return e.Text().String() }

// Text says what is wrong and where.
func (e *TemplateError) Text() lang.Text {
	return lang.Textf("template %q: %s at character %d", e.Template, e.Problem, e.At)
}

// ParseTemplate parses a template. The error is a *TemplateError.
func ParseTemplate(text string) (Template, error) {
	p := templateParser{text: text}
	nodes, err := p.sequence(false)
	if err != nil {
		return Template{}, err
	}
	return Template{text: text, nodes: nodes}, nil
}

type templateParser struct {
	text string
	at   int // in bytes
}

func (p *templateParser) fail(at int, format string, args ...any) *TemplateError {
	return &TemplateError{Template: p.text, At: len([]rune(p.text[:at])) + 1, Problem: lang.Textf(format, args...)}
}

func (p *templateParser) sequence(optional bool) ([]node, error) {
	begin := p.at - 1
	nodes := []node{}
	var literal strings.Builder
	flush := func() {
		if literal.Len() > 0 {
			nodes = append(nodes, node{text: literal.String()})
			literal.Reset()
		}
	}
	for p.at < len(p.text) {
		c := p.text[p.at]
		doubled := p.at+1 < len(p.text) && p.text[p.at+1] == c
		switch {
		case (c == '{' || c == '}') && doubled:
			literal.WriteByte(c)
			p.at += 2
		case c == '{':
			flush()
			n, err := p.field()
			if err != nil {
				return nil, err
			}
			nodes = append(nodes, n)
		case c == '}':
			return nil, p.fail(p.at, "a } that closes nothing; }} stands for the sign")
		case c == '<' && optional:
			return nil, p.fail(p.at, "a < within < >")
		case c == '<':
			flush()
			p.at++
			inner, err := p.sequence(true)
			if err != nil {
				return nil, err
			}
			nodes = append(nodes, node{optional: inner})
		case c == '>' && optional:
			flush()
			p.at++
			return nodes, nil
		case c == '>':
			return nil, p.fail(p.at, "a > that closes nothing")
		default:
			literal.WriteByte(c)
			p.at++
		}
	}
	if optional {
		return nil, p.fail(begin, "a < that is not closed")
	}
	flush()
	return nodes, nil
}

// field reads "{name}" or "{name:2}".
func (p *templateParser) field() (node, error) {
	begin := p.at
	end := strings.IndexByte(p.text[begin:], '}')
	if end < 0 {
		return node{}, p.fail(begin, "a { that is not closed; {{ stands for the sign")
	}
	p.at = begin + end + 1
	name, width, padded := strings.Cut(p.text[begin+1:begin+end], ":")
	n := node{}
	for f := noField + 1; f < fields; f++ {
		if fieldTable[f].name == name {
			n.field = f
		}
	}
	if n.field == noField {
		err := p.fail(begin, "there is no field %q", name)
		err.Field = name
		return node{}, err
	}
	if !padded {
		return n, nil
	}
	w, err := strconv.Atoi(width)
	switch {
	case err != nil || w < 1 || w > 9:
		return node{}, p.fail(begin, "%q is not a number of digits from 1 to 9", width)
	case !fieldTable[n.field].number:
		return node{}, p.fail(begin, "%s is not a number: it has no digits to pad", name)
	}
	n.width = w
	return n, nil
}

func (t Template) has(f field) bool { return has(t.nodes, f) }

func has(nodes []node, f field) bool {
	for _, n := range nodes {
		if n.field == f || has(n.optional, f) {
			return true
		}
	}
	return false
}

// values holds the text of each field: clean names and unpadded numbers. "" is an empty field.
type values [fields]string

func (t Template) render(v *values) string { return string(render(nil, t.nodes, v)) }

func render(b []byte, nodes []node, v *values) []byte {
	for i := range nodes {
		switch n := &nodes[i]; {
		case n.optional != nil:
			if complete(n.optional, v) {
				b = render(b, n.optional, v)
			}
		case n.field != noField:
			b = pad(b, v[n.field], n.width)
		default:
			b = append(b, n.text...)
		}
	}
	return b
}

func complete(nodes []node, v *values) bool {
	for i := range nodes {
		if f := nodes[i].field; f != noField && v[f] == "" {
			return false
		}
	}
	return true
}

// pad pads each number in s, as in "1-E2", to at least width digits.
func pad(b []byte, s string, width int) []byte {
	for s != "" && width > 0 {
		digits := 0
		for digits < len(s) && s[digits] >= '0' && s[digits] <= '9' {
			digits++
		}
		for i := digits; i < width && digits > 0; i++ {
			b = append(b, '0')
		}
		next := digits
		for next < len(s) && (s[next] < '0' || s[next] > '9') {
			next++
		}
		if digits < len(s) && s[digits] == '.' { // 12.5 is one number
			for next < len(s) && s[next] >= '0' && s[next] <= '9' {
				next++
			}
		}
		b = append(b, s[:next]...)
		s = s[next:]
	}
	return append(b, s...)
}
