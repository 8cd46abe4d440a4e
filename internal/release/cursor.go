package release

import (
	"strings"
	"unicode/utf8"
)

// cursor walks the text of a marker byte by byte, across the words of the lexer: a marker has its own syntax.
type cursor struct {
	text string
	i    int
}

func (c *cursor) peek() byte { return c.at(0) }

// at returns the byte n further, 0 behind the end.
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

// is reads s in any case; a blank in s stands for a dot too.
func (c *cursor) is(s string) bool {
	for k := range len(s) {
		b := c.at(k)
		if letter(b) {
			b |= 0x20
		}
		if b != s[k] && !(s[k] == ' ' && b == '.') {
			return false
		}
	}
	c.i += len(s)
	return true
}

func (c *cursor) isAny(words ...string) bool {
	for _, w := range words {
		if c.is(w) {
			return true
		}
	}
	return false
}

// joinWord reads a word that joins two numbers, with what parts it from them: " to ", ".and.", "and".
func (c *cursor) joinWord() role {
	d := *c
	blanks := d.skip(" .", 1)
	from := d.i
	for d.i < len(d.text) && (letter(d.text[d.i]) || d.text[d.i] >= utf8.RuneSelf) {
		d.i++
	}
	k, _ := lookup(d.text[from:d.i])
	if k.role != toWord && k.role != andWord || blanks == 0 && d.i-from < 2 {
		return noRole
	}
	if d.skip(" .", 1) < blanks {
		return noRole
	}
	if sign := d.peek() | 0x20; !digit(d.peek()) && !((sign == 's' || sign == 'e') && digit(d.at(1))) {
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

// episodeSign reads what introduces an episode number: "E", "EP", "x", "xE", and "Episode" for the first of a list.
func (c *cursor) episodeSign(more bool) bool {
	d := *c
	switch {
	case !more && d.is("episode"):
		d.skip(" .", 1)
	case !more && d.is("eps"), d.is("ep"):
		if !more { // "S04E31 - Ep.96": a number of its own
			d.skip(" .", 2)
		}
	case d.isAny("xe", "e", "x"):
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

// plainEnd reports whether a number without a sign may end at c: not "720p", not a date.
func plainEnd(c cursor) bool {
	if !c.wordEnd() {
		if c.peek()|0x20 != 'v' {
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

// extends reports whether another episode is run into the number before c.
func extends(c cursor) bool {
	return (c.peek()|0x20 == 'e' || c.peek()|0x20 == 'x') && digit(c.at(1))
}

// fraction reads ".5".
func (c *cursor) fraction(v *float64) {
	if c.peek() != '.' || c.at(1) != '5' {
		return
	}
	if behind := c.at(2); !wordByte(behind) && behind != '.' {
		*v += 0.5
		c.i += 2
	}
}

// suffix reads what may be run into an episode number: "v2", a part letter, "END", "TV", what was done to it ("rev",
// "EX"). It returns the version, 0 when there is none.
func (c *cursor) suffix() (version int) {
	d := *c
	switch d.peek() | 0x20 {
	case 'v':
		d.i++
		if v, _, ok := d.number(1); ok && (d.wordEnd() || d.peek()|0x20 == 'e') {
			*c = d
			return v
		}
		return 0
	case 'a', 'b', 'c', 'd':
		d.i++
	case 'e':
		d.isAny("end", "ex")
	case 'f':
		d.isAny("final", "fin", "fix", "f")
	case 'r':
		d.is("rev")
	case 't':
		d.is("tv")
	default:
		return 0
	}
	if d.wordEnd() {
		*c = d
	}
	return 0
}
