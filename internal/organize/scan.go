package organize

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/ui"
)

// scanner reads the words of a line and collects problems.
type scanner struct {
	line     int
	unread   string // the rest of the line
	problems []LineProblem
}

func (s *scanner) addProblem(format string, args ...any) {
	s.problems = append(s.problems, LineProblem{Line: s.line, Text: lang.Textf(format, args...)})
}

func (s *scanner) err() error {
	if len(s.problems) == 0 {
		return nil
	}
	return &PlanError{Problems: s.problems}
}

func excerpt(text string, maxWidth int) string { return ui.Printable(ui.Cut(text, maxWidth)) }

func cutWord(line string) (word, rest string) {
	i := strings.IndexAny(line, " \t")
	if i < 0 {
		return line, ""
	}
	return line[:i], strings.TrimLeft(line[i:], " \t")
}

func (s *scanner) scanWord() (word string) {
	word, s.unread = cutWord(s.unread)
	return word
}

func (s *scanner) scanName() string {
	name, err := Unquote(s.unread)
	if err != nil {
		s.addProblem("%v", err)
	}
	return name
}

func (s *scanner) scanIndex(n int, kind string) int {
	word := s.scanWord()
	i, err := strconv.Atoi(word)
	switch {
	case n == 0:
		s.addProblem("the header's line %q is missing: put it back, or make the plan again", kind)
		return 0
	case err != nil || i < 1 || i > n:
		s.addProblem("the header has no %s %s: take one from 1 to %d", kind, excerpt(word, 20), n)
		return 0
	}
	return i - 1
}

func (s *scanner) scanSize() int64 {
	word := s.scanWord()
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil || n < 0 {
		s.addProblem("%s is not a size in bytes; don't edit size, time and inode", excerpt(word, 40))
	}
	return n
}

func (s *scanner) scanInode() uint64 {
	word := s.scanWord()
	if word == "-" {
		return 0
	}
	n, err := strconv.ParseUint(word, 10, 64)
	if err != nil || n == 0 {
		s.addProblem("%s is not an inode; don't edit size, time and inode", excerpt(word, 40))
	}
	return n
}

func (s *scanner) scanStamp() Stamp {
	word := s.scanWord()
	t, err := ParseStamp(word)
	if err != nil {
		s.addProblem("%s is not a time in seconds, such as 1763661791.5; don't edit size, time and inode", excerpt(word, 40))
	}
	return t
}

// String formats the time in seconds, with as many decimals as needed: "1763661791.5".
func (s Stamp) String() string { return string(s.Append(nil)) }

// Append appends the result of String to b.
func (s Stamp) Append(b []byte) []byte {
	sec, nsec := s.Sec, int64(s.Nsec)
	if sec < 0 && nsec > 0 { // -1.5 is Sec -2 and Nsec 500,000,000
		sec, nsec = sec+1, int64(time.Second)-nsec
		if sec == 0 {
			b = append(b, '-')
		}
	}
	b = strconv.AppendInt(b, sec, 10)
	if nsec == 0 {
		return b
	}
	end := len(b) // the 1 of 1.000000000 becomes the point
	b = strconv.AppendInt(b, int64(time.Second)+nsec, 10)
	b[end] = '.'
	return bytes.TrimRight(b, "0")
}

// MarshalText implements encoding.TextMarshaler.
func (s Stamp) MarshalText() ([]byte, error) { return s.Append(nil), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Stamp) UnmarshalText(text []byte) (err error) {
	*s, err = ParseStamp(string(text))
	return err
}

// ParseStamp parses the result of Stamp.String.
func ParseStamp(word string) (Stamp, error) {
	digits, negative := strings.CutPrefix(word, "-")
	whole, fraction, point := strings.Cut(digits, ".")
	sec, err := strconv.ParseUint(whole, 10, 63)
	nsec, badFraction := strconv.ParseUint(fraction+"000000000"[min(len(fraction), 9):], 10, 32)
	if err != nil || badFraction != nil || point && (fraction == "" || len(fraction) > 9) || sec == math.MaxInt64 {
		return Stamp{}, lang.Error("%q is not a time in seconds", word)
	}
	s := Stamp{Sec: int64(sec), Nsec: int32(nsec)}
	if !negative {
		return s, nil
	}
	s.Sec = -s.Sec
	if nsec > 0 {
		s.Sec, s.Nsec = s.Sec-1, int32(int64(time.Second)-int64(nsec))
	}
	return s, nil
}

// Quote formats a name for the end of a line in a plan. If the name would be ambiguous or not display correctly, Quote
// puts it in double quotes with the escapes \n, \xNN, \" and \\. Otherwise it returns the name unchanged.
func Quote(name string) string {
	if !needsQuotes(name) {
		return name
	}
	var b strings.Builder
	b.WriteByte('"')
	for s := name; s != ""; {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case ui.Dangerous(r) || r == utf8.RuneError && size == 1:
			for i := range size {
				fmt.Fprintf(&b, `\x%02x`, s[i])
			}
		default:
			b.WriteString(s[:size])
		}
		s = s[size:]
	}
	b.WriteByte('"')
	return b.String()
}

func needsQuotes(s string) bool {
	if s == "" || s[0] == '"' || s[0] == ' ' || s[len(s)-1] == ' ' {
		return true
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' { // printable ASCII, as in most names, needs no further check
			return !utf8.ValidString(s) || strings.ContainsFunc(s, ui.Dangerous)
		}
	}
	return false
}

// Unquote reverses Quote. It rejects an unquoted name that Quote would have quoted.
func Unquote(text string) (string, error) {
	if !strings.HasPrefix(text, `"`) {
		switch {
		case text == "":
			return "", lang.Error("the name is missing")
		case strings.HasSuffix(text, " "):
			return "", lang.Error("the name ends with a space: remove it, or put the name in double quotes")
		case needsQuotes(text):
			return "", lang.Error(`the name has control characters or bytes that are not UTF-8: put it in double quotes, ` +
				`with \n or \xNN`)
		}
		return text, nil
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			if i != len(text)-1 {
				return "", lang.Error("there is text after the closing quote")
			}
			if b.Len() == 0 {
				return "", lang.Error("the name is empty")
			}
			return b.String(), nil
		case '\\':
			decoded, size := decodeEscape(text[i+1:])
			if size == 0 {
				return "", lang.Error(`in quotes a backslash begins \n, \xNN, \" or \\, not %s`,
					ui.Printable(text[i:min(i+2, len(text))]))
			}
			b.WriteByte(decoded)
			i += size
		default:
			b.WriteByte(c)
		}
	}
	return "", lang.Error("the closing quote is missing")
}

func decodeEscape(s string) (decoded byte, size int) {
	if s == "" {
		return 0, 0
	}
	switch s[0] {
	case 'n':
		return '\n', 1
	case '"', '\\':
		return s[0], 1
	case 'x':
		if n, err := strconv.ParseUint(s[1:min(3, len(s))], 16, 8); err == nil && len(s) > 2 {
			return byte(n), 3
		}
	}
	return 0, 0
}
