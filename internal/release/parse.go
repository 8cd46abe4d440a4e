package release

import (
	"strings"
	"sync"
)

// This file decides in which order a text is read, and what of it a Release shows.

// parser is the state of reading one text: the file's name or a folder's.
// Parsers are pooled; nothing of one read survives into the next.
type parser struct {
	text     string
	tokens   []token
	brackets []bracket
	stack    []pending
	steps    int // work done, for the test that it grows with the length only

	seasons   []int
	episodes  []float64
	season    span // where the season stands, in tokens; empty when it does not
	episode   span
	bare      bool // the episode is a number alone, not said to be one
	dated     span
	yearAt    int // token of the year, -1
	year      int
	version   int
	part      int
	special   string
	cross     string // the season of "2009x02" as written
	extra     bool
	batch     bool
	movie     bool
	checksum  string
	group     string
	groupTok  span
	ids       []ID
	titles    []Title
	spoken    [4]string // resolution, source, video, audio
	epTitle   string
	dotted    bool // dots and underscores stand for spaces
	media     bool // some tag says how the file was made
	broadcast int  // the last token that shows a television recording, -1
	plainAt   int  // the last word between brackets that no table explains, -1
	small     int  // the first word of the title that is not in capitals, -1; -2 when not looked for
	folder    bool // the text is a folder's name: a number at its end is part of the title
	led       bool // a number or marker led the name
	fansub    bool // a bracket before the title names a group
	first     int  // token at which the title starts, -1 when there is none
	bound     int  // token at which it ends
	segments  []segment
	places    []span // the brackets that hold titles, when the text between brackets has none
}

// span is a range of tokens [from, to).
type span struct{ from, to int }

func (s span) empty() bool { return s.from >= s.to }

var parsers = sync.Pool{New: func() any { return new(parser) }}

// read parses one text, which is neither a path nor has an extension.
func (p *parser) read(text string, folder bool) {
	*p = parser{
		tokens: p.tokens[:0], brackets: p.brackets[:0], stack: p.stack[:0], segments: p.segments[:0], places: p.places[:0],
		titles: p.titles[:0], steps: p.steps, text: text, folder: folder, yearAt: -1, broadcast: -1, plainAt: -1, small: -2,
	}
	p.dotted = dotted(text)
	p.lex()
	p.tag()
	p.findDates()
	p.mark()
	p.markCounters()
	p.findLayout()
	p.fansub = !p.groupTok.empty() || len(p.places) > 0
	p.findYear()
	p.findGroup()
	p.findNumber()
	p.specials()
	p.findTitles()
	p.findRest()
}

// dotted says whether dots and underscores separate the words of s.
func dotted(s string) bool {
	spaces := strings.Count(s, " ")
	return strings.Count(s, "_") > spaces || strings.Count(s, ".") > spaces
}

func lookupWide(w string) (kw, bool) {
	if k, ok := words[w]; ok {
		return k, ok
	}
	k, ok := words[strings.ToLower(w)]
	return k, ok
}

// word returns the text of token i.
func (p *parser) word(i int) string { return p.text[p.tokens[i].s:p.tokens[i].e] }

// gap returns what stands between token i and the one behind it.
func (p *parser) gap(i int) string {
	if i+1 < len(p.tokens) {
		return p.text[p.tokens[i].e:p.tokens[i+1].s]
	}
	return p.text[p.tokens[i].e:]
}

// before returns what stands before token i.
func (p *parser) before(i int) string {
	if i > 0 {
		return p.text[p.tokens[i-1].e:p.tokens[i].s]
	}
	return p.text[:p.tokens[i].s]
}

func lower(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] >= 'A' && s[i] <= 'Z' || s[i] >= 0x80 {
			return strings.ToLower(s)
		}
	}
	return s
}

// Parse reads path, relative or absolute, with '/' or '\' between its elements.
// It never fails: a name that says nothing gives an empty Release with Path and
// Name set. It uses the folders above the name where the name says too little.
func Parse(path string) Release { return parse(path, false) }

// ParseFile is Parse for the path of a file that is there, where every '/' separates. Parse has to take "Title / Other
// Title" for one name.
func ParseFile(path string) Release { return parse(path, true) }

func parse(path string, exists bool) Release {
	var store [8]string
	name, dirs := splitPath(path, exists, store[:0:8])
	r := Release{Path: path, Name: name}
	base, ext := cutExtension(name)
	r.Extension = ext
	base = narrow(base)
	if mirrored(base) {
		base = mirror(base)
	}
	p := parsers.Get().(*parser)
	p.read(base, false)
	if p.year == 0 && p.season.empty() && !p.media && jumble(base) {
		p.titles = p.titles[:0] // a hash is no title
	}
	p.fill(&r)
	if len(dirs) > 0 {
		p.fold(&r, dirs)
	}
	settle(&r, p)
	parsers.Put(p)
	return r
}

// fill copies what was read into r.
func (p *parser) fill(r *Release) {
	if n := len(p.titles); n > 0 {
		r.Titles = make([]Title, n)
		copy(r.Titles, p.titles)
		r.Title = r.Titles[0].Text
	}
	r.Seasons, r.Episodes = p.seasons, p.episodes
	r.Absolute = len(p.episodes) > 0 && len(p.seasons) == 0
	r.Year, r.Group, r.Checksum, r.Version = p.year, p.group, p.checksum, p.version
	r.Resolution, r.Source, r.Video, r.Audio = p.spoken[0], p.spoken[1], p.spoken[2], p.spoken[3]
	r.Part, r.EpisodeTitle, r.Special, r.Extra = p.part, p.epTitle, p.special, p.extra
	r.IDs = p.ids
	r.Left = p.left()
	r.Kind = p.kind()
}

// kind says what sort of file the text describes.
func (p *parser) kind() Kind {
	switch {
	case p.extra:
		return Extra
	case p.special != "" || len(p.seasons) == 1 && p.seasons[0] == 0:
		return Special
	case len(p.episodes) > 5 || p.batch && (p.year == 0 || len(p.seasons)+len(p.episodes) > 0) || len(p.episodes) == 0 && len(p.seasons) > 0:
		return Batch
	case len(p.episodes) > 0 || p.dated.to > 0:
		return Episode
	case p.movie, p.year > 0:
		return Movie
	}
	return Unknown
}
