package release

import "sync"

// stages holds the results of each stage of reading one text. Each stage uses the results of the stages before it. A
// stages value is reused from a pool; reading a text clears the results of the last one.
type stages struct {
	words   words       // words and brackets: lex.go
	tags    tagStage    // sources, codecs, languages, checksums, dates: tags.go
	markers markerStage // seasons, episodes and parts with a marker: markers.go
	layout  layoutStage // where the title begins, the year, the group: layout.go
	numbers numberStage // numbers without a marker, extras and specials: barenumbers.go
	titles  titleStage  // where the titles end, and the remaining details: titles.go
}

var stagesPool = sync.Pool{New: func() any { return new(stages) }}

func (s *stages) read(text string, folder bool) *titleStage {
	w := &s.words
	lex(text, folder, w)
	s.tags = tagStage{w: w, tvSourceAt: -1}
	s.tags.findTags()
	s.markers = markerStage{w: w, tags: &s.tags}
	s.markers.findMarkers()
	s.layout = layoutStage{
		w: w, tags: &s.tags, marks: &s.markers,
		segments: s.layout.segments[:0], titleSpans: s.layout.titleSpans[:0], titleStart: -1, lastPlainWord: -1, yearAt: -1,
	}
	s.layout.findLayout()
	s.numbers = numberStage{w: w, tags: &s.tags, marks: &s.markers, layout: &s.layout}
	s.numbers.findNumber()
	s.numbers.dropSeasonInEpisodeTitle()
	s.numbers.readSpecials()
	s.titles = titleStage{
		w: w, tags: &s.tags, marks: &s.markers, layout: &s.layout, numbers: &s.numbers,
		titles: s.titles.titles[:0], firstNotCapitals: -1,
	}
	s.titles.findTitles()
	return &s.titles
}

// words holds the words and brackets of a text.
type words struct {
	lists     *wordLists // the contents of words.txt
	text      string
	lowerText string // the text in lower case, with the same byte offsets
	isFolder  bool   // the text is a folder's name: a number at its end is part of the title
	isDotted  bool   // dots stand for spaces
	tokens    []token
	brackets  []bracket
	steps     int // a count of the work done; a test checks that it grows linearly with the length
}

// tagStage finds the words that can only be tags.
type tagStage struct {
	w *words

	checksum    string
	ids         []ID
	version     int
	hasMediaTag bool // there is a tag for how the file was made: source, codec or resolution
	tvSourceAt  int  // the last token with a TV source, -1 if there is none
	dateSpan    span // the tokens of the date; empty if there is none
	date        string
}

// markerStage finds the season, episode and part that have a marker such as "S01E02".
type markerStage struct {
	w    *words
	tags *tagStage

	seasons     []int
	episodes    []float64
	seasonSpan  span // the tokens of the season; empty if there is none
	episodeSpan span
	part        int
	special     string // "OVA", "SP", ...
	isBatch     bool
}

// layoutStage finds where the title begins, the year and the group.
type layoutStage struct {
	w     *words
	tags  *tagStage
	marks *markerStage

	segments         []segment
	lastPlainWord    int    // the last word outside brackets that has no tag, -1 if there is none
	titleStart       int    // the token at which the title starts, -1 if there is no title
	titleSpans       []span // the brackets that hold titles, if the text outside brackets has no title
	startsWithNumber bool   // the name begins with its number or marker
	group            string
	groupSpan        span
	fansubStyle      bool // a bracket before the title names a group
	yearAt           int  // the token of the year, -1 if there is none
	year             int
}

// numberStage finds the episode among numbers without a marker, and extras and specials.
type numberStage struct {
	w      *words
	tags   *tagStage
	marks  *markerStage
	layout *layoutStage

	bareEpisode bool // the episode is a number without a marker
	isExtra     bool
	overall     []float64 // the episodes counted from the show's start, if the name has them besides season and episode
	overallSpan span
}

// titleStage finds where the titles end, and the remaining details.
type titleStage struct {
	w       *words
	tags    *tagStage
	marks   *markerStage
	layout  *layoutStage
	numbers *numberStage

	titles           []Title // best first
	end              int     // the token at which the title ends
	firstNotCapitals int     // the first word of the title that is not in capitals, -1 if there is none
	episodeTitle     string
	isMovie          bool
	resolution       string
	source           string
	video            string
	audio            string
	edition          string
}

// rule is one row of an ordered table. The first row whose condition applies gives the result.
type rule[In, Out any] struct {
	name    string // its example is below this name in testdata/rules.txt
	applies func(In) bool
	result  Out
}

// applyRules returns the result of the first rule that applies, or the zero value.
func applyRules[In, Out any](rules []rule[In, Out], in In) (out Out) {
	for i := range rules {
		if rules[i].applies(in) {
			return rules[i].result
		}
	}
	return out
}

// reason is a row of a table that answers yes or no: yes if any row applies.
type reason[In any] = rule[In, bool]

// tokenForm is a row of a table of functions. Each function tries to read a tag or marker that begins at token i, and
// reports whether it succeeded.
type tokenForm[P any] struct {
	name       string   // as in rule
	startsWith classSet // the classes of the tokens it can begin with
	read       func(p *P, i int) bool
}

// tryForms tries the forms that can start with token t until one reads it.
func tryForms[P any](forms []tokenForm[P], p *P, i int, t *token) {
	if t.tag != noTag && !t.weak {
		return
	}
	own := classSet(1) << t.class
	for f := range forms {
		if forms[f].startsWith&own != 0 && forms[f].read(p, i) {
			return
		}
	}
}

type classSet uint8

const (
	classAlpha classSet = 1 << iota
	classNumber
	classMixed
	classCJK
)
