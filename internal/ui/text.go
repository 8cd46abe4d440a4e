package ui

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Dangerous reports whether a terminal or a page may act on r instead of showing it: control and format characters
// (every direction mark, override and isolate among them) and the line separators. The two joiners are not dangerous:
// Persian and Indic names and many emoji need them, and they move nothing. The program has no other such list.
func Dangerous(r rune) bool {
	const zwnj, zwj = '\u200c', '\u200d'
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) && r != zwnj && r != zwj
}

// Printable returns s unchanged if a terminal shows it harmlessly, else quoted like a Go string: dangerous runes and
// bytes that are not UTF-8 become escapes.
func Printable(s string) string {
	if escaped := Escaped(s); escaped == s {
		return s
	}
	return `"` + escape(s, `"\`, "") + `"`
}

// Escaped is Printable without the quotes, for text inside a sentence: only what is dangerous changes.
func Escaped(s string) string { return escape(s, "", "") }

// EscapedLines is Escaped for a text of several lines: tabs and line ends stay.
func EscapedLines(s string) string { return escape(s, "", "\t\n") }

// escape replaces dangerous runes, bytes that are not UTF-8, and the ASCII characters in also by escapes of Go; those
// in but stay.
func escape(s, also, but string) string {
	change := func(r rune) bool {
		return (Dangerous(r) || r == utf8.RuneError || strings.ContainsRune(also, r)) && !strings.ContainsRune(but, r)
	}
	if !strings.ContainsFunc(s, change) {
		return s
	}
	var b strings.Builder
	for s != "" {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size > 1, !change(r):
			b.WriteString(s[:size])
		case strings.ContainsRune(also, r):
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteToASCII(s[:size])
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		s = s[size:]
	}
	return b.String()
}

// OneLine returns s on one line: each run of white space and control characters becomes one space.
func OneLine(s string) string {
	fields := strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	return strings.Join(fields, " ")
}

// ShellWord returns s as one word of a shell, to be pasted into a command. A word with dangerous runes is written in
// the $'...' form of bash and zsh, so that it is harmless to print.
func ShellWord(s string) string {
	const plain = "/._-+:,@%=~"
	special := func(r rune) bool { // no shell treats a character beyond Latin-1's controls and spaces specially
		return r < 0xa1 && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(plain, r)
	}
	switch {
	case Escaped(s) != s:
		return "$'" + escape(s, `'\`, "") + "'"
	case s == "", s[0] == '~', strings.ContainsFunc(s, special):
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}
