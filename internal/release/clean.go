package release

import (
	"strings"
	"unicode/utf8"
)

// clean makes a title of a stretch of the text: separators on either side go and, where they stand for spaces, dots
// become spaces. It does not allocate when there is nothing to change.
func (p *words) clean(s string) string {
	s = trimTitle(s)
	if !strings.Contains(s, "  ") && !(p.dotted && strings.Contains(s, ".")) {
		return s
	}
	buf := make([]byte, 0, len(s))
	dots := p.dotted && !strings.Contains(s, " ")
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '.' && dots && !keepsDot(s, i) {
			c = ' '
		}
		if c == ' ' && len(buf) > 0 && buf[len(buf)-1] == ' ' {
			continue
		}
		buf = append(buf, c)
	}
	return strings.TrimRight(string(buf), " ")
}

// keepsDot reports whether the dot at i belongs to initials ("S.H.I.E.L.D.", "R.O.D") or to a decimal ("3.0").
func keepsDot(s string, i int) bool {
	before, behind := oneByte(s, i-1), oneByte(s, i+1)
	if digit(before) && digit(behind) {
		return !dotThenDigit(s, i-2, i-3) && !dotThenDigit(s, i+2, i+3)
	}
	return letter(before) && (letter(behind) || i >= 3 && s[i-2] == '.' && letter(oneByte(s, i-3)))
}

// oneByte returns the letter or digit at k if it is a word by itself, else 0.
func oneByte(s string, k int) byte {
	if k < 0 || k >= len(s) || k > 0 && wordByte(s[k-1]) || k+1 < len(s) && wordByte(s[k+1]) {
		return 0
	}
	return s[k]
}

// dotThenDigit reports whether s has a dot and a digit there: another number of a date or version.
func dotThenDigit(s string, dot, number int) bool {
	return number >= 0 && number < len(s) && s[dot] == '.' && digit(s[number])
}

// trimTitle drops what separates a title from its neighbours.
func trimTitle(s string) string {
	s = strings.TrimLeftFunc(s, func(r rune) bool { return edge(r) || strings.ContainsRune(")].!", r) })
	whole := s
	for {
		r, n := utf8.DecodeLastRuneInString(s)
		switch {
		case n == 0, r == '+' && beforeDash(whole[len(s):]):
			return s
		case edge(r) && !(r == '-' && strings.HasSuffix(s, "--")), strings.ContainsRune("([{#", r):
		case r == '.' && !strings.HasSuffix(s, "...") && !initial(s):
		default:
			return s
		}
		s = s[:len(s)-n]
	}
}

// beforeDash reports whether a dash between spaces follows: what stands before it is no separator but the title's own, "Title + - 07".
func beforeDash(s string) bool {
	rest := strings.TrimLeft(s, " ")
	return len(rest) < len(s) && strings.HasPrefix(rest, "-")
}

// initial reports whether s ends in an initial with its dot.
func initial(s string) bool {
	n := len(s)
	return n >= 4 && wordByte(s[n-2]) && s[n-3] == '.'
}

// edge reports whether r separates a title from its neighbours.
func edge(r rune) bool {
	switch r {
	case ' ', '_', '-', '—', '–', '―', ':', '：', ',', ';', '/', '|', '+', '★', '☆', '\t', '、', '=', '@', '*', '•', '\uFFFD',
		'】', '【', '\n', '\r', '~', '〜', '～':
		return true
	}
	return r >= 0x1F200 && r <= 0x1F2FF // what stations mark programmes with: 🈞
}
