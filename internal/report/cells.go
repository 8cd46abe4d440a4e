package report

// This file measures and shapes text in terminal cells: a Hangul or kanji character takes two, a combining mark
// none, and what could move the cursor or reorder the line is quoted before it gets there.

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// cells is fixed, not taken from the locale: terminals of today draw ambiguous characters one cell wide also in
// CJK locales, and output must not depend on the environment.
var cells = &runewidth.Condition{StrictEmojiNeutral: true}

// cellWidth is the number of terminal cells of s. ANSI attributes of our own take none.
func cellWidth(s string) int {
	if strings.Contains(s, "\x1b") {
		s = attribute.ReplaceAllString(s, "")
	}
	return cells.StringWidth(s)
}

var attribute = regexp.MustCompile("\x1b\\[[0-9;]*m")

// Visible returns s as it is when a terminal can show it, else quoted like a Go string: control characters,
// bytes that are not UTF-8, line separators and bidirectional overrides become escapes.
func Visible(s string) string {
	if utf8.ValidString(s) && strings.IndexFunc(s, unsafeRune) < 0 {
		return s
	}
	return strconv.Quote(s)
}

func unsafeRune(r rune) bool {
	switch {
	case unicode.IsControl(r), r == '\u2028', r == '\u2029', r == '\ufeff':
		return true
	case r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069', r == '\u200e', r == '\u200f', r == '\u061c':
		return true
	}
	return false
}

// cut shortens s to at most width cells, its end replaced by "…"; a width of 0 or less never cuts.
func cut(s string, width int) string {
	if width <= 0 || cellWidth(s) <= width {
		return s
	}
	return head(s, width, "…")
}

// head is the beginning of s in at most width cells, the tail's included. It ends between characters as people see
// them, or, where a single one is wider than the column, between code points.
func head(s string, width int, tail string) string {
	if h := cells.Truncate(s, width, tail); cellWidth(h) <= width && h != tail {
		return h
	}
	end := 0
	for i, r := range s {
		if next := i + utf8.RuneLen(r); cellWidth(s[:next]+tail) <= width {
			end = next
			continue
		}
		break
	}
	return s[:end] + tail
}

// cutLeft shortens s from its beginning: of a path, the end tells more.
func cutLeft(s string, width int) string {
	if width <= 0 || cellWidth(s) <= width {
		return s
	}
	for i := range s {
		if i > 0 && cellWidth(s[i:]) <= width-1 {
			return "…" + s[i:]
		}
	}
	return "…"
}

// pad fills s with spaces to width cells.
func pad(s string, width int) string {
	if n := width - cellWidth(s); n > 0 {
		return s + strings.Repeat(" ", n)
	}
	return s
}

// wrap breaks s between words into lines of at most width cells; a longer word is broken where it must be. A width
// of 0 or less gives one line.
func wrap(s string, width int) []string {
	if width <= 0 || cellWidth(s) <= width {
		return []string{s}
	}
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		if line != "" && cellWidth(line)+1+cellWidth(word) <= width {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		for cellWidth(word) > width {
			first := head(word, width, "")
			if first == "" { // one code point wider than the column
				break
			}
			lines = append(lines, first)
			word = word[len(first):]
		}
		line = word
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// style wraps s in an ANSI attribute, or returns it as it is where colour is off.
func style(on bool, code, s string) string {
	if !on || code == "" || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// ANSI attributes.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

// hue is the colour that goes with a status; the status always stands there as a word or a number too.
func hue(s Status) string {
	switch s {
	case Matched:
		return green
	case Ambiguous:
		return yellow
	case Unmatched, Failed:
		return red
	case Pending:
		return cyan
	case Skipped:
		return dim
	}
	return ""
}
