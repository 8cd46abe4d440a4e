package release

import (
	"strings"
	"unicode/utf8"
)

// span is a range of tokens [from, to).
type span struct{ from, to int }

func (s span) empty() bool      { return s.from >= s.to }
func (s span) holds(i int) bool { return s.from <= i && i < s.to }

func (p *words) word(i int) string  { return p.text[p.tokens[i].s:p.tokens[i].e] }
func (p *words) lower(i int) string { return p.lowered[p.tokens[i].s:p.tokens[i].e] }

// at returns token i, or noToken if there is none.
func (p *words) at(i int) *token {
	if i < 0 || i >= len(p.tokens) {
		return &noToken
	}
	return &p.tokens[i]
}

var noToken = token{class: noClass, group: -1}

// strong reports whether t is a tag that cannot be part of a title.
func (t *token) strong() bool { return t.tag != none && !t.weak }

// place is a token and what is around it; the rows of most tables judge one.
type place struct {
	*token
	w *words
	i int
}

func (p *words) place(i int) place { return place{&p.tokens[i], p, i} }

// at returns the token so many after this one.
func (p place) at(distance int) *token { return p.w.at(p.i + distance) }

func (p place) gap() string    { return p.w.gap(p.i) }
func (p place) before() string { return p.w.before(p.i) }
func (p place) text() string   { return p.w.word(p.i) }
func (p place) lower() string  { return p.w.lower(p.i) }

func (p *words) tagAt(i int) tag     { return p.at(i).tag }
func (p *words) classAt(i int) class { return p.at(i).class }
func (p *words) roleAt(i int) role   { return p.at(i).word.role }

func (p *words) anyToken(s span, is func(i int) bool) bool {
	for i := s.from; i < s.to; i++ {
		if is(i) {
			return true
		}
	}
	return false
}

func (p *words) gap(i int) string {
	if i+1 < len(p.tokens) {
		return p.text[p.tokens[i].e:p.tokens[i+1].s]
	}
	return p.text[p.tokens[i].e:]
}

func (p *words) before(i int) string {
	if i > 0 {
		return p.text[p.tokens[i-1].e:p.tokens[i].s]
	}
	return p.text[:p.tokens[i].s]
}

// beside reports whether tokens i and j exist and stand in the same bracket, or both outside.
func (p *words) beside(i, j int) bool {
	return i >= 0 && i < len(p.tokens) && j >= 0 && j < len(p.tokens) && p.tokens[i].group == p.tokens[j].group
}

func (p *words) strongAt(i int) bool { return p.at(i).strong() }

func (p *words) width(i int) int { return p.tokens[i].e - p.tokens[i].s }

func (p *words) plainNumber(i int) bool { return p.classAt(i) == number && p.tokens[i].tag == none }

// plainEpisode reads an episode number without a marker: "07", "07v2", "09a", "12END". "13完" is two words.
func (p *words) plainEpisode(i int) (int, bool) {
	t := p.at(i)
	if t.class == number {
		return t.num, t.num >= 0 && t.e-t.s <= 4
	}
	if t.class != mixed {
		return 0, false
	}
	c := cursor{p.lowered[:t.e], t.s}
	n, _, ok := c.number(4)
	if !ok {
		return 0, false
	}
	at := c.i
	c.readSuffix()
	return n, c.i > at && c.i == t.e
}

func (p *words) fractionAt(i int) (float64, bool) {
	if p.classAt(i) != number || p.gap(i) != "." || !p.beside(i, i+1) {
		return 0, false
	}
	w := p.word(i + 1)
	if !digit(w[0]) || w[0] == '0' || len(w) != 1 && !(len(w) == 3 && w[1] == 'v') {
		return 0, false
	}
	if p.tagAt(i+1) != none || p.gap(i+1) == "." {
		return 0, false
	}
	return float64(w[0]-'0') / 10, true
}

// titleEndsAfterNumber reports whether the name ends or only tags follow after the number (or range) at i.
func (p *words) titleEndsAfterNumber(i int) bool {
	j := i + 1
	if _, ok := p.fractionAt(i); ok {
		j++
	}
	for j < i+16 && p.beside(i, j) && rangeGap(p.gap(j-1)) && p.tokens[j].tag == none {
		p.steps++
		if _, ok := p.plainEpisode(j); !ok {
			break
		}
		j++
	}
	if j == i+1 && p.rangeByWord(i) {
		j += 2
	}
	if !p.beside(i, j) || dashGap(p.gap(j-1)) {
		return true
	}
	t := &p.tokens[j]
	switch {
	case t.tag == none, t.tag == tagSeason && t.class != cjk:
		return false
	case !t.weak, t.tag == tagEnd, t.tag == tagBatch && p.lower(j) == "complete":
		return true
	}
	return p.onlyTags(j, i+16)
}

func (p *words) onlyTags(i, to int) bool {
	for j := i; j < to && p.beside(i, j); j++ {
		p.steps++
		if p.tokens[j].tag == none {
			return false
		}
		if !p.tokens[j].weak {
			return true
		}
	}
	return true
}

func leadingDigits(w string) int {
	n := 0
	for n < len(w) && digit(w[n]) {
		n++
	}
	return n
}

func withoutDigits(w string) string {
	n := len(w)
	for n > 0 && digit(w[n-1]) {
		n--
	}
	return w[:n]
}

func yearNumber(n int) bool { return n >= firstYear && n <= 2099 }

// alone reports whether token i is all that its bracket holds.
func (p *words) alone(i int) bool {
	g := p.tokens[i].group
	return g >= 0 && p.brackets[g].to-p.brackets[g].from == 1
}

// cursor reads the lower-case text of a marker byte by byte, across tokens.
type cursor struct {
	text string
	i    int
}

func (c *cursor) peek() byte { return c.at(0) }

func (c *cursor) at(n int) byte {
	if c.i+n < len(c.text) {
		return c.text[c.i+n]
	}
	return 0
}

// number reads up to limit digits; more digits are not a number. It returns their value and how many there are.
func (c *cursor) number(limit int) (value, width int, ok bool) {
	width = leadingDigits(c.text[min(c.i, len(c.text)):])
	if width == 0 || width > limit {
		return 0, 0, false
	}
	value = atoi(c.text[c.i : c.i+width])
	c.i += width
	return value, width, true
}

// read skips s if the text continues with it; a space in s also matches a dot.
func (c *cursor) read(s string) bool {
	for k := range len(s) {
		if b := c.at(k); b != s[k] && !(s[k] == ' ' && b == '.') {
			return false
		}
	}
	c.i += len(s)
	return true
}

func (c *cursor) readAny(words ...string) bool {
	for _, w := range words {
		if c.read(w) {
			return true
		}
	}
	return false
}

// joinWord reads a word that joins two numbers, with the spaces or dots around it: " to ", ".and.", "and".
func (c *cursor) joinWord() role {
	d := *c
	spaces := d.skip(" .", 1)
	from := d.i
	for d.i < len(d.text) && (letter(d.text[d.i]) || d.text[d.i] >= utf8.RuneSelf) {
		d.i++
	}
	k, _ := lookUpWord(d.text[from:d.i])
	if k.role != toWord && k.role != andWord || spaces == 0 && d.i-from < 2 {
		return noRole
	}
	if d.skip(" .", 1) < spaces {
		return noRole
	}
	if sign := d.peek(); !digit(d.peek()) && !((sign == 's' || sign == 'e') && digit(d.at(1))) {
		return noRole
	}
	*c = d
	return k.role
}

func (c *cursor) wordEnd() bool { return c.i >= len(c.text) || !wordByte(c.text[c.i]) }

func (c *cursor) skip(set string, limit int) int {
	n := 0
	for n < limit && c.i < len(c.text) && strings.IndexByte(set, c.text[c.i]) >= 0 {
		c.i++
		n++
	}
	return n
}

// episodeSign reads the sign of an episode number: "E", "EP", "x", "xE". more is false for the first of a list, which
// may also have "Episode".
func (c *cursor) episodeSign(more bool) bool {
	d := *c
	switch {
	case !more && d.read("episode"):
		d.skip(" .", 1)
	case !more && d.read("eps"), d.read("ep"):
		if !more { // "S04E31 - Ep.96": a number of its own
			d.skip(" .", 2)
		}
	case d.readAny("xe", "e", "x"):
		d.skip(" ", 1)
	default:
		return false
	}
	if !digit(d.peek()) {
		return false
	}
	*c = d
	return true
}

// numberMayEnd reports whether a number without a sign may end at c, which excludes "720p" and dates.
func numberMayEnd(c cursor) bool {
	if !c.wordEnd() {
		if c.peek() != 'v' {
			return false
		}
		c.i++
		_, _, ok := c.number(2)
		return ok && c.wordEnd()
	}
	if c.peek() != '-' {
		return true
	}
	c.i++
	n := leadingDigits(c.text[c.i:])
	c.i += n
	return n <= 2 || !c.wordEnd()
}

func anotherEpisodeFollows(c cursor) bool {
	return (c.peek() == 'e' || c.peek() == 'x') && digit(c.at(1))
}

func (c *cursor) readHalf(v *float64) {
	if c.peek() != '.' || c.at(1) != '5' {
		return
	}
	if after := c.at(2); !wordByte(after) && after != '.' {
		*v += 0.5
		c.i += 2
	}
}

// readSuffix reads "v2", a part letter, "END", "TV", "rev" or "EX", and returns the version or 0.
func (c *cursor) readSuffix() (version int) {
	d := *c
	switch d.peek() {
	case 'v':
		d.i++
		if v, _, ok := d.number(1); ok && (d.wordEnd() || d.peek() == 'e') {
			*c = d
			return v
		}
		return 0
	case 'a', 'b', 'c', 'd':
		d.i++
	case 'e':
		d.readAny("end", "ex")
	case 'f':
		d.readAny("final", "fin", "fix", "f")
	case 'r':
		d.read("rev")
	case 't':
		d.read("tv")
	default:
		return 0
	}
	if d.wordEnd() {
		*c = d
	}
	return 0
}
