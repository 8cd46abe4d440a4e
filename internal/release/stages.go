package release

import "sync"

// stages holds one value for each stage of reading a text: the file's name, or a folder's. A stage is a function from
// the value before it to its own: it copies what it changes and leaves its input as it was. A value embeds the one
// before it, so a question about words can be asked at every stage, and one about titles only where titles are known.
// They are pooled; nothing of one text survives into the next.
type stages struct {
	lexed    lexed    // words and brackets: lex.go
	tagged   tagged   // sources, codecs, languages, checksums, dates: tags.go
	marked   marked   // seasons, episodes and parts that a marker says: mark.go
	laidOut  laidOut  // where the title begins, the year, the group: layout.go
	numbered numbered // the numbers that stand alone, extras and specials: number.go
	titled   titled   // where the titles end, and what remains: titles.go
}

var pool = sync.Pool{New: func() any { return new(stages) }}

// read takes one text, which is neither a path nor has an extension, through the stages.
func (s *stages) read(text string, folder bool) *titled {
	lex(text, folder, &s.lexed)
	tagWords(&s.lexed, &s.tagged)
	mark(&s.tagged, &s.marked)
	layOut(&s.marked, &s.laidOut)
	explainNumbers(&s.laidOut, &s.numbered)
	findTitles(&s.numbered, &s.titled)
	return &s.titled
}

// lexed is a text cut into words and brackets.
type lexed struct {
	text     string
	folder   bool // the text is a folder's name: a number at its end is part of the title
	dotted   bool // dots stand for spaces
	tokens   []token
	brackets []bracket
	steps    int // work done so far; a test holds it to grow with the length only
}

// tagged is a text of which every word that can only be a tag is known.
type tagged struct {
	lexed
	checksum  string
	ids       []ID
	version   int
	media     bool // some tag says how the file was made
	broadcast int  // the last token that shows a television recording, -1
	dated     span // the date, empty when there is none
}

// marked is a text of which the season and episode are known where a marker says them.
type marked struct {
	tagged
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
	marked
	segments []segment
	plainAt  int    // the last word between brackets that no table explains, -1
	first    int    // token at which the title starts, -1 when there is none
	places   []span // the brackets that hold titles, when the text between brackets has none
	led      bool   // a number or marker led the name
	group    string
	groupTok span
	fansub   bool // a bracket before the title names a group
	yearAt   int  // token of the year, -1
	year     int
}

// numbered is a text of which every number is explained.
type numbered struct {
	laidOut
	bare      bool // the episode is a number alone, not said to be one
	extra     bool
	overall   []float64 // the episodes in the count of the whole show, beside season and episode
	overallAt span
}

// titled is a text read to the end.
type titled struct {
	numbered
	titles     []Title // best first
	bound      int     // token at which the title ends
	small      int     // the first word of the title that is not in capitals, -1
	epTitle    string
	movie      bool
	resolution string
	source     string
	video      string
	audio      string
	edition    string
}

// copyTo returns p with tokens and brackets of its own, for which it uses the memory of an earlier value.
func (p *lexed) copyTo(old *lexed) lexed {
	own := *p
	own.tokens = append(old.tokens[:0], p.tokens...)
	own.brackets = append(old.brackets[:0], p.brackets...)
	return own
}
