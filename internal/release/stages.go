package release

import "sync"

// stages holds one value for each stage of reading a text. All see the same words, and each what those before it found.
// They are pooled; nothing of one text survives into the next.
type stages struct {
	words    words    // words and brackets: lex.go
	tagged   tagged   // sources, codecs, languages, checksums, dates: tags.go
	marked   marked   // seasons, episodes and parts that a marker says: mark.go
	laidOut  laidOut  // where the title begins, the year, the group: layout.go
	numbered numbered // the numbers that stand alone, extras and specials: number.go
	titled   titled   // where the titles end, and what remains: titles.go
}

var pool = sync.Pool{New: func() any { return new(stages) }}

func (s *stages) read(text string, folder bool) *titled {
	w := &s.words
	lex(text, folder, w)
	s.tagged = tagged{w: w, broadcast: -1}
	s.tagged.findTags()
	s.marked = marked{w: w, tags: &s.tagged}
	s.marked.findMarkers()
	s.laidOut = laidOut{
		w: w, tags: &s.tagged, marks: &s.marked,
		segments: s.laidOut.segments[:0], places: s.laidOut.places[:0], first: -1, plainAt: -1, yearAt: -1,
	}
	s.laidOut.layOut()
	s.numbered = numbered{w: w, tags: &s.tagged, marks: &s.marked, layout: &s.laidOut}
	s.numbered.findNumber()
	s.numbered.seasonInName()
	s.numbered.readSpecials()
	s.titled = titled{
		w: w, tags: &s.tagged, marks: &s.marked, layout: &s.laidOut, numbers: &s.numbered,
		titles: s.titled.titles[:0], firstLower: -1,
	}
	s.titled.findTitles()
	return &s.titled
}

type words struct {
	text     string
	lowered  string // the text in lower case, as long as it is
	folder   bool   // the text is a folder's name: a number at its end is part of the title
	dotted   bool   // dots stand for spaces
	tokens   []token
	brackets []bracket
	steps    int // work done so far; a test holds it to grow with the length only
}

// tagged is a text in which the words that can only be tags have been found.
type tagged struct {
	w *words

	checksum  string
	ids       []ID
	version   int
	media     bool // some tag says how the file was made
	broadcast int  // the last token that shows a television recording, -1
	dated     span // the date, empty when there is none
}

// marked is a text of which the season and episode are known where a marker says them.
type marked struct {
	w    *words
	tags *tagged

	seasons  []int
	episodes []float64
	season   span // where the season stands, in tokens; empty when it does not
	episode  span
	part     int
	special  string // "OVA", "SP", ...
	batch    bool
}

// laidOut is a text of which it is known where its title begins, and which of its parts are year and group.
type laidOut struct {
	w     *words
	tags  *tagged
	marks *marked

	segments    []segment
	plainAt     int    // the last word between brackets that no table explains, -1
	first       int    // token at which the title starts, -1 when there is none
	places      []span // the brackets that hold titles, when the text between brackets has none
	numberFirst bool   // the name begins with its number or marker
	group       string
	groupTok    span
	fansub      bool // a bracket before the title names a group
	yearAt      int  // token of the year, -1
	year        int
}

// numbered is a text of which every number is explained.
type numbered struct {
	w      *words
	tags   *tagged
	marks  *marked
	layout *laidOut

	bare      bool // the episode is a number alone, not said to be one
	extra     bool
	overall   []float64 // the episodes in the count of the whole show, beside season and episode
	overallAt span
}

// titled is a text read to the end.
type titled struct {
	w       *words
	tags    *tagged
	marks   *marked
	layout  *laidOut
	numbers *numbered

	titles     []Title // best first
	end        int     // token at which the title ends
	firstLower int     // the first word of the title that is not in capitals, -1
	epTitle    string
	movie      bool
	resolution string
	source     string
	video      string
	audio      string
	edition    string
}

// rule is one row of an ordered table. The first row that applies decides.
type rule[In, Out any] struct {
	name    string
	example string // "name -> what is read of it"; without this row something else is read
	applies func(In) bool
	out     Out
}

func when[In, Out any](name, example string, applies func(In) bool, out Out) rule[In, Out] {
	return rule[In, Out]{name, example, applies, out}
}

func decide[In, Out any](rules []rule[In, Out], in In) (out Out) {
	for i := range rules {
		if rules[i].applies(in) {
			return rules[i].out
		}
	}
	return out
}

// reason is a row of a table whose rows all lead to the same: one that applies is enough.
type reason[In any] = rule[In, bool]

func because[In any](name, example string, applies func(In) bool) reason[In] {
	return reason[In]{name, example, applies, true}
}

// form is a row of a table of functions that read words from token i on, mark them, and report whether they did.
type form[P any] struct {
	name    string
	example string  // as in rule
	on      classes // the classes of token it can begin with
	try     func(p *P, i int) bool
}

func tryForms[P any](forms []form[P], p *P, i int, t *token) {
	if t.tag != none && !t.weak {
		return
	}
	own := classes(1) << t.class
	for f := range forms {
		if forms[f].on&own != 0 && forms[f].try(p, i) {
			return
		}
	}
}

type classes uint8

const (
	onAlpha classes = 1 << iota
	onNumber
	onMixed
)
