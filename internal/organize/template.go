package organize

import (
	"slices"
	"strconv"
	"strings"

	"github.com/anivault/anivault/internal/lang"
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

var fieldTable = [fieldCount]struct {
	name   string
	number bool
	doc    string
}{
	fieldTitle:           {"title", false, "the entry's title"},
	fieldOriginalTitle:   {"original_title", false, "the entry's title in its own language"},
	fieldYear:            {"year", true, "of the first broadcast or the release"},
	fieldTMDB:            {"tmdb", true, "TMDB's id"},
	fieldTVDB:            {"tvdb", true, "TVDB's id"},
	fieldIMDB:            {"imdb", false, "IMDb's id, with its tt"},
	fieldAniDB:           {"anidb", true, "AniDB's id of the file's season and episodes"},
	fieldAniList:         {"anilist", true, "AniList's id of the same"},
	fieldMAL:             {"mal", true, "MyAnimeList's id of the same"},
	fieldSeason:          {"season", true, "the season in the order asked for, TMDB's by default"},
	fieldEpisode:         {"episode", true, "the episode in that order; of several 01-E02, for kodi 01E02"},
	fieldOrder:           {"order", false, "that order, such as tmdb or tvdb"},
	fieldTVDBSeason:      {"tvdb_season", true, "TVDB's season"},
	fieldTVDBEpisode:     {"tvdb_episode", true, "TVDB's episode"},
	fieldAniDBEpisode:    {"anidb_episode", true, "AniDB's episode"},
	fieldAbsoluteEpisode: {"absolute_episode", true, "the episode, counted over TMDB's regular seasons"},
	fieldAbsolute:        {"absolute", true, "the episode as the file's own name counts it over all seasons"},
	fieldEpisodeTitle:    {"episode_title", false, "the episode's title; of two or three joined by +"},
	fieldPart:            {"part", true, "the part of an episode or film that is in several files"},
	fieldEdition:         {"edition", false, "such as Director's Cut"},
	fieldResolution:      {"resolution", false, "such as 1080p"},
	fieldSource:          {"source", false, "such as BluRay"},
	fieldVideo:           {"video", false, "the video codec"},
	fieldAudio:           {"audio", false, "the audio codec"},
	fieldGroup:           {"group", false, "the release group"},
	fieldVersion:         {"version", true, "2 for v2"},
	fieldCRC:             {"crc", false, "the CRC-32 in the file's name"},
	fieldName:            {"name", false, "the source's name without its extension"},
}

// FieldNames returns the names of the fields and their descriptions.
func FieldNames() (names, docs []string) {
	for _, f := range fieldTable[1:] {
		names, docs = append(names, f.name), append(docs, f.doc)
	}
	return names, docs
}

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
			return nil, p.errorAt(p.offset, "a < within < >")
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

// parseField parses "{name}" or "{name:2}".
func (p *templateParser) parseField() (node, error) {
	begin := p.offset
	end := strings.IndexByte(p.text[begin:], '}')
	if end < 0 {
		return node{}, p.errorAt(begin, "a { without a }; write {{ for the character")
	}
	p.offset = begin + end + 1
	name, width, padded := strings.Cut(p.text[begin+1:begin+end], ":")
	n := node{}
	for f := noField + 1; f < fieldCount; f++ {
		if fieldTable[f].name == name {
			n.field = f
		}
	}
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
	case !fieldTable[n.field].number:
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

func (t Template) render(v *fieldValues) string { return string(appendRendered(nil, t.nodes, v)) }

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
