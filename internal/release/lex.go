package release

import "unicode/utf8"

// This file decides what a word and a bracket are. A word is a run of letters
// and digits; everything else separates. Digits and Han, kana or hangul beside
// each other are words of their own, so that a counter ("第07話", "7화") can be
// read without looking inside a word.

// token is one word of the text.
type token struct {
	s, e  int   // text[s:e]
	group int   // index of the innermost bracket around it, -1 at top level
	class class // of its letters
	num   int   // value of a word of digits or of a counter, -1 for other words and for numbers too long to mean one
	last  int   // end of the range that a counter gives ("第01-12话"), else 0
	tag   tag   // what it was recognised as; none: it may be part of a title
	weak  bool  // it may be part of a title in spite of its tag
	word  kw    // its row in the table of words
}

// class says what a word is made of.
type class uint8

const (
	alpha  class = iota // letters of an alphabet
	number              // ASCII digits only
	mixed               // ASCII digits and letters
	cjk                 // Han, kana, hangul
)

// bracket is a pair of brackets in the text.
type bracket struct {
	open, close   int // offsets of the opening and of the closing bracket; text[open+width:close] is inside
	in            int // offset of the first byte inside
	out           int // offset behind the closing bracket
	outer         int // index of the bracket around it, -1
	round         bool
	first, behind int // tokens[first:behind] are inside
}

// Bounds of what is read of one name: what has more words or deeper brackets is no name.
const (
	maxWords = 256
	maxDepth = 8
)

// lex cuts text into words and brackets.
func lex(text string, folder bool, p *lexed) {
	*p = lexed{tokens: p.tokens[:0], brackets: p.brackets[:0], text: text, folder: folder, dotted: dotted(text)}
	p.matchBrackets()
	current, next := -1, 0
	for i := 0; i < len(text) && len(p.tokens) < maxWords; {
		p.steps++
		for current >= 0 && i >= p.brackets[current].close {
			p.brackets[current].behind = len(p.tokens)
			if i < p.brackets[current].out {
				i = p.brackets[current].out
			}
			current = p.brackets[current].outer
		}
		if i >= len(text) {
			break
		}
		if next < len(p.brackets) && i == p.brackets[next].open {
			p.brackets[next].outer = current
			p.brackets[next].first = len(p.tokens)
			p.brackets[next].behind = len(p.tokens)
			current = next
			i = p.brackets[next].in
			next++
			continue
		}
		c := text[i]
		if c < utf8.RuneSelf {
			if !wordByte(c) {
				i++
				continue
			}
			i = p.lexASCII(i, current)
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case isCJK(r):
			i = p.lexCJK(i, current)
		case letterRune(r):
			i = max(p.lexASCII(i, current), i+size)
		default:
			i += size
		}
	}
	for current >= 0 {
		p.brackets[current].behind = len(p.tokens)
		current = p.brackets[current].outer
	}
	p.brackets = p.brackets[:next]
}

// lexASCII takes the word at i: letters of any alphabet, digits, apostrophes within.
func (p *lexed) lexASCII(i, group int) int {
	text := p.text
	j, digits, letters := i, 0, 0
	for j < len(text) {
		c := text[j]
		switch {
		case c >= '0' && c <= '9':
			digits++
			j++
			continue
		case c < utf8.RuneSelf && wordByte(c):
			letters++
			j++
			continue
		case c == '\'' && j > i && j+1 < len(text) && wordByte(text[j+1]):
			j++
			continue
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(text[j:])
			if letterRune(r) && !isCJK(r) {
				letters++
				j += n
				continue
			}
			if r == '’' && j > i && j+n < len(text) && wordByte(text[j+n]) {
				j += n
				continue
			}
		}
		break
	}
	t := token{s: i, e: j, group: group, num: -1}
	switch {
	case letters == 0:
		t.class = number
		if j-i <= 8 {
			t.num = atoi(text[i:j])
		}
		if j < len(text) && text[j] >= utf8.RuneSelf {
			j = p.lexCounter(&t)
		}
	case digits > 0:
		t.class = mixed
	}
	p.tokens = append(p.tokens, t)
	return j
}

// matchBrackets finds the pairs of brackets. One without its partner is punctuation.
func (p *lexed) matchBrackets() {
	text := p.text
	var store [maxDepth]pending
	stack := store[:0]
	for i := 0; i < len(text); {
		c := text[i]
		size := 1
		var open, shut rune
		switch {
		case c == '[' || c == '(' || c == '{':
			open = rune(c)
		case c == ']' || c == ')' || c == '}':
			shut = rune(c)
		case c >= utf8.RuneSelf:
			var r rune
			r, size = utf8.DecodeRuneInString(text[i:])
			switch r {
			case '【', '《', '（', '［':
				open = r
			case '】', '》', '）', '］':
				shut = r
			}
		}
		switch {
		case open != 0 && len(p.brackets) < maxWords && len(stack) < maxDepth:
			p.brackets = append(p.brackets, bracket{open: i, in: i + size, close: -1, outer: -1, round: open == '(' || open == '（'})
			stack = append(stack, pending{index: len(p.brackets) - 1, want: partner(open)})
		case shut != 0 && len(stack) > 0:
			// The nearest opener of this kind, but not beyond two: a stray bracket must not swallow the name.
			for k := len(stack) - 1; k >= 0 && k >= len(stack)-2; k-- {
				if stack[k].want == shut {
					b := &p.brackets[stack[k].index]
					b.close, b.out = i, i+size
					stack = stack[:k]
					break
				}
			}
		}
		i += size
	}
	kept := p.brackets[:0]
	for _, b := range p.brackets {
		if b.close >= 0 {
			kept = append(kept, b)
		}
	}
	p.brackets = kept
}

// pending is an opening bracket whose partner has not been seen.
type pending struct {
	index int
	want  rune
}

func partner(open rune) rune {
	switch open {
	case '[':
		return ']'
	case '(':
		return ')'
	case '{':
		return '}'
	case '【':
		return '】'
	case '《':
		return '》'
	case '（':
		return '）'
	default:
		return '］'
	}
}

func wordByte(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// letterRune says whether r, beyond ASCII, belongs to a word.
func letterRune(r rune) bool {
	switch {
	case r < 0xAA, r == utf8.RuneError:
		return false
	case r < 0x250: // Latin-1 and extensions
		return r >= 0xC0 && r != '×' && r != '÷' || r == 'ª' || r == 'º' || r == 'µ'
	case r >= 0x2000 && r < 0x2150, r >= 0x2190 && r < 0x2C00, r >= 0x3000 && r < 0x3005, r >= 0x3008 && r < 0x3021:
		return false
	case r >= 0x2150 && r < 0x2190: // number forms: roman numerals, fractions
		return true
	case r >= 0xFE00 && r < 0xFE70, r >= 0xFF00 && r < 0xFF10, r >= 0xFF1A && r < 0xFF21, r >= 0xFF3B && r < 0xFF41, r >= 0xFF5B && r < 0xFF66, r >= 0x1F000:
		return false
	case r == '・':
		return false
	}
	return true
}

func isCJK(r rune) bool {
	switch {
	case r < 0x1100:
		return false
	case r <= 0x11FF, r >= 0x3041 && r <= 0x30FA, r >= 0x30FC && r <= 0x318F, r >= 0x3400 && r <= 0x4DBF, r >= 0x4E00 && r <= 0x9FFF,
		r >= 0xAC00 && r <= 0xD7A3, r >= 0xF900 && r <= 0xFAFF, r >= 0x20000 && r <= 0x3FFFF, r == '々', r == '〇', r >= 0xFF66 && r <= 0xFF9F:
		return true
	}
	return false
}

func atoi(s string) int {
	n := 0
	for i := 0; i < len(s); i++ {
		n = n*10 + int(s[i]-'0')
	}
	return n
}
