package release

import (
	"strings"
	"unicode/utf8"
)

// clean makes a title of a stretch of the text: separators on either side go,
// underscores and, where they stand for spaces, dots become spaces. It does
// not allocate when there is nothing to change.
func (p *lexed) clean(s string) string {
	s = trimTitle(s)
	if !p.dotted {
		if strings.IndexByte(s, '_') < 0 && !strings.Contains(s, "  ") {
			return s
		}
	} else if strings.IndexByte(s, '_') < 0 && strings.IndexByte(s, '.') < 0 && !strings.Contains(s, "  ") {
		return s
	}
	buf := make([]byte, 0, len(s))
	dots := p.dotted && strings.IndexByte(s, ' ') < 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '_' || c == '.' && dots && !keepDot(s, i) {
			c = ' '
		}
		if c == ' ' && len(buf) > 0 && buf[len(buf)-1] == ' ' {
			continue
		}
		buf = append(buf, c)
	}
	return strings.TrimRight(string(buf), " ")
}

// keepDot says whether the dot at i belongs to initials ("S.H.I.E.L.D.", "R.O.D") or to a decimal ("3.0").
func keepDot(s string, i int) bool {
	single := func(k int) bool {
		return k >= 0 && k < len(s) && s[k]|0x20 >= 'a' && s[k]|0x20 <= 'z' && (k == 0 || !wordByte(s[k-1])) && (k+1 >= len(s) || !wordByte(s[k+1]))
	}
	alone := func(k int) bool {
		return k >= 0 && k < len(s) && digit(s[k]) && (k == 0 || !wordByte(s[k-1])) && (k+1 >= len(s) || !wordByte(s[k+1]))
	}
	if alone(i-1) && alone(i+1) && (i < 3 || s[i-2] != '.' || !digit(s[i-3])) && (i+3 >= len(s) || s[i+2] != '.' || !digit(s[i+3])) {
		return true // "3.0"
	}
	return single(i-1) && (single(i+1) || i >= 3 && s[i-2] == '.' && single(i-3))
}

// trimTitle drops what separates a title from its neighbours.
func trimTitle(s string) string {
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		if !edge(r) && r != ')' && r != ']' && r != '.' && r != '!' {
			break
		}
		s = s[n:]
	}
	for s != "" {
		r, n := utf8.DecodeLastRuneInString(s)
		switch {
		case edge(r) && !(r == '-' && strings.HasSuffix(s, "--")), r == '(' || r == '[' || r == '{' || r == '#':
		case r == '.' && !strings.HasSuffix(s, "...") && !initial(s):
		default:
			return s
		}
		s = s[:len(s)-n]
	}
	return s
}

// initial says whether s ends in an initial with its dot.
func initial(s string) bool {
	n := len(s)
	return n >= 4 && wordByte(s[n-2]) && s[n-3] == '.'
}

func edge(r rune) bool {
	switch r {
	case ' ', '_', '-', '—', '–', '―', ':', '：', ',', ';', '/', '|', '+', '★', '☆', '\t', '、', '=', '@', '*', '•', '\uFFFD', '】', '【', '\n', '\r', '~', '〜', '～':
		return true
	}
	return false
}
