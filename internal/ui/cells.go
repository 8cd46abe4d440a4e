package ui

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// cells measures text. It is fixed and not taken from the locale, so that output does not depend on the environment:
// current terminals draw ambiguous characters one cell wide in CJK locales too.
var cells = &runewidth.Condition{StrictEmojiNeutral: true}

// attribute is an ANSI attribute as Style writes it. It takes no cell.
var attribute = regexp.MustCompile("\x1b\\[[0-9;]*m")

// Width returns the number of terminal cells that s takes: two for a Hangul or kanji character, none for a combining
// mark or an attribute of Style. Text from outside has to be Printable's or Escaped's.
func Width(s string) int {
	if strings.Contains(s, "\x1b") {
		s = attribute.ReplaceAllString(s, "")
	}
	return cells.StringWidth(s)
}

// Cut shortens s to at most width cells, its end replaced by "…". A width of 0 or less never cuts.
func Cut(s string, width int) string {
	if width <= 0 || Width(s) <= width {
		return s
	}
	return head(s, width, "…")
}

// CutLeft shortens s from its beginning: the end of a path says more.
func CutLeft(s string, width int) string {
	if width <= 0 || Width(s) <= width {
		return s
	}
	for i := range s {
		if i > 0 && Width(s[i:]) <= width-1 {
			return "…" + s[i:]
		}
	}
	return "…"
}

// head returns the beginning of s with tail behind it, in at most width cells. It cuts between characters as people see
// them; where a single one is wider than width, between code points.
func head(s string, width int, tail string) string {
	if h := cells.Truncate(s, width, tail); Width(h) <= width && h != tail {
		return h
	}
	end := 0
	for i, r := range s {
		next := i + utf8.RuneLen(r)
		if Width(s[:next]+tail) > width {
			break
		}
		end = next
	}
	return s[:end] + tail
}

// Pad fills s with spaces to width cells. Longer text stays as it is.
func Pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-Width(s)))
}

// Wrap breaks s between words into lines of at most width cells, one line at least. A word that is longer is broken
// too, unless it is an address, which has to stay whole to be of use. A width of 0 or less gives one line.
func Wrap(s string, width int) []string {
	if width <= 0 {
		return []string{s}
	}
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		if line != "" && Width(line)+1+Width(word) <= width {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		for Width(word) > width && !strings.Contains(word, "://") {
			first := head(word, width, "")
			if first == "" { // one code point wider than the line
				break
			}
			lines = append(lines, first)
			word = word[len(first):]
		}
		line = word
	}
	if line != "" || len(lines) == 0 {
		lines = append(lines, line)
	}
	return lines
}

// Hanging wraps each line of s that is too long; the lines that follow from it are indented. A width of 0 or less wraps
// nothing.
func Hanging(s string, width, indent int) string {
	if width <= 0 {
		return s
	}
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		if Width(line) <= width {
			continue
		}
		text := strings.TrimLeft(line, " ")
		begin := line[:len(line)-len(text)]
		in := max(indent, len(begin))
		parts := Wrap(text, max(width-in, 20))
		lines[i] = begin + strings.Join(parts, "\n"+strings.Repeat(" ", in))
	}
	return strings.Join(lines, "\n")
}
