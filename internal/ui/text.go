package ui

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"

	"github.com/anivault/anivault/internal/lang"
)

// Dangerous reports whether a terminal or a page might interpret r instead of showing it: control characters, format
// characters such as direction overrides, and line separators. The two joiners are not dangerous: Persian and Indic
// names and many emoji need them.
func Dangerous(r rune) bool {
	const zwnj, zwj = '\u200c', '\u200d'
	if r <= unicode.MaxASCII { // fast path: the tables take ten times as long
		return r < ' ' || r == '\x7f'
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) && r != zwnj && r != zwj
}

// Printable returns s unchanged, or quoted and escaped like a Go string if it has dangerous runes or invalid UTF-8.
func Printable(s string) string {
	if escaped := Escaped(s); escaped == s {
		return s
	}
	return `"` + escape(s, `"\`, "") + `"`
}

// Escaped is Printable without the quotes, for text inside a sentence.
func Escaped(s string) string { return escape(s, "", "") }

// EscapedLines is Escaped for a text of several lines: it keeps tabs and newlines.
func EscapedLines(s string) string { return escape(s, "", "\t\n") }

// escape escapes dangerous runes, invalid UTF-8 and the ASCII characters in extra as Go does, but not those in except.
func escape(s, extra, except string) string {
	change := func(r rune) bool {
		return (Dangerous(r) || r == utf8.RuneError || strings.ContainsRune(extra, r)) && !strings.ContainsRune(except, r)
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
		case strings.ContainsRune(extra, r):
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

// ShellWord quotes s as one word for a shell if necessary, with dangerous runes in the form $'...' of bash and zsh.
func ShellWord(s string) string {
	const plain = "/._-+:,@%=~"
	special := func(r rune) bool { // characters from U+00A1 on are never special
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

// PathWord is ShellWord for a path, which a command must not take for a flag.
func PathWord(path string) string {
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	return ShellWord(path)
}

// widthRules decides how many cells a character takes. It ignores the locale, because current terminals draw ambiguous
// characters one cell wide even in CJK locales.
var widthRules = &runewidth.Condition{StrictEmojiNeutral: true}

var attributePattern = regexp.MustCompile("\x1b\\[[0-9;]*m")

// Width returns the number of terminal cells that s takes: two for a Hangul or kanji character, none for a combining
// mark or an attribute of Style. Text from outside must first go through Printable or Escaped.
func Width(s string) int {
	if strings.Contains(s, "\x1b") {
		s = attributePattern.ReplaceAllString(s, "")
	}
	return widthRules.StringWidth(s)
}

// Cut shortens s to at most width cells by replacing its end by "…". A width of 0 or less never cuts.
func Cut(s string, width int) string {
	if width <= 0 || Width(s) <= width {
		return s
	}
	return truncate(s, width, "…")
}

// CutLeft shortens s to at most width cells by replacing its beginning by "…", for paths, whose end is important.
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

// truncate returns the beginning of s followed by tail, in at most width cells. It cuts between grapheme clusters, or
// between code points if the first cluster is wider than width.
func truncate(s string, width int, tail string) string {
	if h := widthRules.Truncate(s, width, tail); Width(h) <= width && h != tail {
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

// Pad appends spaces to s up to width cells. It does not change longer text.
func Pad(s string, width int) string { return s + strings.Repeat(" ", max(0, width-Width(s))) }

// Wrap breaks s into lines of at most width cells, between words if possible, never in URLs. A width of 0 breaks
// nothing.
func Wrap(s string, width int) []string {
	if width <= 0 {
		return []string{s}
	}
	var words, lines []string
	for _, word := range strings.Fields(s) {
		if last := len(words) - 1; last >= 0 && strings.HasPrefix(word, "%") { // the sign stays with its number
			words[last] += " " + word
			continue
		}
		words = append(words, word)
	}
	line := ""
	for _, word := range words {
		if line != "" && Width(line)+1+Width(word) <= width {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		for Width(word) > width && !strings.Contains(word, "://") {
			first := truncate(word, width, "")
			if first == "" { // the code point is wider than the line
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

// WrapHanging wraps each line of s that is longer than width, with indented continuations. A width of 0 wraps nothing.
func WrapHanging(s string, width, indent int) string {
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

// Duration formats d for people, rounded down: "0.4 s", "12 s", "3m20s", "2h05m", "3d04h".
func Duration(d time.Duration) lang.Text {
	const day = 24 * time.Hour
	switch d = max(d, 0); {
	case d < 10*time.Second:
		return lang.Textf("%.1f s", d.Truncate(100*time.Millisecond).Seconds())
	case d < time.Minute:
		return lang.Textf("%d s", d/time.Second)
	case d < time.Hour:
		return lang.Textf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < day:
		return lang.Textf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return lang.Textf("%dd%02dh", d/day, d%day/time.Hour)
}

// Countdown formats a remaining time in whole seconds, rounded up: "42 s", "3m20s".
func Countdown(d time.Duration) lang.Text {
	d = (d + time.Second - 1).Truncate(time.Second)
	if d < 10*time.Second {
		return lang.Textf("%d s", max(d, 0)/time.Second)
	}
	return Duration(d)
}

// Period formats d exactly, as in settings, without trailing zero units: "1h", "1m30s".
func Period(d time.Duration) string {
	return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(d.String())
}

// Clock formats the local time of day, with the date if that is not today.
func Clock(t time.Time) string {
	t = t.Local()
	if t.Format(time.DateOnly) == time.Now().Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}

// Timestamp formats t for programs, as RFC 3339 in UTC; "" for the zero time.
func Timestamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// Size formats a number of bytes in powers of 1000, as in settings: "999 B", "1.5 kB".
func Size(n int64) string {
	const step = 1000
	if n < step {
		return fmt.Sprintf("%d B", n)
	}
	value, unit := float64(n)/step, 0
	for value >= step && unit < 3 {
		value /= step
		unit++
	}
	return fmt.Sprintf("%.1f %s", value, []string{"kB", "MB", "GB", "TB"}[unit])
}

// Offset formats a time since the start of a run, such as "5s", "12.3s", "1m30s", without tenths from 10 minutes on.
func Offset(d time.Duration) string {
	unit := 100 * time.Millisecond
	if d >= 10*time.Minute {
		unit = time.Second
	}
	return Period(d.Round(unit))
}

// Number returns a number as text; "" for 0, which stands for an unknown one.
func Number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// Numbers returns numbers as text with a separator between them.
func Numbers[T int | float64](list []T, separator string) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(list), "[]"), " ", separator)
}
