package release

import (
	"strings"
)

// This file walks the text of a marker byte by byte, across the words of the
// lexer: a marker has its own syntax.

// cursor walks the text from a token on; it does not cross into another bracket.
type cursor struct {
	text string
	i    int
}

func (c *cursor) peek() byte {
	if c.i < len(c.text) {
		return c.text[c.i]
	}
	return 0
}

// number reads up to limit digits; more digits are no number.
func (c *cursor) number(limit int) (int, int, bool) {
	n := 0
	for c.i+n < len(c.text) && digit(c.text[c.i+n]) {
		n++
		if n > limit {
			return 0, 0, false
		}
	}
	if n == 0 {
		return 0, 0, false
	}
	v := atoi(c.text[c.i : c.i+n])
	c.i += n
	return v, n, true
}

// is reads s in any case.
func (c *cursor) is(s string) bool {
	if len(c.text)-c.i >= len(s) && strings.EqualFold(c.text[c.i:c.i+len(s)], s) {
		c.i += len(s)
		return true
	}
	return false
}

// wordEnd says whether the cursor stands at the end of a word.
func (c *cursor) wordEnd() bool { return c.i >= len(c.text) || !wordByte(c.text[c.i]) }

// skip passes over at most limit bytes of set and returns how many.
func (c *cursor) skip(set string, limit int) int {
	n := 0
	for n < limit && c.i < len(c.text) && strings.IndexByte(set, c.text[c.i]) >= 0 {
		c.i++
		n++
	}
	return n
}

// episodeSign reads what introduces an episode number: "E", "EP", "x", "xE", "Episode".
func (c *cursor) episodeSign(more bool) bool {
	d := *c
	switch {
	case !more && d.is("episode"):
		d.skip(" ._", 1)
	case !more && d.is("eps"), d.is("ep"):
		d.skip(" ._", 2)
	case d.is("xe"), d.is("e"), d.is("x"):
		if d.peek() == ' ' {
			d.i++
		}
	default:
		return false
	}
	if !digit(d.peek()) {
		return false
	}
	*c = d
	return true
}

// plainEnd says whether a number without a sign may end here: not "720p", not a date.
func plainEnd(c *cursor) bool {
	if c.wordEnd() {
		d := *c
		if d.peek() != '-' {
			return true
		}
		d.i++
		n := 0
		for d.i+n < len(d.text) && digit(d.text[d.i+n]) {
			n++
		}
		d.i += n
		return n <= 2 || !d.wordEnd()
	}
	e := *c
	if e.peek()|0x20 == 'v' {
		e.i++
		_, _, ok := e.number(2)
		return ok && e.wordEnd()
	}
	return false
}

// extends says whether what is run into an episode number goes on with it: another episode, a letter, a version.
func extends(c cursor) bool {
	switch c.peek() | 0x20 {
	case 'e', 'x':
		return c.i+1 < len(c.text) && digit(c.text[c.i+1])
	case 'm':
		return false
	}
	return false
}

// fraction reads ".5".
func (c *cursor) fraction(v *float64) {
	if c.peek() == '.' && c.i+1 < len(c.text) && c.text[c.i+1] == '5' && (c.i+2 >= len(c.text) || !wordByte(c.text[c.i+2]) && c.text[c.i+2] != '.') {
		*v += 0.5
		c.i += 2
	}
}

// suffix reads what may be run into an episode number: "v2", a part letter, "END". It returns the version, 0 when there is none.
func (c *cursor) suffix() (version int) {
	switch c.peek() | 0x20 {
	case 'v':
		d := *c
		d.i++
		if v, _, ok := d.number(1); ok && (d.wordEnd() || d.peek()|0x20 == 'e') {
			*c = d
			return v
		}
	case 'a', 'b', 'c', 'd':
		d := *c
		d.i++
		if d.wordEnd() {
			*c = d
		}
	case 'e':
		d := *c
		if d.is("end") && d.wordEnd() {
			*c = d
		}
	case 'f':
		d := *c
		if (d.is("final") || d.is("fin") || d.is("f")) && d.wordEnd() {
			*c = d
		}
	}
	return 0
}
