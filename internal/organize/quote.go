package organize

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/anivault/anivault/internal/lang"
	"github.com/anivault/anivault/internal/ui"
)

// Quote returns a name as it stands at the end of a line of a plan: as it is, or in double quotes with \n, \xNN, \" and \\ where
// it would not come back from a line or would not show as it is.
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
	return s == "" || !isPrintable(s) && hasDanger(s) || s[0] == '"' || s[0] == ' ' || s[len(s)-1] == ' '
}

// isPrintable reports whether s is of ASCII that shows: most names, told in a fraction of the time.
func isPrintable(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

func hasDanger(s string) bool {
	return !utf8.ValidString(s) || strings.ContainsFunc(s, ui.Dangerous)
}

// Unquote is the inverse of Quote. It refuses what Quote would not have left unquoted.
func Unquote(text string) (string, error) {
	if !strings.HasPrefix(text, `"`) {
		switch {
		case text == "":
			return "", lang.Error("the name is missing")
		case strings.HasSuffix(text, " "):
			return "", lang.Error("the name ends with a space: remove it, or put the name in double quotes")
		case needsQuotes(text):
			return "", lang.Error(`the name has control characters or bytes that are not UTF-8: put it in double quotes, with \n or \xNN`)
		}
		return text, nil
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			if i != len(text)-1 {
				return "", lang.Error("something stands behind the closing quote")
			}
			if b.Len() == 0 {
				return "", lang.Error("the name is empty")
			}
			return b.String(), nil
		case '\\':
			decoded, size := escaped(text[i+1:])
			if size == 0 {
				return "", lang.Error(`in quotes a backslash begins \n, \xNN, \" or \\, not %s`, ui.Printable(text[i:min(i+2, len(text))]))
			}
			b.WriteByte(decoded)
			i += size
		default:
			b.WriteByte(c)
		}
	}
	return "", lang.Error("the closing quote is missing")
}

// escaped reads what follows a backslash: the byte it stands for and its length, 0 where it is no escape.
func escaped(s string) (decoded byte, size int) {
	if s == "" {
		return 0, 0
	}
	switch s[0] {
	case 'n':
		return '\n', 1
	case '"', '\\':
		return s[0], 1
	case 'x':
		if len(s) < 3 {
			return 0, 0
		}
		high, low := strings.IndexByte(hexDigits, s[1]|0x20), strings.IndexByte(hexDigits, s[2]|0x20)
		if high < 0 || low < 0 {
			return 0, 0
		}
		return byte(high<<4 | low), 3
	}
	return 0, 0
}

const hexDigits = "0123456789abcdef"
