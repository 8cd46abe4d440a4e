package logging

// This file decides how a value stands in logfmt: bare where that is unmistakable, else as a JSON string, which every
// logfmt reader understands. No value can start a new line or a new pair, or move a terminal's cursor.

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// quote returns s as a logfmt value. A value that is really "-" is quoted: the bare one means "does not apply".
func quote(s string) string {
	if s != "" && s != none && utf8.ValidString(s) && strings.IndexFunc(s, mustQuote) < 0 {
		return s
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s { // a byte that is no UTF-8 ranges as U+FFFD
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case mustEscape(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func mustQuote(r rune) bool {
	return r == ' ' || r == '=' || r == '"' || r == '\\' || mustEscape(r) || unicode.IsSpace(r)
}

// mustEscape holds for what a terminal would act on: controls, line separators, changes of direction.
func mustEscape(r rune) bool {
	switch {
	case unicode.IsControl(r), r == '\u2028', r == '\u2029', r == '\ufeff':
		return true
	}
	return r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' || r == '\u200e' || r == '\u200f'
}

// cleanKey makes a key one plain word.
func cleanKey(s string) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '.' || r == '-' {
			return r
		}
		return '_'
	}, s)
	if clean == "" {
		return "_"
	}
	return clean
}
