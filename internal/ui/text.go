package ui

// Text that comes from file names and servers: made harmless, measured in
// cells. A Hangul or kanji character takes two cells, a combining mark none.

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// cells is fixed and not taken from the locale, so that output does not depend
// on the environment: terminals of today draw ambiguous characters one cell
// wide in CJK locales too.
var cells = &runewidth.Condition{StrictEmojiNeutral: true}

// Printable returns s as it is if a terminal shows it harmlessly, else quoted
// like a Go string: control characters, escape sequences, bytes that are not
// UTF-8 and what reorders text could make a line say something it does not.
func Printable(s string) string {
	if harmless(s) {
		return s
	}
	return strconv.Quote(s)
}

// Escaped is Printable without the quotes, for text inside a sentence: what
// would do harm becomes an escape, all else stays.
func Escaped(s string) string {
	if harmless(s) {
		return s
	}
	var b strings.Builder
	for s != "" {
		r, size := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && size <= 1 || harmful(r) {
			quoted := strconv.Quote(s[:size])
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteString(s[:size])
		}
		s = s[size:]
	}
	return b.String()
}

func harmless(s string) bool { return utf8.ValidString(s) && !strings.ContainsFunc(s, harmful) }

// harmful is everything that is neither seen nor a space. Joiners stay: names
// in Persian and Indic scripts and many emoji need them, and they move
// nothing. Direction marks and overrides go, alone or in pairs.
func harmful(r rune) bool {
	const zwnj, zwj = '\u200c', '\u200d'
	return !unicode.IsPrint(r) && !unicode.Is(unicode.Zs, r) && r != zwnj && r != zwj
}

// Width is the number of cells that s takes on a terminal. s must be
// Printable's or Escaped's.
func Width(s string) int { return cells.StringWidth(s) }

// Truncate shortens s to at most width cells, the cut marked by "…"; a width
// of 0 or less gives "".
func Truncate(s string, width int) string {
	switch {
	case width <= 0:
		return ""
	case Width(s) <= width:
		return s
	}
	short := cells.Truncate(s, width, "…")
	if Width(short) > width { // a single character that is wider than all there is room for
		return "…"
	}
	return short
}

// Pad fills s with spaces to width cells; longer text stays as it is.
func Pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-Width(s)))
}
