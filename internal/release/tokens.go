package release

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// span is a range of tokens [from, to).
type span struct{ from, to int }

func (s span) empty() bool { return s.from >= s.to }

func (p *words) word(i int) string  { return p.text[p.tokens[i].start:p.tokens[i].end] }
func (p *words) lower(i int) string { return p.lowerText[p.tokens[i].start:p.tokens[i].end] }

// tokenAt returns token i, or noToken if there is none.
func (p *words) tokenAt(i int) *token {
	if i < 0 || i >= len(p.tokens) {
		return &noToken
	}
	return &p.tokens[i]
}

var noToken = token{class: noClass, bracket: -1}

// isStrong reports whether t is a tag that cannot be part of a title.
func (t *token) isStrong() bool { return t.tag != noTag && !t.weak }

// place is a token with its neighbors. The rows of most tables take one.
type place struct {
	*token
	w     *words
	index int
}

func (p *words) place(i int) place { return place{&p.tokens[i], p, i} }

// neighbor returns the token at a distance from this one: 1 is the next, -1 the previous.
func (p place) neighbor(distance int) *token { return p.w.tokenAt(p.index + distance) }

func (p place) gapAfter() string  { return p.w.gapAfter(p.index) }
func (p place) gapBefore() string { return p.w.gapBefore(p.index) }
func (p place) text() string      { return p.w.word(p.index) }
func (p place) lower() string     { return p.w.lower(p.index) }

func (p *words) tagAt(i int) tag     { return p.tokenAt(i).tag }
func (p *words) classAt(i int) class { return p.tokenAt(i).class }
func (p *words) roleAt(i int) role   { return p.tokenAt(i).word.role }

func (p *words) anyToken(s span, is func(i int) bool) bool {
	for i := s.from; i < s.to; i++ {
		if is(i) {
			return true
		}
	}
	return false
}

// gapAfter returns the text between token i and the next.
func (p *words) gapAfter(i int) string {
	if i+1 < len(p.tokens) {
		return p.text[p.tokens[i].end:p.tokens[i+1].start]
	}
	return p.text[p.tokens[i].end:]
}

// gapBefore returns the text between the previous token and token i.
func (p *words) gapBefore(i int) string {
	if i > 0 {
		return p.text[p.tokens[i-1].end:p.tokens[i].start]
	}
	return p.text[:p.tokens[i].start]
}

// inSameBracket reports whether tokens i and j exist and are in the same bracket, or both outside brackets.
func (p *words) inSameBracket(i, j int) bool {
	return i >= 0 && i < len(p.tokens) && j >= 0 && j < len(p.tokens) && p.tokens[i].bracket == p.tokens[j].bracket
}

func (p *words) isStrongAt(i int) bool { return p.tokenAt(i).isStrong() }

func (p *words) length(i int) int { return p.tokens[i].end - p.tokens[i].start }

func (p *words) isPlainNumber(i int) bool { return p.classAt(i) == number && p.tokens[i].tag == noTag }

// plainEpisode reads an episode number without a marker: "07", "07v2", "09a", "12END".
func (p *words) plainEpisode(i int) (int, bool) {
	t := p.tokenAt(i)
	if t.class == number {
		return t.num, t.num >= 0 && t.end-t.start <= 4
	}
	if t.class != mixed {
		return 0, false
	}
	c := cursor{p.lowerText[:t.end], t.start}
	n, _, ok := c.readNumber(4)
	if !ok {
		return 0, false
	}
	at := c.i
	c.readSuffix()
	return n, c.i > at && c.i == t.end
}

func (p *words) fractionAt(i int) (float64, bool) {
	if p.classAt(i) != number || p.gapAfter(i) != "." || !p.inSameBracket(i, i+1) {
		return 0, false
	}
	w := p.word(i + 1)
	if !isDigit(w[0]) || w[0] == '0' || len(w) != 1 && !(len(w) == 3 && w[1] == 'v') ||
		p.tagAt(i+1) != noTag || p.gapAfter(i+1) == "." {
		return 0, false
	}
	return float64(w[0]-'0') / 10, true
}

// titleEndsAfterNumber reports whether only tags or the end of the name follow the number or range at i.
func (p *words) titleEndsAfterNumber(i int) bool {
	j := i + 1
	if _, ok := p.fractionAt(i); ok {
		j++
	}
	for j < i+16 && p.inSameBracket(i, j) && isRangeGap(p.gapAfter(j-1)) && p.tokens[j].tag == noTag {
		p.steps++
		if _, ok := p.plainEpisode(j); !ok {
			break
		}
		j++
	}
	if j == i+1 && p.startsWordRange(i) {
		j += 2
	}
	if !p.inSameBracket(i, j) || isSpacedDash(p.gapAfter(j-1)) {
		return true
	}
	t := &p.tokens[j]
	return t.tag != noTag && (t.tag != tagSeason || t.class == cjk) &&
		(!t.weak || t.tag == tagEnd || t.tag == tagBatch && p.lower(j) == "complete")
}

func leadingDigits(w string) int {
	n := 0
	for n < len(w) && isDigit(w[n]) {
		n++
	}
	return n
}

func trimTrailingDigits(w string) string { return strings.TrimRight(w, "0123456789") }

func isYearNumber(n int) bool { return n >= firstYear && n <= 2099 }

func (p *words) isAloneInBracket(i int) bool {
	g := p.tokens[i].bracket
	return g >= 0 && p.brackets[g].to-p.brackets[g].from == 1
}

// cursor reads the lower-case text of a marker byte by byte, across tokens.
type cursor struct {
	text string
	i    int
}

func (c *cursor) peek() byte { return c.peekAt(0) }

func (c *cursor) peekAt(n int) byte {
	if c.i+n < len(c.text) {
		return c.text[c.i+n]
	}
	return 0
}

// readNumber reads a number of up to limit digits; it fails if there are more. width is how many digits there are.
func (c *cursor) readNumber(limit int) (value, width int, ok bool) {
	width = leadingDigits(c.text[min(c.i, len(c.text)):])
	if width == 0 || width > limit {
		return 0, 0, false
	}
	value = atoi(c.text[c.i : c.i+width])
	c.i += width
	return value, width, true
}

// accept skips s if it is the next text, and reports whether it is. A space in s also matches a dot.
func (c *cursor) accept(s string) bool {
	for k := range len(s) {
		if b := c.peekAt(k); b != s[k] && !(s[k] == ' ' && b == '.') {
			return false
		}
	}
	c.i += len(s)
	return true
}

func (c *cursor) acceptAny(words ...string) bool { return slices.ContainsFunc(words, c.accept) }

// readJoinWord reads a word between two numbers, with the spaces or dots around it: " to ", ".and.", "and".
func (c *cursor) readJoinWord() role {
	d := *c
	spaces := d.skipAny(" .", 1)
	from := d.i
	for d.i < len(d.text) && (isLetter(d.text[d.i]) || d.text[d.i] >= utf8.RuneSelf) {
		d.i++
	}
	k := lists().words[d.text[from:d.i]]
	if k.role != toWord && k.role != andWord || spaces == 0 && d.i-from < 2 {
		return noRole
	}
	if d.skipAny(" .", 1) < spaces {
		return noRole
	}
	if sign := d.peek(); !isDigit(d.peek()) && !((sign == 's' || sign == 'e') && isDigit(d.peekAt(1))) {
		return noRole
	}
	*c = d
	return k.role
}

func (c *cursor) atWordEnd() bool { return c.i >= len(c.text) || !isWordByte(c.text[c.i]) }

// skipAny skips up to limit bytes that are in set, and returns how many.
func (c *cursor) skipAny(set string, limit int) int {
	n := 0
	for n < limit && c.i < len(c.text) && strings.IndexByte(set, c.text[c.i]) >= 0 {
		c.i++
		n++
	}
	return n
}

// readEpisodeSign reads the sign of an episode number: "E", "EP", "x", "xE". more is false for the
// first number of a list, which may also have "Episode".
func (c *cursor) readEpisodeSign(more bool) bool {
	d := *c
	switch {
	case !more && d.accept("episode"):
		d.skipAny(" .", 1)
	case !more && d.accept("eps"), d.accept("ep"):
		if !more { // "S04E31 - Ep.96": a separate number
			d.skipAny(" .", 2)
		}
	case d.acceptAny("xe", "e", "x"):
		d.skipAny(" ", 1)
	default:
		return false
	}
	if !isDigit(d.peek()) {
		return false
	}
	*c = d
	return true
}

// numberMayEnd reports whether a number without a sign may end at c. It may not in "720p" and in dates.
func numberMayEnd(c cursor) bool {
	if !c.atWordEnd() || c.peek() != '-' {
		return c.atWordEnd()
	}
	c.i++
	n := leadingDigits(c.text[c.i:])
	c.i += n
	return n <= 2 || !c.atWordEnd()
}

func (c *cursor) readHalf(v *float64) {
	if c.peek() != '.' || c.peekAt(1) != '5' {
		return
	}
	if after := c.peekAt(2); !isWordByte(after) && after != '.' {
		*v += 0.5
		c.i += 2
	}
}

// readSuffix skips a suffix of a number: "v2", a part letter, "END", "TV", "rev" or "EX". It returns the version, or 0.
func (c *cursor) readSuffix() (version int) {
	d := *c
	switch d.peek() {
	case 'v':
		d.i++
		if v, _, ok := d.readNumber(1); ok && (d.atWordEnd() || d.peek() == 'e') {
			*c = d
			return v
		}
		return 0
	case 'a', 'b', 'c', 'd':
		d.i++
	case 'e':
		d.acceptAny("end", "ex")
	case 'f':
		d.acceptAny("final", "fin", "fix", "f")
	case 'r':
		d.accept("rev")
	case 't':
		d.accept("tv")
	default:
		return 0
	}
	if d.atWordEnd() {
		*c = d
	}
	return 0
}
