package ui

import "strings"

// Wrap breaks s between words into lines of at most width cells, one line at least. A word that is longer keeps its
// line to itself.
func Wrap(s string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		switch {
		case line == "":
			line = word
		case Width(line)+1+Width(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}

// Hanging wraps each line of s as Wrap does; what a line goes on with is indented by so many cells. Lines that fit stay
// as they are, and with a width of 0 or less all of them do.
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
